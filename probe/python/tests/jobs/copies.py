"""It copies, pickles and saves its model and optimizer whole; what it wrote must name nothing of others."""

import copy
import hashlib
import io
import pickle

import torch
from training import Training, turns

training, digest, strangers = Training(), hashlib.sha256(), 0
for _ in turns(30):
    loss = training.step()
    twin = copy.deepcopy((training.model, training.optimizer))
    whole = io.BytesIO()
    torch.save(twin, whole)
    for data in (whole.getvalue(), pickle.dumps((training.model, training.optimizer))):
        digest.update(str(len(data)).encode())
        strangers += b"memtop" in data
    loaded, optimizer = torch.load(io.BytesIO(whole.getvalue()), weights_only=False)
    loaded(training.input()).sum().backward()
    optimizer.step()
    training.model.load_state_dict(loaded.state_dict())
print(strangers, digest.hexdigest(), loss.item().hex())
