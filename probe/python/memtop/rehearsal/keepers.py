"""What keeps memory in a rehearsed program: a container that a variable leads to, or the graph of something that is
carried on.

A rehearsal looks where its program has just ended a step or a call of a model, in the program's own thread. No backward
pass runs there then, so that nodes and what they saved may be read, see graphs.py.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from functools import partial
from types import FrameType, FunctionType, ModuleType
from typing import Any, Callable

import torch

from ..hooks.graphs import WITH_GRAPH, is_leaf, is_node, nodes_in, saved_by
from ..hooks.models import Models, parameters_of, parts_of, trained_by
from ..memory.registry import KEEPABLE, Holding, Registry, storage_of
from ..names.categories import Gathering
from ..names.paths import DEEPEST, VariablePath
from ..names.variables import Names
from ..safety.inspection import fields_of, is_a
from ..safety.threads import touches

MOST = 100_000  # nodes that are visited in a look
STANDARD = getattr(sys, "stdlib_module_names", ())  # since Python 3.10
UNTRAINED = "parameters that no optimizer has, of "

Root = tuple[int, Callable[[], str], Any]  # its rank, its words, and a tensor with a graph or a node of one


@touches
class Keepers(Names):
    """Finds what keeps memory. It is used once."""

    def __init__(self, registry: Registry, *others: Any) -> None:
        super().__init__(registry, *others)
        self._roots: list[Root] = []
        self._viewed: dict[int, int] = {}  # by address, the bytes of what containers have of it

    def _name(self, way: VariablePath, frame: FrameType) -> None:
        if way.keeper:
            address = storage_of(way.value)[1]
            self._viewed[address] = self._viewed.get(address, 0) + way.value.nbytes
        super()._name(way, frame)

    def _note_graph(self, way: VariablePath, frame: FrameType, holding: Holding | None) -> None:
        rank = 0 if way.keeper else 1 if self._renews(way, frame) else 2
        self._roots.append((rank, partial(self._keeper, way, frame, WITH_GRAPH), way.value))

    def contained(self, found: list[Holding]) -> dict[int, str]:
        """Return what containers keep of what was found, in words, by address."""
        held = [h for h in found if h.keeper and h.category in KEEPABLE]
        parts = {h.address for h in held if 2 * self._viewed.get(h.address, h.size) <= h.size}
        return {h.address: ("views in " if h.address in parts else "") + h.keeper for h in held}

    def graphed(self) -> dict[int, str]:
        """Return what graphs keep, in words, by address. A container, or a variable that is made from its last value,
        counts before one that only happens to have such a value."""
        taken: dict[int, str] = {}
        seen: dict[int, Any] = {}
        roots, self._roots = self._roots, []  # they refer to this object: a cycle would keep what they are of
        with torch._C.DisableTorchFunctionSubclass():
            for _, words, value in sorted([*self._buffers(), *roots], key=lambda root: root[0]):
                name = ""
                for tensor in _saved_from(value, seen):
                    name = name or words()
                    taken.setdefault(storage_of(tensor)[1], name)
        return taken

    def _buffers(self) -> Iterator[Root]:
        """Yield the buffers that have a graph, which no buffer should."""
        for model in self._models:
            for _, module in parts_of(model):
                for name, buffer in list(fields_of(module).get("_buffers", {}).items()):
                    if is_a(buffer, torch.Tensor) and not is_leaf(buffer):
                        place = self._models.name(module) or type(module).__name__
                        yield 0, partial(str, f"the buffer {name} of {place}{WITH_GRAPH}"), buffer


@touches
def used_by(outputs: Any) -> dict[int, str]:
    """Return what the graph of outputs has, by address, and what it is for, if no result of the graph lies there: the
    leaves that get a gradient, and what else it saved."""
    seen: dict[int, Any] = {}
    saved = {
        storage_of(tensor)[1]: "input" for node in _nodes_of(list(nodes_in(outputs)), seen) for tensor in saved_by(node)
    }
    return saved | {storage_of(node.variable)[1]: "parameter" for node in seen.values() if hasattr(node, "variable")}


@touches
def _saved_from(value: Any, seen: dict[int, Any]) -> Iterator[Any]:
    """Yield what the nodes of a value's graph saved that have not been seen."""
    for node in _nodes_of([value] if is_node(value) else list(nodes_in(value)), seen):
        yield from saved_by(node)
        yield from (kept for kept in list(fields_of(node).values()) if is_a(kept, torch.Tensor))


@touches
def _nodes_of(todo: list[Any], seen: dict[int, Any]) -> Iterator[Any]:
    """Yield the nodes of a graph that have not been seen. `seen` keeps them, so that their identity stays."""
    while todo and len(seen) < MOST:
        node = todo.pop()
        if node is None or id(node) in seen:
            continue
        seen[id(node)] = node
        yield node
        todo += [before for before, _ in node.next_functions]


@touches
def found_by_scan(models: Models, gathering: Gathering) -> dict[int, str]:
    """Return what else keeps memory, in words, by address, of what a scan has just found."""
    optimizers, caches = (
        [each for reference in found if (each := reference()) is not None]
        for found in (gathering.optimizers, gathering.function_caches)
    )
    return {**_untrained(models, optimizers), **_masked(models), **_cached(caches)}


@touches
def _untrained(models: Models, optimizers: list[Any]) -> dict[int, str]:
    """Return the gradients of parameters that no optimizer has, in words, by address. Nothing is known if an optimizer
    has parameters that no model has, such as copies in float32."""
    trained = {id(p) for optimizer in optimizers for p in trained_by(optimizer)}
    found: dict[int, str] = {}
    left = set(trained)
    for model in models:
        for _, parameter in parameters_of(model):
            left.discard(id(parameter))
            if id(parameter) not in trained and parameter.grad is not None:
                found[storage_of(parameter.grad)[1]] = UNTRAINED + type(model).__name__
    return {} if left or not optimizers else found


@touches
def _masked(models: Models) -> dict[int, str]:
    """Return the square buffers of one name and shape that several modules have, in words, by address: each has its own
    mask."""
    alike: dict[tuple[str, Any], dict[int, int]] = {}
    for model in models:
        for _, module in parts_of(model):
            for name, buffer in list(fields_of(module).get("_buffers", {}).items()):
                if is_a(buffer, torch.Tensor) and _is_mask(buffer):
                    alike.setdefault((name, buffer.shape), {})[storage_of(buffer)[1]] = 1
    return {
        address: f"the buffers {name}, one for each of {len(places)} modules"
        for (name, _), places in alike.items()
        if len(places) > 1
        for address in places
    }


@touches
def _is_mask(buffer: Any) -> bool:
    """Report whether a buffer may be a mask: square, and of no numbers of one byte, which are quantised weights."""
    square = buffer.dim() > 1 and buffer.shape[-1] == buffer.shape[-2]
    return square and (buffer.dtype is torch.bool or (buffer.is_floating_point() and buffer.element_size() > 1))


@touches
def _cached(caches: list[Any]) -> dict[int, str]:
    """Return what caches of functions keep, in words, by address: tensors, and the weights of several models of a
    class."""
    found: dict[int, str] = {}
    for cache in caches:
        if str(fields_of(cache).get("__module__")).partition(".")[0] in STANDARD:
            continue  # such as those of types, which are many
        words = f"the lru_cache of {fields_of(cache).get('__qualname__', 'a function')}"
        models: dict[type, list[Any]] = {}
        for value in _inside_of(cache):
            if is_a(value, torch.Tensor):
                found[storage_of(value)[1]] = words
            else:
                models.setdefault(type(value), []).append(value)
        for alike in models.values():
            for model in alike if len(alike) > 1 else ():
                found.update({storage_of(p)[1]: words for _, p in parameters_of(model)})
    return found


def _inside_of(cache: Any) -> Iterator[Any]:
    """Yield the tensors and modules among a cache's keys and results."""
    todo = [(entry, 0) for entry in _tracked(cache) if type(entry) is not FunctionType]
    seen: set[int] = set()
    while todo and len(seen) < MOST:
        value, depth = todo.pop()
        if id(value) in seen or is_a(value, (type, ModuleType, FunctionType)):
            continue
        seen.add(id(value))
        if is_a(value, (torch.Tensor, torch.nn.Module)):
            yield value
        elif depth < DEEPEST:
            todo += [(each, depth + 1) for each in _tracked(value)]


def _tracked(value: Any) -> Iterator[Any]:
    """Yield what a value refers to and the collector tracks: what it does not track holds no tensor."""
    return filter(gc.is_tracked, gc.get_referents(value))
