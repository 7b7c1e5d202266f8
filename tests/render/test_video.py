"""Animations: complete or not at all, one picture at a time, read back by the encoder's own decoder."""

import builtins
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from territorial.render import write_video
from territorial.render.video import check_video

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


def test_gif_files_hold_every_picture_exactly(ffmpeg, tmp_path):
    assert write_video(pictures(), tmp_path / "a.gif", fps=10) == 10
    np.testing.assert_array_equal(decoded(ffmpeg, tmp_path / "a.gif", SHAPE), list(pictures()))
    assert (tmp_path / "a.gif").read_bytes()[:6] == b"GIF89a"


def test_mp4_files_hold_every_picture_nearly_and_play_everywhere(ffmpeg, tmp_path):
    assert write_video(pictures(25), tmp_path / "a.mp4", fps=25) == 25
    shown = decoded(ffmpeg, tmp_path / "a.mp4", (32, 46, 3))
    assert len(shown) == 25
    difference = np.abs(shown[:, :31, :45].astype(int) - list(pictures(25)))
    assert difference.mean() < 6
    report = subprocess.run([ffmpeg, "-i", tmp_path / "a.mp4"], capture_output=True, text=True).stderr
    assert "h264" in report
    assert "yuv420p(tv, bt709" in report
    assert "25 fps" in report
    assert "Duration: 00:00:01.00" in report


def test_animations_of_our_own_are_what_others_read(ffmpeg, tmp_path):
    write_video(pictures(), tmp_path / "a.apng")
    np.testing.assert_array_equal(decoded(ffmpeg, tmp_path / "a.apng", SHAPE), list(pictures()))


@pytest.mark.parametrize("suffix", ["apng", "gif", "mp4"])
def test_memory_does_not_grow_with_the_length(suffix, tmp_path, request):
    if suffix != "apng":
        request.getfixturevalue("ffmpeg")
    peaks = []
    for count in (5, 50):
        tracemalloc.start()
        write_video(pictures(count, (120, 160, 3)), tmp_path / f"a.{suffix}")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 120 * 160 * 3  # one picture, where all would be 45 more


@pytest.mark.parametrize("suffix", ["apng", "gif", "mp4"])
def test_a_failure_leaves_what_was_there(suffix, tmp_path, request):
    if suffix != "apng":
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
    assert path.read_bytes() == b"precious"
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_an_encoder_that_fails_says_why(ffmpeg, tmp_path, monkeypatch):
    monkeypatch.setattr("territorial.render.video._MP4", "-c:v no_such_encoder -f mp4")
    with pytest.raises(RuntimeError, match=r"ffmpeg ended with code \d+: .*no_such_encoder"):
        write_video(pictures(200, (200, 200, 3)), tmp_path / "a.mp4")
    assert list(tmp_path.iterdir()) == []


def test_without_the_encoder_the_error_names_the_extra(tmp_path, monkeypatch):
    real = builtins.__import__

    def importing(name, *rest, **named):
        if name == "imageio_ffmpeg":
            raise ModuleNotFoundError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", importing)
    monkeypatch.delitem(sys.modules, "imageio_ffmpeg", raising=False)
    for name in ("a.gif", "a.mp4"):
        with pytest.raises(ImportError, match=r"pip install 'territorial-env\[video\]'"):
            write_video(pictures(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    assert write_video(pictures(), tmp_path / "a.apng") == 10


@pytest.mark.parametrize(
    ("frames", "name", "fps", "message"),
    [
        ([], "a.apng", 20, "frames is empty"),
        (
            [np.zeros((4, 4), np.uint8)],
            "a.apng",
            20,
            r"frames\[0\] is a uint8 array of shape \(H, W, 3\); got",
        ),
        ([np.zeros((4, 4, 3))], "a.apng", 20, r"frames\[0\] .* got float64"),
        ([[1, 2]], "a.apng", 20, r"frames\[0\] .* got list"),
        ([], "a.avi", 20, r"path is .*a.avi'; it must end in .apng, .png, .gif, .mp4"),
        ([], "a", 20, "it must end in"),
        ([], "a.apng", 0, "fps is 0; it must be a number from 0.1 to 100 for .apng"),
        ([], "a.gif", 60, "fps is 60; it must be a number from 0.1 to 50 for .gif"),
        ([], "a.apng", float("nan"), "fps is nan"),
        ([], "a.apng", "20", "fps is '20'"),
        ([], "a.apng", True, "fps is True"),
    ],
)
def test_what_cannot_be_an_animation_is_refused(frames, name, fps, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        write_video(frames, tmp_path / name, fps)
    assert list(tmp_path.iterdir()) == []


def test_a_path_can_be_checked_beforehand(tmp_path):
    assert check_video(tmp_path / "A.APNG", 20) == ".apng"
    with pytest.raises(ValueError, match="it must end in"):
        check_video("a.webm", 20)


def test_a_folder_that_is_not_there_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_video(pictures(), tmp_path / "none" / "a.apng")
