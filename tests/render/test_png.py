"""PNG files, still and animated, read back chunk by chunk."""

import numpy as np
import pytest

from territorial.maps import generate
from territorial.render import render_board, write_png, write_video
from tests.render.support import decode_animation, decode_png, png_chunks


def test_png_files_hold_the_picture(tmp_path):
    land = generate("lakes", 40, 57, 1).to_array()
    image = render_board(np.where(land, 1, 255).astype(np.uint8), 1, 3)
    for picture in (image, image[::2, 5:6], np.full((1, 1, 3), 9, np.uint8)):
        write_png(tmp_path / "board.png", picture)
        np.testing.assert_array_equal(decode_png((tmp_path / "board.png").read_bytes()), picture)


@pytest.mark.parametrize("shape", [(4, 4), (4, 4, 4), (0, 4, 3)])
def test_only_rgb_pictures_become_files(tmp_path, shape):
    with pytest.raises(ValueError, match="shape"):
        write_png(tmp_path / "no.png", np.zeros(shape, np.uint8))
    assert not (tmp_path / "no.png").exists()


def test_what_does_not_change_takes_next_to_nothing(tmp_path):
    still = np.random.default_rng(1).integers(0, 256, (200, 200, 3)).astype(np.uint8)
    write_video([still] * 50, tmp_path / "still.apng")
    _, _, _, first, *others, _ = png_chunks((tmp_path / "still.apng").read_bytes())
    assert len(first[1]) > 100_000
    assert sum(len(body) + 12 for _, body in others) < 49 * 100


def test_pictures_may_share_one_array(tmp_path):
    def growing():
        canvas = np.zeros((5, 5, 3), np.uint8)
        for i in range(5):
            canvas[i] = 200
            yield canvas

    write_video(growing(), tmp_path / "a.apng")
    pictures, _ = decode_animation((tmp_path / "a.apng").read_bytes(), "PNG")
    assert [int((picture == 200).all(axis=2).sum()) for picture in pictures] == [5, 10, 15, 20, 25]
