"""It forks children in mid-training: one leaves by os._exit, one by sys.exit, and each trains a step before."""

import os
import sys

from training import Training, turns

training, ends = Training(), []


def child(turn):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        os.write(write, training.step().item().hex().encode())
        if turn % 2:
            os._exit(turn)
        sys.exit(turn)
    os.close(write)
    with open(read, "rb") as answer:
        said = answer.read().decode()
    return said, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


for turn in turns():
    loss = training.step()
    if turn % 40 == 20:
        ends.append(child(turn // 40))
print(ends, loss.item().hex())
