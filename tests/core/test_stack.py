"""Stacks at a version of their tool."""

from dataclasses import replace

import pytest

from generator.core.errors import TrainfitError
from generator.core.stack import Stack, StackVersion

TOOL = Stack(
    id="tool",
    name="Tool",
    fsdp_generation=2,
    kernel_norms=True,
    versions=(
        StackVersion(before="2.10", changes=(("fsdp_generation", 1),)),
        StackVersion(before="1.0", changes=(("kernel_norms", False),)),
    ),
)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        pytest.param("2.10", (2, True), id="the-release-that-changed"),
        pytest.param("2.9.3", (1, True), id="nine-is-before-ten"),
        pytest.param("0.9", (1, False), id="before-both"),
    ],
)
def test_an_older_release_has_every_change_that_came_after_it(
    version: str, expected: tuple[int, bool]
) -> None:
    older = TOOL.at_version(version)

    assert (older.fsdp_generation, older.kernel_norms) == expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        pytest.param(
            " 99 ", "stack_version 99 has the facts of every release from 2.10 on.", id="99"
        ),
        pytest.param(
            "2.10.0",
            "stack_version 2.10.0 has the facts of every release from 2.10 on.",
            id="bound",
        ),
        pytest.param(
            "2.9",
            "stack_version 2.9 has the facts of the releases from 1.0 to before 2.10.",
            id="between",
        ),
        pytest.param(
            "0", "stack_version 0 has the facts of every release before 1.0.", id="oldest"
        ),
    ],
)
def test_a_release_is_told_with_those_that_are_like_it(version: str, expected: str) -> None:
    assert TOOL.releases_like(version) == expected


def test_releases_that_are_not_told_apart_are_said_to_be_so() -> None:
    assert Stack(id="a", name="A").releases_like("99") == (
        "stack_version 99 changes nothing: releases of A are not told apart."
    )


def test_the_package_whose_releases_count_is_named_and_another_s_number_refused() -> None:
    tool = replace(TOOL, versions_of="Library", versions_from="1")

    assert tool.releases_like("2.9").startswith("stack_version 2.9 of Library has the facts of")
    assert tool.at_version("1.0").kernel_norms
    with pytest.raises(TrainfitError) as told:
        tool.at_version("0.20")
    assert (told.value.code, told.value.field) == ("out-of-range", "stack_version")
    assert str(told.value) == (
        "stack_version 0.20 is not Library 1 or later, by which releases of Tool are told apart; "
        "write that of Library that it runs with."
    )


def test_a_release_from_before_the_stack_s_facts_is_sent_to_the_stack_that_has_them() -> None:
    tool = replace(TOOL, versions_of="Library", versions_from="1", older_stack="old-tool")

    with pytest.raises(TrainfitError, match=r'runs with, or stack "old-tool" for an older one\.$'):
        tool.at_version("0.20")


@pytest.mark.parametrize("version", ["main", "4.48.1rc1", "", "4..1", "٤.٤٨", "1." * 30 + "1"])
def test_what_is_no_release_number_is_refused(version: str) -> None:
    with pytest.raises(TrainfitError) as refused:
        TOOL.at_version(version)

    assert (refused.value.code, refused.value.field) == ("wrong-type", "stack_version")
