"""The agent's own file descriptors, in a program that may close any number and open its own files in its place.

Programs close all numbers that they do not know, and their next files get them. So the agent's numbers are high, where
a program's files come last, and none is used or closed before it was seen to be the file that the agent opened. Between
that look and the system call is only the moment in which Python's lock changes hands: a program would have to close the
number and put a file of its own at this high place just then.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import math
import os
import resource
import select
import socket
from collections.abc import Iterator
from pathlib import Path

MOST = 4096  # numbers that are looked at: the kernel's table of a process reaches up to the highest in use
_COOKIE = 57  # SO_COOKIE of Linux: no other socket has the same
_libc = ctypes.PyDLL(None, use_errno=True)  # its calls keep Python's lock, so the program does not run meanwhile
_libc.open.argtypes = ctypes.c_char_p, ctypes.c_int
_libc.fcntl.argtypes = ctypes.c_int, ctypes.c_int

_open: set[socket.socket] = set()  # else Python would close their numbers when it frees them


class Lost(OSError):
    """The program has closed the descriptor."""


class Descriptor:
    """An open file of the agent's."""

    def __init__(self, number: int) -> None:
        """Take over a file that has just been opened. It gets a high number."""
        self._number = _moved(number)
        self._identity = self._identify()

    @property
    def number(self) -> int:
        """The number. It raises `Lost` if it is not the agent's any more."""
        self.check()
        return self._number

    @property
    def kept(self) -> bool:
        """Whether the number is still the agent's."""
        try:
            return self._identify() == self._identity
        except OSError:
            return False

    def check(self) -> None:
        """Raise `Lost` if the number is not the agent's any more."""
        if not self.kept:
            raise Lost(errno.EBADF, "the program has closed it")

    def close(self) -> None:
        """Close the file, unless the program has done so."""
        if self.kept:
            _libc.close(self._number)

    def _identify(self) -> object:
        found = os.fstat(self._number)
        return found.st_dev, found.st_ino


class Socket(Descriptor):
    """A unix socket of the agent's, which does not block."""

    def __init__(self, number: int) -> None:
        """Take over a socket that has just been opened. It gets a high number."""
        self._number = _moved(number)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=self._number)
        self._socket.setblocking(False)
        self._identity = self._identify()
        _open.add(self._socket)

    @property
    def own(self) -> socket.socket:
        """The socket. It raises `Lost` if its number is not the agent's any more."""
        self.check()
        return self._socket

    def close(self) -> None:
        """Close the socket, unless the program has done so."""
        super().close()
        self._socket.detach()
        _open.discard(self._socket)

    def _identify(self) -> object:
        with contextlib.suppress(OSError):  # an old kernel; this call keeps Python's lock
            return self._socket.getsockopt(socket.SOL_SOCKET, _COOKIE, 8)
        return super()._identify()


def new_socket() -> Socket:
    """Return a new socket."""
    return Socket(_call("socket", socket.AF_UNIX, socket.SOCK_STREAM, 0))


def new_pair() -> tuple[Socket, Socket]:
    """Return two sockets that are connected."""
    first, second = (Socket(end.detach()) for end in socket.socketpair())
    return first, second


def wait(awaited: dict[Socket, int], timeout: float | None) -> list[Socket]:
    """Wait for the events of poll(2) that each socket is awaited for. Return the sockets that have some, and those that
    are lost, whose next use says so."""
    poll, by_number = select.poll(), {each._number: each for each in awaited if each.kept}
    for number, each in by_number.items():
        poll.register(number, awaited[each])
    lost = [each for each in awaited if each not in by_number.values()]
    ready = poll.poll(0 if lost else timeout and math.ceil(timeout * 1000))
    return [*lost, *(by_number[number] for number, _ in ready)]


@contextlib.contextmanager
def held(number: int) -> Iterator[int]:
    """Give a file that has just been opened a high number for a while, and close it then."""
    file = Descriptor(number)
    try:
        yield file.number
    finally:
        file.close()


def read(path: Path | str, most: int = 16 << 20) -> bytes:
    """Return the content of a file of /proc or of a control group, up to some bytes: another process decides how long
    its files are. It raises an OSError."""
    opened = _call("open", os.fsencode(path), os.O_RDONLY | os.O_CLOEXEC)
    with held(opened) as number, open(number, "rb", closefd=False) as file:
        return file.read(most)


def share(of: int) -> int:
    """Return how many descriptors a part of the process's limit is, as the limit is now."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return (MOST if soft == resource.RLIM_INFINITY else min(soft, MOST)) // of


def check_length(end: int) -> None:
    """Raise an OSError if a file may not be that long, in bytes: for writing more the system sends a signal, and unless
    the program ignores it, it ends."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if limit != resource.RLIM_INFINITY and end > limit:
        raise OSError(errno.EFBIG, f"{os.strerror(errno.EFBIG)}: the limit of files is {limit} bytes")


def _moved(number: int) -> int:
    """Move a file to the last three eighths of the numbers."""
    try:
        return _call("fcntl", number, fcntl.F_DUPFD_CLOEXEC, share(1) * 5 // 8)
    finally:
        _libc.close(number)


def _call(name: str, *arguments: object) -> int:
    result: int = getattr(_libc, name)(*arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
