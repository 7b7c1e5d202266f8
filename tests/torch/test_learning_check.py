"""benchmarks/envs/learning.py: whom it compares, and when it says that something was learned."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: the extra `torch` has it")
learning = pytest.importorskip("benchmarks.envs.learning", reason="the benchmarks are not here")

from territorial import GameConfig  # noqa: E402 - only where torch is there
from territorial.constants import TARGET_NEUTRAL  # noqa: E402

pytestmark = pytest.mark.checkout
CONFIG = GameConfig(height=32, width=32, num_players=4, decision_every=50, max_ticks=1500)
SEATS = ["agent", "agent", "novice", "novice"]
Score = learning.Score


def test_players_that_learned_nothing_do_what_their_names_say():
    mask = np.ones((1, 2, 16), np.int8)
    mask[0, 1, TARGET_NEUTRAL] = 0
    seen = {"action_mask": mask}
    assert learning.hold(seen).tolist() == [[[0, 0], [0, 0]]]
    assert learning.expand_then_hold(4)(seen).tolist() == [[[1, 4], [0, 4]]]


def test_all_play_the_same_games_and_a_better_player_gets_a_better_place():
    first, again = (learning.score(learning.hold, CONFIG, SEATS, 20) for _ in range(2))
    assert first == again
    expanding = learning.score(learning.expand_then_hold(8), CONFIG, SEATS, 20)
    assert expanding.place + expanding.half < first.place - first.half
    assert 1 < expanding.place < first.place < 4


@pytest.mark.parametrize(
    ("trained", "other", "expected"),
    [
        (Score(2.0, 0.2), Score(3.0, 0.2), True),
        (Score(2.0, 0.5), Score(3.0, 0.5), False),  # the intervals touch
        (Score(3.0, 0.1), Score(2.0, 0.1), False),
    ],
)
def test_only_what_lies_below_all_others_is_better(trained, other, expected):
    worst = Score(4.0, 0.0)
    scores = {"trained, sampled": Score(1.0, 0.0), "trained, greedy": trained, "always hold": worst}
    assert learning.is_better({**scores, "expand then hold": other}) is expected
    assert learning.is_better({**scores, "untrained, greedy": other}) is expected


def test_it_ends_in_time():
    def curve(*seconds):
        return [learning.Point(0, second, 0, 0) for second in seconds]

    assert learning.has_time(curve(10, 20, 30), 1)
    assert learning.has_time(curve(10, 20, 49), 1) is False  # another 29 would be too long
    assert learning.has_time(curve(40), 1) is False
