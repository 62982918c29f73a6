"""Which processes of a job have an agent."""

from __future__ import annotations

import pytest

from memtop.start.roles import Role, role_of


@pytest.mark.parametrize(
    ("line", "role"),
    [
        ("python train.py --workers 4", Role.PROGRAM),
        ("python -u -m train.main -c 3", Role.PROGRAM),
        ("python -X dev -W ignore train.py", Role.PROGRAM),
        ("python -Wignore -um nanotron.run", Role.PROGRAM),
        ("python - torchrun", Role.PROGRAM),
        ("python", Role.PROGRAM),
        ("python -c import_torch", Role.PROGRAM),
        ("python train.py torchrun", Role.PROGRAM),
        ("python -m ipykernel_launcher -f kernel.json", Role.PROGRAM),
        ("python /usr/bin/torchrun --nproc-per-node 2 train.py", Role.LAUNCHER),
        ("python -m torch.distributed.run train.py", Role.LAUNCHER),
        ("python -um torch.distributed.launch train.py", Role.LAUNCHER),
        ("python --check-hash-based-pycs always /bin/accelerate launch train.py", Role.LAUNCHER),
        ("python -m accelerate.commands.launch train.py", Role.LAUNCHER),
        ("python -m deepspeed.launcher.launch train.py", Role.LAUNCHER),
        ("python -m torch._inductor.compile_worker --workers=2", Role.LAUNCHER),
        ("python /x/site-packages/torch/_inductor/compile_worker/__main__.py --parent 4", Role.LAUNCHER),
        ("python -c from~multiprocessing.spawn~import~spawn_main;~spawn_main(4) --multiprocessing-fork", Role.CHILD),
        ("python -c from~multiprocessing.resource_tracker~import~main;main(5)", Role.CHILD),
        ("python -c from~multiprocessing.forkserver~import~main;~main(1)", Role.CHILD),
        ("python -m joblib.externals.loky.backend.popen_loky_posix --process-name x", Role.CHILD),
    ],
)
def test_the_role_of_a_command_line(line: str, role: Role) -> None:
    assert role_of([word.replace("~", " ") for word in line.split()]) is role
