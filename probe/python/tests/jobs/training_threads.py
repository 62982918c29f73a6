"""Two threads train a model each in modes of their own, and it joins every thread that there is."""

import threading

import torch
from training import Training, turns

losses, trainings = {}, [Training(seed=number) for number in range(2)]


def train(number):
    training = trainings[number]
    for turn in turns():
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=number == 1):
            loss = training.step()
        if turn % 10 == 0:
            with torch.inference_mode(number == 0):
                training.model(training.input())
    losses[number] = loss.item().hex()


for number in range(2):
    threading.Thread(target=train, args=(number,), name=f"trains {number}").start()
for thread in threading.enumerate():
    if thread is not threading.current_thread():
        thread.join()
print(sorted(losses.items()), [thread.name for thread in threading.enumerate()])
