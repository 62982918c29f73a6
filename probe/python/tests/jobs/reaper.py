"""A handler of SIGCHLD counts and reaps every child that ends, as an init process does."""

import os
import signal

from training import Training, turns

training, signals, reaped = Training(), 0, []


def ended(*_):
    global signals
    signals += 1
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        reaped.append(os.waitstatus_to_exitcode(status))


signal.signal(signal.SIGCHLD, ended)
for turn in turns():
    loss = training.step()
    if turn % 60 == 30:
        if os.fork() == 0:
            os._exit(turn // 60)
        while len(reaped) <= turn // 60:
            signal.sigtimedwait([], 0.01)
print(signals, reaped, loss.item().hex())
