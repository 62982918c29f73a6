"""vLLM with a small Llama of random weights: `python vllm_job.py FOLDER SHARE DEVICE`. Within two steps of its engine,
on its thread, it prints what its own pool counts as in use, and waits for a line."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

os.environ |= {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1",
    "VLLM_USE_FLASHINFER_SAMPLER": "0", "VLLM_USE_V2_MODEL_RUNNER": "0",  # see docs/rehearse.md
}  # fmt: skip

import torch
from transformers import LlamaConfig
from vllm import LLM, SamplingParams, TokensPrompt

FOLDER, SHARE = sys.argv[1], float(sys.argv[2])
STEPS = 20

config = LlamaConfig(
    vocab_size=1024, hidden_size=512, intermediate_size=1024, num_hidden_layers=4, num_attention_heads=4,
    num_key_value_heads=4, head_dim=128, max_position_embeddings=2048, dtype="bfloat16",
    architectures=["LlamaForCausalLM"],
)  # fmt: skip
config.save_pretrained(FOLDER)
server = LLM(
    model=FOLDER, load_format="dummy", skip_tokenizer_init=True, max_model_len=2048, max_num_seqs=64,
    gpu_memory_utilization=SHARE, enforce_eager=True, enable_sleep_mode=True,
)  # fmt: skip
scheduler = server.llm_engine.engine_core.engine_core.scheduler
update, steps = scheduler.update_from_output, 0


def updating(*arguments: Any) -> Any:
    global steps
    steps += 1
    if steps in (STEPS // 2, STEPS):
        tell()
    return update(*arguments)


def tell() -> None:
    pool = scheduler.kv_cache_manager.block_pool
    size, (left, total) = pool.num_gpu_blocks - 1, torch.cuda.mem_get_info()
    print(json.dumps({"used": round(pool.get_usage() * size), "size": size, "taken": total - left}), flush=True)
    sys.stdin.readline()


scheduler.update_from_output = updating
prompts = [TokensPrompt(prompt_token_ids=[number] * 500) for number in range(5, 13)]
server.generate(prompts, SamplingParams(max_tokens=STEPS, ignore_eos=True, detokenize=False), use_tqdm=False)
server.sleep(level=2)
tell()
server.wake_up()
tell()
