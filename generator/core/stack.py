"""What differs from one training tool to another: a named set of accounting facts."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from generator.core.errors import TrainfitError

StandardLoss = Literal["upcast", "upcast-shifted", "upcast-rebound", "upcast-held", "compiled"]
"""`upcast`: logits to FP32, log-softmax in FP32 (Transformers since 4.49). `upcast-shifted`: the
shifted FP32 logits are copied first (4.46 to 4.48). `upcast-rebound`: the same in the model's own
forward, where the 16-bit logits are free once they are cast (up to 4.45). `upcast-held`: so, and
the training loop keeps the shifted copy through backward (torchtune before 0.3). `compiled`:
torch.compile fuses the casts into the kernels, which read 16-bit logits and write their 16-bit
gradient."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StackVersion:
    """What an older release of a tool did otherwise: `changes` hold for versions below `before`."""

    before: str
    changes: tuple[tuple[str, str | int | bool], ...]


def _version_key(version: str, field: str) -> tuple[int, ...]:
    """Release numbers of a dotted version, `4.48.1` as (4, 48, 1)."""
    parts = version.strip().split(".")
    if not all(part.isascii() and part.isdigit() for part in parts) or len(version) > 40:
        raise TrainfitError(
            "wrong-type", field, f'The version "{version[:40]}" is no release; write it as 4.48.1.'
        )
    return tuple(int(part) for part in parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """A training tool as the memory model sees it.

    The `generic` stack keeps one lump (`overhead_bytes`) for context, workspaces, communication and
    gather buffers; a named stack itemises them and leaves `overhead_bytes` None.
    """

    id: str
    name: str
    overhead_bytes: int | None = None
    context_bytes: int = 0
    """CUDA context and loaded kernels: outside PyTorch's allocator, seen by nvidia-smi."""
    workspace_bytes: int = 0
    """cuBLAS workspaces: inside PyTorch's allocator."""
    static_slack_permille: int = 0
    """What the caching allocator holds beyond weights, gradients, states and buffers, in
    thousandths of them: blocks rounded up, remains of loading."""
    activation_slack_permille: int = 0
    """What it holds beyond the activations, in thousandths: free blocks too small for the next
    tensor."""
    sharded_slack_permille: int = 0
    """The same where gathered units come and go between the activations."""
    communicator_bytes: int = 0
    """NCCL channels and buffers of one process in a group: outside the allocator."""
    standard_loss: StandardLoss = "upcast"
    loss_chunk_tokens: int = 1024
    """Rows of logits in one chunk of a `chunked` loss; 0 where `loss_chunks` says how many."""
    loss_chunks: int = 0
    """Equal chunks of the micro-batch of a `chunked` loss."""
    chunks_positions: bool = False
    """A chunk holds `loss_chunk_tokens` positions of every sequence."""
    kept_logit_bytes: int = 0
    """Bytes per logit that a `chunked` loss keeps of every chunk until backward; 0 where each chunk
    is differentiated, or computed again, before the next."""
    held_logit_bytes: int = 0
    """Bytes per logit of the previous micro-batch that the training loop's own variables keep
    through the next forward."""
    holds_outputs: bool = False
    """The training loop keeps the model's outputs, and so the logits, until backward is over."""
    in_place_loss: bool = False
    """A Triton cross-entropy overwrites the FP32 logits with their gradient: no log-softmax is
    kept."""
    model_classes: Literal["transformers", "litgpt"] = "transformers"
    """Whose model code runs: LitGPT fuses query, key and value into one projection."""
    kernel_norms: bool = False
    """Fused RMSNorm kernels, which keep their input as it came."""
    fsdp_generation: Literal[1, 2] = 2
    """FSDP1 keeps every frozen block's input and its gradient until backward ends."""
    keeps_gathered: bool = False
    """Sharded units stay gathered once a validation pass has run (lit-gpt of 2023, whose pass runs
    under `inference_mode`)."""
    kbit_upcast: bool = False
    """`prepare_model_for_kbit_training` casts norms, embeddings and head of a quantised base to
    FP32."""
    quantises_head: bool = False
    """4-bit bases include the head."""
    keeps_quantised_inputs: bool = False
    """A 4-bit linear keeps its input until its graph is dropped (bitsandbytes before 0.44)."""
    dequantised_bytes: int = 2
    """Bytes per weight while a 4-bit matrix is unpacked; 4 where it is unpacked in one 16-bit dtype
    and multiplied in the other."""
    quantises_experts: bool = False
    """4-bit bases reach routed experts that are fused 3-D tensors."""
    autocasts: bool = True
    """Mixed precision with adapters runs under autocast; DeepSpeed casts the model instead."""
    foreach_copies: int = 1
    """Copies of the second moment that the multi-tensor AdamW step holds (PyTorch 2.0: two)."""
    gradient_dtype: Literal["weights", "fp32"] = "weights"
    """`fp32`: gradients accumulate in FP32 beside 16-bit weights (Megatron)."""
    embeddings_keep_fp32_states: bool = False
    """8-bit optimizers leave the states of embeddings in FP32 (Hugging Face Trainer)."""
    masters_16bit_adapters: bool = False
    """Adapters trained in 16 bit, and full copies beside them, get an FP32 master (DeepSpeed)."""
    gradient_as_bucket_view: bool = False
    reduce_dtype: Literal["weights", "fp32"] = "weights"
    """Dtype of the reduce-scatter input under FSDP."""
    zero_engine: Literal["fsdp", "deepspeed"] = "fsdp"
    """Who shards: its buffers and the way it gathers and steps."""
    accumulates_unsharded: bool = False
    """Micro-batches before the last skip the reduction (`no_sync`), so that FSDP's gradients pile
    up whole."""
    separate_tables: bool = False
    """Embedding and head are sharded units of their own."""
    bucket_elements: int = 0
    """Elements of one of DeepSpeed's two gradient buckets under ZeRO-1 and 2
    (`reduce_bucket_size`)."""

    defaults: tuple[tuple[str, str | int | bool], ...] = ()
    """Request fields that the tool sets by itself, `lora.` ones included."""
    versions: tuple[StackVersion, ...] = ()
    versions_of: str = ""
    """The package whose releases `versions` counts, where it is not the tool's own."""
    versions_from: str = ""
    """Its oldest release that the facts hold for; an older number is that of another package, or
    of a release of the tool that other facts hold for."""
    older_stack: str = ""
    """The stack whose facts hold for older releases of the tool than the package's oldest."""
    note: str = ""
    """What a reader must know and no field says."""

    def request_defaults(self) -> dict[str, object]:
        """The tool's own defaults of a request, without those of the adapter."""
        return {name: value for name, value in self.defaults if not name.startswith("lora.")}

    def lora_defaults(self) -> dict[str, object]:
        """The tool's own defaults of an adapter."""
        prefix = "lora."
        return {
            name.removeprefix(prefix): value
            for name, value in self.defaults
            if name.startswith(prefix)
        }

    def at_version(self, version: str) -> "Stack":
        """The stack as an older release behaved.

        Args:
            version: Release number of the package that `versions` counts, as `4.48.1`.

        Raises:
            TrainfitError: the version is no dotted release number (code `wrong-type`), or is older
                than `versions_from` (`out-of-range`).
        """
        key = _version_key(version, "stack_version")
        if self.versions_from and key < _version_key(self.versions_from, ""):
            instead = f', or stack "{self.older_stack}" for an older one'
            raise TrainfitError(
                "out-of-range",
                "stack_version",
                f"stack_version {version.strip()} is not {self.versions_of} {self.versions_from} "
                f"or later, by which releases of {self.name} are told apart; write that of "
                f"{self.versions_of} that it runs with{instead if self.older_stack else ''}.",
            )
        changes: dict[str, Any] = {}
        for older in self.versions:
            if key < _version_key(older.before, "stack_version"):
                changes.update(older.changes)
        return replace(self, **changes) if changes else self

    def releases_like(self, version: str) -> str:
        """The releases that have the same facts as this one, in a sentence.

        Args:
            version: Release number of the package that `versions` counts, as `4.48.1`.

        Raises:
            TrainfitError: the version is no dotted release number (code `wrong-type`).
        """
        key = _version_key(version, "stack_version")
        package = f" of {self.versions_of}" if self.versions_of else ""
        given = f"stack_version {version.strip()}{package}"
        bounds = sorted((_version_key(each.before, ""), each.before) for each in self.versions)
        if not bounds:
            return f"{given} changes nothing: releases of {self.name} are not told apart."
        since = [before for bound, before in bounds if bound <= key]
        until = [before for bound, before in bounds if bound > key]
        if not until:
            return f"{given} has the facts of every release from {since[-1]} on."
        if not since:
            return f"{given} has the facts of every release before {until[0]}."
        return f"{given} has the facts of the releases from {since[-1]} to before {until[0]}."

    @property
    def is_generic(self) -> bool:
        """The lump stands for everything that a named stack itemises."""
        return self.overhead_bytes is not None
