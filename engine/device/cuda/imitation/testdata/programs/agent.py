"""PPO and DQN of Stable-Baselines3 learn to hold a pole: what they do next is read from the device."""

import sys

import torch
from stable_baselines3 import DQN, PPO

if sys.argv[1] == "ppo":
    PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=32, n_epochs=2, device="cuda").learn(256)
else:
    DQN("MlpPolicy", "CartPole-v1", learning_starts=32, train_freq=4, device="cuda").learn(128)
print("peak", torch.cuda.max_memory_allocated())
