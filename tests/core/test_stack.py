"""Stacks at a version of their tool."""

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


@pytest.mark.parametrize("version", ["main", "4.48.1rc1", "", "4..1", "٤.٤٨", "1." * 30 + "1"])
def test_what_is_no_release_number_is_refused(version: str) -> None:
    with pytest.raises(TrainfitError) as refused:
        TOOL.at_version(version)

    assert (refused.value.code, refused.value.field) == ("wrong-type", "stack_version")
