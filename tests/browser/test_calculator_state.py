"""What links leave out and accept is what the core fills in and accepts."""

import json
import shutil
import subprocess

from generator.core.request import CHOICES, DATASET_DEFAULTS, DEFAULTS, NUMBER_RANGES, RANGES
from tests.browser.support import REPOSITORY_DIR, missing

STATE_MODULE = REPOSITORY_DIR / "docs" / "assets" / "calculator" / "state.js"


def run_node(*arguments: str) -> str:
    if shutil.which("node") is None:
        missing("Node is missing: install Node 20 or later")
    result = subprocess.run(
        ["node", *arguments], capture_output=True, text=True, check=False, cwd=REPOSITORY_DIR
    )
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]
    return result.stdout


def test_defaults_choices_and_ranges_of_links_are_those_of_the_core() -> None:
    script = (
        f"import {{ FIELDS }} from {json.dumps(STATE_MODULE.as_uri())};"
        "console.log(JSON.stringify(FIELDS));"
    )
    fields = json.loads(run_node("--input-type=module", "--eval", script))
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
