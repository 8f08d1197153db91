"""Generated pages and the home page: addresses, copies, other optimizers, access."""

import json
from typing import Any
from urllib.parse import parse_qsl

import pytest

from generator.core import api
from generator.emit.bars import COMPONENTS
from generator.load import load_catalog
from generator.tables.base import VERDICT_SIGNS, VERDICT_WORDS, gb_figure
from tests.browser.support import RunNode

SCRIPT = "tables.mjs"
MODEL = "llama-3.1-8b"
MAX_LAYOUT_SHIFT = 0.02
PAGE_TYPES = (
    "",
    "models/",
    f"models/{MODEL}/",
    "cards/",
    "cards/h100-sxm-80gb/",
    "explain/sharding/",
    "explain/out-of-memory/",
    "accuracy/",
    "calculator/",
    "reference/verification/",
    "api/",
    "errors/",
)


def ask(**request: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(api.run(json.dumps(request), load_catalog()))
    assert "error" not in answer, answer
    return answer


def shown(answer: dict[str, Any]) -> str:
    sign = VERDICT_SIGNS[answer["card"]["verdict"]]
    return f"{sign} {answer['num_gpus']} × {gb_figure(answer['per_gpu']['total'])}"


def assert_quiet(result: dict[str, Any], site_url: str) -> None:
    assert result["errors"] == []
    assert result["violations"] == []
    assert [each for each in result["requests"] if not each.startswith(site_url)] == []


@pytest.mark.in_firefox
def test_the_script_draws_the_same_tables_as_the_generator(browse: RunNode, site_url: str) -> None:
    result = browse(SCRIPT, scenario="redraw", url=site_url, model=MODEL)

    assert len(result["first"]) == 15
    assert result["again"] == result["first"]
    assert result["other"] != result["first"]
    assert_quiet(result, site_url)


@pytest.mark.in_firefox
def test_an_address_of_another_optimizer_s_row_shows_and_marks_it(
    browse: RunNode, site_url: str
) -> None:
    row = "full--lion-8bit--zero-2--h100-sxm-80gb"
    result = browse(SCRIPT, scenario="row_address", url=site_url, model=MODEL, row=row)

    answer = ask(model=MODEL, optimizer="lion-8bit", strategy="zero-2", card="h100-sxm-80gb")
    assert shown(answer) in result["marked"]
    assert result["card"] == "H100 SXM5"
    assert result["isInView"]
    assert result["later"]["marked"] == ["tr", row], "another length keeps the row"
    run = {"model": MODEL, "optimizer": "lion-8bit", "sequence_length": 8192}
    fitting = [
        card.memory_marketed_gb
        for card in load_catalog().cards.values()
        if ask(**run, card=card.id)["card"]["verdict"] == "fits"
    ]
    assert result["later"]["outcomes"][0] == f"fits {min(fitting)} GB cards from 1 GPU"
    assert_quiet(result, site_url)


@pytest.mark.in_firefox
def test_an_address_of_a_section_leads_to_its_heading(browse: RunNode, site_url: str) -> None:
    result = browse(
        SCRIPT, scenario="section_address", url=site_url, model=MODEL, section="longest-sequence"
    )

    for tops in result.values():
        # The heading stands below the site's own head, and nothing else is above it.
        assert all(40 < top < 100 for top in tops), result


def test_a_link_keeps_the_length_that_its_table_shows(browse: RunNode, site_url: str) -> None:
    result = browse(SCRIPT, scenario="length_in_link", url=site_url, model=MODEL)

    assert result["link"] == f"{site_url}models/{MODEL}/?tokens=8192#full--adamw--zero-3"
    assert "8,192 tokens" in result["head"]
    assert 0 < result["top"] < 120
    assert result["others"] == 1, "only the method of the link is drawn anew"
    assert any(f"{site_url}api/v1/badges/{MODEL}/full.svg" in code for code in result["badges"])
    assert_quiet(result, site_url)


def test_an_address_of_no_row_is_told(browse: RunNode, site_url: str) -> None:
    rows = ["full--adamw--zero-3--h1000-sxm-80gb", "full--lion-8bit--zero-2--no-card"]
    row = "full--adamw--zero-3--h100-sxm-80gb"
    result = browse(SCRIPT, scenario="missing_row", url=site_url, model=MODEL, rows=rows, row=row)

    told = zip(rows, result["notes"], strict=True)
    assert all(f"address #{row};" in note for row, note in told)
    assert result["left"] == 0, "the next address has its row"
    assert_quiet(result, site_url)


def test_copies_are_links_markdown_and_csv(browse: RunNode, site_url: str) -> None:
    row = "full--adamw--zero-3--h100-sxm-80gb"
    result = browse(SCRIPT, scenario="copy", url=site_url, model=MODEL, row=row)

    copied = result["copied"]
    link = f"{site_url}models/{MODEL}/#{row}"
    assert copied["link"] == link
    answer = ask(model=MODEL, strategy="zero-3", card="h100-sxm-80gb")
    lines = copied["row"].splitlines()
    assert lines[0].startswith("**Llama 3.1 8B, Full fine-tuning, AdamW, ZeRO-3 / FSDP, 2,048 tok")
    header, rule, values = lines[2:5]
    assert header.count("|") == rule.count("|") == values.count("|") == 12
    assert f"| {shown(answer)} |" in values
    assert link in copied["row"]
    table = copied["table"].splitlines()
    assert table[2] == header
    assert values in table
    assert len({line.count("|") for line in table if line.startswith("|")}) == 1
    assert len(copied["csv"].splitlines()) == len([each for each in table if each[:2] == "| "]) - 1
    assert_quiet(result, site_url)


def in_box(num_bytes: int) -> str:
    """A figure as the box writes it."""
    gigabytes = num_bytes / 10**9
    return f"{gigabytes:,.2f}" if gigabytes < 10 else gb_figure(num_bytes)


def assert_breakdown(shown: dict[str, Any], answer: dict[str, Any]) -> None:
    """The box's lines, range and link are those of the core's answer."""
    per_gpu = answer["per_gpu"]
    expected = {
        COMPONENTS[line][0]: in_box(per_gpu[line]) for line in COMPONENTS if per_gpu[line] > 0
    }
    assert shown["lines"] == {**expected, "Total, GB per GPU": in_box(per_gpu["total"])}
    assert (
        f"Likely between {in_box(answer['low'])} and {in_box(answer['high'])} GB" in shown["text"]
    )
    verdict = answer["card"]["verdict"]
    assert f"{VERDICT_SIGNS[verdict]} {VERDICT_WORDS[verdict]}" in shown["head"]
    assert shown["head"].startswith(f"{answer['num_gpus']} × ")
    request = answer["request"]
    state = dict(parse_qsl(shown["calculator"].split("#")[1]))
    for key in ("method", "optimizer", "strategy"):
        assert state[key] == request[key]
    assert state["num_gpus"] == str(answer["num_gpus"])


def test_a_cell_shows_what_it_is_made_of(browse: RunNode, site_url: str) -> None:
    row = "full--adamw--zero-3--h200-sxm-141gb"
    result = browse(SCRIPT, scenario="breakdown", url=site_url, model=MODEL, row=row)

    request = {"model": MODEL, "strategy": "zero-3"}
    answer = ask(**request, num_gpus=8, card="h200-sxm-141gb")
    hovered = result["hovered"]
    assert_breakdown(hovered, answer)
    assert "H200 SXM 141 GB" in hovered["head"]
    usable = load_catalog().cards["h200-sxm-141gb"].memory_usable_bytes or 0
    assert f"usable {gb_figure(usable)} GB" in hovered["text"]
    assert result["staysUnderPointer"]
    assert not result["afterEscape"]
    # The first row's second column: two of the smallest cards on which anything fits.
    focused = result["focused"]
    card = parse_qsl(focused["calculator"].split("#")[1])
    assert_breakdown(focused, ask(**request, num_gpus=2, card=dict(card)["card"]))
    assert focused["described"] == f"✕ {focused['lines']['Total, GB per GPU']}"
    assert result["tabStops"] == 1
    assert (
        result["copied"] == f"{site_url}models/{MODEL}/#full--adamw--zero-3--{dict(card)['card']}"
    )
    assert not result["afterSecondEscape"]
    assert result["focusReturns"]
    again = ask(**request, num_gpus=8, card="h200-sxm-141gb", optimizer="adamw-8bit")
    assert_breakdown(result["clicked"], again)
    assert_quiet(result, site_url)


@pytest.mark.only_chromium
def test_axe_finds_nothing_beside_an_open_breakdown(browse: RunNode, site_url: str) -> None:
    found = browse(SCRIPT, scenario="breakdown_axe", url=site_url, model=MODEL)

    assert found == {"light": [], "dark": []}


def test_the_head_of_a_long_table_stays_in_sight(browse: RunNode, site_url: str) -> None:
    row = "full--adamw--zero-3--h200-sxm-141gb"
    result = browse(SCRIPT, scenario="head_in_sight", url=site_url, model=MODEL, row=row)

    assert set(result) == {"1440", "360"}
    for width, seen in result.items():
        assert seen["heads"][:2] == ["1", "2"], width
        assert seen["isInView"], width
        assert seen["isAboveRow"], width
        assert seen["offset"] < 1, width
        assert seen["overflow"] == 0, width


def test_the_home_page_s_question_leads_to_the_row(browse: RunNode, site_url: str) -> None:
    result = browse(
        SCRIPT,
        scenario="picker",
        url=site_url,
        unknown="Llama 5",  # not the 5 of 65B
        whole="gemma 3 12b",
        several="qwen3",
        typed="meta-llama/Llama-3.3-70B-Instruct",
        method="full",
        card="b200-sxm-180gb",
    )

    before = ask(model=MODEL, method="qlora", card="rtx-4090-24gb")
    assert f"{before['per_gpu']['total'] / 1e9:.1f} GB per GPU" in result["before"]
    assert f"likely {before['low'] / 1e9:.1f} to {before['high'] / 1e9:.1f} GB" in result["before"]
    assert result["overflow"] == 0, "the names of all cards, on a phone"
    assert "Qwen3 8B" in result["offered"]
    assert result["chosen"] == "qwen3-4b"
    assert result["answered"] == "Qwen3 4B, full fine-tuning on 1 × B200 180 GB (HGX)"
    assert result["url"] == f"{site_url}models/llama-3.3-70b/#full--adamw--zero-3--b200-sxm-180gb"
    answer = ask(model="llama-3.3-70b", strategy="zero-3", card="b200-sxm-180gb")
    assert shown(answer) in result["marked"]
    assert_quiet(result, site_url)


def test_the_home_page_s_answer_has_its_range_and_says_where_it_is_in_fp16(
    browse: RunNode, site_url: str
) -> None:
    cards = {"t4-16gb": "T4", "rtx-4090-24gb": "RTX 4090"}
    result = browse(SCRIPT, scenario="picked_cards", url=site_url, cards=cards)

    for card, name in cards.items():
        answer = ask(model=MODEL, method="qlora", card=card)
        low, high = (answer[key] / 1e9 for key in ("low", "high"))
        shown_range = f"likely {low:.1f} to {high:.1f} GB, by training stack"
        assert name in result["answers"][card]
        assert shown_range in result["answers"][card]
        assert (" in FP16 " in result["answers"][card]) == (card == "t4-16gb")
    assert_quiet(result, site_url)


def test_controls_say_what_the_tables_show_also_where_figures_do_not_come(
    browse: RunNode, site_url: str
) -> None:
    result = browse(SCRIPT, scenario="tables_without_figures", url=site_url, model=MODEL)

    assert result == ["adamw", "sgd"]


def test_the_home_page_s_question_is_answered_once_its_figures_come(
    browse: RunNode, site_url: str
) -> None:
    result = browse(SCRIPT, scenario="picker_without_figures", url=site_url)

    row = f"{site_url}models/{MODEL}/#qlora--adamw--single--rtx-4090-24gb"
    assert result == {"url": row, "errors": []}


@pytest.mark.only_chromium
@pytest.mark.parametrize("path", PAGE_TYPES)
def test_axe_finds_nothing_on_any_kind_of_page(browse: RunNode, site_url: str, path: str) -> None:
    found = browse(SCRIPT, scenario="axe", url=site_url, path=path)

    assert found == {"light": [], "dark": []}


def test_pages_fit_a_phone_and_stand_still(browse: RunNode, site_url: str) -> None:
    result = browse(SCRIPT, scenario="layout", url=site_url, paths=PAGE_TYPES)

    assert len(result["pages"]) == len(PAGE_TYPES)
    for path, page in result["pages"].items():
        assert page["overflow"] == 0, path
        assert page["shift"] <= MAX_LAYOUT_SHIFT, path
    assert_quiet(result, site_url)
