"""Environments: PettingZoo, Gymnasium, Stable-Baselines3 and batched arrays."""
