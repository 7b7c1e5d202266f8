"""Pictures and animations as files: complete or not at all, read back by Pillow."""

import numpy as np
import pytest

from territorial.maps import generate
from territorial.render import render_board, write_gif, write_png
from tests.render.support import decode_animation, decode_png


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


SHAPE = (31, 45, 3)


def pictures(count=10, shape=SHAPE):
    """A square of one colour that moves over a ground of another, all in one array."""
    picture = np.empty(shape, np.uint8)
    for i in range(count):
        picture[:] = 20, 60, 120
        picture[5:15, 2 * i : 2 * i + 12] = (230, 180, 40)
        yield picture


def shown(path):
    """Each picture of an animation as often as hundredths of a second that it is shown."""
    found, seconds = decode_animation(path.read_bytes())
    return [picture for picture, one in zip(found, seconds, strict=True) for _ in range(round(100 * one))]


def colorful(count, colors):
    """A ground of some colours of which each picture changes a part, and now and then nothing at all."""
    rng = np.random.default_rng(1)
    table = rng.integers(0, 256, (colors, 3)).astype(np.uint8)
    table[:8] = [[100, 100, 100 + i] for i in range(min(8, colors))]  # some that can hardly be told apart
    picture = table[rng.integers(0, colors, (40, 70))]
    for i in range(count):
        if i % 3:
            picture[2 * i :, i : i + 20] = table[rng.integers(0, colors, (1, 20))]
        yield picture.copy()


@pytest.mark.parametrize(("count", "colors"), [(1, 200), (10, 1), (10, 2), (10, 17), (10, 255)])
def test_animations_of_up_to_255_colors_hold_every_picture_exactly(count, colors, tmp_path):
    path, expected = tmp_path / "a.gif", list(colorful(count, colors))
    assert write_gif(path, expected, fps=12.5) == count
    np.testing.assert_array_equal(shown(path), [picture for picture in expected for _ in range(8)])


def test_animations_of_more_colors_are_near(tmp_path):
    rng = np.random.default_rng(0)
    ramp = np.linspace(0, 255, 80).astype(np.uint8)
    ground = np.stack(np.broadcast_arrays(ramp[:, None], ramp[None], np.uint8(90)), axis=2)
    frames = [np.roll(ground, shift, axis=1) for shift in rng.integers(0, 80, 5)]
    write_gif(tmp_path / "a.gif", frames, fps=50)
    difference = np.abs(np.array(shown(tmp_path / "a.gif")[::2], int) - frames)
    assert (difference.max() < 20, difference.mean() < 5) == (True, True)


def test_an_animation_lasts_as_long_as_its_pictures_though_its_clock_is_coarse(tmp_path):
    assert write_gif(tmp_path / "a.gif", pictures(30, (9, 80, 3)), fps=30) == 30
    found, seconds = decode_animation((tmp_path / "a.gif").read_bytes())
    np.testing.assert_array_equal(found, [picture.copy() for picture in pictures(30, (9, 80, 3))])
    assert (set(seconds), sum(seconds)) == ({0.03, 0.04}, pytest.approx(1))


def test_a_failure_leaves_what_was_there(tmp_path):
    path = tmp_path / "a.gif"
    path.write_bytes(b"precious")

    def failing():
        yield from pictures(3)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_gif(path, failing())
    with pytest.raises(
        ValueError, match=r"frames\[3\] has shape \(9, 9, 3\); the first picture has \(31, 45, 3\)"
    ):
        write_gif(path, [*pictures(3), np.zeros((9, 9, 3), np.uint8)])
    assert (path.read_bytes(), [entry.name for entry in tmp_path.iterdir()]) == (b"precious", [path.name])


@pytest.mark.parametrize(
    ("frames", "fps", "message"),
    [
        ([], 20, "frames is empty"),
        ([np.zeros((4, 4), np.uint8)], 20, r"frames\[0\] is a uint8 array of shape \(H, W, 3\); got"),
        ([np.zeros((4, 4, 3))], 20, r"frames\[0\] .* got float64"),
        ([[1, 2]], 20, r"frames\[0\] .* got list"),
        ([], 60, "fps is 60; it must be a finite number from 0.1 to 50"),
        ([], "20", "fps is '20'"),
    ],
)
def test_what_cannot_be_an_animation_is_refused(frames, fps, message, tmp_path):
    with pytest.raises((TypeError, ValueError), match=message):
        write_gif(tmp_path / "a.gif", frames, fps)
    assert list(tmp_path.iterdir()) == []
