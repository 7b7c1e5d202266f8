"""Films read by the decoder on docs/watching.md: it is the oracle of the writer and of the page."""

import re
import zlib
from functools import cache
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs/watching.md"


@cache
def programs():
    """Return the programs in Python that the page has."""
    if not PAGE.exists():
        pytest.skip("docs/watching.md, whose decoder reads films in tests, is not here")
    return re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def read_film(film):
    """Header, frames as dicts of lists, and whether the film has its end; it may be cut between frames."""
    exec(next(source for source in programs() if "def read_film" in source), names := {})
    stream = zlib.decompressobj()
    content = stream.decompress(film)
    frames = names["read_film"](zlib.compress(content if stream.eof else content + b"\0"))
    header, found = next(frames), []
    codes = header["num_players"] + 1
    for tick, board, troops, alive, died, pools, gifts, launches in frames:
        found.append(
            {
                "tick": tick,
                "owner": np.reshape(board, (header["height"], header["width"])).tolist(),
                "troops": troops[1:],
                "alive": alive[1:],
                "died": died[1:],
                "attacks": [[n // codes + 1, n % codes, pool] for n, pool in enumerate(pools) if pool],
                "gifts": [list(gift) for gift in gifts] if "teams" in header else None,
                "launches": [list(launch) for launch in launches],
            }
        )
    return header, found, stream.eof
