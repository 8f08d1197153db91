"""Parameters of every catalog model, counted on its real transformers class.

The counts are compared with the catalog's `[expected] num_parameters`, which the tests hold the
core's own arithmetic to. Models whose class cannot be built here are listed with the reason.
"""

import sys
import tomllib
import warnings

from torch._subclasses.fake_tensor import FakeTensorMode

from generator.oracle import emulation
from generator.oracle.case import Case
from generator.oracle.cases import EAGER_ONLY
from generator.oracle.models import MODELS_DIR, build_model, count_base_parameters


def counted_parameters(model: str) -> int:
    """Parameters of the real class of a catalog model."""
    eager = model.startswith(EAGER_ONLY)
    with FakeTensorMode(allow_non_fake_inputs=True):
        return count_base_parameters(
            build_model(Case(model=model, attention="eager" if eager else "sdpa"))
        )


def main() -> None:
    """Count all of them; exit status 1 where a count differs."""
    emulation.install()
    warnings.simplefilter("ignore")
    differing = 0
    for path in sorted(MODELS_DIR.glob("*.toml")):
        expected = tomllib.loads(path.read_text()).get("expected", {}).get("num_parameters")
        try:
            counted = counted_parameters(path.stem)
        except Exception as error:  # noqa: BLE001  the rest of the catalog is still counted
            print(f"{path.stem}: not built, {type(error).__name__}: {str(error)[:120]}")
            continue
        if counted != expected:
            differing += 1
            print(f"{path.stem}: {counted:,} counted, {expected or 0:,} expected", flush=True)
        else:
            print(f"{path.stem}: {counted:,}", flush=True)
    sys.exit(1 if differing else 0)
