"""Contrastive learning with a queue of keys and a momentum encoder, as MoCo."""

import torch
import torch.nn.functional as F
from torch import nn

from parts import gradients, states
from truth import Truth

truth = Truth("stale_results", "stale_gradients")
truth.record()


def conv(i, o, s=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o))


class Residual(nn.Module):
    def __init__(self, i, o, s):
        super().__init__()
        self.a, self.b, self.short = conv(i, o, s), conv(o, o), conv(i, o, s)

    def forward(self, x):
        return F.relu(self.b(F.relu(self.a(x))) + self.short(x))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = conv(3, 64, 2)
        self.layers = nn.Sequential(*[Residual(a, b, 2) for a, b in ((64, 128), (128, 256), (256, 512), (512, 1024))])
        self.fc = nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 128))

    def forward(self, x):
        return self.fc(self.layers(F.relu(self.stem(x))).mean((2, 3)))


class MoCo(nn.Module):
    def __init__(self, K=262144, m=0.999, T=0.07):
        super().__init__()
        self.K, self.m, self.T = K, m, T
        self.encoder_q, self.encoder_k = Encoder(), Encoder()
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.data.copy_(q.data)
            k.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(128, K), dim=0))
        self.ptr = 0

    @torch.no_grad()
    def _momentum_update_key_encoder(self):
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.data = k.data * self.m + q.data * (1.0 - self.m)
            truth.are("parameter", k.data)

    @torch.no_grad()
    def _dequeue_and_enqueue(self, keys):
        self.queue[:, self.ptr : self.ptr + keys.shape[0]] = keys.T
        self.ptr = (self.ptr + keys.shape[0]) % self.K

    def forward(self, im_q, im_k):
        q = F.normalize(self.encoder_q(im_q), dim=1)
        with truth.during("inference"), torch.no_grad():
            self._momentum_update_key_encoder()
            shuffle = torch.randperm(im_k.shape[0]).cuda()
            truth.are("input/other/inference", shuffle)
            k = F.normalize(self.encoder_k(im_k[shuffle]), dim=1)
        l_pos = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", [q, self.queue.clone().detach()])
        logits = torch.cat([l_pos, l_neg], dim=1) / self.T
        labels = torch.zeros(logits.shape[0], dtype=torch.long).cuda()
        truth.are("input/activation", labels)
        self._dequeue_and_enqueue(k)
        return logits, labels


model = MoCo().cuda()
truth.keep("parameter", lambda: model.parameters())
truth.keep("parameter/other", lambda: model.buffers())
optimizer = torch.optim.SGD(model.encoder_q.parameters(), lr=0.03, momentum=0.9)
truth.keep("gradient", lambda: gradients(model))
truth.keep("optimizer", lambda: states(optimizer))
for _ in range(4):
    truth.phase("data")
    a, b = torch.randn(128, 3, 96, 96).cuda(), torch.randn(128, 3, 96, 96).cuda()
    truth.phase("forward")
    logits, labels = model(a, b)
    loss = F.cross_entropy(logits, labels)
    truth.phase("backward")
    optimizer.zero_grad()
    loss.backward()
    truth.phase("step")
    optimizer.step()
    if truth.change == "stale_gradients":
        optimizer.zero_grad()
    if truth.change == "stale_results":
        del logits, labels, loss
    truth.step()
truth.end()
