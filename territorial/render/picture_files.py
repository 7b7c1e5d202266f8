"""Picture files: PNG, and animations as GIF or MP4."""

import io
import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from territorial.config.validation import finite_number
from territorial.files.atomic import draft_of, write_file
from territorial.files.png import png_file
from territorial.render.board import Image


def check_picture(rgb: Image, name: str = "a picture") -> None:
    """Raise ValueError unless ``rgb`` is uint8 (h, w, 3) and not empty."""
    shape: tuple[int, ...] = getattr(rgb, "shape", ())
    dtype = getattr(rgb, "dtype", type(rgb).__name__)
    if len(shape) != 3 or shape[2] != 3 or dtype != np.uint8 or 0 in shape:
        raise ValueError(f"{name} is a uint8 array of shape (H, W, 3); got {dtype}, {shape}")


def write_png(path: str | os.PathLike[str], rgb: Image) -> None:
    """Write an (H, W, 3) uint8 RGB picture to ``path`` as an 8-bit PNG file."""
    check_picture(rgb)
    write_file(path, png_file(rgb))


# ---- GIF -----------------------------------------------------------------------------------------------

_CLOCK = 10
"""Milliseconds: the clock of a GIF file counts hundredths of a second."""
_MOST_COLORS = 255
"""Of the 256 colours of a GIF picture one stands for "as before"."""
_GIF_END = b";"


def _write_gif(file: BinaryIO, pictures: Iterable[Image], fps: float) -> int:
    """Write an animation in the GIF format; Pillow encodes each picture.

    Of every picture only the rectangle that changed is written, with a palette of its own. Up to 255 colours
    among the pixels that changed are exact, of more the nearest of 255 are taken. Pillow's own writer of
    animations would keep all pictures until the last one has come.
    """
    count, last = 0, None
    for count, rgb in enumerate(pictures, start=1):
        # Rounded so that all together last as long as they should.
        begin, end = (round(1000 / _CLOCK * number / fps) for number in (count - 1, count))
        shown_for = _CLOCK * (end - begin)
        if last is None:
            _with_palette(rgb).save(file, "GIF", loop=0, duration=shown_for, interlace=0)
            file.seek(-len(_GIF_END), io.SEEK_END)  # more may follow
        else:
            file.write(_gif_layer(last, rgb, shown_for))
        last = rgb.copy()
    file.write(_GIF_END)
    return count


def _gif_layer(last: Image, rgb: Image, milliseconds: int) -> bytes:
    """Return the part of a GIF file that turns the picture ``last`` into ``rgb``."""
    from PIL import Image as Pictures
    from PIL.GifImagePlugin import getdata

    differs = rgb != last
    changed = differs[:, :, 0] | differs[:, :, 1] | differs[:, :, 2]
    # The format has no empty layers: where nothing has changed, there is one pixel.
    left, top, right, bottom = Pictures.fromarray(changed).getbbox() or (0, 0, 1, 1)
    pixels, is_new = rgb[top:bottom, left:right], changed[top:bottom, left:right]
    filler = pixels[is_new][:1] if is_new.any() else pixels[0, 0]  # adds no colour to those that are shown
    picture = _with_palette(np.where(is_new[:, :, None], pixels, filler))
    palette = picture.getpalette() or []
    transparent = len(palette) // 3
    shown = Pictures.fromarray(np.where(is_new, np.asarray(picture), np.uint8(transparent)))
    shown.putpalette([*palette, 0, 0, 0])
    options: dict[str, Any] = {"transparency": transparent, "include_color_table": True}
    parts = getdata(shown, (left, top), duration=milliseconds, **options)
    data = b"".join(parts)
    parts.clear()  # Pillow makes a class for each call, which keeps them until garbage is collected
    return data


def _with_palette(rgb: Image) -> Any:
    """Return a picture of at most 255 colours: its own where it has no more, else the nearest of a choice."""
    from PIL import Image as Pictures

    picture = Pictures.fromarray(rgb)
    return picture.quantize(_MOST_COLORS, Pictures.Quantize.MEDIANCUT, dither=Pictures.Dither.NONE)


# ---- any animation -------------------------------------------------------------------------------------

SUFFIXES = (".gif", ".mp4")
LOWEST_FPS, HIGHEST_FPS = 0.1, 100
_HIGHEST_GIF_FPS = 50  # its clock counts hundredths of a second, and players take 1 for 10

# Players that know only the commonest form of H.264 want even sides and 4:2:0; those that are not told the
# colour space guess one.
_MP4 = (
    "-vf pad=ceil(iw/2)*2:ceil(ih/2)*2,scale=out_color_matrix=bt709 -colorspace bt709 -color_primaries bt709 "
    "-color_trc bt709 -preset veryfast -crf 18 -movflags +faststart -f mp4"
)


def write_video(frames: Iterable[Image], path: str | os.PathLike[str], fps: float = 20) -> int:
    """Write pictures to ``path`` as an animation and return how many there were.

    ``frames`` are uint8 (h, w, 3), all of one size; they are taken one by one, and no more than two are
    held, so that memory does not grow with the length. ``fps``, 0.1 to 100, are pictures a second. What is
    written follows from the end of the name: ``.gif`` (at most 50 a second), without loss where no more than
    255 colours change at a time; ``.mp4`` (H.264) with ffmpeg.

    The file appears when it is complete; if anything fails, one that was there before is untouched. Raises
    TypeError and ValueError for what cannot be an animation, ImportError for ``.mp4`` without the extra
    "video", and RuntimeError if ffmpeg fails.
    """
    target = Path(path)
    suffix = check_video(target, fps)
    pictures = _checked(frames)
    with draft_of(target) as part:
        if suffix == ".mp4":
            return _write_mp4(part, target, pictures, fps)
        with open(part, "wb") as file:
            return _write_gif(file, pictures, fps)


def check_video(path: str | os.PathLike[str], fps: float) -> str:
    """Return the end of the name of ``path``, in small letters, if ``write_video`` can write there.

    Raises what it would raise: a caller can know before it makes the pictures.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"path is {os.fspath(path)!r}; it must end in {', '.join(SUFFIXES)}")
    highest = _HIGHEST_GIF_FPS if suffix == ".gif" else HIGHEST_FPS
    finite_number(f"fps for {suffix}", fps, LOWEST_FPS, highest)
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
    if first is None:
        raise ValueError("frames is empty; an animation needs at least one picture")


# ---- ffmpeg ----------------------------------------------------------------------------------------


def _imageio_ffmpeg() -> Any:
    """Return the package that brings an encoder along."""
    try:
        import imageio_ffmpeg
    except ImportError:
        raise ImportError(
            "writing .mp4 files needs imageio-ffmpeg: pip install 'territorial-env[video]' "
            "(.gif files do not)"
        ) from None
    return imageio_ffmpeg


def _write_mp4(path: Path, target: Path, pictures: Iterator[Image], fps: float) -> int:
    """Encode pictures into ``path``, the draft of ``target``, and return how many there were."""
    library, count, first = _imageio_ffmpeg(), 0, next(pictures)
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
        for rgb in chain([first], pictures):
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
