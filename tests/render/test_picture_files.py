"""Pictures and animations as files: complete or not at all, read back by Pillow or by ffmpeg."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from territorial.maps import generate
from territorial.render import render_board, write_png, write_video
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


def test_pictures_may_share_one_array(tmp_path):
    def growing():
        canvas = np.zeros((5, 5, 3), np.uint8)
        for i in range(5):
            canvas[i] = 200
            yield canvas

    write_video(growing(), tmp_path / "a.gif")
    pictures, _ = decode_animation((tmp_path / "a.gif").read_bytes())
    assert [int((picture == 200).all(axis=2).sum()) for picture in pictures] == [5, 10, 15, 20, 25]


SHAPE = (31, 45, 3)  # odd, as H.264 does not like it


def pictures(count=10, shape=SHAPE):
    """A square of one colour that moves over a ground of another."""
    for i in range(count):
        picture = np.full(shape, (20, 60, 120), np.uint8)
        picture[5:15, 2 * i : 2 * i + 12] = (230, 180, 40)
        yield picture


@pytest.fixture
def ffmpeg():
    package = pytest.importorskip(
        "imageio_ffmpeg", reason="imageio-ffmpeg, the extra video, is not installed"
    )
    return package.get_ffmpeg_exe()


def decoded(ffmpeg, path, shape):
    """All pictures in a file, uint8 (n, h, w, 3)."""
    command = [ffmpeg, "-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    data = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    return np.frombuffer(data, np.uint8).reshape(-1, *shape)


@pytest.mark.parametrize("count", [1, 10])
@pytest.mark.parametrize("suffix", ["gif", "GIF"])
def test_animations_hold_every_picture_exactly(suffix, count, tmp_path):
    path, expected = tmp_path / f"a.{suffix}", list(colorful(count, 200))
    assert write_video(expected, path, fps=12.5) == count
    shown, seconds = decode_animation(path.read_bytes())
    np.testing.assert_array_equal(shown, expected)
    assert seconds == [0.08] * count


def colorful(count, colors):
    """A ground of some colours of which each picture changes a part, and now and then nothing at all."""
    rng = np.random.default_rng(1)
    table = rng.integers(0, 256, (colors, 3)).astype(np.uint8)
    table[:8] = [[100, 100, 100 + i] for i in range(8)]  # some that can hardly be told apart
    picture = table[rng.integers(0, colors, (40, 70))]
    for i in range(count):
        if i % 3:
            picture[2 * i :, i : i + 20] = table[rng.integers(0, colors, (1, 20))]
        yield picture.copy()


@pytest.mark.parametrize("colors", [1, 2, 3, 16, 17, 200, 255])
def test_gif_files_of_up_to_255_colors_are_exact(colors, tmp_path):
    expected = list(colorful(8, colors) if colors >= 8 else flat(8, colors))
    write_video(expected, tmp_path / "a.gif", fps=10)
    shown, _ = decode_animation((tmp_path / "a.gif").read_bytes())
    np.testing.assert_array_equal(shown, expected)


def flat(count, colors):
    """Pictures of one, two or three colours in all."""
    for i in range(count):
        yield np.full((9, 9, 3), 50 * (i % colors), np.uint8)


def test_gif_files_of_more_colors_are_near(tmp_path):
    rng = np.random.default_rng(0)
    ramp = np.linspace(0, 255, 80).astype(np.uint8)
    ground = np.stack(np.broadcast_arrays(ramp[:, None], ramp[None], np.uint8(90)), axis=2)
    frames = [np.roll(ground, shift, axis=1) for shift in rng.integers(0, 80, 5)]
    assert len(np.unique(ground.reshape(-1, 3), axis=0)) > 5000
    write_video(frames, tmp_path / "a.gif")
    shown, _ = decode_animation((tmp_path / "a.gif").read_bytes())
    assert np.abs(np.array(shown, int) - frames).max() < 20
    assert np.abs(np.array(shown, int) - frames).mean() < 5


def test_a_gif_file_lasts_as_long_as_its_pictures_though_its_clock_is_coarse(tmp_path):
    write_video(pictures(30, (9, 80, 3)), tmp_path / "a.gif", fps=30)
    _, seconds = decode_animation((tmp_path / "a.gif").read_bytes())
    assert (set(seconds), sum(seconds)) == ({0.03, 0.04}, pytest.approx(1))


def test_what_does_not_change_takes_next_to_nothing(tmp_path):
    still = np.random.default_rng(1).integers(0, 2, (200, 200, 3)).astype(np.uint8) * 255
    one, many = tmp_path / "one.gif", tmp_path / "still.gif"
    write_video([still], one)
    write_video([still] * 50, many)
    assert many.stat().st_size < one.stat().st_size + 49 * 112


def test_mp4_files_hold_every_picture_nearly_and_play_everywhere(ffmpeg, tmp_path):
    assert write_video(pictures(25), tmp_path / "a.mp4", fps=25) == 25
    shown = decoded(ffmpeg, tmp_path / "a.mp4", (32, 46, 3))
    assert len(shown) == 25
    assert np.abs(shown[:, :31, :45].astype(int) - list(pictures(25))).mean() < 6
    report = subprocess.run([ffmpeg, "-i", tmp_path / "a.mp4"], capture_output=True, text=True).stderr
    for text in ("h264", "yuv420p(tv, bt709", "25 fps", "Duration: 00:00:01.00"):
        assert text in report


def test_animations_are_what_ffmpeg_reads(ffmpeg, tmp_path):
    write_video(pictures(), tmp_path / "a.gif", fps=10)
    np.testing.assert_array_equal(decoded(ffmpeg, tmp_path / "a.gif", SHAPE), list(pictures()))


@pytest.mark.parametrize("suffix", ["gif", "mp4"])
def test_memory_does_not_grow_with_the_length(suffix, tmp_path, request):
    if suffix == "mp4":
        request.getfixturevalue("ffmpeg")
    peaks = []
    for count in (5, 50):
        tracemalloc.start()
        write_video(pictures(count, (300, 400, 3)), tmp_path / f"a.{suffix}")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 300 * 400 * 3  # one picture, where all would be 45 more


@pytest.mark.parametrize("suffix", ["gif", "mp4"])
def test_a_failure_leaves_what_was_there(suffix, tmp_path, request):
    if suffix == "mp4":
        request.getfixturevalue("ffmpeg")
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(b"precious")

    def failing():
        yield from pictures(3)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_video(failing(), path)
    with pytest.raises(ValueError, match=r"frames\[3\] has shape \(9, 9, 3\); the first picture has"):
        write_video([*pictures(3), np.zeros((9, 9, 3), np.uint8)], path)
    assert (path.read_bytes(), [entry.name for entry in tmp_path.iterdir()]) == (b"precious", [path.name])


@pytest.mark.usefixtures("ffmpeg")
@pytest.mark.parametrize("count", [1, 200])  # it ends after it was given the only picture, or before
def test_an_encoder_that_fails_says_why(count, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr("territorial.render.picture_files._MP4", "-c:v no_such_encoder -f mp4")
    with pytest.raises(RuntimeError, match=r"mp4 was not written: .*, kept 0 of \d+ pictures"):
        write_video(pictures(count, (20, 20, 3)), tmp_path / "a.mp4")
    assert "no_such_encoder" in capfd.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_without_the_encoder_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(ImportError, match=r"pip install 'territorial-env\[video\]'"):
        write_video(pictures(), tmp_path / "a.mp4")
    assert list(tmp_path.iterdir()) == []
    assert write_video(pictures(), tmp_path / "a.gif") == 10


@pytest.mark.parametrize(
    ("frames", "name", "fps", "message"),
    [
        ([], "a.gif", 20, "frames is empty"),
        (
            [np.zeros((4, 4), np.uint8)],
            "a.gif",
            20,
            r"frames\[0\] is a uint8 array of shape \(H, W, 3\); got",
        ),
        ([np.zeros((4, 4, 3))], "a.gif", 20, r"frames\[0\] .* got float64"),
        ([[1, 2]], "a.gif", 20, r"frames\[0\] .* got list"),
        ([], "a.avi", 20, r"path is .*a.avi'; it must end in .gif, .mp4"),
        ([], "a", 20, "it must end in"),
        ([], "a.gif", 60, "fps for .gif is 60; it must be a finite number from 0.1 to 50"),
        ([], "a.gif", 0, "fps for .gif is 0; it must be a finite number from 0.1 to 50"),
        ([], "a.gif", float("nan"), "fps for .gif is nan"),
        ([], "a.gif", "20", "fps for .gif is '20'"),
        ([], "a.gif", True, "fps for .gif is True"),
    ],
)
def test_what_cannot_be_an_animation_is_refused(frames, name, fps, message, tmp_path):
    with pytest.raises((TypeError, ValueError), match=message):
        write_video(frames, tmp_path / name, fps)
    assert list(tmp_path.iterdir()) == []
