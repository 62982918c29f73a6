"""Import the agent into a program from a folder that is not on the program's path.

This file uses nothing of the package: `memtop attach` and `memtop run` execute it alone in a
program that did not ask for an agent.
"""

from __future__ import annotations

import _thread
import os
import sys
import time
from importlib.util import module_from_spec, spec_from_file_location

_PACKAGE = "memtop"


def load(root: str) -> None:
    """Import the package from the folder `root`, replacing a package from another place."""
    folder = os.path.join(root, _PACKAGE)
    loaded = sys.modules.get(_PACKAGE)
    if loaded is not None:
        if list(loaded.__path__) == [folder]:
            return
        for name in [n for n in sys.modules if n.partition(".")[0] == _PACKAGE]:
            del sys.modules[name]
    spec = spec_from_file_location(_PACKAGE, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])
    if spec is None or spec.loader is None:
        raise ImportError("there is no agent in " + root)
    module = sys.modules[_PACKAGE] = module_from_spec(spec)
    spec.loader.exec_module(module)


def start_beside(root: str, answer: str, host: str) -> None:
    """Start the agent with a host in a thread of its own, and write the result into the file `answer`: "ok", or why it
    failed.

    If that file does not exist, do nothing: the asking process has given up.
    """
    if os.path.exists(answer):
        _thread.start_new_thread(_start, (root, answer, host))


def _wait_for_torch() -> None:
    """Wait until a running import of PyTorch ends. Raise ImportError if none has begun."""
    end = time.monotonic() + 10
    while True:
        torch = sys.modules.get("torch")
        if torch is None:
            raise ImportError("it has not imported PyTorch")
        if not getattr(torch.__spec__, "_initializing", False):
            return
        if time.monotonic() > end:
            raise ImportError("it is still importing PyTorch after 10 seconds")
        time.sleep(0.05)


def _start(root: str, answer: str, host: str) -> None:
    try:
        _wait_for_torch()
        load(root)
        from memtop.start.start import start_agent

        start_agent(host)
        text = "ok"
    except BaseException as error:
        text = str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
    try:
        with open(answer + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(answer + ".new", answer)
    except OSError:
        pass
