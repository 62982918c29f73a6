"""The role of a process in its job: only some roles get an agent."""

from __future__ import annotations

import os
import sys
from enum import Enum


class Role(Enum):
    """The role of a process."""

    PROGRAM = "program"  # runs the user's code, perhaps as one rank of several
    CHILD = "child"  # started by multiprocessing: a data loader's worker, or a rank
    LAUNCHER = "launcher"  # starts other processes, or compiles for PyTorch


_LAUNCHERS = {"torchrun", "accelerate", "deepspeed"}
_LAUNCHER_PACKAGES = ("torch.", "accelerate.commands.", "deepspeed.launcher.")
_CHILD_MODULES = ("multiprocessing.", "joblib.externals.loky.", "loky.")
_WITH_VALUE = "WX"


def role() -> Role:
    """Return the role of this process."""
    multiprocessing = sys.modules.get("multiprocessing.process")
    if multiprocessing is not None and multiprocessing.parent_process() is not None:
        return Role.CHILD
    return role_of(command_line())


def role_of(arguments: list[str]) -> Role:
    """Return the role of a process with this command line."""
    module, script, code = _program(arguments[1:])
    name = os.path.basename(script)
    if module.startswith(_CHILD_MODULES) or code.startswith(tuple(f"from {m}" for m in _CHILD_MODULES)):
        return Role.CHILD
    if module in _LAUNCHERS or module.startswith(_LAUNCHER_PACKAGES) or name in _LAUNCHERS:
        return Role.LAUNCHER
    if f"{os.sep}torch{os.sep}" in script and "compile_worker" in script:
        return Role.LAUNCHER
    return Role.PROGRAM


def command_line() -> list[str]:
    """Return the interpreter's command line, or the program's if that is not known."""
    arguments: list[str] | None = getattr(sys, "orig_argv", None)  # from 3.10 on
    if arguments:
        return arguments
    try:
        with open("/proc/self/cmdline", "rb") as file:
            return os.fsdecode(file.read()).rstrip("\0").split("\0")
    except OSError:
        return ["", *getattr(sys, "argv", [])]


def _program(arguments: list[str]) -> tuple[str, str, str]:
    """Return the module, the script and the code in Python's arguments: one of them, the others empty."""
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("-") or argument == "-":
            return "", argument, ""
        if argument.startswith("--"):
            if argument == "--check-hash-based-pycs":
                next(rest, "")
            continue
        for place, letter in enumerate(argument[1:], 2):
            if letter in "mc":
                value = argument[place:] or next(rest, "")
                return (value, "", "") if letter == "m" else ("", "", value)
            if letter in _WITH_VALUE:
                if not argument[place:]:
                    next(rest, "")
                break
    return "", "", ""
