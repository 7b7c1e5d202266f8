"""The scalar formulas of the rules: numbers in, numbers out, no board and no state."""

from math import isqrt

from territorial.config import GameConfig
from territorial.constants import FRACTION_UNIT


def launch_tax(config: GameConfig, troops: int) -> int:
    """Return what a launch destroys: 12/1024 of the whole balance."""
    return config.launch_tax * troops // 1024


def launch_need(config: GameConfig, front_size: int, pool: int) -> int:
    """Return the least a launch adds: the first layer, with room for growth, less what is there."""
    first_layer = config.layer_cost * front_size + front_size // config.layer_growth_divisor
    return max(1, first_layer - pool)


def largest_need(config: GameConfig, troops: int) -> int:
    """Return the most that a launch may need: a part of the balance."""
    return troops // config.need_divisor


def wanted_amount(troops: int, fraction: int) -> int:
    """Return the troops that a launch asks for, before it is raised to the need."""
    return fraction * troops // FRACTION_UNIT


def donated_amount(config: GameConfig, troops: int, fraction: int) -> int:
    """Return the troops that a donation gives: the fraction, 1 at least, as far as the tax leaves them."""
    return min(troops - launch_tax(config, troops), max(1, wanted_amount(troops, fraction)))


def interest_rate(config: GameConfig, tick: int, troops: int, land: int, num_land: int) -> int:
    """Return the rate in basis points: higher with more land, early, and below the soft cap."""
    level = config.interest_levels * land // num_land
    rate = config.interest_base + isqrt(config.interest_land_scale * level // config.interest_land_divisor)
    if tick < config.early_interest_ticks:
        rate = max(rate, early_interest_rate(config, tick))
    soft_cap = config.soft_cap * land
    if troops > soft_cap:
        rate = max(0, rate - config.over_cap_slope * rate * (troops - soft_cap) // soft_cap)
    return rate


def early_interest_rate(config: GameConfig, tick: int) -> int:
    """Return the opening's rate: it falls in a straight line from 7 times the base to the base."""
    duration, multiple = config.early_interest_ticks, config.early_interest_multiple
    return config.interest_base * (multiple * duration - (multiple - 1) * tick) // duration


def interest_gain(config: GameConfig, tick: int, troops: int, land: int, num_land: int) -> int:
    """Return the interest paid: at least 1, but nothing without land or beyond the hard cap."""
    if land == 0:
        return 0
    rate = interest_rate(config, tick, troops, land, num_land)
    return min(max(1, rate * troops // 10_000), room_below_hard_cap(config, troops, land))


def income_gain(config: GameConfig, troops: int, land: int) -> int:
    """Return the income paid: one for every cell, but nothing beyond the hard cap."""
    return min(config.income_per_cell * land, room_below_hard_cap(config, troops, land))


def room_below_hard_cap(config: GameConfig, troops: int, land: int) -> int:
    """Return how many troops a balance can still be given."""
    return max(0, config.hard_cap * land - troops)


def cadence(config: GameConfig, land: int) -> int:
    """Return the ticks from one step to the next: 4 for the small down to 1 for the largest."""
    small, medium, large = config.cadence_land
    if land < small:
        return 4
    if land < medium:
        return 3
    if land < large:
        return 2
    return 1


def defence(config: GameConfig, front_size: int, troops: int, land: int) -> int:
    """Return the troops that defend a front: 1.6 times the owner's density, on every cell."""
    return front_size * troops // (1 + 10 * land // config.defence_tenths)


def is_fallen(config: GameConfig, land: int, peak: int) -> bool:
    """Return whether a player has shrunk to a quarter of its peak, which kills."""
    return config.death_divisor * land <= peak


def next_peak(config: GameConfig, land: int, peak: int) -> int:
    """Return the peak after a tick: it rises with the land at once and sinks towards it slowly."""
    if land > peak:
        return land
    if land < peak:
        return max(land, peak - max(1, (peak - land) // config.peak_decay_divisor))
    return peak


def placement_reward(place: float, num_teams: int) -> float:
    """Return the reward of a place: 1 for the first, -1 for the last, even steps between."""
    return 1 - 2 * (place - 1) / (num_teams - 1)
