"""Models of Hugging Face's transformers, which have their own switch for checkpointing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from typing import Any

from torch.utils.checkpoint import checkpoint

from ..safety.threads import touches
from .survey import GIVEN, Seen

_FLAG, _FUNCTION = "gradient_checkpointing", "_gradient_checkpointing_func"
# the method behind the public ones; those leave more behind when they are turned off
_SWITCH = "_set_gradient_checkpointing"


@touches
def model_of(seen: Seen) -> Any | None:
    """Return the outermost model around a block that has the switch, None if there is none."""
    for reference in seen.within:
        module = reference()
        if getattr(module, "supports_gradient_checkpointing", False) and hasattr(module, _SWITCH):
            return module
    return None


@touches
def why_not(model: Any, seen: Seen) -> str:
    """Return why the switch cannot be used for a block, "" if it can. With the switch on, a block gets no cache."""
    if "value" in signature(getattr(model, _SWITCH)).parameters:
        return "its switch is of a transformers before 4.35, which checkpoints in another way"
    return "" if seen.why_not.startswith(GIVEN) else seen.why_not


@touches
def is_on(model: Any) -> bool:
    """Report whether the program has turned the switch on."""
    return any(getattr(part, _FLAG, False) for part in model.modules())


def is_one_by_one(modules: Sequence[Any]) -> bool:
    """Report whether each of these blocks has its own switch."""
    return all(hasattr(module, _FLAG) for module in modules)


@touches
def enable(model: Any, modules: Sequence[Any]) -> Callable[[], None]:
    """Turn the switch on for these blocks. Return a function that restores the previous state."""
    parts = list(model.modules())
    before = [{name: part.__dict__[name] for name in (_FLAG, _FUNCTION) if name in part.__dict__} for part in parts]
    getattr(model, _SWITCH)(enable=True, gradient_checkpointing_func=partial(checkpoint, use_reentrant=False))
    if is_one_by_one(modules):
        chosen = {id(module) for module in modules}
        for part in parts:
            if type(part) in {type(module) for module in modules} and id(part) not in chosen:
                part.__dict__[_FLAG] = False

    def undo() -> None:
        for part, own in zip(parts, before):
            for name in (_FLAG, _FUNCTION):
                if name in own:
                    part.__dict__[name] = own[name]
                else:
                    part.__dict__.pop(name, None)

    return undo
