"""What the calculator's own code makes of a link to it."""

import json
import subprocess
from pathlib import Path
from typing import Any

STATE = Path(__file__).resolve().parents[1] / "docs" / "assets" / "calculator" / "state.js"


def decoded(fragments: list[str]) -> list[dict[str, Any]]:
    """What the calculator makes of fragments: its problems and its request for each."""
    program = (
        f"import {{ decode, toRequest }} from {json.dumps(STATE.as_uri())};"
        'import { readFileSync } from "node:fs";'
        "const all = JSON.parse(readFileSync(0)).map((text) => {"
        "  const found = decode(text);"
        "  return { problems: found.problems, request: toRequest(found.state) };"
        "});"
        "process.stdout.write(JSON.stringify(all));"
    )
    done = subprocess.run(
        ["node", "--input-type=module", "-e", program],
        input=json.dumps(fragments),
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found
