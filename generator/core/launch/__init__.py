"""Launch files of training tools: written from a request, and read back into one.

The parts are imported where they are used: the browser compiles them only when asked to.
"""

TOOLS: dict[str, str] = {
    "accelerate": "accelerate",
    "axolotl": "axolotl",
    "deepspeed": "DeepSpeed",
    "llama-factory": "LLaMA-Factory",
    "torchtune": "torchtune",
    "trl": "TRL",
}
"""Tools that launch files are written for, by the id that a request names."""

RELEASES: dict[str, str] = {
    "accelerate": "1.15",
    "axolotl": "0.19",
    "deepspeed": "0.19",
    "llama-factory": "0.9.5",
    "torchtune": "0.6",
    "trl": "1.16",
}
"""The release whose names the files have."""
