"""`check` reads the measurement files: damage and unknown names are told at their line."""

from pathlib import Path

import pytest

from generator.measurements.columns import MEMORY, THROUGHPUT
from tests.catalog.small import damage
from tests.catalog.test_lint import findings

ROW = {
    "id": "run-001",
    "source": "A report",
    "url": "https://example.org",
    "model": "test/Test-1B",
    "method": "full",
    "base_dtype": "bf16",
    "optimizer": "test_adam",
    "strategy": "single",
    "gpu": "test-card-24gb",
    "num_gpus": "1",
    "framework": "trl 0.13; torch 2.4",
    "metric": "max_memory_allocated",
    "gib_per_gpu": "12.5",
    "oom": "false",
    "quality": "A",
}
OTHERS = {
    "suspects.csv": "id,kind,measured_gib,reason\nrun-001,odd,12.5,why\n",
    "causes.csv": "id,source,cause\nrun-001,,this\n,A report,that\n",
    "other-calculators.csv": (
        "id,calculator,predicted_gib,measured_gib,metric,error_pct,basis,method,strategy,regime\n"
        "run-001,x,1,12.5,stated,-90,,,,\n"
    ),
    "left-out.csv": "column,value,reason\n",
    "memory-models.json": "{}",
}


def line_of(row: dict[str, str]) -> str:
    cells = [row.get(name, "") for name in MEMORY.names]
    assert not any("," in cell for cell in cells)
    return ",".join(cells) + "\n"


@pytest.fixture
def measured(root: Path) -> Path:
    folder = root / "measurements"
    folder.mkdir()
    text = ",".join(MEMORY.names) + "\n" + line_of(ROW)
    (folder / "memory.csv").write_text(text, encoding="utf-8")
    for name, content in OTHERS.items():
        (folder / name).write_text(content, encoding="utf-8")
    return root


def test_a_sound_row_has_no_findings(measured: Path) -> None:
    assert findings(measured) == []


@pytest.mark.parametrize(
    ("changes", "column", "told"),
    [
        ({"model": "test/Tset-1B"}, "model", 'did you mean "test/Test-1B"'),
        ({"gpu": "test-crad-24gb"}, "gpu", 'did you mean "test-card-24gb"'),
        ({"gpu": "x951-24gb"}, "gpu", 'the catalog has no card "x951-24gb"'),
        ({"optimizer": "tset_adan"}, "optimizer", "the catalog has no optimizer"),
        ({"framework": "unslot 2024.8"}, "framework", 'known tool; did you mean "unsloth"'),
        ({"framework": "unsloht 2025.9; torch 2.8"}, "framework", 'did you mean "unsloth"'),
        ({"framework": "torch 2.8; axoltl 0.12"}, "framework", 'did you mean "axolotl"'),
        (
            {"framework": "my-own-trainer 1.0"},
            "framework",
            "for a script of your own its torch is enough, as torch 2.4; known are accelerate, ",
        ),
        ({"method": "qlroa"}, "method", 'unknown value; did you mean "qlora"'),
        ({"strategy": "zero4"}, "strategy", "unknown value; did you mean"),
        ({"attention": "flsh"}, "attention", 'unknown value; did you mean "flash"'),
        ({"metric": "nvidia_smi"}, "metric", 'unknown value; did you mean "nvidia-smi"'),
        ({"url": ""}, "url", "empty; fill it in"),
        ({"gib_per_gpu": ""}, "gib_per_gpu", "the run did not go out of memory; add the reading"),
        ({"gib_per_gpu": "12800"}, "gib_per_gpu", "outside what is possible"),
        ({"gib_per_gpu": "28"}, "gib_per_gpu", "more than 24 GB of memory can hold"),
        ({"gb_per_gpu_unit_unstated": "12"}, "gb_per_gpu_unit_unstated", "has the reading too"),
        ({"params_b": "2.6"}, "params_b", "test/Test-1B has 0.26 billion; correct one of the two"),
        ({"num_gpus": "one"}, "num_gpus", "not a number"),
        ({"num_gpus": "2"}, "strategy", "single is one GPU, and num_gpus is 2; write num_gpus 1"),
        ({"strategy": "ddp"}, "strategy", "ddp is for several GPUs, and num_gpus is 1; write"),
        ({"strategy": "fsdp"}, "strategy", "write strategy single, or how many there were"),
        ({"method": "lora", "lora_targets": "q_porj"}, "lora_targets", 'did you mean "q_proj"'),
        ({"method": "lora", "lora_targets": "q_proj v_proj"}, "lora_targets", "put commas between"),
        ({"lora_rank": "8"}, "lora_rank", "full has no adapter, and lora_rank is 8; empty the"),
        ({"lora_targets": "q"}, "lora_targets", "empty the cell, or write method lora or qlora"),
        ({"method": "qlora"}, "base_dtype", "a quantised base, and base_dtype is bf16; write"),
        ({"metric": "fits (no reading given)"}, "gib_per_gpu", "no reading, and gib_per_gpu is"),
    ],
)  # fmt: skip
def test_damage_is_told_at_its_line(
    measured: Path, changes: dict[str, str], column: str, told: str
) -> None:
    damage(measured, "measurements/memory.csv", line_of(ROW), line_of({**ROW, **changes}))
    (finding,) = findings(measured)
    assert finding.startswith(f"catalog/measurements/memory.csv:2: {column}: ")
    assert told in finding


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"optimizer": "Prodigy"}, "optimizer,Prodigy,REASON"),
        ({"gpu": "test-crad-24gb"}, "gpu,test-crad-24gb,REASON"),
        ({"method": "dora"}, "method,dora,REASON"),
        ({"attention": "flsh"}, None),
        ({"framework": "unslot 2024.8"}, None),
    ],
)
def test_the_way_to_leave_a_name_out_is_told_where_it_may_be_right(
    measured: Path, changes: dict[str, str], line: str | None
) -> None:
    damage(measured, "measurements/memory.csv", line_of(ROW), line_of({**ROW, **changes}))
    (finding,) = findings(measured)
    assert ("left-out.csv" in finding) == (line is not None)
    assert f"add the line {line} to left-out.csv" in finding or line is None


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"oom": ""}, id="no word on memory is no lack of it"),
        pytest.param({"oom": "true"}, id="a reading before it ran out"),
        pytest.param({"strategy": "zero-3"}, id="DeepSpeed's engine on one GPU"),
        pytest.param({"method": "lora", "lora_targets": "all linear"}, id="two words, one name"),
    ],
)
def test_what_rows_may_say(measured: Path, changes: dict[str, str]) -> None:
    damage(measured, "measurements/memory.csv", line_of(ROW), line_of({**ROW, **changes}))
    assert findings(measured) == []


def test_a_name_that_is_left_out_on_purpose_is_no_finding(measured: Path) -> None:
    damage(measured, "measurements/memory.csv", ",full,", ",dora,")
    damage(measured, "measurements/left-out.csv", "reason\n", "reason\nmethod,dora,not modelled\n")
    assert findings(measured) == []
    damage(measured, "measurements/memory.csv", ",dora,", ",full,")
    (finding,) = findings(measured)
    assert finding.startswith("catalog/measurements/left-out.csv:2: value: no row uses it")


@pytest.mark.parametrize("name", ["suspects.csv", "causes.csv", "other-calculators.csv"])
def test_rows_about_a_row_name_one_that_exists(measured: Path, name: str) -> None:
    damage(measured, f"measurements/{name}", "run-001", "run-002")
    (finding,) = findings(measured)
    assert finding.startswith(f"catalog/measurements/{name}:2: id: no row has this id; did you")


def test_a_cause_names_a_source_that_exists(measured: Path) -> None:
    damage(measured, "measurements/causes.csv", "A report", "Another")
    (finding,) = findings(measured)
    assert finding.startswith("catalog/measurements/causes.csv:3: source: no row has this source")


def test_models_outside_the_catalog_are_checked(measured: Path) -> None:
    text = '{"a": {"catalog": "test-2b"}, "b": {"config": {"model_type": "llama"}}}'
    (measured / "measurements" / "memory-models.json").write_text(text, encoding="utf-8")
    first, second = findings(measured)
    assert 'a.catalog: the catalog has no such model; did you mean "test-1b"' in first
    assert "b.config.num_hidden_layers: The config has no num_hidden_layers" in second


def test_a_row_that_says_what_another_says_is_told(measured: Path) -> None:
    again = line_of({**ROW, "id": "run-002"})
    damage(measured, "measurements/memory.csv", line_of(ROW), line_of(ROW) + again)
    [finding] = findings(measured)
    told = "id: the same as run-001 in line 2; delete it, or say in notes what differs"
    assert finding.startswith(f"catalog/measurements/memory.csv:3: {told}")


def test_a_misspelt_column_is_told_once_and_not_in_every_row(measured: Path) -> None:
    damage(measured, "measurements/memory.csv", "gib_per_gpu", "gib_per_gqu")
    found = findings(measured)
    assert [finding.split(": ")[0] for finding in found] == [
        "catalog/measurements/memory.csv:1"
    ] * 2
    assert any('did you mean "gib_per_gpu"' in finding for finding in found)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, None),
        ({"params_b": "0.2"}, None),
        ({"params_b": "0.026"}, "params_b: test/Test-1B has 0.26 billion"),
        (
            {"tokens_per_second_per_gpu": "900000"},
            "tokens_per_second_per_gpu: more than the card could compute, about 291,929; the",
        ),
        ({"gpu": "A100-80GB", "tokens_per_second_per_gpu": "900000"}, "gpu: "),
    ],
)
def test_a_rate_and_a_size_are_such_as_card_and_model_can_have(
    measured: Path, changes: dict[str, str], told: str | None
) -> None:
    row = {name: ROW[name] for name in ("id", "source", "url", "model", "method", "gpu")}
    row |= {"num_gpus": "1", "strategy": "single", "precision": "bf16", "quality": "A"}
    row |= {"tokens_per_second_per_gpu": "9000", "sequence_length": "2048"} | changes
    cells = [row.get(name, "") for name in THROUGHPUT.names]
    text = f"{','.join(THROUGHPUT.names)}\n{','.join(cells)}\n"
    (measured / "measurements/throughput.csv").write_text(text, encoding="utf-8")
    found = findings(measured)
    if told is None:
        assert found == []
    else:
        assert found[0].startswith(f"catalog/measurements/throughput.csv:2: {told}")


def test_everything_is_told_at_once_beside_the_toml_files(measured: Path) -> None:
    damage(measured, "measurements/memory.csv", ",12.5,", ",12.5 GB,")
    damage(measured, "measurements/suspects.csv", "12.5", "much")
    damage(measured, "models/test-1b.toml", 'license = "apache-2.0"\n', "")
    assert [finding.split(": ")[0] for finding in findings(measured)] == [
        "catalog/measurements/memory.csv:2",
        "catalog/measurements/suspects.csv:2",
        "catalog/models/test-1b.toml",
    ]
