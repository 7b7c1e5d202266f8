"""One-hot planes on an NVIDIA or AMD GPU with one kernel: it reads packed bits and writes the result.

It is checked in Triton's interpreter and has not been timed on a GPU yet. `benchmarks/decode/decode_cuda.py`
checks and times it on an NVIDIA GPU.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from territorial.observation.layout import ObsLayout

BLOCK = 1024
"""Cells that one program of the kernel decodes, in all frames and for all owners."""


def write_onehot(layout: ObsLayout, planes: Tensor, seats: Tensor, games: Tensor, out: Tensor) -> None:
    """Fill ``out``, (N, F * (P+1), H, W) of any type and contiguous, with one-hot planes.

    ``planes``: uint8 (E, F, B, H, ceil(W/8)), may be a view; ``seats``, 1..P, and
    ``games``, 0..E-1: int64 (N,). All lie on the same GPU; nothing is checked.
    """
    if out.numel() == 0:
        return
    if planes.stride(-1) != 1:
        planes = planes.contiguous()
    cells = layout.height * layout.width
    grid = (len(seats), triton.cdiv(cells, BLOCK))  # the second number of a grid is at most 65,535
    _write_onehot[grid](
        planes,
        seats,
        games,
        out,
        *planes.stride()[:4],
        cells,
        layout.width,
        layout.num_players,
        F=layout.frames,
        B=layout.num_planes,
        BLOCK=BLOCK,
    )


@triton.jit
def _write_onehot(
    planes,
    seats,
    games,
    out,
    to_next_game,
    to_next_frame,
    to_next_plane,
    to_next_row,
    cells,
    width,
    num_players,
    F: tl.constexpr,
    B: tl.constexpr,
    BLOCK: tl.constexpr,
):
    entry = tl.program_id(0).to(tl.int64)  # 64 bits: results may be larger than 2**31 numbers
    seat = tl.load(seats + entry).to(tl.int32)
    game = tl.load(games + entry)
    cell = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    is_cell = cell < cells
    row, column = cell // width, cell % width
    packed = planes + game * to_next_game + row * to_next_row + column // 8
    code = tl.zeros([BLOCK], tl.int32)
    for f in tl.static_range(F):
        for b in tl.static_range(B):
            byte = tl.load(packed + f * to_next_frame + b * to_next_plane, mask=is_cell, other=0)
            code ^= (byte.to(tl.int32) >> (column % 8) & 1) << b  # each frame: what changed after it
        ego = code - seat + 1
        ego = tl.where(code >= seat, ego, ego + num_players)
        ego = tl.where(code == 0, 0, ego)
        ego = tl.where(code > num_players, num_players + 1, ego)
        oldest_first = entry * F + (F - 1 - f)
        plane = out + oldest_first * (num_players + 1) * cells + cell
        for owner in range(num_players + 1):
            is_owner = tl.where(ego == owner, 1.0, 0.0)
            tl.store(plane + owner * cells, is_owner.to(out.dtype.element_ty), mask=is_cell)
