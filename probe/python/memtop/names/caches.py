"""Key-value caches: the objects and tuples in which generation keeps its keys and values."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import torch

from ..hooks.graphs import is_leaf
from ..memory.registry import tensors_in
from ..safety.inspection import container_of, fields_of, is_a, items_of
from ..safety.threads import touches

# The names of caches in the arguments and results of Hugging Face's models.
NAMES = ("past_key_values", "past_key_value", "past_buckets_states")

ATTRIBUTE = "kv_cache"


@touches
def cached(value: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield the tensors of caches in a call's arguments or results, each with its category and a name."""
    for name, tensors in _caches(value):
        # In training the cache is part of the autograd graph: it counts as an activation.
        category = "kv-cache" if all(map(is_leaf, tensors)) else "activation"
        yield from ((category, name, tensor) for tensor in tensors)


@touches
def cached_by(module: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield the tensors of a cache that a module has as an attribute, as those of vLLM have."""
    yield from (("kv-cache", ATTRIBUTE, tensor) for tensor in tensors_in(fields_of(module).get(ATTRIBUTE)))


@touches
def _caches(value: Any) -> Iterator[tuple[str, list[Any]]]:
    if is_cache(type(value)):
        yield type(value).__name__, list(_inside(value))
    elif container_of(value) is dict:
        for name, item in list(dict.items(value)):
            if is_cache(type(item)):
                yield from _caches(item)
            elif name in NAMES:
                yield name, list(tensors_in(item))
    elif container_of(value) in (list, tuple):
        for item in items_of(value):
            if is_cache(type(item)) or is_a(item, dict):
                yield from _caches(item)


@touches
def _inside(cache: Any) -> Iterator[Any]:
    for value in list(fields_of(cache).values()):
        yield from tensors_in(value)
        for item in items_of(value):
            yield from tensors_in(fields_of(item))


def is_cache(kind: type) -> bool:
    """Report whether a class is a cache: one of Hugging Face's, or one that follows their naming."""
    return kind.__name__.endswith("Cache") and not issubclass(kind, torch.nn.Module) and _has_tensors(kind)


def _has_tensors(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    return module is not None and hasattr(module, "torch")
