"""The tests' own counts of the memory of a training step, by hooks and loops that share nothing with the agent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from subjects import Subject


@dataclass
class Count:
    """The memory of one step, in bytes: by category at the end of its forward and after it, and saved bytes by
    layer."""

    forward: dict[str, int] = field(default_factory=dict)
    after: dict[str, int] = field(default_factory=dict)
    saved: dict[str, int] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)


def train(make: Callable[[], Subject], steps: int, at: int = 0, look: Any = None) -> list[float]:
    """Train, and return the losses. In step `at`, `look` is a context around the forward, and is asked after it and
    after the step."""
    torch.manual_seed(1)
    subject = make()
    optimizer = subject.optimizer()
    losses = []
    for step in range(1, steps + 1):
        batch = subject.batch()
        if step == at:
            with look.forward(subject, batch):
                loss, rest = subject.loss_of(subject.model, batch)
            look.now("forward", subject, optimizer, batch, rest)
        else:
            loss, rest = subject.loss_of(subject.model, batch)
        losses.append(float(loss.detach()))
        optimizer.zero_grad()
        loss.backward()
        del rest
        optimizer.step()
        if step == at:
            look.now("after", subject, optimizer, batch, [])
    return losses


class Counting:
    """Counts step `at` with PyTorch's saved-tensor hooks, each storage once, and with the tensors that are alive."""

    def __init__(self) -> None:
        self.count = Count()
        self._running: list[str] = []
        # Kept by address, so that no address is used twice.
        self._saved: dict[int, Any] = {}
        self._targets: dict[int, Any] = {}  # integers that a loss outside all modules saves

    def forward(self, subject: Subject, batch: dict[str, Any]) -> Any:
        names = {id(module): name for name, module in subject.model.named_modules()}
        known = set(storages([*subject.model.parameters(), *subject.model.buffers(), *batch.values()]))

        def pack(tensor: Any) -> Any:
            address, size = place_of(tensor)
            if not self._running and not tensor.dtype.is_floating_point:
                self._targets[address] = tensor
            elif address not in known and address not in self._saved:
                self._saved[address] = tensor.detach()
                if self._running:
                    self.count.saved[self._running[-1]] = self.count.saved.get(self._running[-1], 0) + size
            return tensor.detach()

        self._handles = [
            torch.nn.modules.module.register_module_forward_pre_hook(
                lambda module, _: self._running.append(names.get(id(module), type(module).__name__))
            ),
            torch.nn.modules.module.register_module_forward_hook(lambda *_: self._left()),
        ]
        return torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)

    def _left(self) -> None:
        self._running.pop()

    def now(self, moment: str, subject: Subject, optimizer: Any, batch: dict[str, Any], results: list[Any]) -> None:
        weights = storages([*subject.model.parameters(), *subject.model.buffers()])
        inputs = storages([*batch.values(), *self._targets.values()])
        found = {
            "parameter": weights,
            "gradient": storages(p.grad for p in subject.model.parameters() if p.grad is not None),
            "optimizer": storages(t for state in optimizer.state.values() for t in state.values()),
            "input": inputs,
        }
        if moment == "forward":
            for handle in self._handles:
                handle.remove()
            outer = {**storages(self._saved.values()), **storages(flat(results))}
            found["activation"] = {a: size for a, size in outer.items() if a not in weights and a not in inputs}
        self._saved.clear()
        self._targets.clear()
        setattr(self.count, moment, {name: sum(sizes.values()) for name, sizes in found.items()})


def storages(tensors: Iterable[Any]) -> dict[int, int]:
    """Return the bytes of storages by address."""
    return dict(place_of(tensor) for tensor in tensors)


def place_of(tensor: Any) -> tuple[int, int]:
    storage = tensor.untyped_storage()
    return storage.data_ptr(), storage.nbytes()


def flat(value: Any) -> Iterator[Any]:
    """Yield the tensors of lists, dictionaries and the caches of Hugging Face."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from flat(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from flat(item)
    elif value is not None and not isinstance(value, (str, int, float, type)) and hasattr(value, "__dict__"):
        yield from flat(vars(value))
