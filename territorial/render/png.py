"""PNG files of pictures."""

from __future__ import annotations

import os

import numpy as np

from territorial.files.atomic import write_file
from territorial.files.png import png_file
from territorial.render.board import Image


def check_picture(rgb: Image, name: str = "a picture") -> None:
    """Raise ValueError unless ``rgb`` is uint8 (h, w, 3) and not empty."""
    if not isinstance(rgb, np.ndarray):
        raise ValueError(f"{name} is a uint8 array of shape (H, W, 3); got {type(rgb).__name__}")
    if rgb.ndim != 3 or rgb.shape[2] != 3 or rgb.dtype != np.uint8 or rgb.size == 0:
        raise ValueError(f"{name} is a uint8 array of shape (H, W, 3); got {rgb.dtype}, {rgb.shape}")


def write_png(path: str | os.PathLike[str], rgb: Image) -> None:
    """Write an (H, W, 3) uint8 RGB picture to ``path`` as an 8-bit PNG file."""
    check_picture(rgb)
    write_file(path, png_file(rgb))
