"""It uses every global generator of random numbers, and torch's strictest modes; all states are compared."""

import hashlib
import random

import numpy
import torch
from training import Training, turns

training, states = Training(), hashlib.sha256()
random.seed(1)
numpy.random.seed(1)
torch.use_deterministic_algorithms(True)
torch.set_default_dtype(torch.float64)
training.model.double()
training.input = lambda: torch.nn.functional.dropout(torch.rand(4, 8), 0.3)
with torch.autograd.set_detect_anomaly(True, check_nan=True):
    for turn in turns():
        with torch.device("meta" if turn % 7 == 0 else "cpu"):
            shape = torch.empty(3).device.type
        loss = training.step()
        state = (random.random(), numpy.random.rand(), torch.random.get_rng_state().tolist(), shape)
        states.update(repr(state).encode())
        states.update(f"{torch.is_grad_enabled()} {torch.is_inference_mode_enabled()}".encode())
print(states.hexdigest(), loss.item().hex())
