"""T5, with random weights, is trained by Seq2SeqTrainer on rows of many lengths, which are padded to the longest."""

import tempfile

import torch
from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments, T5Config, T5ForConditionalGeneration


def padded(rows):
    """Return rows as a batch."""
    return {
        name: torch.nn.utils.rnn.pad_sequence([torch.tensor(row[name]) for row in rows], True, fill)
        for name, fill in (("input_ids", 0), ("attention_mask", 0), ("labels", -100))
    }


rows = [
    {"input_ids": [5] * (20 + 7 * n), "attention_mask": [1] * (20 + 7 * n), "labels": [6] * (5 + n)} for n in range(32)
]
config = T5Config(d_model=256, d_ff=512, num_layers=4, num_heads=4, d_kv=64, decoder_start_token_id=0)
with tempfile.TemporaryDirectory() as folder:
    arguments = Seq2SeqTrainingArguments(
        folder, per_device_train_batch_size=4, max_steps=5, eval_strategy="steps", eval_steps=5, predict_with_generate=True,
        save_strategy="no", report_to=[],
    )  # fmt: skip
    trainer = Seq2SeqTrainer(T5ForConditionalGeneration(config), arguments, padded, rows, rows[:8])
    trainer.train()
print("peak", torch.cuda.max_memory_allocated())
