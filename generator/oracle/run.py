"""Two steps of a case; the second is reported, because the first has no optimizer states yet."""

import contextlib
import gc
import os
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing._internal.distributed.fake_pg import FakeStore

from generator.oracle import emulation
from generator.oracle.case import Case, Result
from generator.oracle.checkpointing import enable_checkpointing
from generator.oracle.models import build_model, count_base_parameters, count_trainable_parameters
from generator.oracle.optimizers import StepOptimizer, make_optimizer
from generator.oracle.strategies import apply_strategy
from generator.oracle.tracker import Tracker, local_tensor

NUM_STEPS = 2

PHASES = ("forward", "backward", "step")

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")


def run_case(case: Case, *, top: int = 0) -> Result:
    """What the second step of `case` allocates on one GPU.

    Args:
        case: The set-up.
        top: How many of the largest tensors alive at the peak to name.
    """
    started = time.monotonic()
    run = run_steps(case)
    phases = {phase: run.tracker.phase_peak(f"{phase}{NUM_STEPS}") for phase in PHASES}
    result = Result(
        case=case,
        num_parameters=run.num_parameters,
        num_trainable_parameters=run.num_trainable_parameters,
        phases=phases,
        parameter_bytes=run.parameter_bytes,
        gradient_bytes=run.gradient_bytes,
        optimizer_bytes=run.optimizer_bytes,
        forward_end_bytes=run.forward_end_bytes,
        seconds=round(time.monotonic() - started, 1),
    )
    if top:
        result.top.extend(run.tracker.largest_at_peak(f"{result.peak_phase}{NUM_STEPS}", top))
    return result


def run_steps(case: Case) -> "StepRun":
    """The finished run of a case, with the whole history in its tracker."""
    emulation.install()
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        if case.loss == "v4":
            stack.enter_context(emulation.old_loss())
        if case.strategy != "single":
            stack.enter_context(_fake_process_group(case.num_gpus))
        stack.enter_context(FakeTensorMode(allow_non_fake_inputs=True))
        run = StepRun(case)
        run.run()
        return run


@contextlib.contextmanager
def _fake_process_group(num_gpus: int) -> Iterator[None]:
    """A process group whose collectives return at once; this process is its rank 0."""
    dist.init_process_group("fake", rank=0, world_size=num_gpus, store=FakeStore())
    try:
        yield
    finally:
        dist.destroy_process_group()


class StepRun:
    """A model with its optimizer, and what was seen of it."""

    def __init__(self, case: Case) -> None:
        self.case = case
        model = build_model(case)
        self.num_parameters = count_base_parameters(model)
        self.num_trainable_parameters = count_trainable_parameters(model)
        model.train()
        enable_checkpointing(model, case.activation_checkpointing)
        self.tracker = Tracker()
        self.parameter_bytes = 0
        self.gradient_bytes = 0
        self.optimizer_bytes = 0
        self.forward_end_bytes = 0
        self.forward_end_time = 0
        self.model = apply_strategy(model, case, self.tracker)
        gc.collect()

    def run(self) -> None:
        """All steps."""
        tracker = self.tracker
        for parameter in self.model.parameters():
            tracker.retag(parameter, "weights")
        for buffer in self.model.buffers():
            tracker.retag(buffer, "weights")
        self.parameter_bytes = _category_bytes(tracker, "weights")
        trained = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        with tracker, tracker.watching_resizes(), _module_names(self.model, tracker):
            for parameter in trained:
                parameter.register_post_accumulate_grad_hook(self._tag_gradient)
            optimizer = make_optimizer(self.case, trained, tracker)
            for step in range(1, NUM_STEPS + 1):
                self._step(step, optimizer, trained)

    def _tag_gradient(self, parameter: nn.Parameter) -> None:
        if parameter.grad is not None:
            self.tracker.retag(parameter.grad, "gradients")

    def _step(self, step: int, optimizer: StepOptimizer, trained: list[nn.Parameter]) -> None:
        tracker, steps = self.tracker, self.case.gradient_accumulation_steps
        optimizer.zero_grad()
        for _ in range(steps):
            tracker.phase = f"forward{step}"
            ids = torch.zeros(
                self.case.micro_batch_size,
                self.case.sequence_length,
                dtype=torch.int64,
                device="cuda",
            )
            labels = torch.zeros_like(ids)
            tracker.retag(ids, "inputs")
            tracker.retag(labels, "inputs")
            with torch.autocast("cuda", torch.bfloat16, enabled=self.case.autocast):
                outputs = self.model(input_ids=ids, labels=labels, use_cache=False)
            if self.case.autocast:
                # accelerate converts what an autocast forward returns to FP32.
                converted = outputs.logits.float()
                del converted
            loss = outputs.loss / steps if steps > 1 else outputs.loss
            if not self.case.hold_outputs:
                del outputs
            self.forward_end_bytes = tracker.live_bytes
            tracker.time += 1  # what died with the outputs is not alive at this instant
            self.forward_end_time = tracker.time
            tracker.module_stack.clear()
            tracker.phase = f"backward{step}"
            loss.backward()
            del loss, ids, labels
            if self.case.hold_outputs:
                del outputs
        tracker.phase = f"step{step}"
        for parameter in trained:
            self._tag_gradient(parameter)
        self.gradient_bytes = _category_bytes(tracker, "gradients")
        self._clip(optimizer, trained)
        optimizer.step()
        for state in optimizer.state.values():
            for value in state.values():
                if isinstance(value, torch.Tensor):
                    tracker.retag(value, "optimizer")
        self.optimizer_bytes = _category_bytes(tracker, "optimizer")

    def _clip(self, optimizer: StepOptimizer, trained: list[nn.Parameter]) -> None:
        """Scale gradients to norm 1, as trainers do; on shards, each rank's own part of it."""
        main = getattr(optimizer, "main_gradients", None)
        gradients = main or [parameter.grad for parameter in trained if parameter.grad is not None]
        gradients = [local_tensor(gradient) for gradient in gradients]
        norm = torch.nn.utils.get_total_norm(gradients, foreach=True)
        torch._foreach_mul_(gradients, torch.clamp(1.0 / (norm + 1e-6), max=1.0))


def _category_bytes(tracker: Tracker, category: str) -> int:
    return sum(
        allocation.size_bytes
        for allocation in tracker.allocations
        if allocation.died is None and allocation.category == category
    )


@contextlib.contextmanager
def _module_names(model: nn.Module, tracker: Tracker) -> Iterator[None]:
    """Let the tracker know in which module an operator runs."""
    names = {id(module): name for name, module in model.named_modules()}

    def enter(module: nn.Module, _: Any) -> None:
        tracker.module_stack.append(names.get(id(module), type(module).__name__))

    def leave(*_: Any) -> None:
        if tracker.module_stack:
            tracker.module_stack.pop()

    register: Callable[..., Any] = nn.modules.module.register_module_forward_hook
    handles = [
        nn.modules.module.register_module_forward_pre_hook(enter),
        register(leave, always_call=True),
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
