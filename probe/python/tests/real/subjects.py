"""Small models of the kinds that people train, each with its batches, its loss and its optimizer.

Every subject is deterministic for a seed, and is made again for each run. If a subject's library is
not installed, its tests are skipped with that reason.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "examples"))
import train

torch.set_num_threads(1)  # such small models gain nothing from more threads, and waiting threads take time from others

WORDS, LENGTH, BATCH = 61, 12, 2


@dataclass
class Subject:
    """A model in training. `loss_of` returns the loss, and the modules' results that the program keeps in a
    variable."""

    model: Any
    batch: Callable[[], dict[str, Any]]
    loss_of: Callable[[Any, dict[str, Any]], tuple[Any, list[Any]]]

    def optimizer(self) -> Any:
        return torch.optim.AdamW([p for p in self.model.parameters() if p.requires_grad], lr=1e-3)


def gpt() -> Subject:
    """nanoGPT's shape: the model computes its loss."""
    model = train.GPT(vocabulary=WORDS, length=LENGTH, layers=2, width=32, heads=4)
    return Subject(model, next_tokens, lambda model, batch: with_rest(model(batch["tokens"], batch["targets"])))


def resnet() -> Subject:
    """Torchvision's: convolutions, batch norm with its buffers, in-place ReLU, and the program's own loss."""
    models = pytest.importorskip("torchvision.models.resnet", reason="needs torchvision")
    model = models.ResNet(models.BasicBlock, [1, 1, 1, 1], num_classes=10)

    def loss_of(model: Any, batch: dict[str, Any]) -> tuple[Any, list[Any]]:
        scores = model(batch["images"])
        return functional.cross_entropy(scores, batch["labels"]), [scores]

    return Subject(model, lambda: {"images": torch.randn(2, 3, 32, 32), "labels": torch.randint(10, (2,))}, loss_of)


def gpt2_with_labels() -> Subject:
    """Hugging Face's GPT-2, which computes its loss, and by default fills a cache even in training."""
    return Subject(gpt2(), words_with_labels, lambda model, batch: of_output(model(**batch)))


def gpt2_without_labels() -> Subject:
    """Hugging Face's GPT-2 with the program's own loss."""

    def loss_of(model: Any, batch: dict[str, Any]) -> tuple[Any, list[Any]]:
        logits = model(input_ids=batch["input_ids"], use_cache=False).logits
        return functional.cross_entropy(logits[:, :-1].flatten(0, 1), batch["input_ids"][:, 1:].flatten()), [logits]

    return Subject(gpt2(), words, loss_of)


def llama_with_labels() -> Subject:
    """Hugging Face's Llama: rotary embeddings, grouped heads, a gated MLP."""
    return Subject(llama(), words_with_labels, lambda model, batch: of_output(model(**batch)))


def lora() -> Subject:
    """PEFT's LoRA on Llama: few of the parameters are trained."""
    peft = pytest.importorskip("peft", reason="needs peft")
    settings = peft.LoraConfig(
        r=4, lora_alpha=8, lora_dropout=0.1, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"
    )
    return Subject(
        peft.get_peft_model(llama(), settings), words_with_labels, lambda model, batch: of_output(model(**batch))
    )


SUBJECTS: dict[str, Callable[[], Subject]] = {
    make.__name__: make for make in (gpt, resnet, gpt2_with_labels, gpt2_without_labels, llama_with_labels, lora)
}


def gpt2() -> Any:
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=WORDS, n_positions=32, n_embd=32, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0
        )
    )


def llama() -> Any:
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=WORDS,
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=32,
            bos_token_id=0,
            eos_token_id=0,
        )
    )


def next_tokens() -> dict[str, Any]:
    tokens = torch.randint(WORDS, (BATCH, LENGTH + 1))
    return {"tokens": tokens[:, :-1], "targets": tokens[:, 1:]}


def words() -> dict[str, Any]:
    return {"input_ids": torch.randint(WORDS, (BATCH, LENGTH))}


def words_with_labels() -> dict[str, Any]:
    tokens = torch.randint(WORDS, (BATCH, LENGTH))
    return {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), "labels": tokens.clone()}


def with_rest(result: tuple[Any, Any]) -> tuple[Any, list[Any]]:
    logits, loss = result
    return loss, [logits, loss]


def of_output(output: Any) -> tuple[Any, list[Any]]:
    return output.loss, [output]
