"""A Llama with adapters of peft, which the trainer of transformers trains in bfloat16, with accumulation."""

import tempfile

import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments

from parts import gradients, states, weights
from truth import Truth

truth = Truth("checkpointing")
truth.record()
config = LlamaConfig(
    vocab_size=16384, hidden_size=1024, intermediate_size=2816, num_hidden_layers=8, num_attention_heads=16,
    max_position_embeddings=1024, use_cache=False,
)  # fmt: skip
model = LlamaForCausalLM(config)
model = get_peft_model(model, LoraConfig(r=16, lora_dropout=0.1, target_modules=["q_proj", "v_proj", "down_proj"]))
truth.keep("parameter", lambda: weights(model))
truth.keep("gradient", lambda: gradients(model))


class Phases(TrainerCallback):
    def on_pre_optimizer_step(self, *given, **named):
        truth.phase("step")

    def on_step_end(self, *given, **named):
        truth.phase("data")
        truth.step()

    def on_step_begin(self, *given, **named):
        truth.phase("data")


class Tells(Trainer):
    def compute_loss(self, model, inputs, *given, **named):
        truth.are("input", *inputs.values())
        truth.phase("forward")
        found = super().compute_loss(model, inputs, *given, **named)
        truth.phase("backward")
        return found


texts = [{"input_ids": t, "labels": t} for t in torch.randint(0, 16384, (24, 512))]
with tempfile.TemporaryDirectory() as folder:
    trainer = Tells(
        model=model, train_dataset=texts, callbacks=[Phases()],
        args=TrainingArguments(
            folder, per_device_train_batch_size=4, gradient_accumulation_steps=2, max_steps=3, bf16=True, report_to=[],
            logging_steps=1, save_strategy="no", gradient_checkpointing=truth.change == "checkpointing",
        ),
    )  # fmt: skip
    truth.keep("optimizer", lambda: states(trainer.optimizer) if trainer.optimizer else [])
    trainer.train()
truth.end()
