"""Something is done once a package has been imported, and nothing else is different."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

IMPORTING = Path(__file__).parents[1] / "memtop" / "start" / "importing.py"

PRELUDE = f"""
import sys
watch = {{"__name__": "watch"}}
exec(open({str(IMPORTING)!r}).read(), watch)
when_imported = watch["when_imported"]
"""


def run(folder: Path, program: str) -> str:
    """Run a program in a folder and return what it printed."""
    result = subprocess.run([sys.executable, "-c", PRELUDE + program], cwd=folder, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("print('runs')\nfrom . import part\n")
    (tmp_path / "pkg" / "part.py").write_text("")
    return tmp_path


CALL = "when_imported('pkg', lambda: print('then'))\n"


@pytest.mark.parametrize(
    ("program", "printed"),
    [
        pytest.param(CALL + "import pkg", "runs then", id="once it is imported"),
        pytest.param("import pkg\n" + CALL, "runs then", id="it was imported before"),
        pytest.param(CALL + "import pkg.part", "runs then", id="a part of it is imported"),
        pytest.param(CALL + "import pkg, importlib; importlib.reload(pkg)", "runs then runs", id="only once"),
        pytest.param(CALL + "import json", "", id="another is imported"),
        pytest.param(CALL + "try: import missing\nexcept ImportError: print('none')", "none", id="one is missing"),
        pytest.param(
            CALL
            + "import importlib.util\nimportlib.util.find_spec('pkg'); importlib.util.find_spec('pkg')\nimport pkg",
            "runs then",
            id="it was looked for before",
        ),
        pytest.param(
            CALL + "import pkg\nprint(sys.meta_path == before, pkg.__loader__.__dict__.keys() == {'name', 'path'})",
            "runs then True True",
            id="nothing is left",
        ),
    ],
)
def test_it_is_called(folder: Path, program: str, printed: str) -> None:
    assert run(folder, "before = list(sys.meta_path)\n" + program).split() == printed.split()


def test_a_failed_import_fails_as_always_and_may_succeed_later(folder: Path) -> None:
    (folder / "bad.py").write_text(
        "import sys\nsys.good = hasattr(sys, 'good')\nif not sys.good: raise OSError('no')\n"
    )
    program = """
import traceback
when_imported("bad", lambda: print("then"))
try:
    import bad
except OSError as error:
    print(error, [f.name for f in traceback.extract_tb(error.__traceback__)][-1])
import bad
"""
    assert run(folder, program).split() == ["no", "<module>", "then"]


def test_it_does_not_import_typing(folder: Path) -> None:
    program = CALL + "print('typing' in sys.modules, 'collections' in sys.modules)"
    result = subprocess.run([sys.executable, "-S", "-c", PRELUDE + program], cwd=folder, capture_output=True, text=True)
    assert result.stdout.split() == ["False", "False"]
