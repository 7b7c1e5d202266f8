"""Which trainers can play an environment: where each wants masks, and what it wants of dead agents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from territorial.testing.stacks import MASK, Stack, Step

Traits = Mapping[str, str]
"""What a trainer meets: the values of ``action_mask`` and ``agent_death`` that are seen in an episode."""


@dataclass(frozen=True)
class Trainer:
    """A trainer for PettingZoo environments, and what it cannot do with which of them."""

    name: str
    package: str
    """What is imported; docs/trainers.md has the release that was run."""
    form: str
    """"parallel" or "AEC": what it takes."""
    beside: tuple[str, ...]
    """Packages whose releases matter as well."""
    wrong: Mapping[tuple[str, str], str]
    """What goes wrong with a trait, by its name and value. All other values are fine."""

    def against(self, traits: Traits) -> list[str]:
        """Return what speaks against an environment with these traits, as sentences."""
        return [self.wrong[trait] for trait in traits.items() if trait in self.wrong]


IGNORES_MASKS = 'it does not use masks, and its illegal launches hold; use action_mask="none"'

TRAINERS = (
    Trainer(
        "TorchRL",
        "torchrl",
        "parallel",
        ("tensordict",),
        {("action_mask", "both"): 'it fails on masks in both places; use action_mask="obs" or "info"'},
    ),
    Trainer(
        "Tianshou",
        "tianshou",
        "AEC",
        (),
        {
            ("action_mask", "info"): 'it silently ignores masks in infos; use action_mask="obs"',
            ("agent_death", "remove"): 'it ends the game at the first elimination; use agent_death="keep"',
        },
    ),
    Trainer(
        "AgileRL",
        "agilerl",
        "parallel",
        (),
        {
            ("action_mask", "obs"): 'it fails on masks in observations; use action_mask="info"',
            ("action_mask", "both"): 'it fails on masks in observations; use action_mask="info"',
            ("agent_death", "remove"): 'it fails when an agent has no mask any more; use agent_death="keep"',
        },
    ),
    Trainer(
        "BenchMARL",
        "benchmarl",
        "parallel",
        ("torchrl",),
        {
            ("action_mask", "both"): 'it fails on masks in both places; use action_mask="obs"',
            ("agent_death", "remove"): 'it ends the game at the first elimination; use agent_death="keep"',
        },
    ),
    Trainer(
        "PufferLib",
        "pufferlib",
        "parallel",
        (),
        {
            ("action_mask", "obs"): IGNORES_MASKS,
            ("action_mask", "info"): IGNORES_MASKS,
            ("action_mask", "both"): IGNORES_MASKS,
            ("agent_death", "remove"): "it counts each step of a removed agent as an episode, "
            'and learns from it; use agent_death="keep"',
        },
    ),
    Trainer(
        "CleanRL's multi-agent loop",
        "cleanrl",
        "parallel",
        ("supersuit",),
        {
            ("action_mask", "obs"): 'it needs arrays, but these are dicts; use action_mask="none"',
            ("action_mask", "info"): IGNORES_MASKS,
            ("action_mask", "both"): 'it needs arrays, but these are dicts; use action_mask="none"',
            ("agent_death", "remove"): "SuperSuit's vector environments need all agents in every "
            'step; use agent_death="keep"',
        },
    ),
)
"""What is known of trainers, by runs of November 2026 with masks in every place."""


def traits_of(stack: Stack, play: Iterable[Step]) -> dict[str, str]:
    """Return what an episode shows of a stack. Where no agent dies, nothing is known of ``agent_death``."""
    places: set[str] = set()
    deaths: set[str] = set()
    listed: list[Any] = []
    for step in play:
        places |= {"obs" for seen in step.observations.values() if _has_mask(seen)}
        places |= {"info" for told in step.infos.values() if _has_mask(told)}
        deaths |= _deaths(listed, stack.agents, step)
        listed = list(stack.agents)
    mask = "both" if len(places) == 2 else min(places, default="none")
    return {"action_mask": mask} | ({"agent_death": max(deaths)} if deaths else {})  # "remove", if some were


def _has_mask(told: Any) -> bool:
    return isinstance(told, Mapping) and MASK in told


def _deaths(before: list[Any], after: list[Any], step: Step) -> set[str]:
    """Return what happened to agents that died while others played on."""
    kept = {"keep" for agent in after if _is_dead(step.infos.get(agent))}
    return {"remove"} if after and set(before) - set(after) else kept


def _is_dead(info: Any) -> bool:
    return isinstance(info, Mapping) and not info.get("alive", 1)
