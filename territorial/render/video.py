"""Animations as files: APNG and GIF with Pillow, MP4 with the encoder of the extra "video"."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from math import isfinite
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import numpy as np

from territorial.files.atomic import draft_of
from territorial.render.apng import ApngWriter
from territorial.render.board import Image
from territorial.render.gif import GifWriter
from territorial.render.png import check_picture

SUFFIXES = (".apng", ".png", ".gif", ".mp4")
LOWEST_FPS, HIGHEST_FPS = 0.1, 100
_HIGHEST_GIF_FPS = 50  # its clock counts hundredths of a second, and players take 1 for 10

# Players that know only the commonest form of H.264 want even sides and 4:2:0; those that are not told the
# colour space guess one.
_MP4 = (
    "-vf pad=ceil(iw/2)*2:ceil(ih/2)*2,scale=out_color_matrix=bt709 -colorspace bt709 -color_primaries bt709 "
    "-color_trc bt709 -c:v libx264 -pix_fmt yuv420p -preset veryfast -crf 18 -movflags +faststart -f mp4"
)


class _Writer(Protocol):
    def add(self, rgb: Image) -> None: ...


def write_video(frames: Iterable[Image], path: str | os.PathLike[str], fps: float = 20) -> int:
    """Write pictures to ``path`` as an animation and return how many there were.

    ``frames`` are uint8 (h, w, 3), all of one size; they are taken one by one, and no more than two are
    held, so that memory does not grow with the length. ``fps``, 0.1 to 100, are pictures a second. What is
    written follows from the end of the name: ``.apng`` or ``.png`` without loss; ``.gif`` (at most 50 a
    second), without loss where no more than 255 colours change at a time; ``.mp4`` (H.264) with ffmpeg.

    The file appears when it is complete; if anything fails, one that was there before is untouched. Raises
    ValueError for what cannot be an animation, ImportError for ``.mp4`` without the extra "video", and
    RuntimeError if ffmpeg fails.
    """
    target = Path(path)
    suffix = check_video(target, fps)
    pictures = _checked(frames)
    first = next(pictures, None)
    if first is None:
        raise ValueError("frames is empty; an animation needs at least one picture")
    with draft_of(target) as part:
        if suffix == ".mp4":
            with _Encoder(part, target, first.shape, fps) as encoder:
                return _add_all(encoder, first, pictures)
        with open(part, "wb") as file:
            writer = GifWriter(file, fps) if suffix == ".gif" else ApngWriter(file, fps)
            count = _add_all(writer, first, pictures)
            writer.end()
            return count


def check_video(path: str | os.PathLike[str], fps: float) -> str:
    """Return the end of the name of ``path``, in small letters, if ``write_video`` can write there.

    Raises what it would raise: a caller can know before it makes the pictures.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"path is {os.fspath(path)!r}; it must end in {', '.join(SUFFIXES)}")
    highest = _HIGHEST_GIF_FPS if suffix == ".gif" else HIGHEST_FPS
    is_number = isinstance(fps, (int, float)) and not isinstance(fps, bool) and isfinite(fps)
    if not is_number or not LOWEST_FPS <= fps <= highest:
        raise ValueError(f"fps is {fps!r}; it must be a number from {LOWEST_FPS} to {highest} for {suffix}")
    if suffix == ".mp4":
        _ffmpeg()
    return suffix


def _checked(frames: Iterable[Image]) -> Iterator[Image]:
    """Yield the pictures, all of the size of the first."""
    first = None
    for i, rgb in enumerate(frames):
        check_picture(rgb, f"frames[{i}]")
        first = rgb.shape if first is None else first
        if rgb.shape != first:
            raise ValueError(f"frames[{i}] has shape {rgb.shape}; the first picture has {first}")
        yield rgb


def _add_all(writer: _Writer, first: Image, others: Iterator[Image]) -> int:
    writer.add(first)
    count = 1
    for rgb in others:
        writer.add(rgb)
        count += 1
    return count


# ---- ffmpeg ----------------------------------------------------------------------------------------


def _ffmpeg() -> str:
    """Return the path of the encoder, which a package of its own brings along."""
    try:
        from imageio_ffmpeg import get_ffmpeg_exe
    except ImportError:
        raise ImportError(
            "writing .mp4 files needs imageio-ffmpeg: pip install 'territorial-env[video]' "
            "(.apng and .gif files do not)"
        ) from None
    return str(get_ffmpeg_exe())


def _complaint(target: Path, code: int, words: bytes) -> str:
    text = words.decode("utf-8", "replace").strip()
    return f"{target} was not written: ffmpeg ended with code {code}: {text[-2000:] or 'it gave no reason'}"


class _Encoder:
    """An ffmpeg that is fed pictures and writes an MP4 file, the draft of ``target``."""

    def __init__(self, path: Path, target: Path, shape: tuple[int, ...], fps: float) -> None:
        self._target = target
        source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{shape[1]}x{shape[0]}", "-r", f"{fps:g}"]
        command = [_ffmpeg(), "-y", "-v", "error", *source, "-i", "-", *_MP4.split(), str(path)]
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # closed by __exit__
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self._log, **_apart()
        )

    def add(self, rgb: Image) -> None:
        """Encode one more picture."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(np.ascontiguousarray(rgb))
        except OSError:  # it has given up, and says why
            raise RuntimeError(self._end()) from None

    def __enter__(self) -> _Encoder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._process.kill()
        complaint = self._end()
        self._log.close()
        if kind is None and complaint:
            raise RuntimeError(complaint)

    def _end(self) -> str:
        """Wait until it has written everything and return what went wrong, nothing if all is well."""
        assert self._process.stdin is not None
        with suppress(OSError):  # of what it would not read any more
            self._process.stdin.close()
        code = self._process.wait()
        self._log.seek(0)
        return _complaint(self._target, code, self._log.read()) if code != 0 else ""


def _apart() -> dict[str, Any]:
    """Arguments that keep Ctrl-C from the encoder, so that it does not end before we do."""
    if os.name == "nt":
        return {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    return {"start_new_session": True}
