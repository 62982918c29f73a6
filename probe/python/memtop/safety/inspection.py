"""Types and contents of the program's objects, read without running code of their classes.

An object may claim to be of another class, compute its attributes, count how often it is asked for its length, or
raise. `isinstance` and `hasattr` run such code, and so do methods of a container's own class.
"""

from __future__ import annotations

from collections import deque
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any

CONTAINERS: tuple[Any, ...] = (list, dict, tuple, set, deque, frozenset)

_bases: Any = type.__dict__["__mro__"].__get__
_members: Any = type.__dict__["__dict__"].__get__
_module: Any = type.__dict__["__module__"].__get__


def is_a(value: Any, kinds: Any) -> bool:
    """Report whether a value's own type is one of these types or extends one."""
    return issubclass(type(value), kinds)


def module_of(value: Any) -> str:
    """Return the name of the module of a value's own type."""
    return str(_module(type(value)))


def static(kind: type, name: str) -> Any:
    """Return a member of a class or its bases as it lies there, None if there is none."""
    for base in _bases(kind):
        members = _members(base)
        if name in members:
            return members[name]
    return None


def fields_of(value: Any) -> dict[str, Any]:
    """Return the dictionary of an object's own attributes, an empty one if it has none."""
    own = static(type(value), "__dict__")
    fields = own.__get__(value) if type(own) is GetSetDescriptorType else None
    return fields if type(fields) is dict else {}


def attribute_of(value: Any, name: str, default: Any = None) -> Any:
    """Return an attribute that lies in an object itself: in its dictionary, or in a slot."""
    slot = static(type(value), name)
    if type(slot) is not MemberDescriptorType:
        return fields_of(value).get(name, default)
    try:
        return slot.__get__(value)
    except AttributeError:  # it is not set
        return default


def container_of(value: Any) -> Any:
    """Return the one of Python's own types of containers that a value's type is or extends, None if it is none."""
    kind = type(value)
    for own in CONTAINERS:
        if issubclass(kind, own):
            return own
    return None


def items_of(value: Any) -> list[Any]:
    """Return what a container has, of a dictionary the values; nothing of what is no container."""
    kind = container_of(value)
    if kind is None:
        return []
    return list(dict.values(value) if kind is dict else kind.__iter__(value))
