"""It changes its folder, its umask, priority and environment, and looks at its files."""

import os
import tempfile
from pathlib import Path

from training import Training, turns

training, seen = Training(), set()
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.umask(0o137)
    os.nice(1)
    os.environ.clear()
    for _ in turns():
        loss = training.step()
        Path("checkpoint").write_text("x")
        seen.add(
            (oct(Path("checkpoint").stat().st_mode), tuple(os.listdir(".")), os.getcwd() == os.path.realpath(folder))
        )
        Path("checkpoint").unlink()
print(seen, oct(os.umask(0)), os.nice(0), dict(os.environ), loss.item().hex())
