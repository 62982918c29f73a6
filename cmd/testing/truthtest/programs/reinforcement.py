"""A buffer of experience lies on the device beside a policy that acts without a graph and learns with one."""

import torch
import torch.nn.functional as F
from torch import nn

import train
from parts import adam
from truth import Truth

truth = Truth("optimizer_state")
truth.record()
policy = nn.Sequential(nn.Linear(512, 2048), nn.Tanh(), nn.Linear(2048, 2048), nn.Tanh(), nn.Linear(2048, 16)).cuda()
optimizer = adam(truth, policy.parameters(), lr=3e-4)
train.keep(truth, policy, optimizer)
truth.phase("data")
seen = torch.zeros(128, 2048, 512, device="cuda")
rewards = torch.zeros(128, 2048, device="cuda")
truth.are("input/other", seen, rewards)
for _ in range(4):
    state = torch.zeros(2048, 512, device="cuda")
    for t in range(128):
        truth.phase("inference")
        with torch.no_grad():
            chosen = policy(state).softmax(-1).multinomial(1)
        truth.phase("data")
        state = torch.randn(2048, 512, device="cuda") + chosen
        seen[t] = state
        rewards[t] = 1.0
    for part in range(0, 128, 32):
        truth.phase("data")
        x, r = seen[part : part + 32].flatten(0, 1), rewards[part : part + 32].flatten()
        truth.phase("forward")
        loss = F.mse_loss(policy(x).amax(-1), r)
        truth.phase("backward")
        loss.backward()
        truth.phase("step")
        optimizer.step()
        optimizer.zero_grad()
        truth.step()
truth.end()
