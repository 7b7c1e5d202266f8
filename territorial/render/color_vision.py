"""How far apart colours are for the eyes of different people: CIEDE2000 in simulated views."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from territorial.typing import Floats

# What people without one kind of cones see, as linear RGB from linear RGB: G. M. Machado, M. M. Oliveira and
# L. A. F. Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency", 2009.
VIEWS: dict[str, list[list[float]]] = {
    "all cones": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}

LUMA = np.array([299, 587, 114])
"""Parts of red, green and blue in how light a colour is, in thousandths (ITU-R BT.601)."""

_XYZ_FROM_LINEAR = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def seen(rgb: npt.ArrayLike, view: str = "all cones") -> Floats:
    """Return CIELAB coordinates (D65), (n, 3), of (n, 3) sRGB colours 0..255 as they are seen in a view."""
    c = np.asarray(rgb) / 255
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    linear = np.clip(linear @ np.array(VIEWS[view]).T, 0, 1)
    xyz = linear @ _XYZ_FROM_LINEAR.T / (0.95047, 1, 1.08883)
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    x, y, z = np.moveaxis(f, -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def ciede2000(one: Floats, other: Floats) -> Floats:
    """Return the distance CIEDE2000 of CIELAB colours (..., 3): 1 can just be seen, side by side.

    G. Sharma, W. Wu and E. N. Dalal, "The CIEDE2000 Color-Difference Formula: Implementation Notes,
    Supplementary Test Data, and Mathematical Observations", 2005; the numbers are theirs.
    """
    (l1, a1, b1), (l2, a2, b2) = np.moveaxis(one, -1, 0), np.moveaxis(other, -1, 0)
    mean_c7 = ((np.hypot(a1, b1) + np.hypot(a2, b2)) / 2) ** 7
    stretch = 1.5 - 0.5 * np.sqrt(mean_c7 / (mean_c7 + 25.0**7))
    a1, a2 = a1 * stretch, a2 * stretch
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = np.degrees(np.arctan2(b1, a1)) % 360, np.degrees(np.arctan2(b2, a2)) % 360
    is_grey, turn, total = c1 * c2 == 0, h2 - h1, h1 + h2
    dh = np.where(is_grey, 0, turn - 360 * (turn > 180) + 360 * (turn < -180))
    far = np.where(total < 360, (total + 360) / 2, (total - 360) / 2)
    h = np.where(is_grey, total, np.where(np.abs(turn) <= 180, total / 2, far))
    lightness, c = (l1 + l2) / 2, (c1 + c2) / 2
    t = 1 - 0.17 * _cos(h - 30) + 0.24 * _cos(2 * h) + 0.32 * _cos(3 * h + 6) - 0.20 * _cos(4 * h - 63)
    rotation = (
        -2 * np.sqrt(c**7 / (c**7 + 25.0**7)) * np.sin(np.radians(60 * np.exp(-(((h - 275) / 25) ** 2))))
    )
    dl = (l2 - l1) / (1 + 0.015 * (lightness - 50) ** 2 / np.sqrt(20 + (lightness - 50) ** 2))
    dc = (c2 - c1) / (1 + 0.045 * c)
    dh = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(dh / 2)) / (1 + 0.015 * c * t)
    distance: Floats = np.sqrt(dl**2 + dc**2 + dh**2 + rotation * dc * dh)
    return distance


def _cos(degrees: Floats) -> Floats:
    cosine: Floats = np.cos(np.radians(degrees))
    return cosine


def least_distance(rgb: npt.ArrayLike, view: str = "all cones") -> float:
    """Return the CIEDE2000 of the two of (n, 3) sRGB colours that are nearest to each other in a view."""
    lab = seen(rgb, view)
    i, j = np.triu_indices(len(lab), 1)
    return float(ciede2000(lab[i], lab[j]).min())
