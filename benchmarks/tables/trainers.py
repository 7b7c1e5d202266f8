"""The tables of docs/trainers.md, from benchmarks/results."""

from __future__ import annotations

from typing import Any

from benchmarks.tables.machines import cpu_of
from territorial.cli import obs_tables
from territorial.envs.options import CHOICES
from territorial.testing.trainers import TRAINERS, Trainer

ADAPTERS = {
    "maskable": "`MaskableVecEnv`, MaskablePPO",
    "boards": "`MaskableVecEnv`, PPO, packed boards",
    "supersuit": "SuperSuit, PPO",
}
INTERFACES = {
    "zero_copy, multi_discrete": "`make_vec`, {games} games, packed boards, not copied",
    "features": '`make_vec`, {games} games, `obs="features"`',
}
"""What the README calls the ways of ``vector_cost``."""
COPIES = "packed, copied"
EXAMPLE = {"trained": "trained, sampled", "untrained": "untrained, sampled", "always_hold": "always hold"}
"""What benchmarks/envs/learning.py calls those that the adapters' table has."""


def cost(found: dict[str, Any]) -> str:
    """Return the table of what environments cost over the engine, and what saving games costs."""
    ratio, saving, parallel = found["ratio_to_engine"], found["saving_us"], found["parallel"]
    rows = [
        (f"`make_vec`, {name}", f"{value:.2f} times the engine's own call")
        for name, value in ratio.items()
        if name != COPIES  # a measurement of its own
    ]
    for name in ("features", "packed"):
        rate, times = parallel[f"{name}_steps_per_s"], parallel[f"{name}_over_naive"]
        rows.append(
            (
                f'`parallel_env`, `obs="{name}"`, {parallel["agents"]} agents',
                f"{rate:,} environment steps/s, {times} times those of one-hot stacks in numpy",
            )
        )
    for name, microseconds in saving.items():
        method, _, of = name.partition("_of_")
        games = f"{of} games" if of.isdigit() else of.replace("_", " ") or "one game"
        rows.append((f"`{method}`, {games}", f"{microseconds:,.0f} µs"))
    return "\n".join(
        [
            obs_tables.markdown(("what", "cost"), rows, "ll"),
            "",
            f"256 x 256, 32 seats, all of them agents, {found['num_games']} games; an engine's step of them "
            f"takes {found['engine_us_per_step'] / 1000:.1f} ms; one core of {found['machine']['cpu']} "
            "(`benchmarks/envs/vector_cost.py`).",
        ]
    )


def interfaces(found: dict[str, Any]) -> str:
    """Return the rates of three interfaces, with everything that an agent sees."""
    games, agents = found["num_games"], found["parallel"]["agents"]
    rows = []
    for name, what in INTERFACES.items():
        ratio = found["ratio_to_engine"][name]
        rate = games / (1e-6 * found["engine_us_per_step"] * ratio)
        rows.append((what.format(games=games), f"{rate:,.0f}", f"{rate * agents:,.0f}"))
    rate = found["parallel"]["features_steps_per_s"]
    rows.append(('`parallel_env`, one game, `obs="features"`', f"{rate:,.0f}", f"{rate * agents:,.0f}"))
    about = (
        f"256 x 256 cells, {agents} agents, masks included; one core of {found['machine']['cpu']} "
        "(`benchmarks/envs/vector_cost.py`)."
    )
    header = ("through", "environment steps/s", "agent-steps/s")
    return "\n".join([obs_tables.markdown(header, rows, "lrr"), "", about])


def adapters(found: dict[str, Any], example: dict[str, Any]) -> str:
    """Return the table of what agents learned through every adapter, and by examples/ppo.py."""
    rows = []
    for name, one in found["adapters"].items():
        places = [with_interval(one[who], "place") for who in EXAMPLE]
        rows.append((ADAPTERS[name], f"{one['agent_steps']:,} in {one['seconds']:.0f} s", *places))
    agents = example["seats"].count("agent")
    trained = f"{example['game_steps'] * agents:,} in {example['seconds']:.0f} s"
    places = [with_interval(example["mean_place"][name], "mean") for name in EXAMPLE.values()]
    rows.append((f"`examples/ppo.py`, {agents} agents", trained, *places))
    header = ("adapter", "steps", "trained", "untrained", "always holds")
    game, about = found["game"], found["versions"]
    best = (1 + agents) / 2
    return "\n".join(
        [
            obs_tables.markdown(header, rows, "lrrrr"),
            "",
            f"{game['height']} x {game['width']}, {game['num_players']} players, places of "
            f"{found['eval_games']} games with 95 % intervals; Stable-Baselines3 "
            f"{about['stable_baselines3']}, SuperSuit {about['supersuit']}, one core of "
            f"{cpu_of(found, example)} (`benchmarks/envs/adapters_learn.py`). The last row: {agents} agents "
            f"of one network, whose mean place is {best:g} at best, over {example['games']} games "
            "(`benchmarks/envs/learning.py --trainer example`).",
        ]
    )


def search(found: dict[str, Any]) -> str:
    """Return the sentence on what the example of search comes to."""
    places, about = found["places"], found["search"]
    opponents = len(found["game"]["seats"]) - 1
    return (
        f"`examples/search.py` is a one-ply search, {about['candidates']} moves each played on "
        f"{about['rollouts']} times: of {found['games']} games against {opponents} bots its mean place is "
        f"{with_interval(places['search'], 'place')}, that of its own rollout policy "
        f"{with_interval(places['rollout policy'], 'place')}."
    )


def runs(found: dict[str, Any], sb3: dict[str, Any]) -> str:
    """Return the table of what each trainer wants, with the release that was run."""
    header = ("trainer", "run with", "takes", "`action_mask`", "`agent_death`")
    rows = []
    for trainer in TRAINERS:
        about = found[trainer.package]["versions"]
        run_with = ", ".join(
            f"{name} {about[name]}" for name in (trainer.package, *trainer.beside) if about[name] is not None
        )
        rows.append(
            (
                f"[{trainer.name}](../examples/with_{trainer.package}.py)",
                run_with,
                {"parallel": "`parallel_env`", "AEC": "`territorial.env`"}[trainer.form],
                *(wanted(trainer, option) for option in ("action_mask", "agent_death")),
            )
        )
    release = f"stable_baselines3 {sb3['versions']['stable_baselines3']}"
    rows.append(("Stable-Baselines3", release, "`MaskableVecEnv`", "read by `MaskablePPO`", "kept"))
    about = found[TRAINERS[0].package]["versions"]
    return "\n".join(
        [
            obs_tables.markdown(header, rows, "lllll"),
            "",
            "Each was run with masks in every place and both values of `agent_death`, for "
            f"{found['torchrl']['steps']} steps of games in which agents die; torch {about['torch']} "
            "(`benchmarks/envs/trainers_run.py`).",
        ]
    )


def wanted(trainer: Trainer, option: str) -> str:
    """Return the values of an option that a trainer can do with."""
    return ", ".join(f'`"{value}"`' for value in CHOICES[option] if (option, value) not in trainer.wrong)


def with_interval(one: dict[str, float], mean: str) -> str:
    """Return a mean and half its 95 % interval."""
    return f"{one[mean]:.2f} ± {one['half_interval']:.2f}"
