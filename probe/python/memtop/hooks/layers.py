"""What each layer does in one step, measured by hooks on all modules.

PyTorch's global module hooks call this before each forward and after it, even if the forward fails.
Times are the processor's; nothing waits for a device. The time of a layer's backward comes from
hooks on the graph's nodes that its forward made. They change neither the graph nor a gradient.
"""

from __future__ import annotations

import ctypes
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable

import torch

from ..memory.registry import WHOLE, Holding, Registry, dtype_of, own_part, shape_of, storage_of, tensors_in
from ..memory.stacks import named_arguments
from ..names.caches import cached
from ..safety.compiled import await_compiling
from ..safety.guard import Guard
from ..safety.inspection import fields_of, items_of
from ..safety.threads import touches
from .graphs import is_leaf, nodes_in
from .models import Models
from .saved_tensors import SavedTensors, count_of_nodes


class Layer:
    """A row of the table: the sums over one step's calls of a module."""

    @touches
    def __init__(self, module: Any, name: str) -> None:
        self.name = name
        self.class_name = type(module).__name__
        self.parameter_bytes = sum(_size_of(p) for p in items_of(fields_of(module)["_parameters"]) if p is not None)
        self.output_shape = ""
        self.dtype = ""
        self.output_bytes = 0
        self.saved_bytes = 0  # the most at once
        self.kept: list[Holding] = []  # what it has saved and may still be alive
        self.kept_bytes = 0
        self.forward_ns = 0
        self.recompute_ns = 0
        self.calls = 0
        self.checkpointed = False
        self.made: list[Call] = []  # calls that a backward may follow

    def keep(self, holding: Holding) -> None:
        """Count a storage that the layer has saved for the first time."""
        self.kept.append(holding)
        self.kept_bytes += holding.size
        self.saved_bytes = max(self.saved_bytes, self.kept_bytes)

    def settle(self) -> None:
        """Count as freed what has ended."""
        self.kept = [holding for holding in self.kept if holding.reference is not None]
        self.kept_bytes = sum(holding.size for holding in self.kept)

    def json(self) -> dict[str, Any]:
        """Return the layer as a message of the protocol has it."""
        return {
            "name": self.name, "class": self.class_name, "output_shape": self.output_shape, "dtype": self.dtype,
            "parameter_bytes": self.parameter_bytes, "output_bytes": self.output_bytes, "saved_bytes": self.saved_bytes,
            "forward_ns": self.forward_ns, "recompute_ns": self.recompute_ns,
            "backward_ns": sum(max(0, call.backward_ended - call.backward_began) for call in self.made),
            "calls": self.calls, "checkpointed": self.checkpointed,
        }  # fmt: skip


class Call:
    """A forward and its backward. Times are in nanoseconds of one clock, 0 for what has not happened yet."""

    __slots__ = (
        "backward_began", "backward_ended", "began", "entry", "inputs", "layer", "module", "parent", "recompute",
        "since",
    )  # fmt: skip

    def __init__(self, module: Any, layer: Layer, parent: Call | None, recompute: bool) -> None:
        self.module = module
        self.layer = layer
        self.parent = parent
        self.recompute = recompute
        self.entry: Any = None  # the node that made the input: when it runs, the layer's backward is over
        self.inputs: set[Any] = set()  # the nodes that made all inputs
        self.since = count_of_nodes()
        self.backward_began = 0
        self.backward_ended = 0
        self.began = time.perf_counter_ns()

    def begin_backward(self, *_: Any) -> None:
        """Note that the node of the output is about to run."""
        self.backward_began = self.backward_began or time.perf_counter_ns()

    def end_backward(self, *_: Any) -> None:
        """Note that a node of the layer has run: the backward of this call and of the calls around it lasts until
        now."""
        now = time.perf_counter_ns()
        call: Call | None = self
        while call is not None:
            if call.backward_began:
                call.backward_ended = now
            call = call.parent


@touches
class Layers:
    """Keeps the table of a step. Everything but `spent_ns` belongs to the training thread."""

    def __init__(
        self, models: Models, registry: Registry, new_model: Callable[[], None], guard: Guard, saved: SavedTensors
    ) -> None:
        self._guard = guard
        self._saved = saved
        self._new_model = new_model
        self._models = models
        self._registry = registry
        self._calls: list[Call] = []
        self._table: dict[int, Layer] = {}
        self.handles: list[Any] = []
        self._thread = 0
        self.spent_ns = 0  # time spent in the hooks
        self.losses: list[float] = []  # models' results that are one number, in order
        self._passes: dict[int, int] = {}  # by id, how often each model has run in training in this step
        self._accumulated: bool | None = None  # in the last measured step, None before it

    @property
    def current(self) -> str | None:
        """The name of the layer whose forward is running, None outside all layers."""
        return self._calls[-1].layer.name if self._calls else None

    @property
    def accumulates(self) -> bool:
        """Whether a model runs several times in a step, or may: before the first measured step this is not known."""
        if self._passes:
            return max(self._passes.values()) > 1
        return self._accumulated is not False

    def on(self) -> None:
        """Register the hooks."""
        self._thread = threading.get_ident()
        if not self.handles:
            hooks = torch.nn.modules.module
            self.handles.append(await_compiling())
            self.handles.append(hooks.register_module_forward_pre_hook(self._guard(self._before)))
            self.handles.append(hooks.register_module_forward_hook(self._guard(self._after), always_call=True))

    def off(self) -> None:
        """Remove the hooks. A running forward is no longer measured."""
        for handle in self.handles:
            handle.remove()
        self.handles.clear()
        self._calls.clear()
        self._table.clear()
        self.losses.clear()
        self._passes.clear()

    def take(self) -> list[dict[str, Any]]:
        """Return the table in the order in which the layers ran, and begin a new one."""
        table, self._table = self._table, {}
        self.losses.clear()
        self._accumulated = max(self._passes.values(), default=0) > 1
        self._passes.clear()
        return [layer.json() for layer in table.values()]

    @contextmanager
    def again(self, module: Any) -> Iterator[None]:
        """Measure a forward that is recomputed in the backward pass without the hooks of a call."""
        if not self.handles:
            yield
            return
        self._enter(module, (), None)
        try:
            yield
        finally:
            self._after(module, (), None)

    def begin_call(self, model: Any, inputs: Any, named: Any) -> None:
        """Register the hooks within the call of a model that has just begun, with its arguments."""
        self.on()
        self._enter(model, inputs, named)

    def end_call(self, model: Any, output: Any) -> None:
        """Note the end of the model's call."""
        self._after(model, (), output)

    def _before(self, module: Any, inputs: Any) -> None:
        self._enter(module, inputs, None)

    def _enter(self, module: Any, inputs: Any, named: Any) -> None:
        if threading.get_ident() != self._thread:
            return
        start = time.perf_counter_ns()
        if not self._calls and torch._C._current_graph_task_id() == -1:
            if self._models.add(module):
                self._new_model()
            self._registry.settle()
            for layer in self._table.values():  # the backward of the call before has freed what it saved
                layer.settle()
            if module.training and torch.is_grad_enabled():
                self._passes[id(module)] = self._passes.get(id(module), 0) + 1
            given = (*inputs, named_arguments() if named is None else named)
            self._see_caches("", given)
            for tensor in tensors_in(given):
                if is_leaf(tensor):
                    self._registry.see(tensor, "input", role="argument")
        row = self._table.get(id(module))
        if row is None:
            row = self._table[id(module)] = Layer(module, self._models.name(module))
        parent = self._calls[-1] if self._calls else None
        call = Call(module, row, parent, torch._C._current_graph_task_id() != -1)
        nodes = list(nodes_in(inputs))
        call.inputs, call.entry = set(nodes), nodes[0] if nodes else None
        self._calls.append(call)
        self.spent_ns += call.began - start

    def _after(self, module: Any, inputs: Any, output: Any) -> None:
        if threading.get_ident() != self._thread:
            return
        end = time.perf_counter_ns()
        while self._calls and self._calls[-1].module is not module:
            self._calls.pop()  # a failed hook hid the end of an inner call
        if not self._calls:
            return
        call = self._calls.pop()
        call.module = None  # the module may be freed before its backward
        layer = call.layer
        if call.recompute:
            layer.recompute_ns += end - call.began
            layer.checkpointed = True
        else:
            layer.calls += 1
            layer.forward_ns += end - call.began
            self._saved.made(layer, (output,), call.inputs, call.since)
            self._results(call, output)
        call.inputs = set()
        self.spent_ns += time.perf_counter_ns() - end

    def _results(self, call: Call, output: Any) -> None:
        layer, tensors = call.layer, list(tensors_in(output))
        self._see_caches(layer.name, output)
        if not tensors:
            return
        layer.output_shape, layer.dtype = shape_of(tensors[0]), dtype_of(tensors[0])
        layer.output_bytes = sum(map(_size_of, tensors))
        for tensor in tensors:
            self._registry.see(tensor, "activation" if tensor.requires_grad else "inference", layer.name, "output")
            if not self._calls and tensor.dim() == 0 and tensor.requires_grad and tensor.device.type == "cpu":
                value = number(tensor)  # not the tensor: its memory would stay
                self.losses += [] if value is None else [value]
        node = next(nodes_in(tensors), None)
        if node is not None:
            self._time_backward(call, node)

    def _see_caches(self, layer: str, value: Any) -> None:
        for category, name, tensor in cached(value):
            self._registry.see(tensor, category, layer, name)

    def _time_backward(self, call: Call, node: Any) -> None:
        """Time a backward. It begins with the node that made the output. It ends when the node that made the input
        begins, or else with the last node that is known to belong to the layer."""
        call.layer.made.append(call)
        node.register_prehook(call.begin_backward)
        node.register_hook(call.end_backward)
        if call.entry is not None and call.entry is not node:
            call.entry.register_prehook(call.end_backward)
        call.entry = None


@touches
def _size_of(tensor: Any) -> int:
    """Return the bytes of a tensor, or of this rank's part of it."""
    own = own_part(tensor)
    return int(own.numel() * own.element_size())


_CODES = {torch.float64: "d", torch.float32: "f", torch.float16: "e", torch.bfloat16: "f"}  # of `struct`


@touches
def number(value: Any) -> float | None:
    """Return the value of a scalar on the processor, read from its memory: neither a mode nor a profile of the program
    sees that. None if it has none there, such as within torch.func, or is of a kind of its own."""
    if type(value) not in WHOLE or value.dtype not in _CODES or value.is_neg():
        return None
    storage, address = storage_of(value)
    if address == 0:
        return None
    size, offset = value.element_size(), value.storage_offset() * value.element_size()
    if storage.nbytes() < offset + size:  # it has been freed
        return None
    short = b"\0\0" if value.dtype is torch.bfloat16 else b""  # the upper half of a float32
    return float(struct.unpack(_CODES[value.dtype], short + ctypes.string_at(address + offset, size))[0])
