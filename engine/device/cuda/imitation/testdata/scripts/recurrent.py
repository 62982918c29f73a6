"""Recurrent networks: cuDNN's room for weights is the bytes of the parameters, in one piece."""

import torch
from torch import nn

TOKENS, BATCH, INPUT, WIDTH = 12, 4, 24, 40


def train(kind, **options):
    torch.cuda.reset_peak_memory_stats()
    model = kind(INPUT, WIDTH, **options).cuda()
    sizes = [p.numel() for p in model.parameters()]
    model.flatten_parameters()
    weights = {p.untyped_storage().data_ptr(): p.untyped_storage().nbytes() for p in model.parameters()}
    assert len(weights) == 1, "the weights are not in one piece"
    gates = {nn.LSTM: 4, nn.GRU: 3, nn.RNN: 1}[kind]
    biases = 0 if options.get("bias", True) else 2 * gates * WIDTH  # PyTorch asks cuDNN for them all the same
    assert sum(weights.values()) == 4 * (sum(sizes) + biases), (weights, sum(sizes))
    x = torch.randn(TOKENS, BATCH, INPUT, device="cuda", requires_grad=True)
    if options.get("batch_first"):
        x = x.detach().transpose(0, 1).contiguous().requires_grad_()
    out, _ = model(x)
    assert out.shape[-1] == (options.get("proj_size") or WIDTH) * (2 if options.get("bidirectional") else 1)
    out.sum().backward()
    assert x.grad.shape == x.shape and all(p.grad.shape == p.shape for p in model.parameters())
    print(f"{kind.__name__} {options}: weights {sum(weights.values())}, peak {torch.cuda.max_memory_allocated()}")


train(nn.LSTM)
train(nn.LSTM, num_layers=3, bidirectional=True, dropout=0.2, batch_first=True)
train(nn.LSTM, num_layers=2, proj_size=16)
train(nn.GRU, num_layers=2, bidirectional=True)
train(nn.GRU, bias=False)
train(nn.RNN, num_layers=2, nonlinearity="relu")

packed = nn.utils.rnn.pack_padded_sequence(torch.randn(TOKENS, BATCH, INPUT).cuda(), [12, 9, 5, 1])
out, _ = nn.LSTM(INPUT, WIDTH).cuda()(packed)
assert out.data.shape == (27, WIDTH)
with torch.inference_mode():
    out, hidden = nn.GRU(INPUT, WIDTH).cuda().half()(torch.randn(TOKENS, BATCH, INPUT, device="cuda", dtype=torch.half))
    assert out.shape == (TOKENS, BATCH, WIDTH) and hidden.shape == (1, BATCH, WIDTH)
print("packed, and half precision")
