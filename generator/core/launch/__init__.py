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
