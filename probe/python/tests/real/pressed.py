"""One program, trained twice: python pressed.py PROGRAM cpu [RESULTS].

It is trained with an agent, whose settings are changed every ten steps. Then it is trained alone, under autocast in the
steps that ran with mixed precision. Whether both computed the same is printed as one line of JSON, of each rank. With
RESULTS, a file gets it too.
"""

from __future__ import annotations

import gc
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

import jobs  # noqa: E402
import pytest  # noqa: E402
import torch  # noqa: E402
from counted import MISSING, inside, tell  # noqa: E402
from kept import Kept  # noqa: E402
from programs import PROGRAMS, RANKS, Run, subject  # noqa: E402
from subjects import Subject  # noqa: E402
from torch.optim.optimizer import register_optimizer_step_post_hook  # noqa: E402

from memtop.link.program import Refused  # noqa: E402
from memtop.link.queue import STEP  # noqa: E402
from memtop.safety.threads import allowed  # noqa: E402
from memtop.watch.sampling import Sampling  # noqa: E402
from memtop.watch.watch import Watch  # noqa: E402

STEPS, EVERY = 200, 10
KEYS = [
    ("checkpoint", "all"), ("look", "every"), ("checkpoint", "off"), ("checkpoint", "half"),
    ("action", "collect-garbage"), ("amp", "bf16"), ("checkpoint", "off"), ("checkpoint", "all"), ("amp", "off"),
    ("checkpoint", "off"), ("look", "sampled"), ("amp", "bf16"), ("amp", "off"), ("checkpoint", "half"),
    ("checkpoint", "off"),
]  # fmt: skip
count = 0


class Block(torch.nn.Module):  # type: ignore[misc]
    """A block that calls a function between its layers."""

    def __init__(self, effect: Any) -> None:
        super().__init__()
        self.first, self.second, self.effect = torch.nn.Linear(16, 64), torch.nn.Linear(64, 16), effect

    def forward(self, x: Any) -> Any:
        return x + self.effect(self.second(torch.nn.functional.gelu(self.first(x))))


def with_effect(run: Run, effect: Any) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Sequential(*(Block(effect) for _ in range(3))))
    job(run, (model, lambda: model(torch.randn(32, 4)).pow(2).mean()))


def job(run: Run, made: Any) -> None:
    model, forward = made
    subject(run, Subject(model, dict, lambda *_: (forward(), [])))


def dropout(run: Run) -> None:
    """Blocks that draw from PyTorch's own generator."""
    job(run, jobs.dropping())


def generator(run: Run) -> None:
    """Blocks that draw from a generator of their own."""
    own = torch.Generator().manual_seed(7)
    with_effect(run, lambda x: x * torch.rand(1, generator=own))


def changed_global(run: Run) -> None:
    """Blocks that change a global variable."""
    global count
    count = 0

    def effect(x: Any) -> Any:
        global count
        count += 1
        return x * (1 + count % 3)

    with_effect(run, effect)


def closure(run: Run) -> None:
    """Blocks that count in a closure."""
    calls = [0]

    def effect(x: Any) -> Any:
        calls[0] += 1
        return x * (1 + calls[0] % 3)

    with_effect(run, effect)


EFFECTS: dict[str, Callable[[Run], None]] = {
    program.__name__: program for program in (dropout, generator, changed_global, closure)
}


class Numbers:
    """The losses of a run, and its state when it has ended. `stepped` is called with the number of each ended step."""

    def __init__(self, stepped: Callable[[int], None]) -> None:
        self.losses: list[float] = []
        self.state: list[Any] = []
        self._stepped = stepped
        self._steps = 0
        self._optimizers: list[Any] = []  # of which the first ends steps
        self._backward = torch.Tensor.backward
        self._handle = register_optimizer_step_post_hook(self._after)

        def backward(tensor: Any, *arguments: Any, **named: Any) -> None:
            self.losses.append(float(tensor.detach()))
            self._backward(tensor, *arguments, **named)

        torch.Tensor.backward = backward  # type: ignore[method-assign]

    def _after(self, optimizer: Any, *_: Any) -> None:
        if all(optimizer is not other for other in self._optimizers):
            self._optimizers.append(optimizer)
        if optimizer is self._optimizers[0]:
            self._next()

    def served(self, cache: Any) -> None:
        """Take in what a server has computed for a request."""
        self.losses += [float(tensor.sum()) for tensor in inside(cache)]
        self._next()

    def _next(self) -> None:
        self._steps += 1
        self._stepped(self._steps)

    def end(self, run: Run) -> None:
        torch.Tensor.backward = self._backward  # type: ignore[method-assign]
        self._handle.remove()
        states = [model.state_dict() for model in run.models] + [o.state for o in self._optimizers]
        self.state = [getattr(tensor, "_local_tensor", tensor).clone() for tensor in inside(states)]
        self.state += [torch.get_rng_state(), torch.tensor(random.getstate()[1])]
        self._optimizers.clear()


class Presser:
    """Changes one setting after another. Notes the values with which steps have run, and what was refused."""

    def __init__(self) -> None:
        self.refused: dict[str, str] = {}  # by key and value
        self.values: dict[str, set[str]] = {}  # by key
        self.mixed: set[int] = set()  # the steps that ran with mixed precision
        self._link = Kept()
        self.watch = Watch(self._link)
        self.watch.sampling = Sampling(credit_ns=10**15)  # every step is looked at
        self.watch.settings.refused = lambda reason, key: self.refused.update({key: reason})
        self.watch.want(True)

    def stepped(self, step: int) -> None:
        for setting in self._link.latest(STEP)[-1]["settings"] if self._link.latest(STEP) else ():
            self.values.setdefault(setting["key"], set()).add(setting["value"])
            if (setting["key"], setting["value"]) == ("amp", "bf16"):
                self.mixed.add(step)
        if step % EVERY == 0 and step // EVERY <= len(KEYS):
            key, value = KEYS[step // EVERY - 1]
            try:
                self.watch.settings.change(key, value)
            except Refused as refused:
                self.refused[f"{key}={value}"] = str(refused)


class Autocast:
    """Runs models in training under autocast in given steps, by hand."""

    def __init__(self, run: Run, steps: set[int]) -> None:
        self._run = run
        self._steps = steps
        self._on = False

    def stepped(self, step: int) -> None:
        if step == 1 and self._steps:
            for model in self._run.models:
                self._wrap(model)
        self._on = step + 1 in self._steps

    def _wrap(self, model: Any) -> None:
        forward = model.forward

        def mixed(*arguments: Any, **named: Any) -> Any:
            if not (self._on and model.training and torch.is_grad_enabled()):
                return forward(*arguments, **named)
            with torch.autocast(self._run.device, torch.bfloat16):
                return wide(forward(*arguments, **named))

        model.forward = mixed


def wide(value: Any) -> Any:
    """Return a result with its bfloat16 tensors as float32."""
    if isinstance(value, torch.Tensor):
        return value.float() if value.dtype is torch.bfloat16 else value
    if isinstance(value, tuple):
        return tuple(map(wide, value))
    if hasattr(value, "items"):
        return type(value)(**{name: wide(item) for name, item in value.items()})
    return value


def computed(program: Callable[[Run], None], run: Run, stepped: Callable[[int], None]) -> Numbers:
    """Run a program, and return what it computed."""
    torch.manual_seed(1)
    random.seed(1)
    numbers = Numbers(stepped)
    run.served = numbers.served
    program(run)
    numbers.end(run)
    gc.collect()
    return numbers


def main() -> None:
    name = sys.argv[1]
    torch.set_num_threads(1)
    if name in RANKS:
        torch.distributed.init_process_group("gloo")
    program = {**PROGRAMS, **RANKS, **EFFECTS}[name]
    try:
        program(Run("cpu", 1))  # imports draw random numbers
    except (ImportError, pytest.skip.Exception) as error:
        print(error)
        sys.exit(MISSING)
    presser = Presser()
    pressed = computed(program, Run("cpu", STEPS), presser.stepped)
    with allowed():
        presser.watch.close()
    run = Run("cpu", STEPS)
    alone = computed(program, run, Autocast(run, presser.mixed).stepped)
    result = {
        "program": name, "rank": int(os.environ.get("RANK", "0")), "losses": len(alone.losses),
        "state": len(alone.state), "mixed": len(presser.mixed),
        "same losses": pressed.losses == alone.losses,
        "same state": len(pressed.state) == len(alone.state) and all(map(torch.equal, pressed.state, alone.state)),
        "values": {key: sorted(values) for key, values in presser.values.items()}, "refused": presser.refused,
        "error": presser.watch.guard.error,
    }  # fmt: skip
    tell(result)
    if name in RANKS:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
