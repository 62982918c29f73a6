"""What the blocks of a model do in one step: what recomputing them would save, and whether it is safe.

Only some steps are surveyed, with hooks that are there for that step only.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.weak import TensorWeakRef

from ..hooks.graphs import nodes_in
from ..hooks.models import Models
from ..link.program import Refused
from ..memory.registry import Registry, tensors_in
from ..memory.stacks import named_arguments
from ..safety.interrupts import let_through
from ..safety.modes import unseen
from ..safety.threads import touches
from .blocks import blocks_of
from .course import Course, Record
from .effects import State, custom_function, strange
from .reach import Reach

# Measured steps that are surveyed after a viewer comes. What was there before the first is not all known in it, such as
# gradients, so nothing is predicted from it.
FIRST = 2
EVERY = 32  # measured steps from one survey to the next
GIVEN = "it is given a "  # the reason begins so if a block takes more than tensors


class Seen:
    """What the survey found out about a block in one step."""

    def __init__(self, block: Any, within: tuple[Any, ...]) -> None:
        self.module = weakref.ref(block)
        self.within = tuple(map(weakref.ref, within))
        self.calls: list[int] = []  # the numbers of its forwards that a backward may follow
        self.forward_ns = 0
        self.reach = Reach(block)
        self.why_not = ""  # why it must not be recomputed, "" if it may be


class Survey:
    """Watches one step at a time. It belongs to the training thread. Its results are replaced, never modified."""

    def __init__(self, models: Models, registry: Registry, course: Course) -> None:
        self._models = models
        self._registry = registry
        self._course = course
        self.handles: list[Any] = []
        self._seen: dict[int, Seen] = {}  # by id of the block
        self._roots: set[int] = set()  # ids of the models
        self._ran: dict[int, weakref.ref[Any]] = {}  # by id, the models that ran in training
        self._running: _Call | None = None
        self._calls = 0
        self._thread = 0
        self._mixed = ""
        self.ended = False  # a survey from which to predict has ended with this step: not the first since a viewer came
        self._looks = 0  # measured steps since the last viewer came
        self.spent_ns = 0
        self.compiled = False  # the program uses torch.compile: nothing is surveyed
        self.plain = True  # no setting recomputes anything now, so a survey sees what could be saved
        self.amp = "off"  # the value of that setting; unless it is off, autocast is not the program's own
        self._custom = ""
        self.custom = ""  # a function in a model whose backward the program defines
        self.mixed = ""  # the type that the program's own autocast uses for its model
        self.blocks: list[Seen] = []  # those that ran
        self.record: Record | None = None  # of the last surveyed step, None before the first
        self._trained: list[weakref.ref[Any]] = []

    @property
    def trained(self) -> list[Any]:
        """The models that ran in training."""
        return [model for reference in self._trained if (model := reference()) is not None]

    def renew(self) -> None:
        """Survey the next measured steps."""
        self._looks = 0

    def demand(self) -> None:
        """Raise `Refused`, with the reason, if no step has been surveyed."""
        if self.record is not None:
            return
        if self.compiled:
            raise Refused("the program uses torch.compile, and the compiled code would ignore the change")
        raise Refused("no step has been measured yet: try again after the next one")

    @touches
    def begin(self) -> None:
        """Watch the step that begins, if a survey is due."""
        self._looks += 1
        if self.handles or not self.plain or (self._looks > FIRST and self._looks % EVERY):
            return
        hooks = torch.nn.modules.module
        self._roots, self._ran = {id(model) for model in self._models}, {}
        self._seen = {id(b): Seen(b, within) for model in self._models for b, within in blocks_of(model)}
        self._running, self._calls, self._mixed, self._custom = None, 0, "", ""
        self._thread = threading.get_ident()
        before, after = hooks.register_module_forward_pre_hook, hooks.register_module_forward_hook
        self.handles.append(before(self._before))
        self.handles.append(after(self._after))
        self._registry.settle()
        self._course.begin(self._registry.holdings(), self.amp)

    def end(self) -> bool:
        """End the step and keep what was found. Report whether the step was surveyed."""
        if not self.handles:
            return False
        self.leave()
        self.record, self.ended = self._course.end(), self._looks >= FIRST
        self.blocks = [seen for seen in self._seen.values() if seen.calls or seen.why_not]
        self.mixed, self.custom, self._trained = self._mixed, self._custom, list(self._ran.values())
        return True

    def leave(self) -> None:
        """Remove the hooks."""
        for handle in self.handles:
            handle.remove()
        self.handles.clear()

    @unseen
    def _before(self, module: Any, inputs: Any) -> None:
        start = time.perf_counter_ns()
        try:
            self._begin_call(module, inputs)
        except Exception as error:
            let_through(error)
            self._give_up()
        self.spent_ns += time.perf_counter_ns() - start

    @touches
    def _begin_call(self, module: Any, inputs: Any) -> None:
        if torch._C._current_graph_task_id() != -1:
            self._again(module)
            return
        if threading.get_ident() != self._thread:
            return
        if self.amp == "off":
            self._mixed = self._mixed or autocast_type()
        if id(module) in self._roots and module.training and torch.is_grad_enabled():
            self._ran[id(module)] = weakref.ref(module)
        seen = self._seen.get(id(module))
        if seen is None or self._running is not None or not (module.training and torch.is_grad_enabled()):
            return
        self._calls += 1
        self._course.call = self._calls
        if (to := autocast_type()) and torch.is_autocast_cache_enabled():
            self._course.record.casts.update(casts_of(module, to))
        given = (inputs, named_arguments())
        for tensor in tensors_in(given):
            self._course.given(self._registry.find(tensor))
        self._running = _Call(seen, module, given, self._calls)

    @unseen
    def _after(self, module: Any, inputs: Any, output: Any) -> None:
        start = time.perf_counter_ns()
        try:
            self._end_call(module, inputs, output, start)
        except Exception as error:
            let_through(error)
            self._give_up()
        self.spent_ns += time.perf_counter_ns() - start

    def _give_up(self) -> None:
        """Stop the survey: the program does something that it cannot handle."""
        self.leave()
        self._course.end()

    @touches
    def _end_call(self, module: Any, inputs: Any, output: Any, now: int) -> None:
        if id(module) in self._roots and threading.get_ident() == self._thread:
            self._custom = self._custom or custom_function(output, set(nodes_in(inputs)))
            self._course.ended()
        call = self._running
        if call is None or call.module is not module or threading.get_ident() != self._thread:
            return
        self._running, self._course.call = None, 0
        call.end(output, now)
        node = next(nodes_in(output), None)
        if node is not None:
            node.register_prehook(lambda *_: self._begin_backward(call))

    @unseen
    def _begin_backward(self, call: _Call) -> None:
        self._registry.settle()  # count as freed what ended before the backward
        self._course.backward(call.number)
        call.check_inputs()

    @touches
    def _again(self, module: Any) -> None:
        """Note that the program itself already recomputes a module."""
        for seen in self._seen.values():
            own = seen.module()
            if own is not None and any(part is module for part in own.modules()):
                seen.why_not = "the program already recomputes it"


def autocast_type() -> str:
    """Return the type that autocast converts to now, "" if it is off."""
    for device in ("cuda", "cpu"):
        if torch.is_autocast_enabled(device):
            return str(torch.get_autocast_dtype(device)).replace("torch.", "")
    return ""


@touches
def casts_of(module: Any, to: str) -> Iterator[tuple[str, str]]:
    """Yield the shapes and the type that autocast gives a module's parameters, also those of transposed ones."""
    for parameter in module.parameters():
        shape = list(parameter.shape)
        for each in (shape, shape[::-1]):
            yield str(each), to.replace("bfloat", "bf").replace("float", "fp")


@touches
class _Call:
    """One forward of a block, and the state in which it began."""

    def __init__(self, seen: Seen, module: Any, given: Any, number: int) -> None:
        self.module = module
        self.number = number
        self._seen = seen
        self._inputs = [(TensorWeakRef(t), t._version) for t in tensors_in(given) if not t.is_inference()]
        self._entries = set(nodes_in(given))
        self._before = State(module, seen.reach)
        self._strange = strange(given)
        self._began = time.perf_counter_ns()

    def end(self, output: Any, now: int) -> None:
        """Note what the forward did. `now` is when it ended, by the performance counter."""
        seen = self._seen
        seen.forward_ns += now - self._began
        seen.calls.append(self.number)
        custom = custom_function(output, self._entries)
        if self._strange:
            seen.why_not = f"{GIVEN}{self._strange}, which a second forward might change again"
        elif custom:
            seen.why_not = f"it uses {custom}, an autograd function that the program defines"
        else:
            seen.why_not = seen.why_not or self._before.changes()
        self.check_inputs()

    def check_inputs(self) -> None:
        """Note whether the block's inputs have been changed in place."""
        for reference, version in self._inputs:
            tensor = reference()  # its version counts every change of the memory, by any tensor that shares it
            if tensor is not None and tensor._version != version:
                self._seen.why_not = "its input is changed in place"
