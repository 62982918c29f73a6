"""The file of this process's black box: where it is, and how it is made and removed.

The folder is that of the socket if it is in memory, else one of /dev/shm, under the same rules: it belongs
to the user and is closed to others. All of the file's space is taken when it is made, so that no later
write can find the folder full. The process holds a POSIX lock on the file: no child inherits it, and
the kernel releases it when the process ends, so memtop knows which boxes are of ended programs.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
import struct
import sys
import time
from collections.abc import Iterator

from . import place
from .descriptors import Descriptor, check_length, held, read
from .interrupts import ignored
from .process import Process

VARIABLE = "MEMTOP_BLACK_BOX"  # off, a size or a folder
USUAL, LEAST, MOST, PAGE = 8 << 20, 256 << 10, 1 << 30, 4096  # bytes
MAGIC = b"\x8fmtb\r\n\x01\x00"
ALIVE_AT = 24  # where the file has the time at which its program last noted that it runs
SPARE = 8  # how many times its own size a box of the usual size leaves free
KEPT, LIFETIME, MAKING = 8, 24 * 3600.0, 60.0  # boxes of ended programs in a folder; seconds
_NAME = re.compile(r"\.?[1-9][0-9]*-[0-9]+\.box")
_SIZE = re.compile(r"([0-9.]+)([BKMGT]?)(I?B?)", re.IGNORECASE)
# struct flock of Linux: type, whence, start, length, pid
_LOCK = "@hhqqi4x"


class File:
    """A file of fixed size in the folder of boxes. It has a hidden name until `name`."""

    def __init__(self, folder: str, name: str, size: int, handle: int) -> None:
        self.path, self.size = os.path.join(folder, name), size
        self._made = os.path.join(folder, "." + name)
        with ignored(FileNotFoundError):  # left by a process of the same name that died right here
            os.unlink("." + name, dir_fd=handle)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = Descriptor(os.open("." + name, flags, 0o600, dir_fd=handle))
        try:
            check_length(size)
            fcntl.lockf(self._file.number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.posix_fallocate(self._file.number, 0, size)
        except BaseException:
            self.remove()
            raise

    def name(self) -> None:
        """Give the file its final name, so that memtop sees it. It replaces no other file."""
        os.link(self._made, self.path)
        os.unlink(self._made)
        self._made = self.path

    def write(self, at: int, data: bytes) -> None:
        """Write bytes at a place. What is written stays when the process is killed. It raises an OSError."""
        check_length(at + len(data))
        while data:
            written = os.pwrite(self._file.number, data, at)
            at, data = at + written, data[written:]

    def read(self, at: int, length: int) -> bytes:
        """Return the bytes at a place."""
        return os.pread(self._file.number, length, at)

    def harm(self) -> str:
        """Return what another program has done to the file, "" for nothing."""
        found = os.fstat(self._file.number)
        if found.st_size < self.size:
            return f"{self.path} was cut short by another program"
        return "" if found.st_nlink else f"{self.path} was removed by another program"

    def remove(self) -> None:
        """Remove the file, and give up the lock."""
        with ignored(OSError):  # it or its folder is gone already
            os.unlink(self._made)
        self.leave()

    def leave(self) -> None:
        """Close the file. In a forked child this leaves the parent's lock alone."""
        self._file.close()


def make(process: Process) -> File | None:
    """Make the file of a process, None if none is wanted. It raises `place.Unsafe`, a ValueError or an OSError, which
    say why there is none."""
    wish = os.environ.get(VARIABLE, "")
    if wish == "off" or sys.platform != "linux":
        return None
    size = _size(wish)
    path = wish if os.path.isabs(wish) else usual_folder()
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    with ignored(FileExistsError):  # `open_folder` checks whether it is safe
        os.mkdir(path, 0o700)
    with held(place.open_folder(path)) as handle:
        name = f"{process.pid}-{process.start}.box"
        tidy(handle, name)
        return File(path, name, size or _fitting(handle), handle)


def usual_folder() -> str:
    """Return the folder for a box. A folder on a disk could make the program wait for the disk."""
    sockets = place.folder()
    if in_memory(sockets):
        return sockets
    if in_memory("/dev/shm"):
        return f"/dev/shm/memtop-{os.geteuid()}"
    raise place.Unsafe(f"there is no folder in memory for it, such as /dev/shm: name one with {VARIABLE}")


def in_memory(path: str) -> bool:
    """Report whether a folder's files are kept only in memory."""
    with ignored(OSError):
        device = os.stat(path).st_dev
        mounts = [line.partition(" - ") for line in read("/proc/self/mountinfo").decode(errors="replace").splitlines()]
        number = f"{os.major(device)}:{os.minor(device)}"
        kinds = [kind.split()[0] for where, _, kind in mounts if where.split()[2:3] == [number] and kind.split()]
        return any(kind in ("tmpfs", "ramfs") for kind in kinds)
    return False


def _size(wish: str) -> int:
    """Return the size that the variable asks for, 0 for the usual one."""
    if not wish or os.path.isabs(wish):
        return 0
    found = _SIZE.fullmatch(wish)
    size, base = 0, 1000 if found and found[3].upper() == "B" else 1024
    with ignored(ValueError):
        size = round(float(found[1]) * base ** "BKMGT".index(found[2].upper() or "B")) if found else 0
    if not LEAST <= size <= MOST:
        raise ValueError(f"{VARIABLE}={wish!r}: want off, a size from 256KiB to 1GiB, or a folder")
    return -(-size // PAGE) * PAGE


def _fitting(handle: int) -> int:
    """Return the usual size, or a smaller one if the folder has little room."""
    found = os.fstatvfs(handle)
    size, free = USUAL, found.f_bavail * found.f_frsize
    while size > LEAST and free < SPARE * size:
        size //= 2
    return size


def tidy(handle: int, own: str) -> None:
    """Remove boxes of ended programs: those older than a day, and of the others all but the newest few. The box `own`
    is not opened: closing it would give up its lock."""
    ended = sorted(_ended(handle, own), reverse=True)
    named = [name for _, name in ended if not name.startswith(".")]
    for alive, name in ended:
        lifetime = MAKING if name.startswith(".") else LIFETIME
        if name in named[KEPT:] or time.time() - alive > lifetime:
            with ignored(FileNotFoundError):  # another program removed it first
                os.unlink(name, dir_fd=handle)


def _ended(handle: int, own: str) -> Iterator[tuple[float, str]]:
    """Yield the boxes of this user's ended programs: when each program last noted that it ran, and the name."""
    for name in os.listdir(handle):
        if not _NAME.fullmatch(name) or name == own:
            continue
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with ignored(OSError), held(os.open(name, flags, dir_fd=handle)) as file:  # if it is there, and can be read
            found = os.fstat(file)
            if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not _held(file):
                yield max(found.st_mtime, _alive(file)), name


def _held(file: int) -> bool:
    """Report whether a program still has the file. If the system cannot say, it does."""
    with ignored(OSError):
        answer = fcntl.fcntl(file, fcntl.F_GETLK, struct.pack(_LOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        return bool(struct.unpack(_LOCK, answer)[0] != fcntl.F_UNLCK)
    return True


def _alive(file: int) -> float:
    """Return when a box's program last noted that it runs, in seconds since 1970; 0 if that cannot be."""
    header = os.pread(file, ALIVE_AT + 8, 0)
    if len(header) < ALIVE_AT + 8 or not header.startswith(MAGIC):
        return 0
    alive: int = struct.unpack_from("<q", header, ALIVE_AT)[0]
    return alive / 1e6 if alive / 1e6 < time.time() + 60 else 0
