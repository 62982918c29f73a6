"""It counts the calls of its own functions, in all threads, and what they call, by sys.setprofile."""

import collections
import sys
import threading

from training import Training, turns

calls: collections.Counter = collections.Counter()


def profile(frame, event, argument):
    if frame.f_code.co_filename == __file__:
        name = argument.__name__ if event.startswith("c_") else frame.f_code.co_name
        calls[event, name] += 1


def train(number, losses):
    training = Training(seed=number)
    for _ in turns(20):
        loss = training.step()
        list(map(abs, [-1, 1]))
    losses.append(loss.item().hex())


losses: list = []
threading.setprofile(profile)
other = threading.Thread(target=train, args=(1, losses))
other.start()
sys.setprofile(profile)
train(2, losses)
sys.setprofile(None)
other.join()
print(sorted(calls.items()), sorted(losses))
