"""One thread changes many views of an activation in place, over and over, while the other trains: a lock for each."""

import threading

import torch
from training import Training, turns

stop = threading.Event()


class Heads(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.parts = torch.nn.Linear(8, 256), ()

    def forward(self, x):
        whole = self.layer(x).clone()
        self.parts = whole.split(2, dim=1)
        self.parts = [whole[:, place : place + 2] for place in range(0, 256, 2)]
        for _ in range(12):
            whole.mul_(0.999)
            for part in self.parts:
                part.sub_(0.001)
        return whole


def work():
    inputs = torch.ones(4, 8)
    while not stop.is_set():
        heads(inputs).pow(2).mean().backward()
        heads.zero_grad()


training, heads = Training(), Heads()
thread = threading.Thread(target=work)
thread.start()
for _ in turns(300):
    loss = training.step()
stop.set()
thread.join()
print(loss.item().hex())
