"""Who is in which team, and how teams share the spawns of a map when allies start together."""

from territorial.config import GameConfig
from territorial.constants import STREAM_TEAM_DEAL, STREAM_TEAM_ORDER, STREAM_TEAM_SPAWN
from tests.twin.rng import H

Cell = tuple[int, int]


def deal_teams(config: GameConfig, seed: int) -> list[int]:
    """Return the team 1..N of each seat 1..P; without teams each seat is a team of one."""
    seats, teams = range(1, config.num_players + 1), config.teams
    if teams is None:
        return list(seats)
    if not isinstance(teams, int):
        return list(teams)
    if config.team_deal == "turn":
        return [(p - 1) % teams + 1 for p in seats]
    line = list(seats)
    if config.team_deal == "random":
        line = in_drawn_order(line, seed, STREAM_TEAM_DEAL)
    team_of: dict[int, int] = {}
    for team in range(1, teams + 1):
        size = config.num_players // teams + (team <= config.num_players % teams)
        team_of |= dict.fromkeys(line[:size], team)
        line = line[size:]
    return [team_of[p] for p in seats]


def anchors_together(anchors: list[Cell], team_of: list[int], seed: int) -> list[Cell]:
    """Return the anchor of each seat: the members of a team get anchors side by side."""
    members: dict[int, list[int]] = {}
    for p, team in enumerate(team_of, start=1):
        members.setdefault(team, []).append(p)
    anchor_of: dict[int, Cell] = {}
    order = in_drawn_order(sorted(members), seed, STREAM_TEAM_ORDER)
    for team, part in divided(order, members, anchors):
        seats = in_drawn_order(members[team], seed, STREAM_TEAM_SPAWN)
        anchor_of |= dict(zip(seats, sorted(part), strict=True))
    return [anchor_of[p] for p in sorted(anchor_of)]


def divided(
    teams: list[int], members: dict[int, list[int]], anchors: list[Cell]
) -> list[tuple[int, list[Cell]]]:
    """Return teams with their anchors: the list is cut in the middle, the map across its longer side."""
    if len(teams) == 1:
        return [(teams[0], anchors)]
    first, second = teams[: len(teams) // 2], teams[len(teams) // 2 :]
    num_first = sum(len(members[team]) for team in first)
    line = in_line(anchors)
    return [
        *divided(first, members, line[:num_first]),
        *divided(second, members, line[num_first:]),
    ]


def in_line(anchors: list[Cell]) -> list[Cell]:
    """Return anchors from top to bottom if they cover an area as high as wide or higher, else from left."""
    rows, columns = [r for r, _ in anchors], [c for _, c in anchors]
    is_high = max(rows) - min(rows) >= max(columns) - min(columns)
    return sorted(anchors) if is_high else sorted(anchors, key=lambda anchor: (anchor[1], anchor[0]))


def in_drawn_order(numbers: list[int], seed: int, stream: int) -> list[int]:
    """Return seats or teams sorted by their draws; the lower number comes first among equal draws."""
    return sorted(numbers, key=lambda number: (H(seed, stream, 0, number), number))
