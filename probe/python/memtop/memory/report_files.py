"""The files that a program writes when it runs out of memory: where they are, and how they are written.

They are in a folder that belongs to the user, is closed to others, and outlives the program and the
login session. A file has a hidden name until it is complete. When there are too many files, or they
are too large together, the oldest are removed.
"""

from __future__ import annotations

import os
import re

from ..link import socket_folder
from ..link.descriptors import check_length, held
from ..rehearsal.imitated import rehearsed, told
from ..safety.interrupts import ignored

MOST_FILES = 64  # two for each time a program runs out
MOST_BYTES = 1 << 30
_NAME = re.compile(r"[1-9][0-9]*-[0-9]+\.(?:pickle|json)")


def folder() -> str:
    """Return the folder of the files, where memtop looks for them."""
    environment = os.environ
    if rehearsed():
        return str(told()["folder"])
    if own := environment.get("MEMTOP_DIR"):
        return os.path.abspath(os.path.join(own, "dead"))
    state = environment.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.abspath(os.path.join(state, "memtop", "dead"))


def write(files: dict[str, bytes]) -> str:
    """Write files, given by name, in this order. Return their folder. Raises `socket_folder.Unsafe` or OSError."""
    path = folder()
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with ignored(FileExistsError):  # `open_folder` checks whether it is safe
        os.mkdir(path, 0o700)
    with held(socket_folder.open_folder(path)) as handle:
        for name, data in files.items():
            _write(handle, name, data)
        _make_room(handle, keep=set(files))
    return path


def _write(handle: int, name: str, data: bytes) -> None:
    check_length(len(data))
    hidden = "." + name
    opened = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=handle)
    try:
        with held(opened) as number, open(number, "wb", closefd=False) as file:
            file.write(data)
        os.rename(hidden, name, src_dir_fd=handle, dst_dir_fd=handle)
    except BaseException:
        os.unlink(hidden, dir_fd=handle)
        raise


def _make_room(handle: int, keep: set[str]) -> None:
    """Remove the oldest files beyond the limits, but not those in `keep`."""
    found = []
    for name in os.listdir(handle):
        with ignored(FileNotFoundError):  # another program removed it first
            if _NAME.fullmatch(name):
                stat = os.stat(name, dir_fd=handle, follow_symlinks=False)
                found.append((stat.st_mtime_ns, name, stat.st_size))
    files, size = len(found), sum(size for _, _, size in found)
    for _, name, its in sorted(found):
        if files <= MOST_FILES and size <= MOST_BYTES:
            return
        if name not in keep:
            with ignored(FileNotFoundError):
                os.unlink(name, dir_fd=handle)
            files, size = files - 1, size - its
