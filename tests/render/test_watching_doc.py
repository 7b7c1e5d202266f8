"""The decoder of films on docs/watching.md reads what is written."""

import re
from pathlib import Path

import numpy as np
import pytest

from territorial.render.film import film_header, write_film
from tests.render.film_reader import read_film
from tests.replay.team_games import CONFIG, played

pytestmark = pytest.mark.checkout

PAGE = Path(__file__).parents[2] / "docs/watching.md"
TEXT = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def test_its_python_makes_a_page_and_reads_the_film_of_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for source in BLOCKS:
        exec(compile(source, str(PAGE), "exec"), names)
    assert (tmp_path / "four.html").stat().st_size > 50_000
    header, frames, _ = read_film(names["film"])
    mine = names["read_film"](names["film"])
    assert next(mine) == header
    for (tick, board, troops, alive, died, pools, gifts), frame in zip(mine, frames, strict=True):
        assert (tick, troops[1:], alive[1:]) == (frame["tick"], frame["troops"], frame["alive"])
        assert died[1:] == frame["died"]
        assert {n: troops for n, troops in enumerate(pools) if troops} == {
            (seat - 1) * 5 + target: troops for seat, target, troops in frame["attacks"]
        }
        np.testing.assert_array_equal(np.reshape(board, (64, 64)), frame["owner"])
        assert gifts == []


def test_its_decoder_reads_gifts():
    exec(compile(BLOCKS[1], str(PAGE), "exec"), names := {})
    _, frames, replay = played()
    film = b"".join(write_film(film_header(CONFIG, replay.names, "", teams=replay.teams), frames))
    found = [list(map(list, gifts)) for *_, gifts in list(names["read_film"](film))[1:]]
    assert found == [frame.gifts.tolist() for frame in frames]
