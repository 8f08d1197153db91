"""What an out-of-memory message says: the sizes in it, and the tensor that the failed request was.

The size of a tensor is a product of known dimensions, so the request often names it: 7.83 GiB is
16,384 tokens x 128,256 vocabulary entries x 4 bytes. The allocator asks the driver in steps, and
prints what it asked for: 2 MiB for a tensor of up to 1 MiB, 20 MiB below 10 MiB, else whole 2 MiB.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from generator.core.errors import TrainfitError
from generator.core.ladder import RUNGS
from generator.core.memory import case_resident
from generator.core.model import Attention, LatentAttention, MixtureOfExperts, Mlp, Model, Tensor
from generator.core.params import num_parameters, tensors
from generator.core.run import Case
from generator.core.sharding import DEEPSPEED_BUCKET_ELEMENTS
from generator.core.units import GIB, MIB, ceil_div

MAX_MESSAGE_CHARACTERS = 20_000
UNITS = {"bytes": 1, "kib": 1 << 10, "mib": MIB, "gib": GIB, "kb": 1 << 10, "mb": MIB, "gb": GIB}
"""PyTorch prints binary units; people who shorten a message often drop the `i`."""
SMALL_REQUEST_BYTES = 20 * MIB
"""A request of this size is the allocator's step for small tensors, and names none."""
NEAR_SHARE = 0.02
"""How far off a size may be and still be worth a mention."""
MOST_CANDIDATES = 6
MOST_TOKENS = 1 << 20
"""More tokens than any micro-batch has: the request was something else."""
UNLIKELY = 5
"""Rank of what only another GPU count would make; shown where there is nothing better."""

REMEDIES = {
    "loss": ("A chunked or fused loss never holds all logits.", "explain/loss/"),
    "activations": (
        "A smaller micro-batch, a shorter sequence, or activation checkpointing.",
        "explain/activations/",
    ),
    "attention": (
        "FlashAttention or SDPA never hold the scores.",
        "explain/activations/",
    ),
    "weights": ("The weights do not fit: shard or quantise them.", "explain/sharding/"),
    "states": (
        "Shard the optimizer states (ZeRO, FSDP), take 8-bit states, or LoRA.",
        "explain/optimizers/",
    ),
    "buffers": ("ZeRO-3 has no flat copy of all weights; smaller buckets.", "explain/sharding/"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """The sizes in a message, in bytes; None where it does not say."""

    requested: int
    rounding: int
    """Half of the last printed digit of the request: it lies this close to what is printed."""
    capacity: int | None = None
    free: int | None = None
    in_use: int | None = None
    allocated: int | None = None
    unallocated: int | None = None
    """Reserved by PyTorch but unallocated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A tensor of the run: what it is, the product that gives its bytes, when it is made."""

    label: str
    factors: tuple[tuple[int, str], ...]
    num_bytes: int
    phase: str
    kind: str
    rank: int = 0
    """How likely such a tensor is in this run: 0 before 1 before 2."""
    divisor: int = 1
    """GPUs that share it."""

    @property
    def formula(self) -> str:
        """The product in words: `16,384 tokens × 128,256 vocabulary × 4 B`."""
        product = " × ".join(f"{number:,} {name}".strip() for number, name in self.factors)
        return product if self.divisor == 1 else f"{product} / {self.divisor} GPUs"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Size:
    num_bytes: int
    rounding: int
    before: str
    after: str


def _words(text: str) -> list[str]:
    """Words without punctuation around them; a number and a unit that touch are two words."""
    words = []
    for raw in text.replace("(", " ").replace(")", " ").replace(";", " ; ").split():
        word = raw.strip(".,:'\"`*").lower()
        digits = len(word)
        while digits and not (word[digits - 1].isdigit()):
            digits -= 1
        if digits and word[digits:] in UNITS:
            words += [word[:digits], word[digits:]]
        else:
            words.append(word)
    return words


def _sizes(text: str) -> list[_Size]:
    """Every size in a text with the words around it."""
    words = _words(text)
    found = []
    for index in range(len(words) - 1):
        number, unit = words[index].replace(",", ""), words[index + 1]
        whole, _, decimals = number.partition(".")
        if unit not in UNITS or not whole.isdigit() or not (decimals == "" or decimals.isdigit()):
            continue
        if len(whole) > 15 or len(decimals) > 6:
            continue
        scale = UNITS[unit]
        # In integers, so that both Pythons agree to the byte.
        value = int(whole + decimals) * scale // 10 ** len(decimals)
        found.append(
            _Size(
                num_bytes=value,
                rounding=scale // (2 * 10 ** len(decimals)) + 1,
                before=" ".join(words[max(index - 4, 0) : index]),
                after=" ".join(words[index + 2 : index + 8]),
            )
        )
    return found


def parse_message(text: str) -> Message:
    """The sizes of a message of CUDA or HIP, new style or old, or of a bare size.

    Args:
        text: The message, with whatever stands around it.

    Raises:
        TrainfitError: there is no size in it, or it is far too long.

    Source: c10/cuda/CUDACachingAllocator.cpp of PyTorch 1.13 to 2.9, `OutOfMemoryError`.
    """
    if len(text) > MAX_MESSAGE_CHARACTERS:
        raise TrainfitError(
            "input-too-large",
            "message",
            f"The message has {len(text):,} characters; paste the paragraph that says "
            f"'Tried to allocate', {MAX_MESSAGE_CHARACTERS:,} at most.",
        )
    sizes = _sizes(text)
    requested = next((size for size in sizes if size.before.endswith("to allocate")), None)
    if requested is None and len(sizes) == 1:
        requested = sizes[0]
    if requested is None:
        raise TrainfitError(
            "bad-request",
            "message",
            "No 'Tried to allocate 1.23 GiB' is in the message; paste that sentence, or the size "
            "alone.",
        )

    def first(*, before: str = "", after: tuple[str, ...] = ("",)) -> int | None:
        for size in sizes:
            if size.before.endswith(before) and size.after.startswith(after):
                return size.num_bytes
        return None

    allocated = first(after=("is allocated by pytorch", "already allocated"))
    unallocated = first(after=("is reserved by pytorch but unallocated",))
    reserved = first(after=("reserved in total by pytorch",))
    if unallocated is None and reserved is not None and allocated is not None:
        unallocated = max(reserved - allocated, 0)
    capacity = first(before="total capacity of")
    return Message(
        requested=requested.num_bytes,
        rounding=requested.rounding,
        capacity=capacity if capacity is not None else first(after=("total capacity",)),
        free=first(after=("is free", "free")),
        in_use=first(after=("memory in use",)),
        allocated=allocated,
        unallocated=unallocated,
    )


def driver_bytes(num_bytes: int) -> int:
    """What the allocator asks the driver for, for a tensor of this size, in bytes.

    Source: `get_allocation_size` in c10/cuda/CUDACachingAllocator.cpp, PyTorch 2.9.
    """
    if num_bytes <= MIB:
        return 2 * MIB
    if num_bytes < 10 * MIB:
        return 20 * MIB
    return ceil_div(num_bytes, 2 * MIB) * 2 * MIB


def _product(
    label: str, *factors: tuple[int, str], phase: str, kind: str, rank: int = 0
) -> Candidate:
    num_bytes = 1
    for number, _ in factors:
        num_bytes *= number
    return Candidate(
        label=label, factors=factors, num_bytes=num_bytes, phase=phase, kind=kind, rank=rank
    )


def _activations(case: Case) -> Iterator[Candidate]:
    """Tensors that follow from tokens: logits, scores, and what a block makes."""
    model, workload = case.model, case.workload
    length, batch = workload.sequence_length, workload.micro_batch_size
    tokens = (length * batch, "tokens")
    vocabulary = (model.vocab_size, "vocabulary")
    for size, dtype in ((4, "FP32"), (2, "16-bit")):
        for name, count in (("logits", length), ("shifted logits", length - 1)):
            yield _product(
                f"{dtype} {name}", (count * batch, "tokens"), vocabulary, (size, "B"),
                phase="loss", kind="loss",
            )  # fmt: skip
    heads, widths = _heads_and_widths(model)
    for number in heads:
        for size, dtype in ((4, "FP32"), (2, "16-bit")):
            yield _product(
                f"{dtype} attention scores",
                (batch, "sequences"), (number, "heads"), (length, "tokens"), (length, "tokens"),
                (size, "B"),
                phase="forward", kind="attention", rank=0 if workload.attention == "eager" else 3,
            )  # fmt: skip
    for width, name in widths:
        for size, dtype in ((2, "16-bit"), (4, "FP32")):
            yield _product(
                f"{dtype} {name}", tokens, (width, "wide"), (size, "B"),
                phase="forward", kind="activations", rank=size,
            )  # fmt: skip


def _heads_and_widths(model: Model) -> tuple[list[int], list[tuple[int, str]]]:
    """Head counts of the softmax layers, and widths of a token's tensors with their names."""
    heads: dict[int, None] = {}
    widths: dict[int, str] = {model.hidden_size: "hidden states"}
    for group in model.block_groups:
        for mixer in group.block.mixers:
            if isinstance(mixer, Attention):
                heads[mixer.num_attention_heads] = None
                query = mixer.num_attention_heads * mixer.head_dim
                widths.setdefault(query, "queries")
                widths.setdefault(
                    query + 2 * mixer.num_key_value_heads * mixer.head_dim, "queries, keys, values"
                )
            elif isinstance(mixer, LatentAttention):
                heads[mixer.num_attention_heads] = None
        part = group.block.feed_forward
        if isinstance(part, Mlp):
            widths.setdefault(part.intermediate_size, "MLP activations")
            widths.setdefault(2 * part.intermediate_size, "gate and up projections together")
        elif isinstance(part, MixtureOfExperts):
            routed = part.num_experts_per_token * part.moe_intermediate_size
            widths.setdefault(routed, "activations of the routed experts")
            widths.setdefault(2 * routed, "gate and up projections of the routed experts")
    return list(heads), list(widths.items())


def _whole(case: Case) -> Iterator[Candidate]:
    """Whole models and states, flat buffers, and shards of them."""
    total = num_parameters(case.model)
    trainable = case_resident(case).num_trainable_parameters
    # Label, parameters, bytes of each, phase, remedy, the ZeRO stage that shards it.
    whole = (
        ("all weights in 16 bit, or a flat buffer of them", total, 2, "load", "buffers", 3),
        ("all weights in FP32", total, 4, "load", "weights", 3),
        ("one FP32 optimizer state, or the master weights", trainable, 4, "optimizer step",
         "states", 1),
        ("all gradients in 16 bit", trainable, 2, "backward", "states", 2),
        ("one 8-bit optimizer state", trainable, 1, "optimizer step", "states", 1),
    )  # fmt: skip
    has_8bit_states = any(state.dtype == "blockwise-8bit" for state in case.optimizer.states)
    for label, number, size, phase, kind, stage in whole:
        if size == 1 and not has_8bit_states:
            continue
        for count in dict.fromkeys((1, case.num_gpus, *RUNGS)):
            is_as_set_up = count == (case.num_gpus if case.zero_stage >= stage else 1)
            yield Candidate(
                label=label if count == 1 else f"{label}: the shard of one of {count} GPUs",
                factors=((number, "parameters"), (size, "B")),
                divisor=count,
                num_bytes=ceil_div(number, count) * size,
                phase=phase,
                kind=kind,
                rank=1 if is_as_set_up else 3 if count == 1 else UNLIKELY,
            )


def _weights(case: Case) -> Iterator[Candidate]:
    """Single weight tensors, gathered units and buckets."""
    by_size: dict[int, list[Tensor]] = {}
    for tensor in tensors(case.model):
        if len(tensor.shape) > 1:
            by_size.setdefault(tensor.size, []).append(tensor)
    for equal in by_size.values():
        names = " or ".join(dict.fromkeys(tensor.module for tensor in equal))
        sides = tuple((side, "") for side in equal[0].shape)
        for size, dtype in ((2, "16-bit"), (4, "FP32")):
            yield _product(
                f"one {dtype} matrix, or its gradient: {names}", *sides, (size, "B"),
                phase="load", kind="weights", rank=1 if size == 2 else 3,
            )  # fmt: skip
    state = case_resident(case)
    for label, num_bytes in (
        ("the gathered weights of one block", state.gathered_block),
        ("the gathered weights outside the blocks", state.gathered_root),
    ):
        rank = 1 if case.zero_stage == 3 else 4
        yield _product(label, (num_bytes, "B"), phase="forward", kind="buffers", rank=rank)
    for size, dtype in ((2, "16-bit"), (4, "FP32")):
        yield _product(
            f"a {dtype} bucket of DeepSpeed", (DEEPSPEED_BUCKET_ELEMENTS, "elements"), (size, "B"),
            phase="backward", kind="buffers", rank=1 if case.zero_stage else 4,
        )  # fmt: skip


def _is_exact(candidate: Candidate, message: Message) -> bool:
    """Whether the allocator would print this request for that tensor."""
    for num_bytes in (driver_bytes(candidate.num_bytes), candidate.num_bytes):
        if abs(num_bytes - message.requested) <= message.rounding:
            return True
    return False


def candidates(case: Case, message: Message) -> list[tuple[Candidate, bool]]:
    """The tensors of a run that are as large as the failed request, the likeliest first.

    Args:
        case: The run that failed.
        message: Its message.

    Returns:
        Tensors, and whether the size is the printed one to its last digit. Where any is, those
        that are merely near are left out.

    Source: the arithmetic of docs/explain/out-of-memory.md.
    """
    if message.requested <= SMALL_REQUEST_BYTES:
        return []
    exact, near = [], []
    for candidate in (*_activations(case), *_whole(case), *_weights(case)):
        if _is_exact(candidate, message):
            exact.append(candidate)
        elif abs(candidate.num_bytes - message.requested) <= NEAR_SHARE * message.requested:
            near.append(candidate)
    found = sorted(
        exact or near,
        key=lambda each: (each.rank, abs(each.num_bytes - message.requested)),
    )
    likely = [each for each in found if each.rank < UNLIKELY]
    return [(candidate, bool(exact)) for candidate in (likely or found)[:MOST_CANDIDATES]]


def tokens_of_logits(model: Model, message: Message) -> list[tuple[str, int, int]]:
    """How many tokens the logits would have if the request was they: dtype, fewest, most.

    For a batch whose length nobody knows: padded, packed, or of varying length.

    Shape: tokens = bytes / (V * bytes of a value), as far as the printed digits tell.

    Args:
        model: Its vocabulary is one factor.
        message: Its request is the product.

    Source: generator/core/loss.py.
    """
    found = []
    for size, dtype in ((4, "FP32"), (2, "16-bit")):
        row = model.vocab_size * size
        # The allocator rounds up, so a tensor may be smaller than the request by one step.
        fewest = ceil_div(max(message.requested - message.rounding - 2 * MIB + 1, 1), row)
        most = (message.requested + message.rounding) // row
        if fewest <= most <= MOST_TOKENS:
            found.append((dtype, fewest, most))
    return found


def observations(message: Message) -> list[str]:
    """What the sizes say besides the tensor, in sentences.

    Args:
        message: The sizes.

    Source: docs/explain/out-of-memory.md, docs/explain/allocated-reserved.md.
    """
    notes = []
    if message.requested <= SMALL_REQUEST_BYTES:
        notes.append(
            "The request is small: the card was full before it, and the tensor is innocent. "
            "Look at what was allocated: usually weights and optimizer states."
        )
    if message.unallocated is not None and message.unallocated >= message.requested:
        notes.append(
            f"{format_gib(message.unallocated)} lay reserved but unallocated, more than the "
            "request: memory is fragmented. PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True helps."
        )
    if message.in_use is not None and message.allocated is not None:
        reserved = message.allocated + (message.unallocated or 0)
        notes.append(
            f"{format_gib(max(message.in_use - reserved, 0))} of the process is outside PyTorch's "
            "allocator: CUDA context, libraries, communication."
        )
        if message.capacity is not None and message.free is not None:
            others = message.capacity - message.free - message.in_use
            if others > GIB // 4:
                notes.append(f"{format_gib(others)} of the card belong to other processes.")
    if message.capacity is not None and message.requested > message.capacity:
        notes.append("The request alone is larger than the card.")
    return notes


def format_gib(num_bytes: int) -> str:
    """Bytes as the message prints them: `7.83 GiB`, `462.00 MiB`.

    Source: `format_size` in c10/cuda/CUDACachingAllocator.cpp, PyTorch 2.9.
    """
    if num_bytes >= GIB:
        return f"{num_bytes / GIB:,.2f} GiB"
    return f"{num_bytes / MIB:,.2f} MiB"


def decode(text: str, case: Case) -> dict[str, object]:
    """Everything that a message says of a run, as plain JSON types.

    Args:
        text: The message.
        case: The run that failed.

    Raises:
        TrainfitError: there is no size in the message.
    """
    message = parse_message(text)
    names_a_tensor = message.requested > SMALL_REQUEST_BYTES
    return {
        "message": {
            "requested_bytes": message.requested,
            "capacity_bytes": message.capacity,
            "free_bytes": message.free,
            "in_use_bytes": message.in_use,
            "allocated_bytes": message.allocated,
            "unallocated_bytes": message.unallocated,
        },
        "names_a_tensor": names_a_tensor,
        "candidates": [
            {
                "tensor": candidate.label,
                "formula": candidate.formula,
                "num_bytes": candidate.num_bytes,
                "is_exact": is_exact,
                "phase": candidate.phase,
                "remedy": REMEDIES[candidate.kind][0],
                "page": REMEDIES[candidate.kind][1],
            }
            for candidate, is_exact in candidates(case, message)
        ],
        "tokens_of_logits": [
            {"dtype": dtype, "fewest": fewest, "most": most}
            for dtype, fewest, most in tokens_of_logits(case.model, message)
            if names_a_tensor
        ],
        "observations": observations(message),
    }
