"""What the blocks of a model do in one step: what it takes to say what computing them again would save, and whether
that is safe.

A survey is made of a step now and then, by hooks that are there for that step only.
"""

from __future__ import annotations

import random
import sys
import threading
import time
import weakref
from typing import Any

import torch

from ..models import Models
from ..registry import Registry, tensors_in
from .blocks import Block, blocks_of
from .course import Course, Record

GIVEN = "it is given a "  # so begins why a block must not be computed again that is given more than tensors
PLAIN = (type(None), bool, int, float, complex, str, bytes, torch.Tensor, torch.dtype, torch.device, torch.Size)


class Seen:
    """What was seen of a block in one step."""

    def __init__(self, block: Block) -> None:
        self.module = weakref.ref(block.module)
        self.within = tuple(weakref.ref(module) for module in block.within)
        self.calls: list[int] = []  # numbers of its forwards that a backward may follow
        self.forward_ns = 0
        self.why_not = ""  # it must not be computed again, "" if it may


class Survey:
    """Watches one step at a time. It belongs to the thread that trains; `blocks` and `record` are replaced, never changed."""

    def __init__(self, models: Models, registry: Registry, course: Course) -> None:
        self._models = models
        self._registry = registry
        self._course = course
        self._handles: list[Any] = []
        self._seen: dict[int, Seen] = {}  # by identity of the block
        self._running: _Call | None = None
        self._calls = 0
        self._thread = 0
        self._mixed = ""
        self.mixed = ""  # the type of which the program has autocast run its model
        self.blocks: list[Seen] = []  # those whose forward ran
        self.record: Record | None = None  # the step, None before the first

    def begin(self, categories: dict[str, int]) -> None:
        """Watch the step that begins, with so many bytes in use."""
        if self._handles:
            return
        hooks = torch.nn.modules.module
        self._seen = {id(b.module): Seen(b) for model in self._models for b in blocks_of(model)}
        self._running, self._calls, self._mixed = None, 0, ""
        self._thread = threading.get_ident()
        self._handles = [hooks.register_module_forward_pre_hook(self._before), hooks.register_module_forward_hook(self._after)]
        self._course.begin(categories)

    def end(self) -> None:
        """Have the step be over, and keep what was seen."""
        if not self._handles:
            return
        self.leave()
        self.record = self._course.end()
        self.blocks = [seen for seen in self._seen.values() if seen.calls or seen.why_not]
        self.mixed = self._mixed

    def leave(self) -> None:
        """Take the hooks away."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _before(self, module: Any, inputs: Any) -> None:
        if torch._C._current_graph_task_id() != -1:
            self._again(module)
            return
        if threading.get_ident() != self._thread:
            return
        self._mixed = self._mixed or autocast_type()
        seen = self._seen.get(id(module))
        if seen is None or self._running is not None or not (module.training and torch.is_grad_enabled()):
            return
        self._calls += 1
        self._course.call = self._calls
        given = (inputs, named_arguments())
        for tensor in tensors_in(given):
            self._course.given(self._registry.find(tensor))
        self._running = _Call(seen, module, given, self._calls)

    def _after(self, module: Any, inputs: Any, output: Any) -> None:
        call = self._running
        if call is None or call.module is not module or threading.get_ident() != self._thread:
            return
        self._running, self._course.call = None, 0
        call.end(output)
        node = next((t.grad_fn for t in tensors_in(output) if t.grad_fn is not None), None)
        if node is not None:
            number = call.number
            node.register_prehook(lambda *_: (self._course.backward(number), call.check_inputs())[0])

    def _again(self, module: Any) -> None:
        """Note that a module is computed again already."""
        for seen in self._seen.values():
            own = seen.module()
            if own is not None and any(part is module for part in own.modules()):
                seen.why_not = "the program computes it again already"


class _Call:
    """A forward of a block, and how things were when it began."""

    def __init__(self, seen: Seen, module: Any, given: Any, number: int) -> None:
        self.module = module
        self.number = number
        self._seen = seen
        self._inputs = [(weakref.ref(t), t._version) for t in tensors_in(given) if not t.is_inference()]
        self._entries = {t.grad_fn for t in tensors_in(given) if t.grad_fn is not None}
        self._before = _State(module)
        self._strange = next((type(value).__name__ for value in _values(given) if not isinstance(value, PLAIN)), "")
        self._began = time.perf_counter_ns()

    def end(self, output: Any) -> None:
        """Note what the forward did."""
        seen = self._seen
        seen.forward_ns += time.perf_counter_ns() - self._began
        seen.calls.append(self.number)
        custom = custom_function(output, self._entries)
        if self._strange:
            seen.why_not = f"{GIVEN}{self._strange}, which a second forward might change again"
        elif custom:
            seen.why_not = f"it uses {custom}, a function with a backward of the program's own"
        else:
            seen.why_not = seen.why_not or self._before.changes(self.module)
        self.check_inputs()

    def check_inputs(self) -> None:
        """Note whether what the block was given is still that."""
        for reference, version in self._inputs:
            tensor = reference()
            if tensor is not None and tensor._version != version:
                self._seen.why_not = "what it is given is changed in place"


class _State:
    """What a forward may change beside its output, and a second one would change again."""

    def __init__(self, module: Any) -> None:
        self._random = random.getstate()
        self._numpy = _numpy_state()
        self._parts = [(part, _attributes(part), _buffers(part)) for part in module.modules()]

    def changes(self, module: Any) -> str:
        """Say what was changed, "" if nothing was."""
        if self._random != random.getstate() or self._numpy != _numpy_state():
            return "it draws random numbers of Python or NumPy, which a second forward would not draw again"
        for part, attributes, buffers in self._parts:
            now = _attributes(part)
            changed = next((name for name in {**now, **attributes} if now.get(name) is not attributes.get(name)), "")
            if changed:
                return f"its {type(part).__name__} changes {changed}, and a second forward would change it again"
            if buffers != _buffers(part) and not isinstance(part, torch.nn.modules.batchnorm._NormBase):
                return f"its {type(part).__name__} changes its buffers, and a second forward would change them again"
        return ""


def _attributes(module: Any) -> dict[str, Any]:
    return {name: value for name, value in module.__dict__.items() if not isinstance(value, dict)}


def _buffers(module: Any) -> list[tuple[int, int]]:
    return [(id(b), b._version) for b in module._buffers.values() if b is not None and not b.is_inference()]


def _numpy_state() -> Any:
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    name, keys, *rest = numpy.random.get_state()
    return name, keys.tobytes(), rest


def _values(value: Any, depth: int = 4) -> Any:
    """Yield what containers hold."""
    if isinstance(value, (list, tuple, set)) and not isinstance(value, torch.Size) and depth:
        for item in value:
            yield from _values(item, depth - 1)
    elif type(value) is dict and depth:
        for item in value.values():
            yield from _values(item, depth - 1)
    else:
        yield value


def custom_function(output: Any, entries: set[Any]) -> str:
    """Return the name of a function of the program's own in the graph between a block's input and output, or ""."""
    stack = [t.grad_fn for t in tensors_in(output) if t.grad_fn is not None]
    known = set(stack) | entries
    while stack:
        node = stack.pop()
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            return type(node).__name__
        for following, _ in node.next_functions:
            if following is not None and following not in known:
                known.add(following)
                stack.append(following)
    return ""


def named_arguments() -> Any:
    """Return what a module that is about to run was given by name, which hooks for all modules are not told of."""
    frame = sys._getframe(2)
    return frame.f_locals.get("kwargs") if frame.f_code.co_filename.endswith("module.py") else None


def autocast_type() -> str:
    """Return the type to which autocast turns results now, "" where it is off."""
    for device in ("cuda", "cpu"):
        if is_autocast(device):
            return autocast_to(device)
    return ""


if hasattr(torch, "get_autocast_dtype"):

    def is_autocast(device: str) -> bool:
        """Report whether autocast is on for a kind of device."""
        return bool(torch.is_autocast_enabled(device))

    def autocast_to(device: str) -> str:
        """Return the type that autocast turns results to."""
        return str(torch.get_autocast_dtype(device)).replace("torch.", "")

else:

    def is_autocast(device: str) -> bool:
        """Report whether autocast is on for a kind of device."""
        return bool(torch.is_autocast_enabled() if device == "cuda" else torch.is_autocast_cpu_enabled())

    def autocast_to(device: str) -> str:
        """Return the type that autocast turns results to."""
        got = torch.get_autocast_gpu_dtype() if device == "cuda" else torch.get_autocast_cpu_dtype()
        return str(got).replace("torch.", "")
