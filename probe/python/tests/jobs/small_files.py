"""A file may have 64 KiB, and the signal that a longer one brings ends it, as by default outside of Python."""

import os
import resource
import signal
import tempfile

from training import Training, turns

training = Training()
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, 64 << 10))
with tempfile.TemporaryFile() as file:
    for _ in turns():
        loss = training.step()
        file.seek(0)
        file.write(os.urandom(60_000))
print(loss.item().hex())
