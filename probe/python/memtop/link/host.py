"""Finding memtop's host: that of the job, or one that this process starts."""

from __future__ import annotations

import os
import subprocess

from ..notebook import program
from ..rehearsal.imitated import rehearsed
from . import socket_folder

VARIABLE = "MEMTOP_HOST"  # the path of the host's socket, which `memtop run` and `memtop rehearse` set
_BEGINS = "memtop-host"  # the name under which memtop starts a host, see Go's package sensor


def host_of_job() -> str:
    """Return the path of the host's socket. A program that `memtop` did not start, because it imports `memtop.auto`,
    starts one. It raises an OSError if there is none."""
    given = os.environ.get(VARIABLE, "")
    if given and os.path.exists(given):
        return given
    if rehearsed():
        raise OSError("the rehearsal has no host")
    command = [_BEGINS, socket_folder.folder(), str(os.getpid())]
    done = subprocess.run(command, executable=program(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    said = done.stdout.decode(errors="replace").strip()
    name, _, path = said.partition("=")
    if name != VARIABLE:
        raise OSError(said or "memtop's host did not begin")
    return path
