"""Which rank of a job a process is."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Serving, eventually

from memtop.launcher import Rank, rank

TORCHRUN = {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "MASTER_ADDR": "node1", "MASTER_PORT": "29500"}
MPIRUN = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "1"}
SLURM = {
    "SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "16", "SLURM_LOCALID": "1", "SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0",
}  # fmt: skip


@pytest.mark.parametrize(
    ("environment", "want"),
    [
        pytest.param({}, None, id="no launcher"),
        pytest.param(TORCHRUN, Rank("node1.29500", 3, 8, 1, "torchrun"), id="torchrun, by address"),
        pytest.param(
            {**TORCHRUN, "TORCHELASTIC_RUN_ID": "none"}, Rank("node1.29500", 3, 8, 1, "torchrun"), id="unnamed"
        ),
        pytest.param(
            {**TORCHRUN, "TORCHELASTIC_RUN_ID": "big"}, Rank("big", 3, 8, 1, "torchrun"), id="torchrun's name"
        ),
        pytest.param({"RANK": "0", "WORLD_SIZE": "2"}, Rank("", 0, 2, 0, "torchrun"), id="set by hand"),
        pytest.param({**MPIRUN, "PMIX_NAMESPACE": "prte-1@1"}, Rank("prte-1@1", 1, 2, 1, "mpirun"), id="mpirun"),
        pytest.param({**MPIRUN, "OMPI_MCA_ess_base_jobid": "9"}, Rank("9", 1, 2, 1, "mpirun"), id="an older mpirun"),
        pytest.param({**MPIRUN, **TORCHRUN}, Rank("", 1, 2, 1, "mpirun"), id="mpirun with what torch reads"),
        pytest.param({"PMI_RANK": "1", "PMI_SIZE": "2", **SLURM}, Rank("77.0", 1, 2, 0, "mpiexec"), id="PMI in Slurm"),
        pytest.param(SLURM, Rank("77.0", 5, 16, 1, "srun"), id="srun"),
        pytest.param({**TORCHRUN, "WORLD_SIZE": "1", "RANK": "0"}, None, id="alone"),
        pytest.param({**TORCHRUN, "RANK": "x"}, None, id="no number"),
        pytest.param({**TORCHRUN, "RANK": "8"}, None, id="beyond the last"),
        pytest.param({**TORCHRUN, "WORLD_SIZE": str(1 << 21)}, None, id="too many"),
    ],
)
def test_the_rank_is_what_the_launcher_says(environment: dict[str, str], want: Rank | None) -> None:
    assert rank(environment) == want


def test_the_host_learns_which_rank_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in TORCHRUN.items():
        monkeypatch.setenv(name, value)
    serving = Serving(tmp_path / "memtop")
    want = {"job": "node1.29500", "rank": 3, "world": 8, "local": 1, "launcher": "torchrun", "together": False}
    eventually("the greeting", lambda: serving.host.greetings)
    serving.close()
    assert serving.host.greetings[0]["who"]["rank"] == want


def test_a_program_that_is_alone_has_no_rank(serving: Serving) -> None:
    eventually("the greeting", lambda: serving.host.greetings)
    assert serving.host.greetings[0]["who"]["rank"] is None
