"""It closes the standard streams, and its own files take their numbers."""

import os
import tempfile

from training import Training, turns

training = Training()
out = os.dup(1)
os.closerange(0, 3)
files = [tempfile.TemporaryFile(buffering=0) for _ in range(3)]  # noqa: SIM115  # open to the end
numbers = [file.fileno() for file in files]
for _ in turns():
    loss = training.step()
    for number in numbers:
        os.write(number, b"x")
sizes = [os.fstat(number).st_size for number in numbers]
os.write(out, f"{numbers} {sizes} {loss.item().hex()}\n".encode())
