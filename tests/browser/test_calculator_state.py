"""What links leave out and accept is what the core fills in and accepts."""

import json
import shutil
import subprocess
from typing import Any

from generator.core.fit import FIT_PERCENT
from generator.core.hf_config.bare_count import MIN_PARAMETERS
from generator.core.request import CHOICES, DATASET_DEFAULTS, DEFAULTS, NUMBER_RANGES, RANGES
from tests.browser.support import REPOSITORY_DIR, missing

SCRIPTS_DIR = REPOSITORY_DIR / "docs" / "assets" / "calculator"


def run_node(*arguments: str) -> str:
    if shutil.which("node") is None:
        missing("Node is missing: install Node 20 or later")
    result = subprocess.run(
        ["node", *arguments], capture_output=True, text=True, check=False, cwd=REPOSITORY_DIR
    )
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]
    return result.stdout


def exported(module: str, name: str) -> Any:
    address = json.dumps((SCRIPTS_DIR / module).as_uri())
    script = f"import {{ {name} }} from {address}; console.log(JSON.stringify({name}));"
    return json.loads(run_node("--input-type=module", "--eval", script))


def test_limits_of_the_scripts_are_those_of_the_core() -> None:
    assert exported("charts.js", "FIT_SHARE") * 100 == FIT_PERCENT
    assert exported("model-input.js", "FEWEST_PARAMETERS") == MIN_PARAMETERS


def test_defaults_choices_and_ranges_of_links_are_those_of_the_core() -> None:
    fields = exported("state.js", "FIELDS")
    lora = DEFAULTS["lora"]
    assert isinstance(lora, dict)
    core_defaults = {name: value for name, value in DEFAULTS.items() if name != "lora"}
    core_defaults |= {f"lora.{name}": value for name, value in lora.items()}
    core_defaults |= {f"dataset.{name}": value for name, value in DATASET_DEFAULTS.items()}
    core_defaults |= {"card.memory_gb": None, "card.reserved_gb": 0, "price_usd_per_hour": None}

    defaults = {name: field["default"] for name, field in fields.items()}
    choices = {name: set(field["choices"]) for name, field in fields.items() if "choices" in field}
    ranges = {
        name: (field["min"], field["max"]) for name, field in fields.items() if "min" in field
    }

    # A link leaves defaults out: a new default in the core needs a new version of the link.
    assert defaults == core_defaults
    assert choices == {name: set(values) for name, values in CHOICES.items()}
    assert ranges == RANGES | NUMBER_RANGES
