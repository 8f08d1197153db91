"""A small sound catalog on disk, and a way to damage one of its files."""

from pathlib import Path

CARD = """\
#:schema ../schema/card.schema.json
id = "test-card-24gb"
name = "Test Card 24 GB"
vendor = "Test"
form = "pcie"
status = "current"
aliases = ["tc-24gb"]

[facts]
memory_marketed_gb = 24
memory_usable_bytes = 25_000_000_000
memory_bandwidth_bytes_per_second = 1_000_000_000_000
peak_dense_bf16_flops_per_second = 100_000_000_000_000
link_bytes_per_second = 32_000_000_000
price_usd_per_hour = 1
price_usd_per_hour_high = 2.5
price_date = "2026-08"

[sources.sheet]
title = "Data sheet"
producer = "Test"
url = "https://example.org/sheet"
published = 2026-01-01
accessed = 2026-11-30
kind = "vendor"

[cite]
memory_marketed_gb = "sheet"
memory_usable_bytes = { source = "sheet", note = "23.28 GiB, times 2^30." }
memory_bandwidth_bytes_per_second = "sheet"
peak_dense_bf16_flops_per_second = { source = ["sheet"], note = "Dense, as printed." }
link_bytes_per_second = { source = "sheet", note = "One direction." }
price_usd_per_hour = "sheet"
price_usd_per_hour_high = ["sheet"]
price_date = "sheet"
"""

MODEL = """\
#:schema ../schema/model.schema.json
id = "test-1b"
name = "Test 1B"
hugging_face = "test/Test-1B"
family = "Test"
developer = "Test"
released = "2026-01"
license = "apache-2.0"
aliases = ["test"]

[config]
model_type = "llama"
hidden_size = 2048
num_hidden_layers = 2
num_attention_heads = 16
num_key_value_heads = 8
intermediate_size = 8192
vocab_size = 32_000
tie_word_embeddings = false

[expected]
num_parameters = 256_911_360
match = "exact"

[sources.config]
title = "config.json"
producer = "Test"
url = "https://example.org/config.json"
published = "unknown"
accessed = 2026-11-30
kind = "config-file"

[cite]
config = "config"
"expected.num_parameters" = "config"
"""

OPTIMIZER = """\
#:schema ../schema/optimizer.schema.json
id = "test-adam"
name = "Test Adam"
implementation = "test.Adam"
aliases = ["test_adam"]

paged = true

[[states]]
name = "exp_avg"

[[states]]
name = "exp_avg_sq"
dtype = "bf16"

[sources.code]
title = "adam.py"
producer = "Test"
url = "https://example.org/adam.py"
published = "2026-02"
accessed = 2026-11-30
kind = "code"

[cite]
paged = "code"
states = "code"
"""

METHOD = """\
#:schema ../schema/method.schema.json
id = "test-lora"
name = "Test LoRA"
summary = "Adapters."
aliases = []

trainable = "adapters"
quantized_dtype = "nf4"

[sources.paper]
title = "Paper"
producer = "Test"
url = "https://example.org/paper"
published = "2026"
accessed = 2026-11-30
kind = "paper"

[cite]
trainable = "paper"
quantized_dtype = "paper"
"""

STACK = """\
#:schema ../schema/stack.schema.json
id = "test-stack"
name = "Test Stack"

[facts]
context_bytes = 500_000_000

[sources.code]
title = "stack.py"
producer = "Test"
url = "https://example.org/stack.py"
published = "unknown"
accessed = 2026-11-30
kind = "code"

[cite]
context_bytes = "code"
"""

MATRIX = """\
methods = ["test-lora"]
strategies = ["single"]
gpu_counts = [1]
default_optimizer = "test-adam"
optimizers = ["test-adam"]

[[workloads]]
id = "2k"
sequence_length = 2048
"""

FILES = {
    "models/test-1b.toml": MODEL,
    "cards/test-card-24gb.toml": CARD,
    "optimizers/test-adam.toml": OPTIMIZER,
    "methods/test-lora.toml": METHOD,
    "stacks/test-stack.toml": STACK,
    "matrix.toml": MATRIX,
}


def write_catalog(folder: Path) -> Path:
    """The sound catalog under `folder`; returns its root."""
    root = folder / "catalog"
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def damage(root: Path, name: str, old: str, new: str) -> None:
    """Replaces a part of one file; the part must be there."""
    path = root / name
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{old!r} is not in {name}"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
