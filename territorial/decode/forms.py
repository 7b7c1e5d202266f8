"""The shapes of what decoders make of the boards of one entry: a game as one of its seats sees it."""

from __future__ import annotations

from territorial.observation.layout import ObsLayout

Shape = tuple[int, int, int]


def owners_shape(layout: ObsLayout) -> Shape:
    """Return (F, H, W)."""
    return layout.frames, layout.height, layout.width


def onehot_shape(layout: ObsLayout) -> Shape:
    """Return (F * (P+1), H, W): a plane for each owner of each frame."""
    return layout.frames * (layout.num_players + 1), layout.height, layout.width


def num_kinds(layout: ObsLayout) -> int:
    """Return S, the semantic planes of a frame: own, neutral, others', blocked; with teams also allies'."""
    return 5 if layout.teams else 4


def semantic_shape(layout: ObsLayout) -> Shape:
    """Return (S * F + 2, H, W): four planes for each frame, with teams five; density; who is attacked."""
    return num_kinds(layout) * layout.frames + 2, layout.height, layout.width


def pooled_shape(layout: ObsLayout, factor: int) -> Shape:
    """Return (S * F + 2, ceil(H/factor), ceil(W/factor)): the semantic planes in squares."""
    channels, height, width = semantic_shape(layout)
    return channels, -(-height // factor), -(-width // factor)
