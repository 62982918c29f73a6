"""It leaves a daemon by two forks, closes the daemon's streams, and waits until it has trained."""

import os

from training import Training, turns

training = Training()
training.step()
read, write = os.pipe()
middle = os.fork()
if middle == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    os.close(read)
    for number in range(3):
        os.close(number)
    for _ in turns():
        loss = training.step()
    os.write(write, loss.item().hex().encode())
    os._exit(0)
os.close(write)
os.waitpid(middle, 0)
for _ in turns():
    loss = training.step()
with open(read) as answer:
    print(answer.read(), loss.item().hex())
