"""A Conformer of torchaudio with CTC, on sounds of many lengths."""

import torch
from torchaudio.models import Conformer

torch.manual_seed(0)
model = Conformer(80, 4, 256, 4, 31).cuda()
head = torch.nn.Linear(80, 50).cuda()
optimizer = torch.optim.AdamW([*model.parameters(), *head.parameters()])
for _ in range(3):
    lengths = torch.randint(100, 300, (4,))
    made, counts = model(torch.randn(4, int(lengths.max()), 80).cuda(), lengths.cuda())
    scores = head(made).log_softmax(-1).transpose(0, 1)
    loss = torch.nn.functional.ctc_loss(
        scores, torch.randint(1, 50, (4, 20)).cuda(), counts, torch.full((4,), 20).cuda()
    )
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("peak", torch.cuda.max_memory_allocated())
