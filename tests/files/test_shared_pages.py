"""Two processes that read one file of tensors share its pages; the library safetensors would copy them."""

import sys

import numpy as np
import pytest

pytestmark = pytest.mark.checkout  # benchmarks/ is no part of the wheel

OWN = "territorial.files.safetensors"


@pytest.mark.verify
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how much of a page is shared")
def test_two_processes_share_the_pages_of_a_file(tmp_path):
    from benchmarks.memory import shared_pages

    path = tmp_path / "weights.safetensors"
    shared_pages.write(path, 32)
    for one in shared_pages.measure(OWN, path):
        assert one["Pss"] == pytest.approx(path.stat().st_size / 2, rel=0.1)
        assert one["Anonymous"] < 2**20


def test_every_page_is_looked_at():
    from benchmarks.memory import shared_pages

    pages = np.zeros((3, shared_pages.PAGE), np.uint8)
    pages[:, 0] = 1, 2, 4
    assert shared_pages.look([pages.view(np.float32), pages[:1]]) == 8
