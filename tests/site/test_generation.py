"""What the generator writes for a small catalog: the same figures everywhere and each time."""

import csv
import dataclasses
import html
import io
import itertools
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import jsonschema
import numpy as np
import pandas as pd
import pytest

from generator import emit, longest, matrix
from generator.core import api, solve
from generator.core.run import Workload
from generator.emit import json_api, pages
from generator.emit.bars import COMPONENTS, gigabytes
from generator.tables import strategy_bars
from generator.tables.base import VERDICT_SIGNS, gb_figure
from generator.tables.view import ModelView
from tests.site.conftest import MODELS, Generated
from tests.site.html import Page, plain

SAMPLED_CARDS = ("rtx-4090-24gb", "h100-sxm-80gb", "h100-pcie-80gb", "gb200-nvl72-186gb")


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def grid(generated: Generated, model_id: str) -> dict[str, Any]:
    text = (generated.docs / f"api/v1/models/{model_id}.json").read_text(encoding="utf-8")
    item: dict[str, Any] = json.loads(text)["items"][0]
    return item


def at(item: dict[str, Any], axes_key: str, **position: object) -> int:
    axes = item["axes"]
    index = 0
    for name in item[f"{axes_key}_axes"]:
        index = index * len(axes[name]) + axes[name].index(position[name])
    value = item[axes_key][index]
    return 0 if value is None else int(value)


def ask(generated: Generated, **request: object) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(api.run(json.dumps(request), generated.catalog))
    assert "error" not in answer, answer
    return answer


def test_two_runs_write_the_same_bytes(generated: Generated, tmp_path: Path) -> None:
    again = matrix.build(generated.catalog, models=MODELS)
    emit.build(generated.catalog, again, tmp_path / "docs", version="0123456789ab")

    assert files(tmp_path / "docs") == files(generated.docs)


def test_a_page_says_that_its_model_is_not_verified_yet_and_no_other_does(
    generated: Generated, tmp_path: Path
) -> None:
    docs = tmp_path / "docs"
    one = dataclasses.replace(generated.matrix, models={MODELS[0]: generated.matrix.models[MODELS[0]]})
    emit.build(generated.catalog, one, docs, version="0", verification=f"model\n{MODELS[0]}\n")
    link = f'<a href="../../reference/verification/#{MODELS[0]}">not verified yet</a>'

    assert "not verified yet" not in (docs / f"models/{MODELS[0]}.md").read_text(encoding="utf-8")
    text = (docs / f"models/{MODELS[0]}.md").read_text(encoding="utf-8")
    assert '</p>\n\n<ul class="tf-jump"' in text
    assert link in (generated.docs / f"models/{MODELS[0]}.md").read_text(encoding="utf-8")


def test_a_run_removes_what_it_no_longer_produces_and_touches_nothing_else(
    generated: Generated, tmp_path: Path
) -> None:
    docs = tmp_path / "docs"
    (docs / "models").mkdir(parents=True)
    (docs / "models" / "gone.md").write_text("old", encoding="utf-8")
    (docs / "index.md").write_text("by hand", encoding="utf-8")

    emit.build(generated.catalog, generated.matrix, docs, version="0")

    assert not (docs / "models" / "gone.md").exists()
    assert (docs / "index.md").read_text(encoding="utf-8") == "by hand"
    assert {path.name for path in docs.iterdir()} == {
        "index.md",
        "models",
        "cards",
        "api",
        "assets",
        "llms.txt",
        "robots.txt",
    }
    assert list((tmp_path / ".cache").iterdir()) == []


def test_a_run_that_fails_half_way_leaves_the_previous_output(
    generated: Generated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = tmp_path / "docs"
    emit.build(generated.catalog, generated.matrix, docs, version="0")
    before = files(docs)

    def fail(*_: object, **__: object) -> str:
        raise RuntimeError("half-way")

    monkeypatch.setattr(pages, "card_page", fail)
    with pytest.raises(RuntimeError, match="half-way"):
        emit.build(generated.catalog, generated.matrix, docs, version="1")

    assert files(docs) == before
    assert list((tmp_path / ".cache").iterdir()) == []


@pytest.mark.parametrize("endpoint", json_api.ENDPOINTS, ids=lambda each: each.schema)
def test_json_validates_against_its_published_schema(
    generated: Generated, endpoint: json_api.Endpoint
) -> None:
    root = generated.docs / "api/v1"
    schema = json.loads((root / f"schema/{endpoint.schema}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    strict = json.loads(json.dumps(schema))
    strict["properties"]["items"]["items"]["additionalProperties"] = False
    for path in root.glob(endpoint.path.replace("{id}", "*")):
        jsonschema.validate(json.loads(path.read_text(encoding="utf-8")), strict)


def test_openapi_names_every_json_file(generated: Generated) -> None:
    root = generated.docs / "api/v1"
    described = json.loads((root / "openapi.json").read_text(encoding="utf-8"))["paths"]
    present = {
        f"/{path.relative_to(root).as_posix()}"
        for path in root.rglob("*.json")
        if path.name != "openapi.json" and path.parent.name != "schema"
    }
    expanded = set()
    for path in described:
        expanded |= {path.replace("{id}", model) for model in MODELS} if "{id}" in path else {path}
    assert expanded == present


def test_integers_are_exact_in_javascript(generated: Generated) -> None:
    def integers(value: object) -> Any:
        if isinstance(value, dict):
            for each in value.values():
                yield from integers(each)
        elif isinstance(value, list):
            for each in value:
                yield from integers(each)
        elif isinstance(value, int):
            yield value

    for path in (generated.docs / "api/v1").glob("*.json"):
        assert all(abs(each) < 2**53 for each in integers(json.loads(path.read_bytes())))
    for model_id in MODELS:
        assert all(abs(each) < 2**53 for each in integers(grid(generated, model_id)))


def sampled() -> list[tuple[str, str, str, str, int]]:
    """Model, method, strategy, card and workload position, a fifth of their product."""
    product = itertools.product(
        MODELS,
        ("full", "lora", "qlora"),
        ("single", "ddp", "zero-1", "zero-2", "zero-3"),
        SAMPLED_CARDS,
        range(3),
    )
    return list(itertools.islice(product, 0, None, 5))


def test_table_cell_json_and_a_fresh_call_of_the_core_agree(generated: Generated) -> None:
    counts = generated.matrix.axes.gpu_counts
    rows_of = {}
    for model_id in MODELS:
        text = (generated.docs / f"models/{model_id}.md").read_text(encoding="utf-8")
        rows_of[model_id] = Page(path=model_id, text=text).rows()
    for model_id, method, strategy, card_id, workload in sampled():
        item = grid(generated, model_id)
        length = item["axes"]["sequence_length"][workload]
        setup = {
            "method": method,
            "optimizer": "adamw",
            "strategy": strategy,
            "sequence_length": length,
        }
        card = generated.catalog.cards[card_id]
        first = at(item, "first_num_gpus", **setup, card=card_id)
        if strategy == "single":
            available = [1]
        else:
            least = 2 if strategy == "ddp" else 1
            available = [count for count in card.allowed_gpu_counts if count >= least]
        asked = [
            ask(generated, model=model_id, num_gpus=count, card=card_id, **setup)
            for count in ([first] if first else available)
        ]
        for answer in asked:
            stored = at(item, "total_bytes_per_gpu", **setup, num_gpus=answer["num_gpus"])
            assert stored == answer["per_gpu"]["total"]
        shown = next((each for each in asked if each["card"]["verdict"] != "no"), asked[-1])
        if first:
            assert shown["card"]["verdict"] == "fits"
            earlier = [count for count in available if count < first]
            for count in earlier:
                below = ask(generated, model=model_id, num_gpus=count, card=card_id, **setup)
                assert below["card"]["verdict"] != "fits"
        sign = VERDICT_SIGNS[shown["card"]["verdict"]]
        expected = f"{sign} {shown['num_gpus']} × {gb_figure(shown['per_gpu']['total'])}"
        address = f'id="{method}--adamw--{strategy}--{card_id}"'
        (cells,) = [cells for header, cells in rows_of[model_id] if address in header]
        assert cells[-3 + workload][1] == expected, address
        if workload == 0 and len(cells) > 3:
            columns = [1] if strategy == "single" else [2] if strategy == "ddp" else counts
            for (_, text), count in zip(cells[:-3], columns, strict=True):
                used = available[0] if strategy == "ddp" else count
                if used not in available:
                    assert text == "–"
                    continue
                bytes_per_gpu = at(item, "total_bytes_per_gpu", **setup, num_gpus=used)
                assert text.split(" ")[1] == gb_figure(bytes_per_gpu)


def parts_at(item: dict[str, Any], **position: object) -> dict[str, int]:
    axes = item["axes"]
    found = {}
    for part in item["parts_per_gpu"]:
        index = 0
        for name in part["axes"]:
            index = index * len(axes[name]) + axes[name].index(position[name])
        found[part["part"]] = part["bytes"][index]
    return found


def test_parts_of_every_total_add_up_and_are_the_core_s(generated: Generated) -> None:
    for model_id in MODELS:
        item = grid(generated, model_id)
        axes = item["axes"]
        product = itertools.product(*(axes[name] for name in item["total_bytes_per_gpu_axes"]))
        for number, (values, total) in enumerate(
            zip(product, item["total_bytes_per_gpu"], strict=True)
        ):
            if total is None:
                continue
            setup = dict(zip(item["total_bytes_per_gpu_axes"], values, strict=True))
            parts = parts_at(item, **setup)
            assert sum(parts.values()) == total, setup
            if number % 97 == 0:
                answer = ask(generated, model=model_id, **setup)
                assert {**parts, "total": total} == answer["per_gpu"]
                place = axes["num_gpus"].index(setup["num_gpus"])
                below = total * item["likely_below_permille"][place] // 1000
                above = total * item["likely_above_permille"][place] // 1000
                assert (total - below, total + above) == (answer["low"], answer["high"])


def test_strategy_bars_are_the_core_s_figures(generated: Generated) -> None:
    expected = [
        *[("full", each) for each in ("single", "ddp", "zero-1", "zero-2", "zero-3")],
        ("lora", "single"),
        ("qlora", "single"),
    ]
    for model_id in MODELS:
        text = (generated.docs / f"models/{model_id}.md").read_text(encoding="utf-8")
        table = text.split('<table class="t tf-parts"')[1].split("</table>")[0]
        view = ModelView(
            axes=generated.matrix.axes, matrix=generated.matrix.models[model_id], longest={}
        )
        bars = strategy_bars.build(view, "adamw")
        assert [(bar.method, bar.strategy) for bar in bars.bars] == expected
        rows = re.findall(r"<tr><th scope=\"row\" id=.*?</tr>", table)
        assert len(rows) == len(expected)
        heads = re.findall(r'<th scope="col">([^<]+)<span class="tf-swatch', table)
        assert heads == [COMPONENTS[line][0] for line in bars.line_names]
        for bar, row in zip(bars.bars, rows, strict=True):
            link = row.split("calculator/#")[1].split('"')[0]
            state = dict(parse_qsl(html.unescape(link)))
            assert state.pop("v") == "1"
            request: dict[str, Any] = {
                key: int(value) if value.isdigit() else value for key, value in state.items()
            }
            answer = ask(generated, **request)
            per_gpu = answer["per_gpu"]
            assert {**bar.lines, "total": bar.total_bytes} == per_gpu
            # Every segment is as wide as its line, and they lie end to end.
            drawn = re.findall(r'class="tf-fill-(\w+)" x="([\d.]+)%" width="([\d.]+)%"', row)
            assert [line for line, _, _ in drawn] == [line for line in per_gpu if bar.lines.get(line)]
            end = 0.0
            for line, x, width in drawn:
                assert float(x) == pytest.approx(end, abs=0.03)
                assert float(width) == pytest.approx(100 * bars.across(per_gpu[line]), abs=0.01)
                end = float(x) + float(width)
            assert end == pytest.approx(100 * bars.across(per_gpu["total"]), abs=0.03)
            # And stands in the table in words.
            shown = [cell for _, cell in Page(path="", text=row).rows()[0][1]]
            figures = [per_gpu["total"], *(per_gpu[line] for line in bars.line_names)]
            assert [cell for cell in shown if cell] == [gigabytes(bars, each) for each in figures]


def test_every_published_row_has_its_address_once(generated: Generated) -> None:
    axes = generated.matrix.axes
    applicable = np.any(axes.applicable(), axis=1)
    for model_id in MODELS:
        text = (generated.docs / f"models/{model_id}.md").read_text(encoding="utf-8")
        for method in axes.methods:
            for s, strategy in enumerate(axes.strategies):
                for c, card in enumerate(axes.cards):
                    address = f'id="{method}--adamw--{strategy}--{card.id}"'
                    assert text.count(address) == int(applicable[s, c]), address


def test_a_card_says_what_it_does_in_place_of_conditions_that_it_cannot_meet(
    generated: Generated,
) -> None:
    def words(card_id: str) -> str:
        page = (generated.docs / f"cards/{card_id}.md").read_text(encoding="utf-8")
        return html.unescape(page)

    attention = "PyTorch's memory-efficient attention in place of FlashAttention"
    assert f"with FP16 in place of bf16 and {attention}: the bytes are the same" in words("t4-16gb")
    assert f"with {attention}: the bytes are the same" in words("arc-b580-12gb")
    assert "the bytes are the same" not in words("h100-sxm-80gb")


def test_a_model_s_smallest_set_ups_say_which_train_in_fp16(generated: Generated) -> None:
    said, due = [], []
    for model_id in MODELS:
        page = (generated.docs / f"models/{model_id}.md").read_text(encoding="utf-8")
        for card_id, rest in re.findall(r'<li><b>.*href="#\S+--(\S+?)".*✓ fits</span>(.*)</li>', page):
            said.append(rest == " in FP16")
            due.append(not generated.catalog.cards[card_id].supports_bf16)
    assert said == due
    assert {*due} == {True, False}


def test_card_page_shows_the_least_sharded_strategy_that_fits(generated: Generated) -> None:
    text = (generated.docs / "cards/h100-sxm-80gb.md").read_text(encoding="utf-8")
    rows = {plain(header): cells for header, cells in Page(path="", text=text).rows()}
    cells = rows["Llama 3.1 8B"]
    request = {"model": "llama-3.1-8b", "card": "h100-sxm-80gb"}
    for index, method in enumerate(("full", "lora", "qlora")):
        one = ask(generated, **request, method=method)
        sign = VERDICT_SIGNS[one["card"]["verdict"]]
        assert cells[index * 4][1] == f"{sign} {gb_figure(one['per_gpu']['total'])}"
    # Two GPUs, all weights: DDP does not fit and neither do ZeRO-1 and ZeRO-2, so it is ZeRO-3.
    found = [
        ask(generated, **request, strategy=strategy, num_gpus=2)
        for strategy in ("ddp", "zero-1", "zero-2", "zero-3")
    ]
    chosen = next(each for each in found if each["card"]["verdict"] == "fits")
    assert cells[1][1] == f"✓ {gb_figure(chosen['per_gpu']['total'])}"


@pytest.mark.parametrize("card_id", ["rtx-4090-24gb", "h100-sxm-80gb", "b200-sxm-180gb"])
def test_longest_sequence_is_the_solver_s(generated: Generated, card_id: str) -> None:
    catalog = generated.catalog
    card = catalog.cards[card_id]
    for model_id in MODELS:
        item = grid(generated, model_id)
        for column in item["longest_sequence"]:
            tokens = column["tokens"][item["axes"]["card"].index(card_id)]
            if column["num_gpus"] not in card.allowed_gpu_counts:
                assert tokens is None
                continue
            case = matrix.case_for(
                catalog.models[model_id],
                stack=catalog.stacks["generic"],
                method=column["method"],
                optimizer=catalog.optimizer("adamw"),
                strategy=column["strategy"],
                num_gpus=column["num_gpus"],
                workload=Workload(),
            )
            assert tokens == solve.longest_sequence(case, card)


def test_time_and_cost_are_the_core_s(generated: Generated) -> None:
    for model_id in MODELS:
        item = grid(generated, model_id)
        text = (generated.docs / f"models/{model_id}.md").read_text(encoding="utf-8")
        assert item["time_and_cost"]
        for each in item["time_and_cost"]:
            asked = {key: each[key] for key in ("method", "card", "strategy", "num_gpus")}
            cost = ask(generated, model=model_id, **asked)["throughput"]["cost"]
            for key in ("hours", "num_tokens", "usd_low", "usd_high", "price_date"):
                assert each[key] == cost[key]
            shown = f"{each['hours']:,.1f}" if each["hours"] < 100 else f"{each['hours']:,.0f}"
            assert f">{shown} h on {each['num_gpus']}</a>" in text


def test_longest_sequence_columns_are_set_ups_of_the_matrix(generated: Generated) -> None:
    axes = generated.matrix.axes
    for method, strategy, num_gpus in longest.COLUMNS:
        assert method in axes.methods
        assert strategy in axes.strategies
        assert num_gpus in axes.gpu_counts


def test_csv_and_parquet_hold_the_json_s_figures(generated: Generated) -> None:
    frame = pd.read_parquet(generated.docs / "api/v1/matrix.parquet")
    for model_id in MODELS:
        item = grid(generated, model_id)
        text = (generated.docs / f"api/v1/models/{model_id}.csv").read_text(encoding="utf-8")
        from_csv = []
        for row in csv.DictReader(io.StringIO(text)):
            for workload in generated.matrix.axes.workloads:
                for count in item["axes"]["num_gpus"]:
                    value = row[f"bytes_per_gpu_{workload.id}_{count}_gpus"]
                    if value:
                        names = (row["method"], row["optimizer"], row["strategy"])
                        length = workload.workload.sequence_length
                        from_csv.append((*names, count, length, int(value)))
        own = frame[frame["model"] == model_id].drop(columns="model")
        assert sorted(from_csv) == sorted(own.itertuples(index=False, name=None))
        for method, optimizer, strategy, count, length, value in from_csv[::97]:
            setup = {
                "method": method,
                "optimizer": optimizer,
                "strategy": strategy,
                "num_gpus": count,
                "sequence_length": length,
            }
            assert value == at(item, "total_bytes_per_gpu", **setup)


def test_former_names_lead_to_the_present_page_and_row(
    generated: Generated, tmp_path: Path
) -> None:
    catalog = generated.catalog
    card = dataclasses.replace(catalog.cards["h100-sxm-80gb"], aliases=("h100-sxm5-80gb",))
    cards = tuple(card if each.id == card.id else each for each in generated.matrix.axes.cards)
    axes = dataclasses.replace(generated.matrix.axes, cards=cards)
    renamed = dataclasses.replace(generated.matrix, axes=axes)

    emit.build(catalog, renamed, tmp_path / "docs", version="0", ledger=["row-card h100-sxm5-80gb"])

    moved = (tmp_path / "docs/cards/h100-sxm5-80gb/index.html").read_text(encoding="utf-8")
    assert 'href="../h100-sxm-80gb/"' in moved
    assert 'content="0; url=../h100-sxm-80gb/"' in moved
    page = (tmp_path / "docs/models/llama-3.1-8b.md").read_text(encoding="utf-8")
    assert 'id="full--adamw--zero-3--h100-sxm5-80gb"' in page
