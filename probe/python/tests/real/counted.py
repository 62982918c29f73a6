"""One program, counted twice: python counted.py PROGRAM DEVICE [RESULTS].

It runs without the agent and is counted with hooks and loops that share nothing with it. Then it runs with the agent,
which is asked at the same moments. The differences are printed as one line of JSON, of each rank. With RESULTS, a file
gets them too.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[at]) for at in range(3)]

import pytest  # noqa: E402
import torch  # noqa: E402
from kept import Kept  # noqa: E402
from programs import PROGRAMS, RANKS, Run  # noqa: E402
from torch.multiprocessing.reductions import StorageWeakRef  # noqa: E402
from torch.optim.optimizer import register_optimizer_step_post_hook  # noqa: E402

from memtop.safety.threads import allowed  # noqa: E402
from memtop.watch import model_calls  # noqa: E402
from memtop.watch.watch import Watch  # noqa: E402

AT = 3  # the step that is counted
MISSING = 77  # the exit code if a library is not installed


class Moments:
    """Calls `at` before the first backward of step AT, and after the first optimizer's step AT."""

    def __init__(self, at: Any) -> None:
        self.at = at
        self.step = 1  # the running one
        self._leader: Any = None
        self._told = False
        self._backward = torch.autograd._engine_run_backward
        self._handle = register_optimizer_step_post_hook(self._after)

        def backward(*arguments: Any, **named: Any) -> Any:  # where the agent reads what is saved outside of modules
            if self.step == AT and not self._told:
                self._told = True
                self.at("forward")
            return self._backward(*arguments, **named)

        torch.autograd._engine_run_backward = backward

    def _after(self, optimizer: Any, *_: Any) -> None:
        if self._leader is None:
            self._leader = optimizer
        if optimizer is self._leader:
            if self.step == AT:
                self.at("after")
            self.step += 1
            if self.step == AT:
                self.at("begin")

    def end(self) -> None:
        torch.autograd._engine_run_backward = self._backward
        self._handle.remove()
        self._leader = None


class Counts:
    """Counts with PyTorch's own means: loops over modules and optimizers, hooks for saved tensors, and the garbage
    collector. Bytes by category and moment."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._inside = 0  # running modules
        self._saved: list[Any] = []
        self._results: dict[tuple[str, int], int] = {}
        self._ends: dict[tuple[str, int], Any] = {}  # references that tell whether a result's storage is still alive
        self._inputs: list[Any] = []
        self.found: dict[str, dict[str, int]] = {}
        # From the first step on: a program may hold a result of an earlier step.
        self._handles = [torch.nn.modules.module.register_module_forward_hook(self._returned)]

    def at(self, moment: str) -> None:
        if moment == "begin":
            self._begin()
            return
        weights = places(t for model in self._run.models for t in (*weights_of(model), *model.buffers()))
        found = {
            "parameter": weights,
            "gradient": places(p.grad for model in self._run.models for p in model.parameters() if p.grad is not None),
            "optimizer": {a: s for a, s in self._state().items() if a not in weights},
        }
        if moment == "forward":
            self._end()
            found["gathered-parameter"] = gathered(self._run.models)
            # Also what the program still holds of the modules' results, and of earlier steps' graphs.
            held = {place: size for place, size in self._results.items() if not self._ends[place].expired()}
            graph = {**places([*self._saved, *trained_caches()]), **held}
            known = {**weights, **places(self._inputs), **found["gathered-parameter"], **found["gradient"]}
            found["activation"] = {a: size for a, size in graph.items() if a not in known}
            self._saved.clear()
            self._inputs.clear()
        self.found[moment] = {name: sum(self._here(sizes).values()) for name, sizes in found.items()}

    def server(self, cache: Any) -> None:
        """Count after a request."""
        found = {"parameter": places(self._run.models[0].parameters()), "kv-cache": places(inside(cache))}
        self.found["after"] = {name: sum(self._here(sizes).values()) for name, sizes in found.items()}

    def _here(self, sizes: dict[tuple[str, int], int]) -> dict[int, int]:
        return {address: size for (device, address), size in sizes.items() if device == self._run.device}

    def _state(self) -> dict[tuple[str, int], int]:
        kinds = torch.optim.Optimizer
        optimizers = [thing for thing in gc.get_objects() if issubclass(type(thing), kinds)]
        return places(t for o in optimizers for state in o.state.values() for t in inside(state))

    def _begin(self) -> None:
        module = torch.nn.modules.module
        self._note(t for t in tensors() if t.grad_fn is not None)

        def before(module: Any, given: Any, named: Any = None) -> None:
            if not self._inside:
                self._inputs += [t for t in inside([given, named]) if t.grad_fn is None]
            self._inside += 1

        def after(*_: Any) -> None:
            self._inside -= 1

        self._handles += [
            module.register_module_forward_pre_hook(before), module.register_module_forward_hook(after),
            *(m.register_forward_pre_hook(lambda m, a, k: self._inputs.extend(inside([a, k])), with_kwargs=True)
              for m in self._run.models),
        ]  # fmt: skip

        def pack(tensor: Any) -> Any:
            kept = self._saved if self._inside or tensor.dtype.is_floating_point else self._inputs
            kept.append(tensor.detach())
            return tensor.detach()

        self._hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)
        self._hooks.__enter__()

    def _returned(self, module: Any, given: Any, output: Any) -> None:
        self._note(t for t in inside(output) if t.requires_grad)

    def _note(self, results: Iterable[Any]) -> None:
        for tensor in results:
            for place, size in places([tensor]).items():
                self._results[place] = size
                self._ends[place] = StorageWeakRef(tensor.untyped_storage())

    def _end(self) -> None:
        self._hooks.__exit__(None, None, None)
        for handle in self._handles:
            handle.remove()


class Asked:
    """What the agent says at the same moments."""

    def __init__(self, watch: Watch, device: str) -> None:
        self._watch = watch
        self._device = device
        self.found: dict[str, dict[str, int]] = {}
        self.missing: dict[str, int] = {}  # live storages that the agent does not know
        self.foreign: dict[str, int] = {}  # storages that it knows and the garbage collector does not

    def at(self, moment: str) -> None:
        if moment == "begin":
            return
        with allowed():
            self._watch.registry.settle()
        found: dict[str, int] = {}
        for holding in self._watch.registry.holdings():
            found[holding.category] = found.get(holding.category, 0) + holding.size
        self.found[moment] = found
        counted = {e["name"]: e["bytes"] for e in self._watch.memory.measures()[0]["categories"]}
        counted = {name: size for name, size in counted.items() if name in found}
        assert self._device != "cpu" or counted == {k: v for k, v in found.items() if v}, (counted, found)
        if moment == "after":
            self._live()

    def server(self, _: Any) -> None:
        """Ask after a request."""
        self.at("after")

    def _live(self) -> None:
        with allowed():
            self._watch.look.gathering.scan()
            self._watch.registry.settle()
        known = {(str(h.device), h.address): h for h in self._watch.registry.holdings()}
        alive = {place: size for place, size in places(tensors()).items() if place[0] == self._device}
        for place, size in alive.items():
            if place not in known or known[place].size != size:
                self.missing[f"{place[1]:x}"] = size
        for place, holding in known.items():
            if place not in alive:
                self.foreign[f"{holding.category} {holding.layer} {holding.role} {holding.shape}"] = holding.size


def tensors() -> list[Any]:
    """Return the tensors that the garbage collector knows, without those that only wrap others."""
    plain: Any = torch.Tensor.__torch_dispatch__
    every = [t for t in gc.get_objects() if issubclass(type(t), torch.Tensor)]
    return [t for t in every if type(t).__torch_dispatch__ is plain]


def trained_caches() -> list[Any]:
    """Return the tensors of Hugging Face's caches that training fills. Some may have no graph of their own."""
    caches = [inside(thing) for thing in gc.get_objects() if type(thing).__name__ == "DynamicCache"]
    return [tensor for cache in caches if any(t.requires_grad for t in cache) for tensor in cache]


def weights_of(model: Any) -> list[Any]:
    """Return a model's parameters. While FSDP2 has gathered some, these are not the ones that the model has."""
    parts = [parameter.sharded_param for parameter in fsdp_parameters(model)]
    whole = {id(parameter._unsharded_param) for parameter in fsdp_parameters(model)}
    return [*parts, *(parameter for parameter in model.parameters() if id(parameter) not in whole)]


def fsdp_parameters(model: Any) -> list[Any]:
    """Return FSDP2's own objects, if its version has them by these names."""
    states = [getattr(part, "_get_fsdp_state", lambda: None)() for part in model.modules()]
    groups = [getattr(state, "_fsdp_param_group", None) for state in states]
    every = [parameter for group in groups for parameter in getattr(group, "fsdp_params", [])]
    return [parameter for parameter in every if hasattr(parameter, "_unsharded_param")]


def gathered(models: Iterable[Any]) -> dict[tuple[str, int], int]:
    """Return the storages of weights that FSDP2 has gathered."""
    parameters = [parameter for model in models for parameter in fsdp_parameters(model)]
    return places(t for p in parameters for t in (*p.all_gather_outputs, p._unsharded_param))


def places(tensors: Iterable[Any]) -> dict[tuple[str, int], int]:
    """Return the bytes of storages by device and address. Of a DTensor, this rank's part counts."""
    found = {}
    for tensor in tensors:
        own = getattr(tensor, "_local_tensor", tensor)
        try:
            storage = own.untyped_storage()
            address = storage.data_ptr()
        except Exception:
            continue  # a wrapper, which has none
        if address:
            found[str(own.device), address] = storage.nbytes()
    return found


def inside(value: Any, seen: set[int] | None = None) -> list[Any]:
    """Return the tensors in containers and in attributes."""
    seen = set() if seen is None else seen
    if isinstance(value, torch.Tensor):
        return [value]
    if id(value) in seen or isinstance(value, (str, int, float, type, torch.nn.Module)) or value is None:
        return []
    seen.add(id(value))
    if isinstance(value, dict):
        return [t for item in value.values() for t in inside(item, seen)]
    if isinstance(value, (list, tuple, set)):
        return [t for item in value for t in inside(item, seen)]
    return inside(vars(value), seen) if hasattr(value, "__dict__") else []


def tell(result: dict[str, Any]) -> None:
    """Print a result, and add it to the file that is the third argument, in which each rank writes a line."""
    line = json.dumps(result)
    print(line, flush=True)
    if len(sys.argv) > 3:
        with open(sys.argv[3], "a", encoding="utf-8") as file:
            file.write(line + "\n")


def main() -> None:
    name, kind = sys.argv[1:3]
    torch.set_num_threads(1)
    ranks = name in RANKS
    device = kind
    if kind == "cuda":
        device = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
        torch.cuda.set_device(device)
    if ranks:
        torch.distributed.init_process_group("gloo" if kind == "cpu" else "nccl")
    program = {**PROGRAMS, **RANKS}[name]

    torch.manual_seed(1)
    run = Run(device, AT)
    counts = Counts(run)
    run.served = counts.server
    moments = Moments(counts.at)
    try:
        program(run)
    except (ImportError, pytest.skip.Exception) as error:
        print(error)
        sys.exit(MISSING)
    moments.end()
    run.models.clear()
    del run, moments
    gc.collect()

    torch.manual_seed(1)
    watch = Watch(Kept())
    watch.sampling.always = True
    asked = Asked(watch, device)
    model_calls.PATIENCE_NS = 0
    watch.want(True)
    moments = Moments(asked.at)
    program(Run(device, AT, served=asked.server))
    moments.end()

    differences = {
        f"{moment} {category}": [size, asked.found.get(moment, {}).get(category, 0)]
        for moment, sizes in counts.found.items()
        for category, size in sizes.items()
        if asked.found.get(moment, {}).get(category, 0) != size
    }
    result = {
        "program": name, "device": kind, "torch": torch.__version__, "rank": int(os.environ.get("RANK", "0")),
        "counted": counts.found, "differences": differences, "missing": asked.missing, "foreign": asked.foreign,
        "error": watch.guard.error,
    }  # fmt: skip
    tell(result)
    with allowed():
        watch.close()
    if ranks:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
