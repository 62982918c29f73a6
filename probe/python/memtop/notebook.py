"""``%memtop`` in a notebook: the page of a snapshot, or of what this kernel holds now.

``%load_ext memtop`` registers it. The page is what ``memtop export`` writes; it is shown in a frame without rights on
the notebook's own page. Nothing here runs unless a cell asks for it.
"""

from __future__ import annotations

import html
import pickle
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

HEIGHT = 700  # pixels of the frame


def register(shell: Any) -> None:
    """Add the magic to IPython's shell."""
    shell.register_magic_function(show, "line", "memtop")


class Page:
    """What a cell shows: a page in a frame."""

    def __init__(self, text: str) -> None:
        self.text = text

    def _repr_html_(self) -> str:
        attributes = f'sandbox="allow-scripts" width="100%" height="{HEIGHT}" style="border:0" title="memtop"'
        return f'<iframe {attributes} srcdoc="{html.escape(self.text)}"></iframe>'


def show(line: str) -> Page:
    """``%memtop [FILE] [FLAGS of memtop export]``: without a file, the memory of this kernel."""
    from IPython.core.error import UsageError  # type: ignore[import-not-found, unused-ignore]

    try:
        return Page(page(shlex.split(line)))
    except OSError as failure:
        raise UsageError(str(failure)) from None  # which a notebook shows in one line


def page(arguments: list[str]) -> str:
    """Return the page of the snapshot that the arguments name, or of this process.

    A failure of memtop is an OSError with its line."""
    with tempfile.TemporaryDirectory(prefix="memtop-") as folder:
        if not arguments or arguments[0].startswith("-"):
            arguments = [str(now(Path(folder) / "now.pickle")), *arguments]
        command = [program(), "export", "--to", "html", "-o", "-", *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(done.stderr.strip())
    return done.stdout


def now(path: Path) -> Path:
    """Write PyTorch's snapshot of this process."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        raise OSError("this kernel has used no GPU; give the path of a snapshot")
    with path.open("wb") as file:
        pickle.dump(torch.cuda.memory._snapshot(), file)
    return path


def program() -> str:
    """Return the command memtop: that of this Python, or else the one in PATH."""
    found = shutil.which("memtop", path=sysconfig.get_path("scripts")) or shutil.which("memtop")
    if found is None:
        raise OSError("the command memtop is not in PATH")
    return found
