"""Lets ``gymnasium.make`` and ``gymnasium.make_vec`` find the environment of one seat by its name."""

import gymnasium

ENV_ID = "territorial/Territorial-v0"

if ENV_ID not in gymnasium.registry:  # a reloaded module is registered already
    gymnasium.register(
        ENV_ID,
        entry_point="territorial.envs.gymnasium:SeatEnv",
        vector_entry_point="territorial.envs.gymnasium:SeatVectorEnv",
    )
