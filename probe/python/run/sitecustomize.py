"""The folder that memtop run puts first in PYTHONPATH: it starts the agent in programs that import PyTorch.

It leaves nothing in the interpreter but a watch for the import of PyTorch. Then it runs the
sitecustomize that comes after it in the path, as if that were the only one.
"""

import os
import sys


def _run(name):
    """Run a file of the agent that needs nothing else of it. Return the names that it defines."""
    path = os.path.join(_root, "memtop", *name.split(".")) + ".py"
    with open(path, encoding="utf-8") as file:
        code = compile(file.read(), path, "exec")
    names = {"__name__": "memtop." + name}
    exec(code, names)
    return names


def _begin():
    """Start the agent once PyTorch has been imported. A failure must not reach the program."""
    try:
        if "memtop" not in sys.modules:
            _run("start.loading")["load"](_root)
        from memtop.start.start import begin

        begin()
    except Exception:
        pass


_here = os.path.dirname(os.path.abspath(__file__))
_root = os.path.dirname(_here)
try:
    if "MEMTOP_IMITATED_GPU" in os.environ:
        _run("rehearsal.imitated")["watch"]()
    _run("start.importing")["when_imported"]("torch", _begin)
except Exception:
    pass
sys.path[:] = [path for path in sys.path if path != _here]
sys.path_importer_cache.pop(_here, None)
sys.modules.pop("sitecustomize", None)
import sitecustomize  # noqa: E402, F401
