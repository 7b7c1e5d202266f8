"""Features on the processor: the tables of a game as each seat sees them, written in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.jit.decorators import kernel, njit


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view, or a copy with the entries end to end: kernels are compiled for arrays of one kind."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


@kernel
def write_features(
    players: Any, borders: Any, globals_: Any, reverse: Any, scale: Any, seats: Any, games: Any, out: Any
) -> None:
    """Write the feature vector of every entry, as ``FeatureDecoder`` describes it.

    Args:
        players: float32 (E, P, C); the tables are what ``read_only`` returns.
        borders: float32 (E, B, P+1, P+1).
        globals_: float32 (E, G).
        reverse: int64 (R,), the columns of borders that are also told from the others to the agent.
        scale: float32 (N,), the factors of the features.
        seats: int64 (n,), 1..P.
        games: int64 (n,), 0..E-1.
        out: float32 (n, N), written.

    """
    num_players, width = players.shape[1], players.shape[2]
    of_globals = globals_.shape[1]
    of_players = of_globals + num_players * width
    for n in range(len(seats)):
        k, p, to = games[n], seats[n], out[n]
        write_scaled(globals_[k], scale[:of_globals], to[:of_globals])
        # In ego order the seats from the own one on come first: two pieces, each as it lies in the table.
        flat, split = players[k].reshape(-1), of_globals + (num_players + 1 - p) * width
        write_scaled(flat[(p - 1) * width :], scale[of_globals:split], to[of_globals:split])
        write_scaled(flat[: (p - 1) * width], scale[split:of_players], to[split:of_players])
        write_borders(borders[k], p, reverse, scale[of_players:], to[of_players:])


@njit
def write_scaled(values: Any, scale: Any, out: Any) -> None:
    """Write ``values`` times ``scale``."""
    for i in range(len(out)):
        out[i] = values[i] * scale[i]


@njit
def write_borders(borders: Any, p: int, reverse: Any, scale: Any, out: Any) -> None:
    """Write what lies between player ``p`` and neutral land, then each player in ego order."""
    num_columns, width = len(borders), len(borders) + len(reverse)
    for b in range(num_columns):
        write_ego(borders[b, p], p, scale[b], out[b::width])
    for r in range(len(reverse)):
        column = num_columns + r
        write_ego(borders[reverse[r], :, p], p, scale[column], out[column::width])


@njit
def write_ego(values: Any, p: int, factor: Any, out: Any) -> None:
    """Write ``values`` (P+1,), which lie in the order of owner codes, in the ego order of player ``p``."""
    after = len(values) - p  # from the own seat on
    out[0] = values[0] * factor
    write_times(values[p:], factor, out[1 : 1 + after])
    write_times(values[1:p], factor, out[1 + after :])


@njit
def write_times(values: Any, factor: Any, out: Any) -> None:
    """Write ``values`` times ``factor``."""
    for i in range(len(values)):
        out[i] = values[i] * factor
