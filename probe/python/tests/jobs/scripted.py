"""It scripts, traces and exports its model in mid-training, and counts the nodes of each graph."""

import collections
import warnings

import torch
from training import Training, turns

warnings.simplefilter("ignore")
training, seen = Training(), collections.Counter()
for turn in turns(20):
    loss = training.step()
    if turn % 10 == 5:
        seen["traced", str(torch.fx.symbolic_trace(training.model).graph)] += 1
        scripted = torch.jit.script(training.model)
        seen["scripted", len(str(scripted.inlined_graph).splitlines())] += 1
        seen["jit", len(list(torch.jit.trace(training.model, training.input()).inlined_graph.nodes()))] += 1
        scripted(training.input()).sum().backward()
    if turn == 15:
        seen["exported", len(torch.export.export(training.model, (training.input(),)).graph.nodes)] += 1
print(sorted(seen.items()), loss.item().hex())
