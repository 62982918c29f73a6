"""All its threads block SIGUSR1, and one waits for it; a timer's signal comes through a wakeup descriptor."""

import os
import signal
import socket
import threading

from training import Training, turns

training, waited, timer = Training(), [], []
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGUSR2])


def wait():
    while (number := signal.sigwait([signal.SIGUSR1, signal.SIGUSR2])) != signal.SIGUSR2:
        waited.append(number)


waiter = threading.Thread(target=wait)
waiter.start()
woken, wakes = socket.socketpair()
woken.setblocking(False)
wakes.setblocking(False)
signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
signal.signal(signal.SIGPROF, lambda *_: timer.append(1))
signal.setitimer(signal.ITIMER_PROF, 0.05, 0.05)
for turn in turns():
    loss = training.step()
    if turn % 20 == 10:
        os.kill(os.getpid(), signal.SIGUSR1)
        while len(waited) <= turn // 20:
            signal.sigtimedwait([], 0.01)
signal.setitimer(signal.ITIMER_PROF, 0)
os.kill(os.getpid(), signal.SIGUSR2)
waiter.join()
print(len(waited), set(woken.recv(65536)), bool(timer), loss.item().hex())
