"""GPT-2 124M of transformers, and what a snapshot that is begun after the model was made has at its peak."""

import argparse

import torch
from transformers import GPT2Config, GPT2LMHeadModel

BATCH, TOKENS, STEPS = 4, 512, 5


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", action="store_true")
    model = GPT2LMHeadModel(GPT2Config())
    if parser.parse_args().checkpoint:
        model.gradient_checkpointing_enable()
    model = model.to("cuda")
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    before = torch.cuda.memory_allocated()
    for _ in range(STEPS):
        tokens = torch.randint(0, model.config.vocab_size, (BATCH, TOKENS))
        batch = {"input_ids": tokens.to("cuda"), "labels": tokens.to("cuda")}
        optimizer.zero_grad()
        outputs = model(input_ids=batch["input_ids"], labels=batch["labels"])
        loss = outputs.loss
        loss.backward()
        optimizer.step()
        loss.item()
    print("measured traced", torch.cuda.max_memory_allocated() - before)


main()
