"""A small BERT, with random weights, becomes an encoder of sentences by sentence-transformers, and encodes some."""

import os
import tempfile

import torch
from sentence_transformers import SentenceTransformer, losses, models
from transformers import BertConfig, BertModel, BertTokenizerFast

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"word{n}" for n in range(100))]
config = BertConfig(
    vocab_size=len(WORDS), hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=1024
)
with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "vocab.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(WORDS))
    BertTokenizerFast(os.path.join(folder, "vocab.txt")).save_pretrained(folder)
    BertModel(config).save_pretrained(folder)
    model = SentenceTransformer(
        modules=[models.Transformer(folder, max_seq_length=64), models.Pooling(256)], device="cuda"
    )
texts = [" ".join(f"word{n % 7}" for n in range(2 + k % 40)) for k in range(64)]
loss = losses.MultipleNegativesRankingLoss(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
for k in range(0, 64, 16):
    pairs = [
        {name: x.cuda() for name, x in model.tokenize(part).items() if isinstance(x, torch.Tensor)}
        for part in (texts[k : k + 16], texts[::-1][k : k + 16])
    ]
    loss(pairs, None).backward()
    optimizer.step()
    optimizer.zero_grad()
print(model.encode(texts, convert_to_tensor=True).shape, "peak", torch.cuda.max_memory_allocated())
