"""One thread builds long graphs and runs them backward, which frees what they saved, while the other trains."""

import threading

import torch
from training import Training, turns

stop, held = threading.Event(), {}


def work():
    weight, inputs = torch.ones(8, requires_grad=True), torch.ones(2, 8)
    while not stop.is_set():
        for number in range(8):
            value = inputs
            for _ in range(200):
                value = torch.nn.functional.gelu(value * weight).softmax(1)
            held[number] = value.sum()
        for number in range(8):
            held[number].backward()
        weight.grad = None


training = Training()
thread = threading.Thread(target=work)
thread.start()
for _ in turns(300):
    loss = training.step()
stop.set()
thread.join()
print(loss.item().hex())
