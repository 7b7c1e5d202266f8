"""Figures that goals ask for and that have to be worked out from a result, each by a function of its name.

Each takes a whole result and returns a number, or several, all of which the bound is for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from benchmarks.bots import champion
from benchmarks.memory import league_memory

Result = Mapping[str, Any]
LEVELS_UP = ("normal-1", "hard-1", "very_hard-1", "impossible-1")
INVADERS = ("settler-1", "besieger-1", "opportunist-1")
STALLING = ("drip-1", "vulture-1", "full_sender-1")
"""Bots that do not finish games among themselves, of which docs/bots.md says why."""
TRAINED = ("trained, sampled", "trained, greedy")
CORES = 384
"""Those of the largest machines to be had."""


# ---- the champion -------------------------------------------------------------------------------------


def bars_missed_by_champion(result: Result) -> int:
    """Return how many bars of its examination the champion misses."""
    return len(list(champion.misses(result)))


# ---- learning ----------------------------------------------------------------------------------------


def lead_of_trained(result: Result) -> float:
    """Return the places between the worst trained player and the best other, ends of intervals."""
    places = result["mean_place"]
    ours = max(_upper(place, "mean") for name, place in places.items() if name in TRAINED)
    others = [_lower(place, "mean") for name, place in places.items() if name not in TRAINED]
    return float(min(others) - ours)


def lead_of_adapters(result: Result) -> Iterator[float]:
    """Return, by adapter, the places between what it trained and the better of what it did not."""
    for one in result["adapters"].values():
        others = (_lower(one[name], "place") for name in ("untrained", "always_hold"))
        yield min(others) - _upper(one["trained"], "place")


def lead_of_search(result: Result) -> float:
    """Return the places between the search and its rollout policy."""
    return _lower(result["places"]["rollout policy"], "place") - _upper(result["places"]["search"], "place")


def lead_of_pairs(result: Result) -> Iterator[float]:
    """Return, by seed, by how many places pairs lead features beyond half the 95 % interval."""
    pairs, features = (result["networks"][name] for name in ("pairs", "features"))
    for ours, other in zip(pairs, features, strict=True):
        yield other["place"] - ours["place"] - math.hypot(other["half"], ours["half"])


def lead_beyond_interval(result: Result) -> Iterator[float]:
    """Return, greedily and drawn, by how much the lead of one side exceeds half its interval."""
    for one in result["ways"].values():
        yield abs(one["lead"]) - one["half_interval"]


def _upper(place: Mapping[str, float], name: str) -> float:
    return place[name] + place["half_interval"]


def _lower(place: Mapping[str, float], name: str) -> float:
    return place[name] - place["half_interval"]


# ---- bots --------------------------------------------------------------------------------------------


def gaps_between_levels(result: Result) -> Iterator[float]:
    """Return, from each level to the next, by how many places their intervals are apart."""
    lines = {line["player"]: line for line in result["standings"]}
    for lower, higher in pairwise(LEVELS_UP):
        yield lines[lower]["place"]["low"] - lines[higher]["place"]["high"]


def rating_gaps_between_levels(result: Result) -> Iterator[float]:
    """Return, from each level to the next, by how much its rating is higher."""
    lines = {line["player"]: line for line in result["standings"]}
    for lower, higher in pairwise(LEVELS_UP):
        yield lines[higher]["rating"]["mu"] - lines[lower]["rating"]["mu"]


def wins_over_turtles(result: Result) -> list[float]:
    """Return the wins of the best invaders among turtles over their fair share."""
    column = result["bots"].index("turtle-1")
    return [result["fair"][result["bots"].index(name)][column] for name in INVADERS]


def wins_over_turtles_to_the_end(result: Result) -> list[float]:
    """Return the same of games without the usual time limit."""
    return [result["to_the_end"]["invaders"][name]["fair"] for name in INVADERS]


def stopped_among_turtles(result: Result) -> list[float]:
    """Return the share of these games that their long time limit stops."""
    return [result["to_the_end"]["invaders"][name]["stopped"] for name in INVADERS]


def stopped_though_given_time(result: Result) -> list[float]:
    """Return the share of games that a long time limit stops, for all fields but those known to stall."""
    return [shape["stopped_by_time"] for name, shape in result["to_the_end"].items() if name not in STALLING]


# ---- memory ------------------------------------------------------------------------------------------


def memory_for_all_seats(result: Result) -> Iterator[float]:
    """Return, by length, a learner's peak for all seats over that for one, tables of neither counted."""
    for one, all_ in _one_and_all(result):
        yield (all_["peak"] - all_["tables"]) / (one["peak"] - one["tables"])


def rows_for_all_seats(result: Result) -> Iterator[float]:
    """Return, by length, how many times the rows of one seat all seats have."""
    for one, all_ in _one_and_all(result):
        yield all_["rows"] / one["rows"]


def kilobytes_a_game_step(result: Result) -> Iterator[float]:
    """Return, by length, the kilobytes that are sent for a step of a game in which all seats learn."""
    for steps, length in result["by_steps"].items():
        yield length["by_learning_seats"]["32"]["sample_bytes"] / int(steps) / 1000


def _one_and_all(result: Result) -> Iterator[tuple[Result, Result]]:
    for length in result["by_steps"].values():
        yield length["by_learning_seats"]["1"], length["by_learning_seats"]["32"]


def packed_league_built(result: Result) -> float:
    """Return the bytes over idle processes that building the packed league takes at most."""
    league = result["cases"]["packed"]
    return max(league_memory.over_idle(league, when) for when in ("built", "building_peak"))


def packed_league_peak(result: Result) -> float:
    """Return the bytes over idle processes that training the packed league takes at most."""
    return league_memory.over_idle(result["cases"]["packed"], "peak")


def leagues_of_small_networks_peak(result: Result) -> Iterator[float]:
    """Return, by network, the bytes over idle processes that training the same league takes at most."""
    for name in league_memory.SMALL_NETWORKS:
        yield league_memory.over_idle(result["cases"][name], "peak")


def one_hot_league_built(result: Result) -> float:
    """Return the bytes of the same league with one-hot boards, extrapolated."""
    return league_memory.one_hot_league(result["cases"])["built"]


def growth_of_a_runner(result: Result) -> float:
    """Return the bytes by which a runner's private memory grows with 300 snapshots."""
    return league_memory.growth_of_runners(result["cases"])["here"]


def growth_of_a_runner_with_modules(result: Result) -> float:
    """Return the same with RLlib's own modules, extrapolated."""
    return league_memory.growth_of_runners(result["cases"])["modules"]


def weights_sent_for_snapshots(result: Result) -> int:
    """Return the bytes an iteration sends more with 300 snapshots than with none."""
    cases = result["cases"]
    return int(cases["pool, 300 snapshots"]["sync_bytes"] - cases["pool, 0 snapshots"]["sync_bytes"])


def snapshots_on_the_largest_machine(result: Result) -> float:
    """Return the bytes that cannot be taken back, of 1,000 snapshots in a process for every core."""
    return CORES * max(row["grown"] / row["processes"] for row in result["rows"])


def parts_of_the_file_in_a_process(result: Result) -> float:
    """Return the share of a file that counts for each process with the package's own reader."""
    mean = result["readers"]["territorial.files.safetensors"]["mean"]
    return float(mean["Pss"] * result["processes"] / result["file_bytes"])


def copies_of_the_file_in_a_process(result: Result) -> float:
    """Return how many times a process holds the file itself with the library's reader for numpy."""
    return float(result["readers"]["safetensors.numpy"]["mean"]["Anonymous"] / result["file_bytes"])


def mismatches(result: Result) -> int:
    """Return how many games the reference implementation plays otherwise."""
    return len(result["mismatches"])


def donations_of_launches(result: Result) -> float:
    """Return the share of all legal launches that are donations."""
    return float(result["events"]["donations"] / result["events"]["legal launches"])


def differences(result: Result) -> int:
    """Return how many games of teams of one are not those of no teams."""
    return len(result["different"])


def half_is_within(result: Result) -> int:
    """Return 1 if equal teams may win half of the games each, by both intervals, else 0."""
    shares = (found["first_wins"] for found in result["equals"].values())
    return int(all(low <= 0.5 <= high for _, low, high in shares))


# ---- the page ----------------------------------------------------------------------------------------


def work_of_ordinary_page(result: Result) -> Iterator[float]:
    """Return the ms of the page's own work for a picture, in the games of ``_ordinary``."""
    yield from (game["script_ms"]["median"] for game in _ordinary(result))


def places_on_ordinary_page(result: Result) -> Iterator[float]:
    """Return the ms to find the places of names and attacks, in the games of ``_ordinary``."""
    yield from (game["places_ms"]["median"] for game in _ordinary(result))


def _ordinary(result: Result) -> Iterator[Mapping[str, Any]]:
    """Yield the games of ordinary size that were played at 200 ticks a second."""
    for game in result["games"]:
        if (game["height"], game["num_players"], game["ticks_per_second"]) == (256, 32, 200):
            yield game
