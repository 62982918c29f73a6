"""GPT-2, with random weights, is tuned by TRL's SFTTrainer on rows that are tokens already."""

import tempfile

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

TOKENS, WORDS = 256, 50257
words = Tokenizer(models.WordLevel({"<end>": 0, "word": 1}, unk_token="word"))
words.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<end>", pad_token="<end>", unk_token="word")
rows = Dataset.from_list([{"input_ids": [1] * TOKENS} for _ in range(32)])
model = GPT2LMHeadModel(GPT2Config(n_positions=TOKENS, vocab_size=WORDS, n_layer=6, bos_token_id=0, eos_token_id=0))
with tempfile.TemporaryDirectory() as folder:
    config = SFTConfig(
        folder, per_device_train_batch_size=2, max_steps=5, bf16=True, max_length=TOKENS, save_strategy="no",
        logging_steps=1, report_to=[], gradient_checkpointing=False,
    )  # fmt: skip
    SFTTrainer(model, config, train_dataset=rows, processing_class=tokenizer).train()
print("peak", torch.cuda.max_memory_allocated())
