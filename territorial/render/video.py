"""Animations as files: APNG and GIF with Pillow, MP4 with the encoder of the extra "video"."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import chain
from math import isfinite
from pathlib import Path
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
    "-color_trc bt709 -preset veryfast -crf 18 -movflags +faststart -f mp4"
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
            return _write_mp4(part, target, first, pictures, fps)
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
        _imageio_ffmpeg()
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


def _imageio_ffmpeg() -> Any:
    """Return the package that brings an encoder along."""
    try:
        import imageio_ffmpeg
    except ImportError:
        raise ImportError(
            "writing .mp4 files needs imageio-ffmpeg: pip install 'territorial-env[video]' "
            "(.apng and .gif files do not)"
        ) from None
    return imageio_ffmpeg


def _write_mp4(path: Path, target: Path, first: Image, others: Iterator[Image], fps: float) -> int:
    """Encode pictures into ``path``, the draft of ``target``, and return how many there were."""
    library, count = _imageio_ffmpeg(), 0
    writer = library.write_frames(
        str(path),
        (first.shape[1], first.shape[0]),
        fps=fps,
        codec="libx264",
        quality=None,
        macro_block_size=1,
        ffmpeg_log_level="error",
        output_params=_MP4.split(),
    )
    with closing(writer):
        writer.send(None)
        for rgb in chain([first], others):
            count += 1
            try:
                writer.send(np.ascontiguousarray(rgb))
            except OSError:  # ffmpeg has ended, and the file is not whole
                break
    try:
        written, _ = library.count_frames_and_secs(str(path))
    except RuntimeError:
        written = 0
    if written != count:
        raise RuntimeError(
            f"{target} was not written: ffmpeg, which says why on stderr, kept {written} of {count} pictures"
        )
    return count
