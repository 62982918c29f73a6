"""Our sitecustomize starts the agent where it should, and hides nothing of the one behind it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1]

# The agent of these tests, and what passes for PyTorch: enough to see what starts when.
AGENT = 'import os, sys\ndef start(host):\n    print(f"agent in {sys.argv[1:]}", flush=True)\n'
TORCH = """
import sys, types
optimizer = sys.modules["torch.optim.optimizer"] = types.ModuleType("torch.optim.optimizer")
_C, hooks = types.SimpleNamespace(), []
class Handle:
    def remove(self): hooks.clear()
def register(hook):
    hooks.append(hook)
    return Handle()
optimizer.register_optimizer_step_post_hook = register
def step():
    for hook in list(hooks): hook(None, (), {})  # as PyTorch does: the optimizer, and what its step was given
"""


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    """Return the agent's folder, with an agent that says where it starts and a torch beside it."""
    root = tmp_path / "agent"
    for folder in ("memtop", "run"):
        shutil.copytree(SOURCE / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
        (root / folder / "__pycache__").touch()
    (root / "memtop" / "agent.py").write_text(AGENT)
    (root / "memtop" / "agent.py").chmod(0o600)
    (tmp_path / "lib" / "torch").mkdir(parents=True)
    (tmp_path / "lib" / "torch" / "__init__.py").write_text(TORCH)
    return root


def run(agent: Path | None, *arguments: str, path: str = "", python: str = sys.executable) -> tuple[int, str, str]:
    """Run an interpreter with or without the agent, and return its exit code and what it printed."""
    front = [str(agent / "run")] if agent else []
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*front, *([path] if path else [])])}
    if not environment["PYTHONPATH"]:
        del environment["PYTHONPATH"]
    result = subprocess.run([python, *arguments], env=environment, cwd="/", capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr


LOOK = "import sys; print(sys.path, sorted(m for m in sys.modules if 'custom' in m), sys.path_importer_cache.keys())"


@pytest.mark.parametrize(
    "other",
    [
        pytest.param("", id="empty"),
        pytest.param("import sys\nsys.argv_seen = 1\nprint('other', __name__, __spec__.name, __file__)", id="prints"),
        pytest.param("raise ValueError('no luck')", id="raises"),
        pytest.param("import not_there", id="misses a module"),
        pytest.param("import sitecustomize; print(sitecustomize.__name__)", id="imports itself"),
        pytest.param("raise SystemExit(7)", id="leaves"),
        pytest.param("if True print", id="is no Python"),
        pytest.param(None, id="is not there"),
    ],
)
@pytest.mark.parametrize("place", ["path", "venv"])
def test_another_sitecustomize_is_as_without_ours(tmp_path: Path, agent: Path, other: str | None, place: str) -> None:
    python, folder = sys.executable, tmp_path / "other"
    folder.mkdir()
    if place == "venv":
        venv.create(tmp_path / "env", with_pip=False, symlinks=True)
        python = str(tmp_path / "env" / "bin" / "python")
        folder = next((tmp_path / "env").glob("lib/python*/site-packages"))
    if other is not None:
        (folder / "sitecustomize.py").write_text(other)
    path = str(folder) if place == "path" else ""
    with_agent, without = (run(a, "-c", LOOK, path=path, python=python) for a in (agent, None))
    assert with_agent[:2] == without[:2]
    assert without_frames(with_agent[2]) == without_frames(without[2])


def without_frames(errors: str) -> list[str]:
    """Return the lines of a traceback but for its frames: one that ends the interpreter has ours, too."""
    return [line for line in errors.splitlines() if not line.startswith("  ")]


PARENT = """
import multiprocessing, subprocess, sys
def child():
    import torch
    {work}
if __name__ == "__main__":
    import torch
    context = multiprocessing.get_context("{method}")
    process = context.Process(target=child)
    process.start(); process.join()
    sys.exit(process.exitcode)
"""


@pytest.mark.parametrize(
    ("method", "work", "agents"),
    [
        pytest.param("spawn", "pass", 1, id="a worker"),
        pytest.param("forkserver", "pass", 1, id="a worker of a server"),
        pytest.param("spawn", "torch.step(); torch.step()", 2, id="a rank"),
        pytest.param("forkserver", "torch.step(); torch.step()", 2, id="a rank of a server"),
    ],
)
def test_children_of_multiprocessing(tmp_path: Path, agent: Path, method: str, work: str, agents: int) -> None:
    program = tmp_path / "train.py"
    program.write_text(PARENT.format(method=method, work=work))
    code, printed, errors = run(agent, str(program), path=str(tmp_path / "lib"))
    assert (code, errors) == (0, "")
    assert printed.count("agent") == agents


LAUNCHER = """
import os, subprocess, sys
import torch
for rank in "01":
    subprocess.run([sys.executable, sys.argv[1], rank], env={**os.environ, "RANK": rank})
"""


def test_ranks_have_an_agent_and_their_launcher_none(tmp_path: Path, agent: Path) -> None:
    (tmp_path / "torchrun").write_text(LAUNCHER)
    (tmp_path / "train.py").write_text("import torch")
    result = run(agent, str(tmp_path / "torchrun"), str(tmp_path / "train.py"), path=str(tmp_path / "lib"))
    assert result == (0, "agent in ['0']\nagent in ['1']\n", "")


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        ("agent.py", "raise SystemError"),
        ("agent.py", "def start(): 1/0"),
        ("start/start.py", "import nothing"),
        ("start/importing.py", "x("),
    ],
)
def test_an_agent_that_fails_is_not_noticed(tmp_path: Path, agent: Path, broken: str, text: str) -> None:
    (agent / "memtop" / broken).write_text(text)
    assert run(agent, "-c", "import torch; print(1)", path=str(tmp_path / "lib")) == (0, "1\n", "")


def test_the_line_in_a_program(tmp_path: Path, agent: Path) -> None:
    path = os.pathsep.join([str(agent), str(tmp_path / "lib")])
    assert run(None, "-c", "import memtop.auto; print(0); import torch; print(1)", path=path) == (
        0,
        "0\nagent in []\n1\n",
        "",
    )
    assert run(None, "-c", "import torch; import memtop.auto; print(1)", path=path) == (0, "agent in []\n1\n", "")
    assert run(agent, "-c", "import memtop.auto; import torch; memtop.auto.start()", path=path) == (
        0,
        "agent in []\n",
        "",
    )


def test_the_line_in_a_program_says_why_there_is_no_agent(tmp_path: Path, agent: Path) -> None:
    (agent / "memtop" / "agent.py").write_text("def start(host): raise OSError('the command memtop is not in PATH')")
    path = os.pathsep.join([str(agent), str(tmp_path / "lib")])
    code, printed, said = run(None, "-c", "import memtop.auto, torch; print(1)", path=path)
    assert (code, printed) == (0, "1\n")
    assert said == "memtop: this program has no agent: the command memtop is not in PATH\n"


def test_no_compiled_code_is_left(tmp_path: Path, agent: Path) -> None:
    before = sorted(agent.rglob("*"))
    assert run(agent, "-c", "import torch", path=str(tmp_path / "lib"))[1] == "agent in []\n"
    assert sorted(agent.rglob("*")) == before
