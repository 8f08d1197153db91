"""Drafts hold what can be derived, say what cannot, and do not pass the check as they are."""

import datetime
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from generator.core.errors import TrainfitError
from generator.core.hf_config import model_from_config
from generator.lint import check
from generator.load import load_catalog
from generator.new import (
    fields_that_matter,
    main,
    model_id,
    new_card,
    new_model,
    new_optimizer,
    toml_value,
)

TODAY = datetime.date(2026, 11, 30)

CONFIG: dict[str, Any] = {
    "_name_or_path": "x",
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 2048,
    "num_hidden_layers": 2,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "intermediate_size": 8192,
    "vocab_size": 32000,
    "tie_word_embeddings": False,
    "max_position_embeddings": 4096,
    "bos_token_id": 1,
    "rope_scaling": None,
    "torch_dtype": "bfloat16",
}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("meta-llama/Llama-2-7b-hf", "llama-2-7b"),
        ("meta-llama/Llama-2-7b-chat-hf", "llama-2-7b"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("google/gemma-3-27b-it", "gemma-3-27b"),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b"),
        ("nvidia/Llama-3_3-Nemotron-Super-49B-v1", "llama-3-3-nemotron-super-49b-v1"),
        ("openai-community/gpt2", "gpt2"),
    ],
)
def test_model_id(name: str, expected: str) -> None:
    assert model_id(name) == expected


def test_a_draft_keeps_the_fields_that_shape_the_model_and_nothing_else() -> None:
    kept, model, left_out = fields_that_matter(CONFIG, "Test")
    assert left_out == []
    assert set(kept) >= {"model_type", "hidden_size", "vocab_size", "max_position_embeddings"}
    assert not {"torch_dtype", "bos_token_id", "architectures", "rope_scaling"} & set(kept)
    assert repr(model_from_config(kept, name="Test")) == repr(model)


@pytest.mark.parametrize("entry", load_catalog().models.values(), ids=lambda entry: entry.id)
def test_a_draft_of_a_catalog_model_is_the_same_model(entry: Any) -> None:
    text, left_out = new_model(entry.config, entry.hugging_face, TODAY)
    assert left_out == []
    config = tomllib.loads(text)["config"]
    assert repr(model_from_config(config, name="x")) == repr(
        model_from_config(entry.config, name="x")
    )


def test_a_draft_says_what_to_fill_in() -> None:
    text, _ = new_model(CONFIG, "test/Test-1B-hf", TODAY)
    draft = tomllib.loads(text)
    assert draft["id"] == "test-1b"
    assert draft["name"] == "Test 1B"
    assert draft["family"] == "Test"
    assert draft["hugging_face"] == "test/Test-1B-hf"
    assert draft["license"] == "FILL"
    assert draft["sources"]["config"]["accessed"] == TODAY
    assert draft["sources"]["config"]["url"].endswith("/test/Test-1B-hf/blob/FILL/config.json")
    # Embedding and head 2 x 32000 x 2048; per layer q and o 2 x 2048 x 2048, k and v 2 x 2048 x
    # 1024, three MLP matrices 2048 x 8192, two norms; a final norm.
    layer = 2 * 2048 * 2048 + 2 * 2048 * 1024 + 3 * 2048 * 8192 + 2 * 2048
    total = 2 * 32000 * 2048 + 2 * layer + 2048
    assert f"The core counts {total:_} parameters." in text


def test_uncommenting_the_published_total_is_enough(root: Path) -> None:
    text, _ = new_model({**CONFIG, "_commit_hash": "abc123"}, "test/Test-3B", TODAY)
    counted = next(line for line in text.splitlines() if "The core counts" in line).split()[-2]
    text = text.replace('released = "FILL"', 'released = "2026-01"')
    text = text.replace('license = "FILL"', 'license = "mit"')
    text = "\n".join(
        line.removeprefix("# ") if " = " in line or line.startswith("# [") else line
        for line in text.replace("num_parameters = 0", f"num_parameters = {counted}").splitlines()
        if not line.startswith(("# FILL: ", "# Only", "# Where"))
    )
    text = text.replace('developer = "FILL"', 'developer = "Test"')
    (root / "models" / "test-3b.toml").write_text(text, encoding="utf-8")
    assert [str(problem) for problem in check(root, today=TODAY)] == []
    assert load_catalog(root).models["test-3b"].expected is not None


def test_a_known_commit_goes_into_the_address() -> None:
    text, _ = new_model({**CONFIG, "_commit_hash": "abc123"}, "test/Test-1B", TODAY)
    assert tomllib.loads(text)["sources"]["config"]["url"].endswith("/blob/abc123/config.json")


def test_layer_patterns_become_runs() -> None:
    pattern = (["sliding_attention"] * 5 + ["full_attention"]) * 4
    config = {
        **CONFIG,
        "model_type": "gemma3_text",
        "num_hidden_layers": 24,
        "head_dim": 128,
        "sliding_window": 1024,
        "layer_types": pattern,
    }
    kept, model, _ = fields_that_matter(config, "Test")
    assert "layer_types" not in kept
    assert kept["layer_types_rle"] == [["sliding_attention", 5], ["full_attention", 1]] * 4
    assert repr(model_from_config(kept, name="Test")) == repr(model)


def test_nested_configs_become_tables() -> None:
    models = load_catalog().models.values()
    entry = next(entry for entry in models if isinstance(entry.config.get("vision_config"), dict))
    draft = tomllib.loads(new_model(entry.config, entry.hugging_face, TODAY)[0])
    assert isinstance(draft["config"]["vision_config"], dict)


def test_a_nested_text_config_is_flattened_and_empty_tables_go() -> None:
    text = {
        "model_type": "gemma3_text",
        "hidden_size": 1152,
        "num_hidden_layers": 6,
        "num_attention_heads": 4,
        "num_key_value_heads": 1,
        "head_dim": 256,
        "intermediate_size": 6912,
        "sliding_window": 512,
        "rope_scaling": {},
    }
    nested = {
        "model_type": "gemma3",
        "text_config": text,
        "vision_config": {
            "hidden_size": 1152,
            "intermediate_size": 4304,
            "model_type": "siglip_vision_model",
            "num_attention_heads": 16,
            "num_hidden_layers": 27,
            "image_size": 896,
            "patch_size": 14,
        },
    }
    kept, model, _ = fields_that_matter(nested, "Nested")
    assert "text_config" not in kept
    assert {} not in kept.values()
    assert kept["hidden_size"] == 1152
    assert repr(model_from_config(kept, name="Nested")) == repr(model)


def test_an_unknown_architecture_is_refused() -> None:
    with pytest.raises(TrainfitError, match="is not understood"):
        new_model({**CONFIG, "model_type": "perceptron"}, "test/Test", TODAY)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (4096, "4096"),
        (128256, "128_256"),
        (-20000, "-20_000"),
        (0.5, "0.5"),
        (1e-05, "1e-05"),
        ('a "b" \\ ü \x7f\n', '"a \\"b\\" \\\\ ü \\u007F\\n"'),
        ([1, [2, "x"]], '[1, [2, "x"]]'),
        ({"a.b": 1, "c": {}}, '{ "a.b" = 1, c = {} }'),
        (TODAY, "2026-11-30"),
    ],
)
def test_toml_value_round_trips(value: object, text: str) -> None:
    assert toml_value(value) == text
    assert tomllib.loads(f"x = {text}")["x"] == value


def test_toml_has_no_other_types() -> None:
    with pytest.raises(TypeError, match="no TOML for object"):
        toml_value(object())


def test_a_card_draft_is_toml_and_fails_the_check_until_it_is_filled_in(root: Path) -> None:
    (root / "cards" / "x100-sxm-80gb.toml").write_text(
        new_card("x100-sxm-80gb", TODAY), encoding="utf-8"
    )
    found = [problem for problem in check(root, today=TODAY) if "x100" in problem.path]
    assert any(problem.message == "still to be filled in" for problem in found)
    assert any(problem.code == "implausible-value" for problem in found)
    places = [(problem.key, problem.line) for problem in found]
    assert sorted(places) == sorted(set(places))
    assert not any(
        problem.code in ("unknown-field", "uncited-fact", "key-order", "bad-toml")
        for problem in found
    )
    assert tomllib.loads(new_card("x100-sxm-80gb", TODAY))["form"] == "sxm"
    assert tomllib.loads(new_card("x100-nvl72-80gb", TODAY))["form"] == "rack"


def test_a_comment_of_the_draft_fails_the_check_until_it_is_deleted(root: Path) -> None:
    path = root / "cards" / "test-card-24gb.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text("# FILL: the vendor's own name.\n" + text + "# x = 1 # FILL\n", "utf-8")
    found = [str(problem) for problem in check(root, today=TODAY)]
    last = text.count("\n") + 2
    for line in (1, last):
        told = "a comment of the draft; do what it says, then delete it [missing-field]"
        assert f"catalog/cards/test-card-24gb.toml:{line}: {told}" in found
    path.write_text("# Fill the tank; FILLED\n" + text, "utf-8")
    assert check(root, today=TODAY) == []


def test_an_optimizer_draft_is_a_record_that_is_still_to_be_filled_in(root: Path) -> None:
    (root / "optimizers" / "new-one.toml").write_text(
        new_optimizer("new-one", TODAY), encoding="utf-8"
    )
    found = [problem for problem in check(root, today=TODAY) if "new-one" in problem.path]
    assert {problem.message for problem in found} == {
        "still to be filled in",
        "a comment of the draft; do what it says, then delete it",
    }
    assert len(load_catalog(root).optimizers["new-one"].states) == 2


def test_the_command_writes_a_model_and_lists_what_is_missing(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "config.json"
    source.write_text(json.dumps(CONFIG), encoding="utf-8")
    status = main("model", str(source), "test/Test-3B", root=root, today=TODAY)
    assert status == 0
    out = capsys.readouterr().out
    assert str(root / "models" / "test-3b.toml") in out
    assert ": the commit at which the config was read" in out
    assert ": license\n" in out
    assert load_catalog(root).models["test-3b"].model.hidden_size == 2048


def test_the_command_names_what_it_leaves_out_and_cannot_call_harmless(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "config.json"
    odd = {"n_experts": 8, "quantization_config": {"bits": 4}, "use_experts": False}
    source.write_text(json.dumps({**CONFIG, **odd}), encoding="utf-8")
    assert main("model", str(source), "test/Test-3B", root=root, today=TODAY) == 0
    out = capsys.readouterr().out
    assert "nothing reads it for this model_type: n_experts, quantization_config.\n" in out
    source.write_text(json.dumps({**CONFIG, **dict.fromkeys(map(str, range(40)), 1)}))
    assert main("model", str(source), "test/Test-4B", root=root, today=TODAY) == 0
    assert ", 29 and 10 more.\n" in capsys.readouterr().out


def test_the_command_writes_a_card_and_says_what_to_fill_in_where(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main("card", "x100-80gb", "", root=root, today=TODAY) == 0
    out = capsys.readouterr().out
    lines = (root / "cards" / "x100-80gb.toml").read_text(encoding="utf-8").splitlines()
    for key in ("name", "vendor", "form", "interconnect", "released"):
        number = lines.index(f'{key} = "FILL"') + 1
        table = "facts." if number > lines.index("[facts]") else ""
        assert f"  - line {number}: {table}{key}\n" in out
    for key in ("memory_usable_bytes", "link_bytes_per_second"):
        assert lines[lines.index(f"{key} = 0") - 1].startswith("# FILL: bytes")
    assert "memory_marketed_gb = 80" in lines


@pytest.mark.parametrize(
    ("kind", "source", "name", "message"),
    [
        pytest.param("model", "config.json", "", "add NAME=owner/name to make", id="no-name"),
        pytest.param("model", "config.json", "Test", '"Test" is no Hugging Face', id="no-owner"),
        pytest.param("model", "absent.json", "test/Test-3B", "cannot read", id="no-file"),
        pytest.param("model", "broken.json", "test/Test-3B", "no JSON", id="no-json"),
        pytest.param("model", "list.json", "test/Test-3B", "no JSON object", id="no-object"),
        pytest.param("model", "deep.json", "test/Test-3B", "too deeply", id="deep"),
        pytest.param("model", "odd.json", "test/Test-3B", "model.config.model_type", id="odd"),
        pytest.param("model", "config.json", "test/Test-1B-it", "id test-1b is", id="id-is-taken"),
        pytest.param("card", "X 100", "", '"X 100" is no id', id="no-id"),
        pytest.param("card", "X 100", "", "; for example x-100-80gb", id="no-id-no-size"),
        pytest.param("card", "X100-80GB", "", "; for example x100-80gb", id="upper-case"),
        pytest.param("card", "x100", "", "ends with no memory size", id="no-size"),
        pytest.param("card", "x100-80", "", "ends with no memory size", id="no-unit"),
        pytest.param("card", "80gb", "", "ends with no memory size", id="no-name"),
        pytest.param("card", "x100-0gb", "", "ends with no memory size", id="size-zero"),
        pytest.param("card", "x" * 300 + "-80gb", "", "80 characters at most", id="long"),
        pytest.param("model", "config.json", "test/---", "is no id", id="model-without-id"),
        pytest.param("card", "test-card-24gb", "", "exists", id="card-exists"),
        pytest.param("optimizer", "test-adam", "", "exists", id="optimizer-exists"),
    ],
)
def test_the_command_refuses(
    root: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    kind: str,
    source: str,
    name: str,
    message: str,
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    (tmp_path / "list.json").write_text("[]", encoding="utf-8")
    (tmp_path / "deep.json").write_text("[" * 100_000, encoding="utf-8")
    (tmp_path / "odd.json").write_text('{"model_type": "perceptron"}', encoding="utf-8")
    given = str(tmp_path / source) if source.endswith(".json") else source
    before = sorted(root.rglob("*"))
    assert main(kind, given, name, root=root, today=TODAY) == 2
    assert message in capsys.readouterr().err
    assert sorted(root.rglob("*")) == before
