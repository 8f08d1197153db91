"""One well-known model per size: what a bare size means to most who search for it."""

REFERENCE_MODEL_IDS = (
    "qwen3-0.6b",
    "llama-3.2-1b",
    "qwen3-1.7b",
    "llama-3.2-3b",
    "qwen3-4b",
    "qwen2.5-7b",
    "llama-3.1-8b",
    "gemma-2-9b",
    "gemma-3-12b",
    "llama-2-13b",
    "qwen2.5-14b",
    "gpt-oss-20b",
    "mistral-small-3.2-24b",
    "gemma-3-27b",
    "qwen3-30b-a3b",
    "qwen3-32b",
    "llama-3.3-70b",
    "qwen2.5-72b",
    "gpt-oss-120b",
    "llama-3.1-405b",
)
