"""Which rank of a job this process is: what its launcher's environment says of it, as package collective reads it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_MOST = 1 << 20  # ranks that a job may have


class _Launcher(NamedTuple):
    """The variables of a launcher. Those of a job are joined; those of the first group that is set count."""

    name: str
    rank: str
    world: str
    local: str
    job: Sequence[Sequence[str]]


_SLURM_STEP = ("SLURM_JOB_ID", "SLURM_STEP_ID")
# The one first that others set too.
_LAUNCHERS = (
    _Launcher("mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
              (("PMIX_NAMESPACE",), ("OMPI_MCA_ess_base_jobid",))),
    _Launcher("mpiexec", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", (("PMI_JOBID",), _SLURM_STEP)),
    _Launcher("torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK",
              (("TORCHELASTIC_RUN_ID",), ("MASTER_ADDR", "MASTER_PORT"))),
    _Launcher("srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", (_SLURM_STEP,)),
)  # fmt: skip
_UNNAMED = "none"  # what torchrun calls a run that was given no name


class Rank(NamedTuple):
    """The place of a process among those that its launcher started, with the fields of the protocol."""

    job: str
    rank: int
    world: int
    local: int
    launcher: str
    together: bool = False  # ranks do not agree on settings by themselves


def rank(environment: Mapping[str, str] = os.environ) -> Rank | None:
    """Return the rank of this process; None for one that is alone, or whose variables make no sense."""
    for launcher in _LAUNCHERS:
        if environment.get(launcher.rank) and environment.get(launcher.world):
            return _placed(launcher, environment)
    return None


def _placed(launcher: _Launcher, environment: Mapping[str, str]) -> Rank | None:
    try:
        number, world = int(environment[launcher.rank]), int(environment[launcher.world])
        local = int(environment.get(launcher.local) or 0)
    except ValueError:
        return None
    if not (0 <= number < world and 0 <= local < world and 1 < world <= _MOST):
        return None
    return Rank(_job(launcher, environment), number, world, local, launcher.name)


def _job(launcher: _Launcher, environment: Mapping[str, str]) -> str:
    for group in launcher.job:
        values = [environment.get(name, "") for name in group]
        if all(value not in ("", _UNNAMED) for value in values):
            return ".".join(values)
    return ""
