"""Tensors saved for the backward pass, seen when they are saved.

PyTorch has a stack of saved-tensor hooks and calls the top one for each tensor that it saves. The
agent's hooks are at the bottom of that stack, or not there at all: hooks that the program pushes are
above them and work as they do without an agent, and if the program already has hooks, the agent
adds none. `torch.func` refuses to run while there are hooks, so the agent removes its own for that time.

With hooks, PyTorch no longer notices that a saved tensor was changed in place. So the hooks check this
themselves, and raise PyTorch's error.

PyTorch itself computes more where there are hooks: it detaches what they return. So there are none while a dispatch
mode or a kind of tensors of the program would see it.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

import torch
from torch.utils import _python_dispatch, checkpoint

from .graphs import is_leaf
from .threads import called_by_pytorch, touches
from .unseen import any_sees_itself, has_mode, is_mode_of_program, sees_itself, unseen

_autograd = torch._C._autograd


class SavedTensors:
    """Calls `saw` with each tensor that is saved while it is on, in the thread that calls `on` and `off`."""

    def __init__(self, saw: Callable[[Any], None]) -> None:
        self._saw = saw
        self._pushed = False
        self._watching = False
        self.to_host = False  # tensors saved on a device are kept in host memory
        self._away = False  # the hooks are removed while torch.func runs
        self._seen = False  # tensors of the program's own kinds were saved: they would see the hooks
        self._pair = (self._pack, _unpack)
        self._originals: tuple[Any, Any, Any] | None = None
        self._recomputations = _Recomputations(saw)

    def on(self) -> bool:
        """Begin. Return False if the program has its own hooks, or forbids hooks."""
        if not self._watching:
            self._recomputations.on()
        self._watching = True
        self._seen = self._seen or any_sees_itself()
        return self._push()

    def off(self) -> None:
        """Stop. If hooks of the program are above these, these stay and do nothing until they can be removed."""
        self._recomputations.off()
        self._watching = False
        self.withdraw()

    def move(self, to_host: bool) -> None:
        """From now on, keep saved tensors in host memory, or where they are."""
        self.to_host = to_host
        if to_host:
            self._push()
        elif not self._watching:
            self._pop()

    def free(self) -> bool:
        """Report whether there are no hooks but these, hooks are allowed, and no mode of the program sees them."""
        allowed = _autograd._saved_tensors_hooks_is_enabled() and _top() is None
        return self._pushed or bool(allowed and not self._seen and not has_mode())

    def _push(self) -> bool:
        if self._pushed:
            return True
        if not self.free():
            return False
        _autograd._push_saved_tensors_default_hooks(*self._pair)
        self._pushed = True
        self._step_aside()
        return True

    def _pop(self) -> None:
        if self._pushed and self._is_top():
            _autograd._pop_saved_tensors_default_hooks()
            self._pushed = False
            self._come_back()

    def withdraw(self) -> None:
        """Save no more tensors in this step, where the program would see it."""
        if not self.to_host:
            self._pop()

    def _is_top(self) -> bool:
        top = _top()
        return top is not None and top[0] == self._pair[0]

    @unseen
    def _pack(self, tensor: Any) -> Any:
        if self._watching:
            self._saw(tensor)
        if sees_itself(type(tensor)):
            self._seen = True
            self.withdraw()
        if self.to_host and is_movable(tensor):
            return _Moved(tensor)
        # With its graph the tensor would be in a cycle: the graph holds what is returned here.
        return _Saved(tensor if is_leaf(tensor) else tensor.detach())

    def _step_aside(self) -> None:
        """Let torch.func, which forbids hooks while it runs, find none, and none the program's modes."""
        disable, enable = _autograd._saved_tensors_hooks_disable, _autograd._saved_tensors_hooks_enable
        push_mode = _python_dispatch._push_mode
        self._originals = (disable, enable, push_mode)

        def disabled(*arguments: Any) -> Any:
            if self._pushed and not self._away and self._is_top():
                _autograd._pop_saved_tensors_default_hooks()
                self._away = True
            return disable(*arguments)

        def enabled(*arguments: Any) -> Any:
            result = enable(*arguments)
            if self._away:
                self._away = False
                _autograd._push_saved_tensors_default_hooks(*self._pair)
            return result

        def pushed(mode: Any) -> None:
            if is_mode_of_program(mode):
                self.withdraw()
            push_mode(mode)

        _autograd._saved_tensors_hooks_disable, _autograd._saved_tensors_hooks_enable = disabled, enabled
        _python_dispatch._push_mode = pushed

    def _come_back(self) -> None:
        if self._originals is not None:
            disable, enable, _python_dispatch._push_mode = self._originals
            _autograd._saved_tensors_hooks_disable, _autograd._saved_tensors_hooks_enable = disable, enable
            self._originals = None


class _Saved:
    """A saved tensor, and its version when it was saved."""

    __slots__ = ("tensor", "version")

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.version = _version_of(tensor)


class _Moved:
    """A copy of a saved tensor in pinned host memory, which the device can fetch without waiting."""

    __slots__ = ("device", "tensor")

    def __init__(self, tensor: Any) -> None:
        self.device = tensor.device
        self.tensor = torch.empty_like(tensor, device="cpu", pin_memory=torch.cuda.is_initialized())
        self.tensor.copy_(tensor)


@touches
def is_movable(tensor: Any) -> bool:
    """Report whether copying a saved tensor to host memory would free it: it is on a device, and is no parameter."""
    base = tensor._base if tensor._is_view() else tensor
    is_parameter = base.requires_grad and is_leaf(base)
    return tensor.layout is torch.strided and tensor.device.type != "cpu" and not is_parameter


class _Recomputations:
    """Shows what a checkpoint saves again when it recomputes. PyTorch's own hooks are on top then."""

    def __init__(self, saw: Callable[[Any], None]) -> None:
        self._saw = saw
        self._original: Any = None

    def on(self) -> None:
        saw, original = self._saw, checkpoint._recomputation_hook

        class Seen(original):  # type: ignore[misc,valid-type]
            def __init__(self, *arguments: Any) -> None:
                super().__init__(*arguments)
                pack = self.pack_hook

                @called_by_pytorch
                @functools.wraps(pack)
                def seen(tensor: Any) -> Any:
                    saw(tensor)
                    return pack(tensor)

                self.pack_hook: Callable[[Any], Any] = seen

        self._original, checkpoint._recomputation_hook = original, Seen

    def off(self) -> None:
        if self._original is not None:
            checkpoint._recomputation_hook, self._original = self._original, None


@touches
def _version_of(tensor: Any) -> int:
    return -1 if tensor.is_inference() else int(tensor._version)


@unseen
def _unpack(saved: _Saved | _Moved) -> Any:
    if isinstance(saved, _Moved):
        return saved.tensor.to(saved.device, non_blocking=True)
    if saved.version >= 0 and saved.tensor._version != saved.version:
        tensor = saved.tensor
        raise RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"[{tensor.type()} {list(tensor.shape)}] is at version {tensor._version}; expected version {saved.version} "
            "instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
            "torch.autograd.set_detect_anomaly(True)."
        )
    return saved.tensor


if hasattr(_autograd, "_top_saved_tensors_default_hooks"):

    def _top() -> Any:
        """Return the hooks that are called now, or None."""
        return _autograd._top_saved_tensors_default_hooks(True)

else:
    # Older versions do not tell which hooks there are. So hooks that are pushed and popped from here on are counted in
    # the functions that push and pop them.
    _stack: list[Any] = []
    _push, _pop = _autograd._push_saved_tensors_default_hooks, _autograd._pop_saved_tensors_default_hooks

    def _counted_push(pack: Any, unpack: Any) -> None:
        _push(pack, unpack)
        _stack.append((pack, unpack))

    def _counted_pop() -> None:
        _pop()
        if _stack:
            _stack.pop()

    _autograd._push_saved_tensors_default_hooks = _counted_push
    _autograd._pop_saved_tensors_default_hooks = _counted_pop

    def _top() -> Any:
        return _stack[-1] if _stack else None
