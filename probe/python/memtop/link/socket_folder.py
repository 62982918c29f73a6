"""Where the socket is, and how the agent makes sure that the place is safe.

A process that can open the socket can read the program's memory layout and change its settings. So the
socket is in a folder that belongs to the user and is closed to all others. A folder that another user
could have made, or put something into, is refused and not repaired. The folder is opened once, and
everything in it is made through that handle, so nobody can replace the folder in between.

The socket's name contains the process that it belongs to. It is made under a hidden name, and renamed
once the process listens on it. A socket that refuses connections under its final name was left by
a dead process and is removed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import socket
import stat
import struct
import sys
from typing import NamedTuple

from ..safety.interrupts import ignored, let_through
from ..start.identity import Process
from .descriptors import Socket, held, new_socket

_NAME = re.compile(r"[1-9][0-9]*-[0-9]+\.sock")
_BACKLOG = 128


class Unsafe(Exception):
    """The folder is not safe for a socket. The text says why, and what to do."""


class Peer(NamedTuple):
    """The process at the other end of a connection. The pid is the one in this process's PID namespace."""

    pid: int
    user: int


def folder() -> str:
    """Return the folder of the sockets, in which viewers look."""
    environment = os.environ
    if own := environment.get("MEMTOP_DIR"):
        return os.path.abspath(own)
    if runtime := environment.get("XDG_RUNTIME_DIR"):
        return os.path.abspath(os.path.join(runtime, "memtop"))
    return os.path.abspath(os.path.join(environment.get("TMPDIR") or "/tmp", f"memtop-{os.geteuid()}"))


def listen(path: str, process: Process) -> tuple[Socket, str]:
    """Make the socket of a process in the folder. Return it with its path."""
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    with ignored(FileExistsError):  # `open_folder` checks whether it is safe
        os.mkdir(path, 0o700)
    with held(open_folder(path)) as handle:
        _remove_stale(path, handle)
        name = f"{process.pid}-{process.start}.sock"
        if _exists(handle, name):
            raise Unsafe(f"{os.path.join(path, name)} is in use: one probe is enough for a program")
        return _listen(path, handle, name), os.path.join(path, name)


def peer_of(connection: socket.socket) -> Peer:
    """Return the process at the other end, as the kernel noted it when the connection was made."""
    if sys.platform == "linux":
        pid, user, _ = struct.unpack("iII", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return Peer(pid, user)
    if sys.platform == "darwin":
        local, credentials, of_pid = 0, 1, 2  # SOL_LOCAL, LOCAL_PEERCRED, LOCAL_PEERPID
        _, user = struct.unpack_from("II", connection.getsockopt(local, credentials, 76))
        return Peer(connection.getsockopt(local, of_pid), user)
    raise OSError("this system does not say who is at the other end of a socket")


def open_folder(path: str) -> int:
    """Open the folder. It must be a real folder, belong to this user, and be closed to others."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        let_through(error)
        if os.path.islink(path):
            raise _unsafe(path, "is a symbolic link") from None
        if isinstance(error, NotADirectoryError):
            raise _unsafe(path, "is not a folder") from None
        raise
    found = os.fstat(handle)
    mode = stat.S_IMODE(found.st_mode)
    reason = ""
    if found.st_uid != os.geteuid():
        reason = f"belongs to user {found.st_uid} and not to user {os.geteuid()}"
    elif mode & 0o077:
        reason = f"has mode {mode:04o}, which lets others in"
    if reason:
        os.close(handle)
        raise _unsafe(path, reason)
    return handle


def _unsafe(path: str, reason: str) -> Unsafe:
    return Unsafe(f"folder {path} {reason}: remove it or set MEMTOP_DIR to a folder of your own with mode 0700")


def reach(path: str, handle: int, name: str) -> str:
    """Return a short address for a socket in the open folder, however long its path is."""
    through = f"/proc/self/fd/{handle}"
    return os.path.join(through if os.path.isdir(through) else path, name)


def _exists(handle: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=handle, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _listen(path: str, handle: int, name: str) -> Socket:
    hidden = "." + name
    if _exists(handle, hidden):  # left by a process of the same name that died at this point
        os.unlink(hidden, dir_fd=handle)
    listener = new_socket()
    try:
        listener.own.bind(reach(path, handle, hidden))
        listener.own.listen(_BACKLOG)
        os.chmod(hidden, 0o600, dir_fd=handle)
        os.rename(hidden, name, src_dir_fd=handle, dst_dir_fd=handle)
    except BaseException:
        listener.close()
        raise
    return listener


def _remove_stale(path: str, handle: int) -> None:
    """Remove the sockets of programs that ended without removing them."""
    for name in os.listdir(handle):
        with ignored(FileNotFoundError):  # another program removed it first
            mode = os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode
            if _NAME.fullmatch(name) and stat.S_ISSOCK(mode) and _stale(path, handle, name):
                os.unlink(name, dir_fd=handle)


def _stale(path: str, handle: int, name: str) -> bool:
    """Report whether no process listens on a socket, without waiting for one that does not answer.

    This connects to the socket instead of looking up the pid: the owner may be in another PID namespace.
    """
    with contextlib.closing(new_socket()) as asking:
        return asking.own.connect_ex(reach(path, handle, name)) == errno.ECONNREFUSED
