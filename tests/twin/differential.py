"""Random games of the engine and of the reference implementation side by side: every field, after every tick.

One whole number, the seed, decides everything about a game: size, map, rules, position, launches. The
games of a run are those of seeds S, S + 1, ..., so that one game is repeated by naming its seed:

    python -m tests.twin.differential --seed 17 --ticks 1

and a long run is, say,

    python -m tests.twin.differential --ticks 1000000 --processes 2

Half of the games are driven by ``VecGame.tick``, with launches of any fraction and several a seat. The
others are driven by ``VecGame.step``, so that what the engine keeps from tick to tick is looked at as
well; those are compared after every environment step, which is one tick where ``decision_every`` is 1.

With ``--with-teams`` the same games are played by teams of all sizes. In half of them balances are near the
cap, so that gifts often meet it. In a quarter of the positions all players fall in the first tick or soon.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import itertools
import multiprocessing.pool
import random
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from territorial import GameConfig, VecGame
from territorial.config.land_mask import LandMask
from territorial.config.rewards import ALL_NAMES, NAMES
from territorial.config.teams import DEALS, SPAWNS
from territorial.constants import BLOCKED, FRACTIONS, NEUTRAL, SPAWN_CELLS, STREAM_EPISODE, STREAM_MAP
from territorial.game.rules import NEVER
from territorial.maps import capacity, make_maps
from territorial.observation.action_encoding import HOW_MUCH, WHAT, target_of_owner
from tests.twin import H, ReferenceGame, teams_of_one
from tests.twin.game import DONATION_KEYS, LEDGER_KEYS, Launch
from tests.twin.invariants import slow_fronts

# What a long run of games of teams counts, as all of it is to have happened often.
RARE_WITH_TEAMS = (
    "donations",
    "ticks in which gifts met the cap",
    "givers that died in the tick",
    "receivers that died in the tick",
    "ticks in which several teams were out",
    "ends without a team",
    "ends with equal land decided by troops",
)


class ComparedGame(NamedTuple):
    """What one game that agreed to the end was like."""

    seed: int
    # Ticks compared, over all games of the batch.
    ticks: int
    # What happened in them.
    events: dict[str, int]
    # Config fields that were not at their default.
    changed: frozenset[str]


class Mismatch(AssertionError):  # noqa: N818 - it is what an assertion of this module raises
    """The engine and the reference implementation differ; the message says where and how to repeat it."""

    def __init__(self, setting: DrawnGame, tick: int, k: int, differences: list[Difference]) -> None:
        first = differences[0]
        others = sorted({difference.field for difference in differences[1:]} - {first.field})
        lines = [
            f"the engine and the twin differ in {first.field}{first.where} at tick {tick}",
            f"  engine {first.engine}",
            f"  twin   {first.twin}",
            f"  also   {', '.join(others) if others else 'nothing else'}",
            f"  seed   {setting.seed}, driven by {setting.mode}, game {k} of {setting.num_games}"
            f"{', from a position' if setting.has_position else ''}",
            f"  config {config_call(setting.config)}",
            f"repeat with: {repeat_command(setting)}",
        ]
        super().__init__("\n".join(lines))
        self.field, self.tick = first.field, tick

    def __reduce__(self) -> tuple[object, ...]:
        """Let it travel between processes, with its message only."""
        return AssertionError, (str(self),)


class Difference(NamedTuple):
    """One place in which the two differ."""

    field: str
    where: str
    engine: object
    twin: object


@dataclasses.dataclass(frozen=True)
class DrawnGame:
    """What a seed stands for."""

    seed: int
    config: GameConfig
    mode: str
    num_games: int
    autoreset: Literal["same_step", "disabled"]
    has_position: bool
    # Chance that a seat launches at a decision (and once more, and so on, with tick).
    eagerness: float
    # The comparison stops after so many ticks.
    ticks: int
    with_teams: bool = False

    @property
    def is_near_cap(self) -> bool:
        """Whether many balances are about as large as the cap lets them be."""
        return self.with_teams and self.seed % 2 == 0

    @property
    def falls_at_once(self) -> bool:
        """Whether all players of a position that is taken have lost too much land to live on."""
        return self.with_teams and self.seed % 4 == 1


def repeat_command(setting: DrawnGame) -> str:
    """Return the command that plays this game alone."""
    if setting != setting_of(setting.seed, setting.with_teams):
        return "the test that made this setting by hand"
    teams = " --with-teams" if setting.with_teams else ""
    return f"python -m tests.twin.differential --seed {setting.seed} --ticks 1{teams}"


def config_call(config: GameConfig) -> str:
    """Return a call that makes this config, naming only what is not the default."""
    return f"GameConfig({', '.join(f'{n}={getattr(config, n)!r}' for n in sorted(changed(config)))})"


def changed(config: GameConfig) -> frozenset[str]:
    """Return the names of the fields that are not at their default."""
    specs = dataclasses.fields(config)
    return frozenset(spec.name for spec in specs if getattr(config, spec.name) != spec.default)


# ---- from a seed to a setting ---------------------------------------------------------------------


def setting_of(seed: int, with_teams: bool = False) -> DrawnGame:
    """Return the setting of a seed; ``with_teams`` changes nothing else of it but some troops."""
    rng = random.Random(seed)
    config = random_config(rng)
    mode = rng.choice(("tick", "step"))
    setting = DrawnGame(
        seed=seed,
        config=config,
        mode=mode,
        num_games=rng.choice((1, 1, 2, 3)),
        autoreset=rng.choice(("disabled", "same_step")),
        has_position=rng.random() < 0.3,
        eagerness=rng.choice((0.05, 0.2, 0.5)) if config.num_players < 60 else 0.03,
        ticks=rng.choice((60, 200, 400)) if config.num_players < 60 else 40,
        with_teams=with_teams,
    )
    if not with_teams:
        return setting
    rng = random.Random(f"teams {seed}")
    fields = random_teams(rng, config.num_players)
    if setting.is_near_cap:
        fields["starting_troops"] = max(1, SPAWN_CELLS * config.hard_cap - rng.randint(0, 100))
    return dataclasses.replace(setting, config=config.replace(**fields))


def random_teams(rng: random.Random, num_players: int) -> dict[str, Any]:
    """Return fields that make teams: of any size, or dealt; P teams of one are among them."""
    num_teams = rng.randint(2, min(num_players, rng.choice((2, 4, num_players))))
    fields: dict[str, Any] = {
        "teams": num_teams,
        "team_deal": rng.choice(DEALS),
        "team_spawns": rng.choice(SPAWNS),
        "rewards": weights_of(ALL_NAMES),
    }
    if rng.random() < 0.4:
        others = (rng.randint(1, num_teams) for _ in range(num_players - num_teams))
        listed = [*range(1, num_teams + 1), *others]
        rng.shuffle(listed)
        fields |= {"teams": listed, "team_deal": DEALS[0]}
    return fields


def weights_of(names: Sequence[str]) -> dict[str, float]:
    """Return weights of which no two are equal, so that no part can be taken for another one."""
    return {name: (i + 1) / 16 for i, name in enumerate(names)}


def random_config(rng: random.Random) -> GameConfig:
    """Return a random size, map and number of seats, and the default rules or random ones."""
    fields = random_board(rng)
    fields["decision_every"] = rng.choice((1, 1, 3, 10, 10, 50))
    fields["max_ticks"] = rng.choice((1, 50, 150, 300, 10_000))
    fields["rewards"] = weights_of(NAMES)
    if rng.random() < 0.75:
        fields |= random_rules(random.Random(str(rng.getrandbits(64))))
    config = GameConfig(**fields)
    maps = make_maps(config.replace(num_players=2))  # which are not refused for want of room
    room = min(capacity(land, config.num_players) for land in maps)
    return config.replace(num_players=max(2, min(config.num_players, room)))


def random_board(rng: random.Random) -> dict[str, Any]:
    """Return the fields that say where a game is played: most boards small, some wide, some crowded."""
    height, width = rng.randint(16, 40), rng.randint(16, 40)
    num_players = rng.randint(2, 12)
    shape = rng.random()
    if shape < 0.25:
        height, width = rng.randint(16, 20), rng.choice((63, 64, 65, 70, 127, 128, 130))
    elif shape < 0.29:
        height, width, num_players = rng.randint(40, 48), rng.choice((48, 66)), rng.randint(62, 75)
    elif shape < 0.293:
        height, width, num_players = 72, 70, 250
    return {
        "height": height,
        "width": width,
        "num_players": num_players,
        "map": rng.choice(("open", "lakes", "mountains")),
        "map_seed": rng.choice((0, rng.getrandbits(64))),
        "num_maps": rng.choice((1, 1, 1, 2, 3)),
    }


def random_rules(rng: random.Random) -> dict[str, Any]:
    """Return every number of the rules, moved; ``rng`` is theirs alone, so that one more moves no other."""
    min_layers = rng.randint(1, 4)
    soft_cap = rng.randint(1, 120)
    return {
        "starting_troops": rng.randint(50, 2000),
        "spawn_spacing_percent": rng.choice((0, 30, 70, 100, 200)),
        "launch_tax": rng.choice((0, 12, 100, 1023)),
        "launch_delay": rng.choice((0, 1, rng.randint(0, 12))),
        "layer_cost": rng.randint(1, 4),
        "layer_growth_divisor": rng.randint(1, 9),
        "need_divisor": rng.randint(1, 5),
        "interest_every": rng.randint(1, 12),
        "interest_base": rng.randint(0, 300),
        "interest_levels": rng.choice((1, 511, 4095)),
        "interest_land_scale": rng.choice((0, 25_600, 1_000_000)),
        "interest_land_divisor": rng.randint(1, 1000),
        "early_interest_ticks": rng.choice((1, 100, 1920)),
        "early_interest_multiple": rng.randint(1, 9),
        "soft_cap": soft_cap,
        "hard_cap": soft_cap + rng.randint(0, 60),
        "over_cap_slope": rng.randint(0, 3),
        "income_every": rng.randint(1, 100),
        "income_per_cell": rng.randint(0, 3),
        "cadence_land": rng.choice(((1000, 10_000, 60_000), (20, 60, 120), (13, 14, 400))),
        "min_layers": min_layers,
        "neutral_cost": rng.randint(0, min_layers),
        "attack_cost": rng.randint(0, min_layers),
        "defence_tenths": rng.randint(1, 30),
        "attackers_per_defender": rng.randint(1, 3),
        "deaths": rng.random() < 0.75,
        "death_divisor": rng.choice((4, 4, rng.randint(2, 6))),
        "peak_decay_divisor": rng.choice((1, 50, 1000)),
        "win_percent": rng.choice((90, rng.randint(30, 100))),
    }


# ---- playing both ---------------------------------------------------------------------------------


def compare_game(seed: int, with_teams: bool = False) -> ComparedGame:
    """Play the game of ``seed`` with both; raise Mismatch where they differ."""
    return Pair(setting_of(seed, with_teams)).play()


class CountedGame(ReferenceGame):
    """A reference game that counts its launches, and with teams what is rare in games of them."""

    def __init__(self, config: GameConfig, land: LandMask, seed: int) -> None:
        super().__init__(config, land, seed)
        self.counted = dict.fromkeys(("legal launches", *RARE_WITH_TEAMS), 0)
        self.givers: set[int] = set()
        self.receivers: set[int] = set()

    def play_launches(self, launches: list[Launch]) -> None:
        """Forget who gave in the tick before."""
        self.givers, self.receivers = set(), set()
        super().play_launches(launches)

    def send(self, p: int, t: int, fraction: int) -> None:
        """Count it."""
        super().send(p, t, fraction)
        self.counted["legal launches"] += 1

    def donate(self, p: int, t: int, fraction: int) -> None:
        """Count it."""
        super().donate(p, t, fraction)
        self.givers.add(p)
        self.receivers.add(t)
        self.counted["legal launches"] += 1
        self.counted["donations"] += 1

    def deliver_gifts(self) -> None:
        """Count the tick if some of them is lost."""
        before = sum(self.ledger["capped"])
        super().deliver_gifts()
        self.counted["ticks in which gifts met the cap"] += sum(self.ledger["capped"]) > before

    def bury(self, fallen: list[int]) -> None:
        """Count those who gave or were given to in this tick, and the ticks in which several teams go."""
        were_in = self.living_teams()
        super().bury(fallen)
        self.counted["givers that died in the tick"] += len(self.givers.intersection(fallen))
        self.counted["receivers that died in the tick"] += len(self.receivers.intersection(fallen))
        num_out = len(were_in) - len(self.living_teams())
        self.counted["ticks in which several teams were out"] += num_out > 1

    def is_finished(self) -> bool:
        """Count ends without a team, and those where teams of equal land are told apart by their troops."""
        is_over = super().is_finished()
        if is_over:
            teams = self.living_teams()
            num_ranks, num_lands = (
                len({number(g) for g in teams}) for number in (self._rank, self.land_of_team)
            )
            self.counted["ends without a team"] += not teams
            self.counted["ends with equal land decided by troops"] += num_ranks > num_lands
        return is_over


class Pair:
    """A batch of the engine and a reference game for each of its games."""

    def __init__(self, setting: DrawnGame) -> None:
        self.setting, self.config = setting, setting.config
        self.rng = random.Random(f"play {setting.seed}")
        self.batch_seed = self.rng.getrandbits(64)
        self.engine = VecGame(
            setting.config,
            setting.num_games,
            seed=self.batch_seed,
            autoreset=setting.autoreset,
            observe=self.rng.random() < 0.2,
        )
        self.engine.reset()
        self.twins = [self.new_twin(k, episode=0) for k in range(setting.num_games)]
        self.episodes = [0] * setting.num_games
        self.ticks = 0
        self.events: dict[str, int] = {}

    def new_twin(self, k: int, episode: int) -> CountedGame:
        """Return the reference game of game ``k`` as it begins, its seed and map worked out here."""
        seed = H(self.batch_seed, STREAM_EPISODE, k, episode)
        map_id = H(seed, STREAM_MAP, 0, 0) % self.config.num_maps
        return CountedGame(self.config, self.engine.maps[map_id], seed)

    def play(self) -> ComparedGame:
        """Play all games side by side and return what they were like; Mismatch where they differ."""
        for k in range(self.setting.num_games):
            self.compare(k)
            if self.setting.has_position:
                self.take_position(k)
                self.compare(k)
        steps = self.tick_by_tick() if self.setting.mode == "tick" else self.step_by_step()
        for _ in steps:
            if self.ticks >= self.setting.ticks * self.setting.num_games:
                break
        for k in range(self.setting.num_games):
            self.count_events(k)
        return ComparedGame(self.setting.seed, self.ticks, self.events, changed(self.config))

    def tick_by_tick(self) -> Iterator[None]:
        """Play one game after another with launches of all kinds, a tick at a time."""
        while not all(twin.over for twin in self.twins):
            for k, twin in enumerate(self.twins):
                if not twin.over:
                    launches = self.launches(k) if twin.tick % self.config.decision_every == 0 else []
                    self.engine.tick(k, launches)
                    twin.step_tick(launches)
                    self.ticks += 1
                    self.compare(k)
            yield

    def step_by_step(self) -> Iterator[None]:
        """Play all games with actions, an environment step at a time, and compare rewards and ends."""
        is_replaced = self.setting.autoreset == "same_step"
        while is_replaced or not all(twin.over for twin in self.twins):
            actions = [self.actions(k) for k in range(self.setting.num_games)]
            _, rewards, terminated, truncated, info = self.engine.step(actions)
            for k, twin in enumerate(self.twins):
                results = (rewards[k], terminated[k], truncated[k], info["ended"][k], info["was_reset"][k])
                self.step_twin(k, twin, actions[k], results, info)
            yield

    def step_twin(
        self, k: int, twin: ReferenceGame, actions: Any, results: tuple[Any, ...], info: dict[str, Any]
    ) -> None:
        """Play one environment step of the reference game and compare it with what the engine gave back."""
        rewards, terminated, truncated, ended, was_reset = results
        was_over, was_in, before = twin.over, twin.living_teams(), twin.tick
        expected = [0.0] * self.config.num_players
        if not was_over:
            expected = twin.environment_step(self.twin_launches(actions))
            self.ticks += twin.tick - before
        is_last = [
            not was_over and team in was_in and (twin.over or not twin.is_in(team)) for team in twin.team[1:]
        ]
        is_replaced = self.setting.autoreset == "same_step" and twin.over
        pairs = [
            ("terminated", terminated, np.array(is_last)),
            ("truncated", truncated, np.zeros(len(is_last), bool)),
            ("ended", np.array([ended]), np.array([twin.over and not was_over])),
            ("was_reset", np.array([was_reset]), np.array([is_replaced])),
        ]
        if twin.over and not was_over:
            pairs += [
                ("final_place", info["final_place"][k], np.array(twin.placements(), np.float32)),
                ("final_land", info["final_land"][k], np.array(twin.land[1:])),
                ("final_length", info["final_length"][k : k + 1], np.array([twin.tick])),
            ]
        found = [d for name, a, b in pairs for d in differences(name, a, b)]
        if not np.allclose(rewards, expected, rtol=1e-6, atol=1e-6):
            found.append(Difference("rewards", "", rewards.tolist(), expected))
        if found:
            raise Mismatch(self.setting, twin.tick, k, found)
        if is_replaced:
            self.count_events(k)
            self.episodes[k] += 1
            self.twins[k] = self.new_twin(k, self.episodes[k])
        self.compare(k)

    # what is sent

    def launches(self, k: int) -> list[tuple[int, int, int]]:
        """Return launches of some seats, most of them legal, several a seat possible."""
        players = self.config.num_players
        legal = self.engine.fronts(k)[2]
        chosen = []
        for p in range(1, players + 1):
            while self.rng.random() < self.setting.eagerness:
                targets = np.flatnonzero(legal[p]).tolist()
                is_legal = targets and self.rng.random() < 0.8
                if is_legal and self.setting.with_teams and self.rng.random() < 0.4:
                    targets = self.with_allies_first(k, p, targets)
                target = self.rng.choice(targets) if is_legal else self.rng.randint(0, players)
                chosen.append((p, target, self.rng.randint(1, self.rng.choice((32, 256, 1024)))))
        self.rng.shuffle(chosen)
        return chosen

    def actions(self, k: int) -> np.ndarray:
        """Return actions (P, 2), most of them legal."""
        players = self.config.num_players
        legal = self.engine.fronts(k)[2]
        actions = np.zeros((players, 2), np.int64)
        for p in range(1, players + 1):
            actions[p - 1, HOW_MUCH] = self.rng.randrange(len(FRACTIONS))
            if self.rng.random() < self.setting.eagerness:
                targets = np.flatnonzero(legal[p]).tolist()
                if targets and self.rng.random() < 0.8:
                    if self.setting.with_teams and self.rng.random() < 0.4:
                        targets = self.with_allies_first(k, p, targets)
                    target = self.rng.choice(targets)
                    actions[p - 1, WHAT] = target_of_owner(target, p, players)
                else:
                    actions[p - 1, WHAT] = self.rng.randint(0, players + 1)
        return actions

    def with_allies_first(self, k: int, p: int, targets: list[int]) -> list[int]:
        """Return those of ``targets`` that are allies of seat ``p``, or all if none is."""
        team = self.twins[k].team
        return [target for target in targets if team[target] == team[p]] or targets

    def twin_launches(self, actions: object) -> list[tuple[int, int, int]]:
        """Return the launches that actions mean: ego index 2 is oneself, 3 the next seat, and round."""
        players, launches = self.config.num_players, []
        for p, (what, how_much) in enumerate(np.asarray(actions).tolist(), start=1):
            if what == 1:
                launches.append((p, 0, FRACTIONS[how_much]))
            elif what > 1:
                seats = [*range(p, players + 1), *range(1, p)]
                launches.append((p, seats[what - 2], FRACTIONS[how_much]))
        return launches

    # positions

    def take_position(self, k: int) -> None:
        """Put game ``k`` and its reference game into a random position with territories, pools and peaks."""
        rng, config, twin = self.rng, self.config, self.twins[k]
        seats = range(1, config.num_players + 1)
        owner = self.random_owner(twin)
        land = [int((owner == p).sum()) for p in range(config.num_players + 1)]
        troops = [rng.choice((0, rng.randint(0, 500), rng.randint(0, 200 * land[p] + 1))) for p in seats]
        if self.setting.is_near_cap:
            caps = [config.hard_cap * land[p] for p in seats]
            troops = [max(0, cap - rng.randint(0, rng.choice((20, 2000)))) for cap in caps]
        peak = [land[p] + rng.choice((0, 0, rng.randint(0, 3 * land[p] + 4))) for p in seats]
        if self.setting.falls_at_once:
            peak = [config.death_divisor * (land[p] + 3) for p in seats]
        horizon = min(config.max_ticks, 3000) // config.decision_every
        tick = rng.randint(0, max(0, horizon - 1)) * config.decision_every
        next_step = [tick + rng.randint(0, 9) for _ in seats]
        pools = {
            (p, t): rng.randint(0, rng.choice((20, 400, 10_000)))
            for p in seats
            for t in [0, *seats]
            if twin.team[p] != twin.team[t] and rng.random() < 0.4
        }
        self.engine.set_position(
            k, owner, tick=tick, troops=troops, pools=pools, peak=peak, next_step=next_step
        )
        twin.tick = tick
        twin.owner = [[int(code) for code in row] for row in owner]
        twin.land, twin.num_land = land, int((owner != BLOCKED).sum())
        twin.troops, twin.peak, twin.next_step = [0, *troops], [0, *peak], [0, *next_step]
        for (p, t), amount in pools.items():
            twin.pools[p][t] = amount

    def random_owner(self, twin: ReferenceGame) -> np.ndarray:
        """Return owner codes of patches of land, ragged, with neutral gaps; some seats may own nothing."""
        rng, config = self.rng, self.config
        numbers = np.random.default_rng(rng.getrandbits(32))
        side = rng.choice((1, 3, 6, 12))
        coarse = (-(-config.height // side), -(-config.width // side))
        patches = numbers.integers(0, config.num_players + 1, coarse)
        owner = np.kron(patches, np.ones((side, side), np.int64))[: config.height, : config.width]
        noise = numbers.random(owner.shape) < rng.choice((0.0, 0.1))
        owner = np.where(noise, numbers.integers(0, config.num_players + 1, owner.shape), owner)
        blocked = np.array(twin.owner) == BLOCKED
        return np.where(blocked, BLOCKED, owner).astype(np.uint8)

    # comparing

    def compare(self, k: int) -> None:
        """Raise Mismatch unless game ``k`` equals its reference game in every field."""
        twin = self.twins[k]
        found = [
            difference
            for name, values in twin_fields(twin).items()
            for difference in differences(name, engine_field(self.engine, name, k), values)
        ]
        if not found:
            found = differences("digest", self.engine.digest(k).hex(), twin.digest().hex())
        if found:
            raise Mismatch(self.setting, twin.tick, k, found)

    @property
    def ledger_keys(self) -> tuple[str, ...]:
        """The entries of the ledger that may be other than 0."""
        return (*LEDGER_KEYS, *DONATION_KEYS) if self.setting.with_teams else LEDGER_KEYS

    def counts_of_launches(self, twin: CountedGame) -> dict[str, int]:
        """Return how many launches there were, and with teams how many gave, and met the cap."""
        return twin.counted if self.setting.with_teams else {"legal launches": twin.counted["legal launches"]}

    def count_events(self, k: int) -> None:
        """Add what happened in game ``k``, so that a run can tell that its games were not dull."""
        twin = self.twins[k]
        happened = {
            "games": 1,
            "over": int(twin.over),
            "neutral land taken": sum(row[0] for row in twin.taken),
            "players' land taken": sum(sum(row[1:]) for row in twin.taken),
            "deaths": twin.alive[1:].count(False),
            "living without land": sum(
                alive and not land for alive, land in zip(twin.alive[1:], twin.land[1:], strict=True)
            ),
            **self.counts_of_launches(twin),
            "illegal": sum(twin.illegal),
            "raised": sum(twin.raised),
            "bounced": sum(twin.bounced),
            **{key: sum(twin.ledger[key]) for key in self.ledger_keys},
        }
        for name, count in happened.items():
            self.events[name] = self.events.get(name, 0) + count


def twin_fields(twin: ReferenceGame) -> dict[str, Any]:
    """Return every field of the reference game under the engine's names, indexed by owner code."""
    fronts = slow_fronts(twin.owner, twin.config.num_players)
    np.fill_diagonal(fronts, 0)
    borders = (fronts > 0) | (fronts > 0).T
    borders[NEUTRAL], borders[:, NEUTRAL] = fronts[:, NEUTRAL] > 0, fronts[:, NEUTRAL] > 0
    doubled_place = [0] * len(twin.alive)
    if twin.over:
        doubled_place[1:] = [round(2 * place) for place in twin.placements()]
    for p in twin.seats:
        if not twin.is_in(twin.team[p]):
            doubled_place[p] = round(2 * twin.place_of_dead(p))
    return {
        "seed": twin.seed,
        "future": twin.future,
        "tick": twin.tick,
        "over": int(twin.over),
        "num_land": twin.num_land,
        "owner": twin.owner,
        "land": twin.land,
        "alive": [int(alive) for alive in twin.alive],
        "troops": twin.troops,
        "pools": twin.pools,
        "peak": twin.peak,
        "next_step": twin.next_step,
        "death_tick": twin.death_tick,
        "taken": twin.taken,
        "doubled_place": doubled_place,
        "illegal": twin.illegal,
        "raised": twin.raised,
        "bounced": twin.bounced,
        "team": twin.team,
        **{key: twin.ledger[key] for key in (*LEDGER_KEYS, *DONATION_KEYS)},
        "due": [
            step if any(pools) else NEVER for step, pools in zip(twin.next_step, twin.pools, strict=True)
        ],
        "active": [[pool > 0 for pool in row] for row in twin.pools],
        "fresh": twin.is_fresh,
        "fronts": fronts,
        "bordering": borders,
    }


def engine_field(engine: VecGame, name: str, k: int) -> np.ndarray:
    """Return a field of game ``k`` of the engine in the reference game's form."""
    if name == "owner":
        return cast("np.ndarray", engine.state.owner[k, 1:-1, 1:-1])
    values: np.ndarray = getattr(engine.state, name)[k]
    if name in ("active", "fresh", "bordering"):
        bits = np.unpackbits(np.ascontiguousarray(values).view(np.uint8), axis=1, bitorder="little")
        return bits[:, : engine.config.num_players + 1]
    return values


def differences(name: str, engine: object, twin: object) -> list[Difference]:
    """Return the first difference of two arrays, numbers or strings, or nothing."""
    left, right = np.asarray(engine), np.asarray(twin)
    if name in ("seed", "future"):
        left, right = np.asarray(engine, np.uint64), np.asarray(twin, np.uint64)
    if left.shape != right.shape:
        return [Difference(name, " (shape)", left.shape, right.shape)]
    if np.array_equal(left, right):
        return []
    index = tuple(np.argwhere(left != right)[0].tolist())
    where = "".join(f"[{i}]" for i in index)
    return [Difference(name, where, left[index].item(), right[index].item())]


# ---- long runs ------------------------------------------------------------------------------------


class Comparison(NamedTuple):
    """What a run compared."""

    ticks: int
    games: int
    first_seed: int
    last_seed: int
    events: dict[str, int]
    changed: frozenset[str]
    mismatches: list[str]


def run(
    ticks: int, first_seed: int = 0, processes: int = 1, show: bool = False, with_teams: bool = False
) -> Comparison:
    """Compare the games of ``first_seed``, + 1, ... until there are ``ticks`` ticks; stops at a mismatch."""
    done, seed, started = 0, first_seed, time.perf_counter()
    events: dict[str, int] = {}
    changed_fields: set[str] = set()
    mismatches: list[str] = []
    with outcomes(first_seed, processes, with_teams) as results:
        for seed, result in zip(itertools.count(first_seed), results, strict=False):
            if isinstance(result, str):
                mismatches.append(result)
                break
            done += result.ticks
            changed_fields |= result.changed
            for name, count in result.events.items():
                events[name] = events.get(name, 0) + count
            if show and (seed - first_seed) % 100 == 99:
                rate = done / (time.perf_counter() - started)
                sys.stderr.write(f"{done:,} of {ticks:,} ticks, seed {seed}, {rate:,.0f} ticks/s\n")
            if done >= ticks:
                break
    return Comparison(
        done, seed - first_seed + 1, first_seed, seed, events, frozenset(changed_fields), mismatches
    )


def outcome_or_message(seed: int, with_teams: bool = False) -> ComparedGame | str:
    """Return the outcome of a seed, or the message of its mismatch."""
    try:
        return compare_game(seed, with_teams=with_teams)
    except Mismatch as mismatch:
        return str(mismatch)


class outcomes:  # noqa: N801 - used as a function in a with statement
    """The outcomes of the seeds from ``first_seed`` on, in order, worked out by ``processes`` processes."""

    def __init__(self, first_seed: int, processes: int, with_teams: bool) -> None:
        self.seeds = itertools.count(first_seed)
        self.play = functools.partial(outcome_or_message, with_teams=with_teams)
        self.processes = processes
        self.pool: multiprocessing.pool.Pool | None = None

    def __enter__(self) -> Iterator[ComparedGame | str]:
        if self.processes == 1:
            return map(self.play, self.seeds)
        self.pool = multiprocessing.get_context("spawn").Pool(self.processes)
        return self.in_parallel(self.pool)

    def in_parallel(self, pool: multiprocessing.pool.Pool) -> Iterator[ComparedGame | str]:
        """Yield the outcomes in order."""
        while True:  # in portions, as a pool would read an endless iterator to its end
            yield from pool.imap(self.play, itertools.islice(self.seeds, 200))

    def __exit__(self, *_exception: object) -> None:
        if self.pool is not None:
            self.pool.terminate()


def main(arguments: list[str] | None = None) -> int:
    """Compare games as the arguments say and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.twin.differential", description=__doc__)
    parser.add_argument("--ticks", type=int, default=10_000, help="stop after so many ticks")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first game")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--with-teams", action="store_true", help="games of teams")
    parser.add_argument(
        "--teams-of-one", type=int, help="play so many games by the code of teams and without it instead"
    )
    options = parser.parse_args(arguments)
    if options.teams_of_one:
        same = teams_of_one.compare(options.teams_of_one, options.seed)
        sys.stdout.write(f"{same.ticks:,} ticks of {same.games:,} games; different: {same.different}\n")
        return int(bool(same.different))
    report = run(options.ticks, options.seed, options.processes, show=True, with_teams=options.with_teams)
    if report.mismatches:
        sys.stderr.write(report.mismatches[0] + "\n")
        return 1
    sys.stdout.write(
        f"{report.ticks:,} ticks of {report.games:,} games agree, seeds {report.first_seed} to "
        f"{report.last_seed}: {', '.join(f'{n:,} {name}' for name, n in report.events.items())}\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
