"""Where the seats start: spread-out squares without corners, dealt out in random order or to teams."""

from territorial.config import GameConfig
from territorial.config.land_mask import LandMask
from territorial.constants import (
    SPAWN_CANDIDATES,
    SPAWN_SIDE,
    SPAWN_TRIES,
    STREAM_SPAWN,
    STREAM_SPAWN_ORDER,
)
from tests.twin.rng import H
from tests.twin.teams import anchors_together, deal_teams

Cell = tuple[int, int]


def place_spawns(config: GameConfig, land: LandMask, seed: int) -> list[list[Cell]]:
    """Return the 12 spawn cells of each seat 1..P; ValueError if the map cannot hold so many."""
    anchors = spread_anchors(config, land, seed)
    if anchors is None:
        anchors = packed_anchors(config, land)
    team_of = deal_teams(config, seed)
    is_alone = len(set(team_of)) == config.num_players
    if config.team_spawns == "together" and not is_alone:
        return [spawn_cells(anchor) for anchor in anchors_together(anchors, team_of, seed)]
    order = shuffled_seats(config.num_players, seed)
    anchor_of_seat = dict(zip(order, anchors, strict=True))
    return [spawn_cells(anchor_of_seat[p]) for p in range(1, config.num_players + 1)]


def spread_anchors(config: GameConfig, land: LandMask, seed: int) -> list[Cell] | None:
    """Each slot takes a drawn anchor far from those before it; None if a slot finds no place."""
    free = free_cells(land)
    anchors: list[Cell] = []
    for slot in range(config.num_players):
        anchor = best_drawn_anchor(config, land, seed, slot, free, anchors)
        if anchor is None:
            anchor = first_free_anchor(land, free)
        if anchor is None:
            return None
        anchors.append(anchor)
        free.difference_update(spawn_cells(anchor))
    return anchors


def best_drawn_anchor(
    config: GameConfig,
    land: LandMask,
    seed: int,
    slot: int,
    free: set[Cell],
    anchors: list[Cell],
) -> Cell | None:
    """Of up to 10 free anchors drawn, take the first that is far enough off, else the farthest."""
    best, best_distance, num_seen = None, -1, 0
    for draw in range(SPAWN_TRIES):
        anchor = drawn_anchor(land, seed, slot, draw)
        if not is_free(anchor, free):
            continue
        if not anchors:
            return anchor
        distance = min(squared_distance(anchor, other) for other in anchors)
        if is_far_enough(config, land, distance):
            return anchor
        if distance > best_distance:
            best, best_distance = anchor, distance
        num_seen += 1
        if num_seen == SPAWN_CANDIDATES:
            break
    return best


def packed_anchors(config: GameConfig, land: LandMask) -> list[Cell]:
    """Fill the map in reading order, for maps so tight that spreading leaves a seat out."""
    free = free_cells(land)
    anchors: list[Cell] = []
    for _ in range(config.num_players):
        anchor = first_free_anchor(land, free)
        if anchor is None:
            raise ValueError(
                f"num_players is {config.num_players} but only {len(anchors)} spawns fit on "
                "this map; use fewer players or a map with more open land"
            )
        anchors.append(anchor)
        free.difference_update(spawn_cells(anchor))
    return anchors


def shuffled_seats(num_players: int, seed: int) -> list[int]:
    """Deal the slots out in random order (Fisher-Yates from the end): entry j gets slot j."""
    order = list(range(1, num_players + 1))
    for j in range(num_players - 1, 0, -1):
        i = H(seed, STREAM_SPAWN_ORDER, 0, j) % (j + 1)
        order[i], order[j] = order[j], order[i]
    return order


def spawn_cells(anchor: Cell) -> list[Cell]:
    """Return the cells of the 4 x 4 square with this upper left corner, less its four corners."""
    top, left = anchor
    edge = (0, SPAWN_SIDE - 1)
    return [
        (top + dr, left + dc)
        for dr in range(SPAWN_SIDE)
        for dc in range(SPAWN_SIDE)
        if not (dr in edge and dc in edge)
    ]


def drawn_anchor(land: LandMask, seed: int, slot: int, draw: int) -> Cell:
    """Return one random anchor: the row from the upper 32 bits, the column from the lower."""
    h = H(seed, STREAM_SPAWN, slot, draw)
    r = (h >> 32) % (land.height - SPAWN_SIDE + 1)
    c = (h & 0xFFFFFFFF) % (land.width - SPAWN_SIDE + 1)
    return r, c


def first_free_anchor(land: LandMask, free: set[Cell]) -> Cell | None:
    """Return the first free anchor, row by row from the upper left, or None."""
    for r in range(land.height - SPAWN_SIDE + 1):
        for c in range(land.width - SPAWN_SIDE + 1):
            if is_free((r, c), free):
                return r, c
    return None


def free_cells(land: LandMask) -> set[Cell]:
    """Return all land cells."""
    rows = land.to_array().tolist()
    return {(r, c) for r, row in enumerate(rows) for c, is_land in enumerate(row) if is_land}


def is_free(anchor: Cell, free: set[Cell]) -> bool:
    """Return whether all 12 cells are land and in no spawn placed before."""
    return free.issuperset(spawn_cells(anchor))


def squared_distance(a: Cell, b: Cell) -> int:
    """Return the squared straight-line distance of two cells."""
    return (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2


def is_far_enough(config: GameConfig, land: LandMask, distance: int) -> bool:
    """Return whether a squared distance reaches 70 % of sqrt(M / P), compared without roots."""
    percent = config.spawn_spacing_percent
    return distance * 10_000 * config.num_players >= percent * percent * land.num_land
