"""Key-value caches: the objects and tuples in which generation keeps its keys and values."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import torch

from .registry import tensors_in
from .threads import touches

# The names of caches in the arguments and results of Hugging Face's models.
NAMES = ("past_key_values", "past_key_value", "past_buckets_states")

ATTRIBUTE = "kv_cache"


@touches
def cached(value: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield the tensors of caches in a call's arguments or results, each with its category and a name."""
    for name, tensors in _caches(value):
        # In training the cache is part of the autograd graph: it counts as an activation.
        category = "kv-cache" if all(tensor.is_leaf for tensor in tensors) else "activation"
        yield from ((category, name, tensor) for tensor in tensors)


@touches
def cached_by(module: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield the tensors of a cache that a module has as an attribute, as those of vLLM have."""
    yield from (("kv-cache", ATTRIBUTE, tensor) for tensor in tensors_in(vars(module).get(ATTRIBUTE)))


@touches
def _caches(value: Any) -> Iterator[tuple[str, list[Any]]]:
    if is_cache(type(value)):
        yield type(value).__name__, list(_inside(value))
    elif isinstance(value, dict):
        for name, item in list(value.items()):
            if is_cache(type(item)):
                yield from _caches(item)
            elif name in NAMES:
                yield name, list(tensors_in(item))
    elif isinstance(value, (list, tuple)):
        for item in value:
            if is_cache(type(item)) or isinstance(item, dict):
                yield from _caches(item)


@touches
def _inside(cache: Any) -> Iterator[Any]:
    fields = getattr(cache, "__dict__", None)
    for value in list(fields.values()) if isinstance(fields, dict) else []:
        yield from tensors_in(value)
        if isinstance(value, (list, tuple)):
            for item in value:
                yield from tensors_in(getattr(item, "__dict__", None))


_known: dict[type, bool] = {}


def is_cache(kind: type) -> bool:
    """Report whether a class is a cache: one of Hugging Face's, or one that follows their naming."""
    known = _known.get(kind)
    if known is None:
        known = _known[kind] = (
            kind.__name__.endswith("Cache") and not issubclass(kind, torch.nn.Module) and _has_tensors(kind)
        )
    return known


def _has_tensors(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    return module is not None and hasattr(module, "torch")
