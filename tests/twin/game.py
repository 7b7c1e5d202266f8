"""ReferenceGame: the rules of the game, top to bottom, in plain integers and lists.

Read :meth:`ReferenceGame.step_tick` first; it is the table of contents. The methods below it
follow in the order of a tick, each opening with its rule in one sentence. ``p`` is the player who
acts, ``t`` the target (0 is neutral land), ``q`` any other player, ``d`` a player who dies, ``g`` a
team. The arithmetic is in ``formulas.py``, the setting up of the spawns in ``spawns.py``, that of
the teams in ``teams.py``. Without teams each player is a team of one, so that no rule asks for them.
"""

import hashlib
import operator
import struct
from collections.abc import Iterable, Sequence

from territorial.config import GameConfig
from territorial.config.land_mask import LandMask
from territorial.constants import (
    BLOCKED,
    FRACTION_UNIT,
    NEUTRAL,
    SPAWN_CELLS,
    STREAM_ORDER,
)
from tests.twin import formulas, rewards
from tests.twin.rng import H
from tests.twin.spawns import place_spawns
from tests.twin.teams import deal_teams

Cell = tuple[int, int]
# Seat, owner code of the target, 1024ths of the balance.
Launch = tuple[int, int, int]

# Where troops come from (the first two) and how they vanish (the rest).
LEDGER_KEYS = (
    "interest",
    "income",
    "tax",
    "paid_neutral",
    "paid_attack",
    "killed",
    "cancelled",
    "capped",
    "destroyed",
)
# How troops pass between allies: in at the one, out at the other.
DONATION_KEYS = ("received", "donated")


class ReferenceGame:
    """One game. Lists are indexed by owner code 0..P; entries of code 0 without a meaning are 0.

    ``owner[r][c]`` is 0 (neutral), 1..P or 255 (blocked). ``troops`` and ``land`` are T and L of
    the rules (``land[0]`` counts the neutral cells), ``pools[p][t]`` is A, ``team[p]`` is G, and
    ``ledger[key][p]`` books every gain and loss of troops at the player whose troops they are. With
    handicaps, who knows the players says what each seat starts with: ``starting_troops``, by seats.
    """

    def __init__(
        self,
        config: GameConfig,
        land: LandMask,
        seed: int,
        spawns: Sequence[Sequence[Cell]] | None = None,
        starting_troops: Sequence[int] | None = None,
    ) -> None:
        _check_setting(config, land, seed)
        num_codes = config.num_players + 1
        self.config = config
        self.num_land = land.num_land
        self.seats = range(1, num_codes)
        self.seed = self.future = operator.index(seed)
        self.team = [0, *deal_teams(config, self.seed)]
        self.members = {g: [p for p in self.seats if self.team[p] == g] for g in sorted(set(self.team[1:]))}
        self.tick = 0
        self.over = False
        rows = land.to_array().tolist()
        self.owner = [[NEUTRAL if is_land else BLOCKED for is_land in row] for row in rows]
        self.neighbours = _neighbours(land.height, land.width)
        self.alive = [False] + [True] * config.num_players
        equal = [config.starting_troops] * config.num_players
        self.troops = [0, *(equal if starting_troops is None else starting_troops)]
        self.land = [self.num_land] + [0] * config.num_players
        self.peak = [0] + [SPAWN_CELLS] * config.num_players
        self.next_step = [0] * num_codes
        self.death_tick = [-1] * num_codes
        self.pools = [[0] * num_codes for _ in range(num_codes)]
        self.taken = [[0] * num_codes for _ in range(num_codes)]
        # Pools opened since their owner's last step; only the count of bounces looks at it.
        self.is_fresh = [[False] * num_codes for _ in range(num_codes)]
        self.illegal = [0] * num_codes
        self.raised = [0] * num_codes
        self.bounced = [0] * num_codes
        self.ledger = {key: [0] * num_codes for key in (*LEDGER_KEYS, *DONATION_KEYS)}
        # T before the first launch of a tick, which masks show, while its launches are played.
        self.shown_troops: list[int] | None = None
        # What allies have given to a player in this tick and has not arrived.
        self.gifts = [0] * num_codes
        if len(self.troops) != num_codes:
            raise ValueError(
                f"starting_troops has {len(self.troops) - 1} entries; one for each of {len(self.seats)} seats"
            )
        self._settle(place_spawns(config, land, self.seed) if spawns is None else spawns)

    def _settle(self, spawns: Sequence[Sequence[Cell]]) -> None:
        """Each seat starts on its 12 spawn cells."""
        if len(spawns) != self.config.num_players:
            raise ValueError(f"spawns has {len(spawns)} entries; one for each of {len(self.seats)} seats")
        for p, cells in zip(self.seats, spawns, strict=True):
            for r, c in cells:
                if not (0 <= r < len(self.owner) and 0 <= c < len(self.owner[0])):
                    raise ValueError(f"spawn cell ({r}, {c}) of seat {p} is outside the map")
                if self.owner[r][c] != NEUTRAL:
                    raise ValueError(f"spawn cell ({r}, {c}) of seat {p} is blocked or taken")
                self._give(r, c, p)
            if len(cells) != SPAWN_CELLS:
                raise ValueError(f"spawn of seat {p} has {len(cells)} cells; it must have {SPAWN_CELLS}")

    # ------------------------------------------------------------------ a tick, rule by rule

    def step_tick(self, launches: Iterable[Launch] = ()) -> None:
        """Play one tick: launches, payouts, attack steps, deaths, the end, in this order."""
        self.play_launches(self._checked(launches))
        if self.tick % self.config.interest_every == self.config.interest_every - 1:
            self.pay_interest()
        if self.tick % self.config.income_every == self.config.income_every - 1:
            self.pay_income()
        for p in self.due_players():
            self.attack_step(p)
        fallen = self.fallen_players()
        self.follow_peaks(fallen)
        self.bury(fallen)
        self.over = self.is_finished()
        self.tick += 1

    def play_launches(self, launches: list[Launch]) -> None:
        """Launches apply in the order given; what they give to allies arrives after all of them."""
        self.shown_troops = list(self.troops)
        for p, t, fraction in launches:
            self.launch(p, t, fraction)
        self.shown_troops = None
        self.deliver_gifts()

    def launch(self, p: int, t: int, fraction: int) -> None:
        """A legal launch attacks neutral land or an enemy, or gives to an ally; others do nothing."""
        if not self.is_legal(p, t):
            self.illegal[p] += 1
        elif self.are_allies(p, t):
            self.donate(p, t, fraction)
        else:
            self.send(p, t, fraction)

    def is_legal(self, p: int, t: int) -> bool:
        """Living players may name neutral land or others alive, by the rule for enemies or for allies."""
        if p not in self.seats or not self.alive[p]:
            return False
        if t == p or not (t == NEUTRAL or (t in self.seats and self.alive[t])):
            return False
        return self.may_donate(p, t) if self.are_allies(p, t) else self.may_attack(p, t)

    def are_allies(self, p: int, t: int) -> bool:
        """Allies are players of one team."""
        return t in self.seats and self.team[p] == self.team[t]

    def may_attack(self, p: int, t: int) -> bool:
        """Those who touch the target and can afford the launch may attack it."""
        return bool(self.front(p, t)) and self.need(p, t) <= formulas.largest_need(
            self.config, self.troops[p]
        )

    def send(self, p: int, t: int, fraction: int) -> None:
        """An attack moves troops from home to a pool and costs a tax."""
        troops, need = self.troops[p], self.need(p, t)
        wanted = formulas.wanted_amount(troops, fraction)
        if wanted < need:
            self.raised[p] += 1
        tax = formulas.launch_tax(self.config, troops)
        amount = min(troops - tax, max(wanted, need))
        if not any(self.pools[p]):
            self.next_step[p] = self.tick + self.config.launch_delay
        if self.pools[p][t] == 0:
            self.is_fresh[p][t] = True
        self.troops[p] -= tax + amount
        self.pools[p][t] += amount
        self.ledger["tax"][p] += tax

    def may_donate(self, p: int, t: int) -> bool:
        """Troops can be given, over any distance, to an ally that was below its cap before the launches."""
        shown = self.troops if self.shown_troops is None else self.shown_troops
        return self.troops[p] >= 1 and formulas.room_below_hard_cap(self.config, shown[t], self.land[t]) > 0

    def donate(self, p: int, t: int, fraction: int) -> None:
        """A donation takes the fraction named off the balance, 1 at least, and costs a tax."""
        troops = self.troops[p]
        if formulas.wanted_amount(troops, fraction) < 1:
            self.raised[p] += 1
        tax = formulas.launch_tax(self.config, troops)
        amount = formulas.donated_amount(self.config, troops, fraction)
        self.troops[p] -= tax + amount
        self.gifts[t] += amount
        self.ledger["tax"][p] += tax
        self.ledger["donated"][p] += amount

    def deliver_gifts(self) -> None:
        """All gifts to a player arrive at once, up to the hard cap; the rest is lost."""
        for t in self.seats:
            gift = self.gifts[t]
            self.gifts[t] = 0
            self.ledger["received"][t] += gift
            self.pay_up_to_cap(t, gift)

    def need(self, p: int, t: int) -> int:
        """A pool needs enough for a first layer and a little growth."""
        return formulas.launch_need(self.config, len(self.front(p, t)), self.pools[p][t])

    def front(self, p: int, t: int) -> list[Cell]:
        """The front is every cell of t with a neighbour owned by p, in reading order here."""
        owner = self.owner
        return [
            (r, c)
            for r, row in enumerate(owner)
            for c, code in enumerate(row)
            if code == t and any(owner[i][j] == p for i, j in self.neighbours[r][c])
        ]

    def pay_interest(self) -> None:
        """Living players are paid interest on their balance; pools earn nothing."""
        for p in self.living():
            gain = formulas.interest_gain(self.config, self.tick, self.troops[p], self.land[p], self.num_land)
            self.troops[p] += gain
            self.ledger["interest"][p] += gain

    def pay_income(self) -> None:
        """Living players are paid for every cell they own."""
        for p in self.living():
            gain = formulas.income_gain(self.config, self.troops[p], self.land[p])
            self.troops[p] += gain
            self.ledger["income"][p] += gain

    def due_players(self) -> list[int]:
        """Living players with a pool that have waited long enough step, in an order drawn each tick."""
        due = [p for p in self.living() if self.tick >= self.next_step[p] and any(self.pools[p])]
        return sorted(due, key=self.order_key)

    def order_key(self, p: int) -> int:
        """The lowest hash steps first; a test that relabels the seats overrides this."""
        return H(self.future, STREAM_ORDER, self.tick, p)

    def attack_step(self, p: int) -> None:
        """All pools of p advance a layer or end, on the board as it stands; refunds come last."""
        fronts = {t: self.front(p, t) for t, pool in enumerate(self.pools[p]) if pool > 0}
        refund = sum(self.attack(p, t, cells) for t, cells in fronts.items())
        self.pay_up_to_cap(p, refund)
        self.is_fresh[p] = [False] * len(self.is_fresh[p])
        self.next_step[p] = self.tick + formulas.cadence(self.config, self.land[p])

    def attack(self, p: int, t: int, cells: list[Cell]) -> int:
        """A pool too thin for its front ends; else it pays for the layer. Returns the refund."""
        is_too_thin = not cells or self.pools[p][t] // len(cells) < self.config.min_layers
        if is_too_thin:
            if self.is_fresh[p][t]:
                self.bounced[p] += 1
            return self.end_attack(p, t)
        if t == NEUTRAL:
            return self.attack_neutral(p, cells)
        return self.attack_player(p, t, cells)

    def attack_neutral(self, p: int, cells: list[Cell]) -> int:
        """Neutral land costs 2 a cell and is always taken."""
        cost = self.config.neutral_cost * len(cells)
        self.pools[p][NEUTRAL] -= cost
        self.ledger["paid_neutral"][p] += cost
        self.take(p, NEUTRAL, cells)
        return 0

    def attack_player(self, p: int, t: int, cells: list[Cell]) -> int:
        """A layer falls to more than its price, its defenders twice and the pool against p.

        Won or not, the attacker's payment, less the price of the land, first cancels the pool that
        t has against p, troop for troop, and then kills t's troops at home, one for two.
        """
        n = len(cells)
        land_price = self.config.attack_cost * n
        defenders = formulas.defence(self.config, n, self.troops[t], self.land[t])
        cost = land_price + self.config.attackers_per_defender * defenders + self.pools[t][p]
        available = self.pools[p][t] // n * n
        is_won = available > cost
        payment = cost if is_won else available
        self.pools[p][t] -= payment
        self.ledger["paid_attack"][p] += payment
        force = payment - land_price
        force -= self.cancel_pool(t, p, force)
        self.kill_defenders(t, force)
        if is_won:
            self.take(p, t, cells)
            return 0
        return self.end_attack(p, t)

    def cancel_pool(self, t: int, p: int, force: int) -> int:
        """The pool of t against p loses one troop for each that meets it. Returns its loss."""
        loss = min(self.pools[t][p], force)
        self.pools[t][p] -= loss
        self.ledger["cancelled"][t] += loss
        if self.pools[t][p] == 0:
            self.is_fresh[t][p] = False
        return loss

    def kill_defenders(self, t: int, force: int) -> None:
        """Troops at home fall one for two attackers."""
        loss = min(self.troops[t], force // self.config.attackers_per_defender)
        self.troops[t] -= loss
        self.ledger["killed"][t] += loss

    def take(self, p: int, t: int, cells: list[Cell]) -> None:
        """The whole front changes hands at once."""
        for r, c in cells:
            self._give(r, c, p)
        self.taken[p][t] += len(cells)

    def end_attack(self, p: int, t: int) -> int:
        """An attack that ends gives back what is left of its pool. Returns it."""
        left = self.pools[p][t]
        self.pools[p][t] = 0
        return left

    def pay_up_to_cap(self, p: int, amount: int) -> None:
        """Refunds and gifts go home up to the hard cap of the land as it is then; the rest is lost."""
        paid = min(amount, formulas.room_below_hard_cap(self.config, self.troops[p], self.land[p]))
        self.troops[p] += paid
        self.ledger["capped"][p] += amount - paid

    def fallen_players(self) -> list[int]:
        """A player down to a quarter of the peak dies this tick (none does, with deaths off)."""
        if not self.config.deaths:
            return []
        return [p for p in self.living() if formulas.is_fallen(self.config, self.land[p], self.peak[p])]

    def follow_peaks(self, fallen: list[int]) -> None:
        """The peak of all others rises with their land at once and sinks towards it slowly."""
        for p in self.living():
            if p not in fallen:
                self.peak[p] = formulas.next_peak(self.config, self.land[p], self.peak[p])

    def bury(self, fallen: list[int]) -> None:
        """The fallen die at once and lose everything; attacks on them turn to neutral land."""
        for d in fallen:
            self.ledger["destroyed"][d] += self.troops[d] + sum(self.pools[d])
            self.troops[d] = 0
            self.pools[d] = [0] * len(self.pools[d])
            self.is_fresh[d] = [False] * len(self.is_fresh[d])
            self.alive[d] = False
            self.death_tick[d] = self.tick
            self._free_land_of(d)
        for d in fallen:
            for q in self.seats:
                self.pools[q][NEUTRAL] += self.pools[q][d]
                self.pools[q][d] = 0
                self.is_fresh[q][d] = False

    def is_finished(self) -> bool:
        """The game ends with one team left, 90 % of the land with one team, or by the time limit."""
        if len(self.living_teams()) <= 1:
            return True
        largest = max(self.land_of_team(g) for g in self.members)
        if 100 * largest >= self.config.win_percent * self.num_land:
            return True
        return self.tick + 1 >= self.config.max_ticks

    # ------------------------------------------------------------------ results

    def placements(self) -> list[float]:
        """Living teams place by land, then troops; then those that are out, later is better; ties share."""
        if not self.over:
            raise ValueError("the game is not over; place_of_dead(p) places a dead player before that")
        places = {g: self.place_of_team(g) for g in self.members}
        return [places[self.team[p]] for p in self.seats]

    def place_of_dead(self, p: int) -> float:
        """Return the place of an eliminated player whose team is out, which nothing can change any more."""
        if self.alive[p]:
            raise ValueError(f"seat {p} is alive; before the end only eliminated seats have a place")
        if self.is_in(self.team[p]):
            raise ValueError(f"seat {p} has an ally that is alive; before the end its team has no place")
        return self.place_of_team(self.team[p])

    def place_of_team(self, g: int) -> float:
        """Return the place of a team; teams that share places have their mean."""
        return _shared_place(self._rank(g), [self._rank(other) for other in self.members])

    def _rank(self, g: int) -> tuple[int, int, int]:
        members = self.members[g]
        if self.is_in(g):
            return (self.tick + 1, self.land_of_team(g), sum(self.troops[p] for p in members))
        return (max(self.death_tick[p] for p in members), 0, 0)

    def environment_step(self, launches: Iterable[Launch] = ()) -> list[float]:
        """Play to the next decision or the end; return the rewards of seats 1..P for it.

        They are the parts that the config weighs; KeyError if this game has no such part.
        """
        if self.tick % self.config.decision_every != 0:
            raise ValueError(
                f"tick is {self.tick}; an environment step starts at a multiple of {self._every()}"
            )
        before = rewards.Before(self)
        self.step_tick(launches)
        while not self.over and self.tick % self.config.decision_every != 0:
            self.step_tick()
        total = [0.0] * len(self.seats)
        for name, weight in self.config.rewards:
            parts = rewards.amounts(self, before, name)
            total = [sum_so_far + weight * part for sum_so_far, part in zip(total, parts, strict=True)]
        return total

    def digest(self) -> bytes:
        """Return 8 bytes that name the state: blake2b over its fields, little endian."""
        seats = slice(1, None)
        state = hashlib.blake2b(digest_size=8)
        state.update(struct.pack("<qQ", self.tick, self.seed))
        for row in self.owner:
            state.update(bytes(row))
        rows: tuple[list[int], ...] = (
            [int(is_alive) for is_alive in self.alive[seats]],
            self.troops[seats],
            self.land[seats],
            self.peak[seats],
            self.next_step[seats],
            self.death_tick[seats],
            *self.pools,
        )
        for values in rows:
            state.update(struct.pack(f"<{len(values)}q", *values))
        return state.digest()

    # ------------------------------------------------------------------ helpers

    def living(self) -> list[int]:
        """Return the seats that are alive."""
        return [p for p in self.seats if self.alive[p]]

    def is_in(self, g: int) -> bool:
        """Return whether a team has a member that is alive; else it is out."""
        return any(self.alive[p] for p in self.members[g])

    def living_teams(self) -> list[int]:
        """Return the teams that are not out."""
        return [g for g in self.members if self.is_in(g)]

    def land_of_team(self, g: int) -> int:
        """Return the land that all members of a team own."""
        return sum(self.land[p] for p in self.members[g])

    def _give(self, r: int, c: int, code: int) -> None:
        """The cell changes hands, and both land counts with it."""
        self.land[self.owner[r][c]] -= 1
        self.owner[r][c] = code
        self.land[code] += 1

    def _free_land_of(self, d: int) -> None:
        """Every cell of d becomes neutral."""
        for r, row in enumerate(self.owner):
            for c, code in enumerate(row):
                if code == d:
                    self._give(r, c, NEUTRAL)

    def _checked(self, launches: Iterable[Launch]) -> list[Launch]:
        """Return the launches as plain ints; ValueError if they, or a tick, cannot be had now."""
        if self.over:
            raise ValueError(f"the game is over since tick {self.tick}")
        checked = [(operator.index(p), operator.index(t), operator.index(f)) for p, t, f in launches]
        if checked and self.tick % self.config.decision_every != 0:
            raise ValueError(f"tick is {self.tick}; launches come at multiples of {self._every()}")
        for p, t, fraction in checked:
            if p not in self.seats:
                raise ValueError(f"seat is {p}; it must be from 1 to {self.config.num_players}")
            if t != NEUTRAL and t not in self.seats:
                raise ValueError(f"target is {t}; it must be from 0 to {self.config.num_players}")
            if not 1 <= fraction <= FRACTION_UNIT:
                raise ValueError(f"fraction is {fraction}; it must be from 1 to {FRACTION_UNIT}")
        return checked

    def _every(self) -> str:
        return f"decision_every, which is {self.config.decision_every}"


def _neighbours(height: int, width: int) -> list[list[list[Cell]]]:
    """Return, for each cell, the up to 4 orthogonal neighbours inside the map."""
    return [
        [
            [
                (i, j)
                for i, j in ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1))
                if 0 <= i < height and 0 <= j < width
            ]
            for c in range(width)
        ]
        for r in range(height)
    ]


def _shared_place(rank: tuple[int, int, int], ranks: list[tuple[int, int, int]]) -> float:
    """Return the place of a rank among all; equal ranks share the mean of their places."""
    num_better = sum(other > rank for other in ranks)
    num_equal = sum(other == rank for other in ranks)
    return num_better + (num_equal + 1) / 2


def _check_setting(config: GameConfig, land: LandMask, seed: int) -> None:
    if (land.height, land.width) != (config.height, config.width):
        raise ValueError(
            f"the map is {land.height} x {land.width} but the config says {config.height} x {config.width}"
        )
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed is {seed}; it must be from 0 to 2**64 - 1")
