"""From a name to a record, and from a wrong name to the right one."""

import pytest

from generator.core.catalog import Catalog
from generator.core.errors import TrainfitError
from generator.core.memory import case_resident
from generator.core.nearest import did_you_mean, nearest
from generator.core.run import METHODS, Case, MethodName
from generator.load import load_catalog

CATALOG = load_catalog()


def test_a_model_goes_by_id_and_by_hugging_face_name() -> None:
    entry = CATALOG.model("llama-3.1-8b")
    assert entry is CATALOG.models["llama-3.1-8b"]
    assert CATALOG.model("meta-llama/Llama-3.1-8B") is entry
    assert CATALOG.model(" Llama-3.1-8B ") is entry


def test_a_card_goes_by_its_alias() -> None:
    assert CATALOG.card("h100-80gb") is CATALOG.cards["h100-sxm-80gb"]


def test_methods_and_stacks_are_found() -> None:
    assert CATALOG.method("qlora").quantized_dtype == "nf4-dq"
    assert CATALOG.stack("generic").is_generic


@pytest.mark.parametrize("method", METHODS)
def test_the_core_trains_and_quantises_what_the_method_s_file_says(method: MethodName) -> None:
    said = CATALOG.method(method)
    case = Case(
        model=CATALOG.model("llama-3.1-8b").model,
        optimizer=CATALOG.optimizer("adamw"),
        stack=CATALOG.stack("generic"),
        method=method,
    )
    held = case_resident(case)

    assert (held.num_trainable_parameters == held.num_parameters) == (said.trainable == "all")
    in_16_bit = 2 * held.num_parameters
    if said.quantized_dtype is None:
        assert held.weights >= in_16_bit
    else:
        assert case.lora.base_dtype == said.quantized_dtype
        assert held.weights < in_16_bit


@pytest.mark.parametrize(
    ("kind", "name", "hint"),
    [
        ("model", "llama-3.1-8", '"llama-3.1-8b"'),
        ("model", "Qwen2.5-7", '"qwen2.5-7b"'),
        ("model", "nobody/llama-3.1-8b-foo", '"llama-3.1-8b"'),
        ("card", "h100", '"h100-sxm-80gb"'),
        ("card", "rtx4090", '"rtx-4090-24gb"'),
        ("optimizer", "adam8bit", '"adamw-8bit"'),
        ("method", "lorra", '"lora"'),
        ("stack", "genric", '"generic"'),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(kind: str, name: str, hint: str) -> None:
    with pytest.raises(TrainfitError, match="did you mean") as caught:
        getattr(CATALOG, kind)(name)
    assert caught.value.code == "unknown-id"
    assert caught.value.field == kind
    assert hint in caught.value.message
    assert caught.value.message.endswith(f"? All {kind}s are in catalog/{kind}s.")


def test_a_name_like_nothing_is_refused_with_what_there_is() -> None:
    with pytest.raises(
        TrainfitError, match=r'no card "zzzz"; it has \d+ cards, all in catalog/cards\.'
    ):
        CATALOG.card("zzzz")


def test_an_endless_name_is_cut() -> None:
    with pytest.raises(TrainfitError) as caught:
        CATALOG.model("x" * 1_000_000)
    assert len(caught.value.message) < 300


def test_an_empty_catalog_has_nothing() -> None:
    with pytest.raises(TrainfitError, match="it has 0 models"):
        Catalog().model("llama")


def test_nearest_ranks_by_common_letters() -> None:
    names = ("adamw", "adamw-8bit", "adafactor", "sgd")
    assert nearest("adamw8bit", names) == ("adamw-8bit", "adamw")
    assert nearest("adafactr", names) == ("adafactor",)
    assert nearest("adam", names)[0] == "adamw"
    assert nearest("qqq", names) == ()
    assert nearest("4090", ("rtx-4090-24gb", "rtx-4080-16gb")) == ("rtx-4090-24gb",)
    assert nearest("", names) == ()
    assert len(nearest("a", ("a1", "a2", "a3", "a4"))) <= 3
    assert did_you_mean("sdg", names) == ""
    assert did_you_mean("adamww", names) == '; did you mean "adamw"?'


def test_a_tuned_siblings_name_finds_the_model_of_its_shape() -> None:
    catalog = load_catalog()
    assert catalog.model("meta-llama/Llama-3.1-8B-Instruct").id == "llama-3.1-8b"
    assert catalog.model("Qwen/Qwen2.5-7B").id == "qwen2.5-7b"
