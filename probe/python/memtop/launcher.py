"""The rank of this process in its job, from the launcher's environment; Go's package collective reads it the same
way."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_MOST = 1 << 20  # the most ranks of a job


class _Launcher(NamedTuple):
    """The environment variables of a launcher. The job's name joins the variables of the first group that is set."""

    name: str
    rank: str
    world: str
    local: str
    job: Sequence[Sequence[str]]


_SLURM_STEP = ("SLURM_JOB_ID", "SLURM_STEP_ID")
# In order: a launcher that sets the variables of another comes before it.
_LAUNCHERS = (
    _Launcher("mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
              (("PMIX_NAMESPACE",), ("OMPI_MCA_ess_base_jobid",))),
    _Launcher("mpiexec", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", (("PMI_JOBID",), _SLURM_STEP)),
    _Launcher("torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK",
              (("TORCHELASTIC_RUN_ID",), ("MASTER_ADDR", "MASTER_PORT"))),
    _Launcher("srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", (_SLURM_STEP,)),
)  # fmt: skip
_UNNAMED = "none"  # torchrun's name for a run without a name


class Rank(NamedTuple):
    """The place of a process among those that its launcher started. The fields are those of the protocol."""

    job: str
    rank: int
    world: int
    local: int
    launcher: str
    together: bool = False  # the ranks do not agree on settings without a viewer


def rank(environment: Mapping[str, str] = os.environ) -> Rank | None:
    """Return the rank of this process, None if it runs alone or its variables are not valid."""
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
