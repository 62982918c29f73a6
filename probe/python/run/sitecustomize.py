"""What memtop run puts in front of PYTHONPATH: an agent for programs that import PyTorch.

It leaves no trace of itself in the interpreter but a watch for PyTorch, and runs
the sitecustomize that it stands before as if that were the only one.
"""

import os
import sys


def _load():
    """Import the agent's package from beside this folder, without a path to it for others."""
    from importlib.util import module_from_spec, spec_from_file_location

    name = "memtop"
    if name not in sys.modules:
        folder = os.path.join(_root, name)
        spec = spec_from_file_location(name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])
        sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])


def _begin():
    """Start the agent, PyTorch being there. Whatever goes wrong is not the program's concern."""
    try:
        _load()
        from memtop.start import begin

        begin()
    except Exception:
        pass


def _watch():
    """Wait for PyTorch."""
    path = os.path.join(_root, "memtop", "importing.py")
    with open(path, encoding="utf-8") as file:
        code = compile(file.read(), path, "exec")
    importing = {"__name__": "memtop.importing"}
    exec(code, importing)
    importing["when_imported"]("torch", _begin)


_here = os.path.dirname(os.path.abspath(__file__))
_root = os.path.dirname(_here)
try:  # noqa: SIM105 contextlib would be imported into the program
    _watch()
except Exception:
    pass
sys.path[:] = [path for path in sys.path if path != _here]
sys.path_importer_cache.pop(_here, None)
sys.modules.pop("sitecustomize", None)
import sitecustomize  # noqa: E402, F401
