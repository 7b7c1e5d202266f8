"""Calls that mypy has to refuse: it also reports an ignore that hides no error."""

from functools import partial

import territorial

WRONG = (
    partial(territorial.parallel_env, agents=2),  # type: ignore[call-arg]  # there is no such keyword
    partial(territorial.make_vec, 2, osb="features"),  # type: ignore[call-arg]
    partial(territorial.env, frameskip=4),  # type: ignore[call-arg]
    partial(territorial.TerritorialEnv, height=64),  # type: ignore[call-arg]  # a field of its config
    partial(territorial.SeatEnv, autoreset="disabled"),  # type: ignore[call-arg]  # it has its own
    partial(territorial.SeatVectorEnv, 4, agent_deaths="keep"),  # type: ignore[call-arg]
    partial(territorial.GameConfig, hieght=64),  # type: ignore[call-arg]
    partial(territorial.GameConfig().replace, hieght=64),  # type: ignore[call-arg]
    partial(territorial.parallel_env, frames="4"),  # type: ignore[arg-type]
    partial(territorial.make_vec, 2, height=64.0),  # type: ignore[arg-type]
)
