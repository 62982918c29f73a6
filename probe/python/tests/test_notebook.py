"""``%memtop`` in a notebook. MEMTOP_BINARY is the path of memtop; without it, a program that tells its arguments stands
in for it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import memtop
from memtop import notebook


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "memtop"
    program.write_text(
        f"#!{sys.executable}\n"
        "import sys\nprint(sys.argv[1:])\nsys.exit(sys.argv[-1] == 'bad.pickle' and 'no snapshot')\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(notebook, "program", lambda: str(program))
    return program


def test_a_file_and_flags_are_given_to_export(stand_in: Path) -> None:
    assert (
        notebook.page(["a b.pickle", "--at", "end"])
        == "['export', '--to', 'html', '-o', '-', 'a b.pickle', '--at', 'end']\n"
    )


def test_a_failure_is_the_line_of_memtop(stand_in: Path) -> None:
    with pytest.raises(OSError, match=r"^no snapshot$"):
        notebook.page(["bad.pickle"])


def test_a_kernel_that_uses_no_gpu_is_told_so(stand_in: Path) -> None:
    with pytest.raises(OSError, match="has used no GPU"):
        notebook.page([])


def test_a_page_cannot_leave_its_frame() -> None:
    text = notebook.Page('"></iframe><script>alert(1)</script>')._repr_html_()
    assert text.count("<") == 2 and 'sandbox="allow-scripts"' in text


def test_the_extension_registers_the_magic() -> None:
    class Shell:
        def register_magic_function(self, *what: object) -> None:
            self.what = what

    shell = Shell()
    memtop.load_ipython_extension(shell)
    assert shell.what == (notebook.show, "line", "memtop")
