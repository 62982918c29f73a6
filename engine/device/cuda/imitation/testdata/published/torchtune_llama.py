"""Llama 3.2 3B of torchtune in bf16 on a packed dataset, with one technique after the other."""

import argparse

import torch
from torchtune import modules, training, utils
from torchtune.data import padded_collate_packed
from torchtune.models import llama3_2
from torchtune.modules.loss import CEWithChunkedOutputLoss
from torchtune.modules.peft import get_adapter_params, set_trainable_params

BATCH, TOKENS, STEPS, SAMPLES = 2, 4096, 4, 32
ADAPTERS = {
    "lora_attn_modules": ["q_proj", "v_proj", "output_proj"],
    "apply_lora_to_mlp": True,
    "lora_rank": 64,
    "lora_alpha": 128,
    "lora_dropout": 0.0,
}


def pack():
    """One sequence of the packed dataset: samples of equal length."""
    tokens = torch.randint(128000, (TOKENS,))
    each = TOKENS // SAMPLES
    positions, lengths = torch.arange(TOKENS) % each, torch.full((SAMPLES,), each)
    return {"tokens": tokens, "labels": tokens.clone(), "input_pos": positions, "seq_lens": lengths}


def model_of(options):
    """The model as the recipe makes it: where and of which type it is wanted."""
    with training.set_default_dtype(torch.bfloat16), torch.device("cuda"):
        if options.adapter == "lora":
            model = llama3_2.lora_llama3_2_3b(**ADAPTERS)
        elif options.adapter == "qlora":
            model = llama3_2.qlora_llama3_2_3b(**ADAPTERS)
        else:
            model = llama3_2.llama3_2_3b()
    if options.adapter:
        set_trainable_params(model, get_adapter_params(model))
    if options.compile:
        training.compile_model(model)
    if options.checkpoint:
        training.set_activation_checkpointing(model, auto_wrap_policy={modules.TransformerSelfAttentionLayer})
    return model


def optimizer_of(model, options):
    """AdamW, one for each parameter where it steps in the backward pass."""
    if not options.in_backward:
        return torch.optim.AdamW(model.parameters(), lr=2e-5, fused=True)
    each = {parameter: torch.optim.AdamW([parameter], lr=2e-5, fused=True) for parameter in model.parameters()}
    training.register_optim_in_bwd_hooks(model=model, optim_dict=each)
    return None


def loss_of(options, model):
    """The loss, in chunks that the model's head makes."""
    loss = CEWithChunkedOutputLoss() if options.chunks else torch.nn.CrossEntropyLoss()
    if options.compile:
        training.compile_loss(loss)
    if options.chunks:
        model.set_num_output_chunks(loss.num_output_chunks)
    return loss


class Step:
    """A step of training."""

    def __init__(self, options):
        self.model = model_of(options)
        self.offloading = training.get_act_offloading_ctx_manager(self.model, options.offload)
        torch.cuda.reset_peak_memory_stats()
        self.optimizer = optimizer_of(self.model, options)
        self.loss = loss_of(options, self.model)
        self.ignored = torch.full((BATCH, 1), self.loss.ignore_index, device="cuda")

    def forward(self, batch):
        labels = batch.pop("labels")
        with self.offloading:
            logits = self.model(**batch)
        labels = torch.hstack((labels[..., 1:], self.ignored[: labels.shape[0]]))
        if not isinstance(logits, list):
            labels = labels.reshape(-1)
            logits = logits.reshape(-1, logits.size(-1))
        loss = self.loss(logits, labels)
        del logits
        return loss

    def __call__(self, batch):
        counted = (batch["labels"] != self.loss.ignore_index).sum()
        loss = self.forward(batch) * counted
        loss.backward()
        if self.optimizer:
            training.scale_grads(self.model, 1 / counted)
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
        return loss.item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for flag in ["compile", "chunks", "checkpoint", "in-backward", "offload"]:
        parser.add_argument("--" + flag, action="store_true")
    parser.add_argument("--adapter", choices=["lora", "qlora"])
    step = Step(parser.parse_args())
    peaks = []
    for _ in range(STEPS):
        batch = padded_collate_packed([pack() for _ in range(BATCH)])
        utils.batch_to_device(batch, torch.device("cuda"))
        step(batch)
        peaks.append(torch.cuda.memory_stats()["active_bytes.all.peak"])
        torch.cuda.reset_peak_memory_stats()
    print("measured active", max(peaks))


main()
