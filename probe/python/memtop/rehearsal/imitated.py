"""Tell the imitated GPU which library versions PyTorch was built for, before PyTorch is imported.

This is for programs on the imitated GPU, most of which `memtop rehearse` starts. The file uses nothing
of the package: sitecustomize runs it alone.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import re
import sys

TYPE_CHECKING = False  # as in `importing`
if TYPE_CHECKING:
    from typing import Any

VARIABLE = "MEMTOP_REHEARSAL"  # what `memtop rehearse` tells the programs that it starts, as JSON
_DEVICE = "MEMTOP_IMITATED_GPU"  # what is imitated
_NUMBER = r"(\d+)\.(\d+)"


def rehearsed() -> bool:
    """Report whether `memtop rehearse` started this program."""
    return VARIABLE in os.environ


@functools.cache  # it is asked at each step
def told() -> dict[str, Any]:
    """Return what `memtop rehearse` tells this program, see Go's python.Told. There must be a rehearsal."""
    found: dict[str, Any] = json.loads(os.environ[VARIABLE])
    return found


def imitated() -> bool:
    """Report whether the program's device is imitated."""
    return _DEVICE in os.environ


def title() -> str:
    """Return the name of the imitated GPU."""
    found = re.search(r"title=([^;]*)", os.environ.get(_DEVICE, ""))
    return found[1] if found else "GPU"


class _Versions:
    """A finder of modules that finds nothing. It is asked for PyTorch before PyTorch is loaded."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name != "torch" or self not in sys.meta_path:
            return
        sys.meta_path.remove(self)
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None and spec.origin:
                tell(os.path.dirname(spec.origin))
                return


def tell(torch: str) -> None:
    """Set the variable that the imitation reads, from the folder of a PyTorch installation. If PyTorch has no CUDA, end
    a rehearsal: there is nothing to rehearse."""
    with open(os.path.join(torch, "version.py"), encoding="utf-8") as file:
        text = file.read()
    release = re.search(r"^__version__ = '([^']*)'", text, re.M)
    cuda = re.search(rf"^cuda[^=]*= '{_NUMBER}", text, re.M)
    if rehearsed():
        note("torch", pytorch=release[1] if release else "", cuda=f"{cuda[1]}.{cuda[2]}" if cuda else "")
    if cuda is None:
        if rehearsed():
            sys.stdout.flush()
            os._exit(1)
        return
    versions = {"cuda": 1000 * int(cuda[1]) + 10 * int(cuda[2])}
    for entry in os.listdir(os.path.dirname(torch)):
        found = re.match(rf"nvidia_(cudnn|nccl)_cu\d+-{_NUMBER}\.(\d+).*\.dist-info", entry)
        if found:
            parts = [int(found[n]) for n in (2, 3, 4)]
            thousands = 10_000 if found[1] == "nccl" or parts[0] >= 9 else 1000
            versions[found[1]] = thousands * parts[0] + 100 * parts[1] + parts[2]
    os.environ["MEMTOP_IMITATED_VERSIONS"] = ";".join(f"{name}={number}" for name, number in versions.items())


def note(kind: str, **data: object) -> None:
    """Write a line for the command at once, so that it is there even if this process is killed."""
    path = os.path.join(told()["folder"], f"{os.getpid()}.rehearsed")
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps({"kind": kind, **data}) + "\n")


def watch() -> None:
    """Arrange that `tell` runs when the program imports PyTorch, and that an exception that ends a rehearsal is
    reported."""
    sys.meta_path.insert(0, _Versions())
    if rehearsed():
        atexit.register(_tell_failure)


def _tell_failure() -> None:
    """Report the exception that ended the program, and its line, if there was one."""
    failure = getattr(sys, "last_value", None)  # set when the interpreter prints an exception
    if failure is None or isinstance(failure, SystemExit):
        return
    text = next((line for line in str(failure).splitlines() if any(map(str.isalpha, line))), "")  # others draw a frame
    note("failed", error=f"{type(failure).__name__}: {text.strip()[:500]}{_place(failure)}")


def _place(failure: BaseException) -> str:
    """Return the innermost line of the program itself, "" if there is none."""
    place, step = "", failure.__traceback__
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        if not file.startswith("<") and (not place or "site-packages" not in file):
            place = f" ({os.path.basename(file)}:{step.tb_lineno})"
        step = step.tb_next
    return place
