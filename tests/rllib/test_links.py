"""The files of a run are its own: nothing is written through a link."""

import pytest

from rllib_adapters.train.run import PROGRESS, _Log


def test_a_link_in_the_place_of_the_log_is_refused(tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("precious")
    (tmp_path / PROGRESS).symlink_to(outside)
    with pytest.raises(OSError, match="it is a link"):
        _Log(tmp_path, 0, 1)
    assert outside.read_text() == "precious"
