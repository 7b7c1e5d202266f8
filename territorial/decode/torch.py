"""PyTorch decoder: per-agent observations, computed on the tensors' device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from territorial.config import GameConfig
from territorial.config.validation import one_of, whole_number
from territorial.constants import MAX_SIDE
from territorial.decode import boards
from territorial.decode.arguments import DecoderArguments, check_entries, check_range, dtype_name
from territorial.decode.boards import Entries
from territorial.decode.features import LARGEST, FeatureDecoder
from territorial.decode.recorded import check_recordable, is_recorded, is_whole
from territorial.observation.action_encoding import action_owners
from territorial.observation.action_masks import read_only, target_masks
from territorial.observation.layout import ObsLayout

FRACTION_DTYPES = ("bfloat16", "float16", "float32")
ONEHOT_DTYPES = (*FRACTION_DTYPES, "uint8", "int8")
BITS = {1: (torch.uint8, np.uint8), 2: (torch.int16, np.uint16), 4: (torch.int32, np.uint32)}
"""Whole numbers by their width: the kernels for the processor take the bits of numbers of any type."""

CPU = torch.device("cpu")
CHUNK = 16
"""Entries that tensor operations decode at a time, for which there must be room."""


def to_tensors(observations: Any, device: Any = "cpu") -> Any:
    """Return ``observations`` with tensors on ``device`` for arrays, under the same names.

    ``observations``: what ``VecGame.reset`` or ``step`` returned, or ``info["final_obs"]``. Everything is
    copied, so that the tensors go on showing this step. Copies for a CUDA device go through pinned memory
    and nothing waits for them. ``delta_index`` becomes int32, as tensors cannot be indexed with uint32.
    """
    arrays: dict[str, Any] = getattr(observations, "_asdict", dict)()
    if not arrays or not all(isinstance(array, np.ndarray) for array in arrays.values()):
        raise TypeError(
            f"observations is a {type(observations).__name__}; it must be what VecGame.reset() or step() "
            f"returned, a NamedTuple of arrays"
        )
    place = torch.device(device)
    return type(observations)(**{name: _copied(array, place) for name, array in arrays.items()})


def _copied(array: Any, device: torch.device) -> Tensor:
    dtype = np.dtype(np.int32) if array.dtype == np.uint32 else array.dtype
    copy = torch.empty(
        array.shape, dtype=getattr(torch, dtype.name), pin_memory=device.type == "cuda" and array.size > 0
    )
    copy.numpy().view(array.dtype)[...] = array
    return copy.to(device, non_blocking=True)


class Decoder(DecoderArguments):
    """Decodes a batch of observations to the view of chosen agents, on the tensors' device.

    The methods, their arguments and their results, to the bit, are those of ``decode.numpy.Decoder``, with
    tensors for arrays: see there. Results lie where the observations do. ``dtype`` may be bfloat16, too.

    Args:
        layout: of the observations.
        config: of the games; ``semantic``, ``pooled`` and ``features`` need it.
        use_kernels: whether boards on the processor are unpacked by compiled code in place of tensor
            operations, which gives the same bits many times as fast; not where ``torch.compile`` traces.

    Nothing waits for the device. Shapes, types and devices are checked always, but the numbers in
    ``seats``, ``games`` and ``what`` only where they lie on the processor and nothing is being traced.
    Elsewhere numbers out of range give wrong entries or the device's own error. All of it works under
    ``torch.compile(fullgraph=True)``. Temporary memory is that of 16 entries, and the owner codes of the
    games where there are no more of these than entries.

    All of it is tested on the processor. On an NVIDIA GPU `benchmarks/decode/decode_cuda.py` checks every
    method to the bit and times them. On MPS nothing has been run.

    """

    _library, _array_type, _array_name = torch, Tensor, "a tensor"

    def __init__(
        self,
        layout: ObsLayout,
        config: GameConfig | None = None,
        *,
        use_kernels: bool = True,
    ) -> None:
        super().__init__(layout, config)
        self.use_kernels = use_kernels
        tables = {"values": boards.level_values(), "mask_bits": action_owners(layout.num_players) + 1}
        if config is not None:
            self._feature_decoder = FeatureDecoder(config)
            tables |= {
                "thresholds": boards.density_thresholds(config.hard_cap),
                "feature_index": self._feature_decoder.index,
                "state_scale": self._feature_decoder.scale,
            }
        # What is looked up; of a mask, bit 0 holds, and bit t + 1 is a launch against t.
        self._tables = {(name, CPU): torch.from_numpy(table) for name, table in tables.items()}

    # ---- boards ----------------------------------------------------------------------------------

    def owners(
        self,
        planes: Tensor,
        seats: Any,
        games: Any = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """Return uint8 (N, F, H, W): the ego code of the owner of every cell, oldest frame first."""
        entries = self._board_entries(planes, seats, games)
        result: Tensor = self._room(out, entries, boards.owners_shape(self.layout), torch.uint8, planes)
        if self._uses_kernels(planes):
            boards.write_owners(self.layout, planes.numpy(), _in_numpy(entries), result.numpy())
        else:
            for part, codes in self._codes(planes, entries):
                result[part] = self._ego(codes, entries.seats[part])
        return result

    def onehot(
        self,
        planes: Tensor,
        seats: Any,
        games: Any = None,
        *,
        dtype: torch.dtype = torch.float32,
        out: Tensor | None = None,
    ) -> Tensor:
        """Return (N, F * (P+1), H, W): one plane an owner, 1 on the cells it owns and 0 elsewhere.

        Planes are frame by frame, oldest first; within a frame in ego order, neutral land first. Blocked
        cells are 0 in all. ``dtype``: bfloat16, float16, float32, uint8 or int8.
        """
        one_of("dtype", dtype_name(dtype), ONEHOT_DTYPES)
        entries = self._board_entries(planes, seats, games)
        result: Tensor = self._room(out, entries, boards.onehot_shape(self.layout), dtype, planes)
        if self._uses_kernels(planes):
            one = _bits(torch.ones((), dtype=dtype))
            boards.write_onehot(self.layout, planes.numpy(), _in_numpy(entries), one, _bits(result))
            return result
        owners = self.layout.num_players + 1
        ego = torch.arange(owners, dtype=torch.uint8, device=planes.device)[:, None, None]
        for part, codes in self._codes(planes, entries):
            shown = self._ego(codes, entries.seats[part])
            result[part] = (shown[:, :, None] == ego).flatten(1, 2).to(dtype)
        return result

    def semantic(
        self,
        planes: Tensor,
        seats: Any,
        players: Tensor,
        borders: Tensor,
        games: Any = None,
        *,
        dtype: torch.dtype = torch.float32,
        out: Tensor | None = None,
    ) -> Tensor:
        """Return (N, S * F + 2, H, W): a few planes with a meaning, however many players there are.

        For each frame, oldest first: own cells, neutral cells, those of others, blocked cells, all 0 or
        1. With teams others are enemies, and the cells of allies come after blocked cells. S is 4, with
        teams 5. Then of the newest frame: the density of the cell's owner as a share of the hard cap, rounded
        down to 255ths, 0 on neutral and blocked cells. Then 1 on the cells of every owner, neutral land
        included, against whom the agent has troops in the field. ``dtype``: bfloat16, float16, float32.
        """
        one_of("dtype", dtype_name(dtype), FRACTION_DTYPES)
        entries = self._board_entries(planes, seats, games)
        fields = self._fields("semantic", players, borders, entries, planes)
        result: Tensor = self._room(out, entries, boards.semantic_shape(self.layout), dtype, planes)
        values = self._table("values", planes.device).to(dtype)
        if self._uses_kernels(planes):
            arrays = planes.numpy(), _in_numpy(entries), _in_numpy(fields)
            boards.write_semantic(self.layout, *arrays, _bits(values), _bits(result))
            return result
        densities = values[fields.levels]
        last = boards.num_kinds(self.layout) * self.layout.frames
        for part, codes in self._codes(planes, entries):
            result[part, :last] = self._kinds(codes, entries.seats[part], fields.allied[part]).to(dtype)
            result[part, last] = _of_owners(densities[entries.games[part]], codes[:, -1])
            result[part, last + 1] = _of_owners(fields.attacked[part], codes[:, -1]).to(dtype)
        return result

    def pooled(
        self,
        planes: Tensor,
        seats: Any,
        players: Tensor,
        borders: Tensor,
        games: Any = None,
        *,
        factor: int = 8,
        dtype: torch.dtype = torch.float32,
    ) -> Tensor:
        """Return (N, S * F + 2, ceil(H/factor), ceil(W/factor)): means of the semantic planes over squares.

        Squares have ``factor`` x ``factor`` cells, 1..1024 a side; those at the right and at the lower
        edge have the cells that lie on the map. Sums are exact; they are divided in float32 and then
        rounded to ``dtype``, bfloat16, float16 or float32. Code that a compiler makes for a GPU may
        divide less exactly; all else is the same everywhere.
        """
        one_of("dtype", dtype_name(dtype), FRACTION_DTYPES)
        side = whole_number("factor", factor, 1, MAX_SIDE)
        entries = self._board_entries(planes, seats, games)
        fields = self._fields("pooled", players, borders, entries, planes)
        size = self.layout
        shape = (len(entries.seats), *boards.pooled_shape(size, side))
        means = torch.empty(shape, dtype=torch.float32, device=planes.device)
        if self._uses_kernels(planes):
            arrays = planes.numpy(), _in_numpy(entries), _in_numpy(fields)
            boards.write_pooled(size, *arrays, side, means.numpy())
            return means.to(dtype)
        cells = _cells_of_squares(size, side, planes.device)
        for part, codes in self._codes(planes, entries):
            levels = _of_owners(fields.levels[entries.games[part]], codes[:, -1])
            attacked = _of_owners(fields.attacked[part], codes[:, -1])
            means[part, :-2] = (
                _sums(self._kinds(codes, entries.seats[part], fields.allied[part]), side) / cells
            )
            means[part, -2] = _sums(levels, side) / (cells * boards.TOP_LEVEL)
            means[part, -1] = _sums(attacked, side) / cells
        return means.to(dtype)

    # ---- tables ----------------------------------------------------------------------------------

    def features(
        self, players: Tensor, borders: Tensor, globals_: Tensor, seats: Any, games: Any = None
    ) -> Tensor:
        """Return float32 (N, features): the vectors that ``decode.FeatureDecoder`` describes."""
        self._needed_config("features")
        self._check("globals", globals_)
        for name, table in (("players", players), ("borders", borders)):
            self._check(name, table, globals_)
        entries = self._entries(globals_, seats, games)
        if self._uses_kernels(globals_):
            tables = (read_only(table.detach().numpy()) for table in (players, borders, globals_))
            return torch.from_numpy(self._feature_decoder.of_entries(_in_numpy(entries), *tables))
        state = torch.cat([globals_, players.flatten(1), borders.flatten(1)], dim=1)
        state = (state * self._table("state_scale", globals_.device)).clamp(max=float(LARGEST))
        order = self._table("feature_index", globals_.device)[entries.seats - 1]
        return state.take(order + entries.games[:, None] * state.shape[1])

    def action_mask(self, masks: Tensor, seats: Any, games: Any = None) -> Tensor:
        """Return int8 (N, P+2): 1 where the first part of an action is legal, in ego order."""
        self._check("masks", masks)
        entries = self._entries(masks, seats, games)
        if self._uses_kernels(masks):
            own = target_masks(masks.numpy(), entries.games.numpy(), entries.seats.numpy())
            return torch.from_numpy(own)
        bits = self._table("mask_bits", masks.device)[entries.seats - 1]
        packed = masks[entries.games, entries.seats - 1].gather(1, bits >> 3)
        return (packed >> (bits & 7) & 1).to(torch.int8)

    def _table(self, name: str, device: torch.device) -> Tensor:
        """Return a table on ``device``, to which it is copied once."""
        if (name, device) not in self._tables:
            self._tables[name, device] = self._tables[name, CPU].to(device)
        return self._tables[name, device]

    # ---- boards as tensors -----------------------------------------------------------------------

    def _codes(self, planes: Tensor, entries: Entries) -> Iterator[tuple[slice, Tensor]]:
        """Yield part by part the entries and their owner codes, uint8 (n, F, H, W), oldest frame first."""
        count = len(entries.seats)
        every = self._unpack(planes) if len(planes) <= count else None
        for start in range(0, count, CHUNK):
            part = slice(start, min(start + CHUNK, count))
            games = entries.games[part]
            yield part, self._unpack(planes[games]) if every is None else every[games]

    def _unpack(self, planes: Tensor) -> Tensor:
        """Return the owner codes, uint8 (E, F, H, W), oldest frame first; codes above P + 1 are blocked."""
        if is_whole():
            return self._unpacked_by_arithmetic(planes)
        frames = [planes[:, 0]]
        for f in range(1, self.layout.frames):  # each frame but the newest: what changed after it
            frames.insert(0, frames[0] ^ planes[:, f])
        packed = torch.stack(frames, dim=1)[..., None]
        shifts = torch.arange(8, dtype=torch.uint8, device=planes.device)
        codes = packed[:, :, 0] >> shifts & 1
        for b in range(1, self.layout.num_planes):
            codes = codes | (packed[:, :, b] >> shifts & 1) << b
        return codes.flatten(-2)[..., : self.layout.width].clamp(max=self.layout.blocked_code)

    def _unpacked_by_arithmetic(self, planes: Tensor) -> Tensor:
        """Return the same in operations that other formats have, such as ONNX, which shifts no tensors."""
        places, numbers = (
            2 ** torch.arange(count, dtype=torch.int32, device=planes.device)
            for count in (8, self.layout.num_planes)
        )
        bits = planes.int()[..., None] // places % 2
        bits = (bits.cumsum(1, dtype=torch.int32) % 2).flip(1).flatten(-2)[..., : self.layout.width]
        codes = (bits * numbers[:, None, None]).sum(2, dtype=torch.int32)
        return codes.clamp(max=self.layout.blocked_code).to(torch.uint8)

    def _ego(self, codes: Tensor, seats: Tensor) -> Tensor:
        """Return owner codes (n, ...) in the ego order of each entry's seat, uint8."""
        seat = seats.to(torch.uint8).view(-1, 1, 1, 1)
        after = codes - (seat - 1)
        before = codes + (self.layout.num_players + 1 - seat)
        is_player = (codes > 0) & (codes < self.layout.blocked_code)
        return torch.where(is_player, torch.where(codes >= seat, after, before), codes)

    def _kinds(self, codes: Tensor, seats: Tensor, allied: Tensor) -> Tensor:
        """Return bool (n, S * F, H, W): frame by frame own, neutral, others', blocked and allies' cells."""
        own = codes == seats.to(torch.uint8).view(-1, 1, 1, 1)
        neutral, blocked = codes == 0, codes == self.layout.blocked_code
        if not self.layout.teams:
            return torch.stack([own, neutral, ~(own | neutral | blocked), blocked], dim=2).flatten(1, 2)
        allies = _of_owners(allied, codes)
        enemies = ~(own | neutral | blocked | allies)
        return torch.stack([own, neutral, enemies, blocked, allies], dim=2).flatten(1, 2)

    # ---- arguments -------------------------------------------------------------------------------

    def _uses_kernels(self, planes: Tensor) -> bool:
        return self.use_kernels and planes.device.type == "cpu" and not is_recorded()

    def _check(self, name: str, array: Any, beside: Tensor | None = None) -> None:
        super()._check(name, array, beside)
        if beside is not None and array.device != beside.device:
            raise ValueError(
                f"{name} is on {array.device}; it must be on {beside.device} like the other tensors"
            )

    def _entries(self, observed: Tensor, seats: Any, games: Any) -> Entries:
        check_recordable("a Decoder", observed, *(one for one in (seats, games) if isinstance(one, Tensor)))
        return super()._entries(observed, seats, games)

    def _numbers(
        self, name: str, values: Any, low: int, high: int, observed: Tensor, length: int | None = None
    ) -> Tensor:
        """Return ``values`` as int64 (N,) beside ``observed``; numbers on the processor are checked."""
        # A copy of an array, as it may be read-only, which tensors cannot be.
        numbers = torch.as_tensor(values.copy() if isinstance(values, np.ndarray) else values)
        check_entries(name, numbers, length)
        if numbers.device.type == "cpu":
            if len(numbers) and not is_recorded():
                check_range(name, numbers.detach().numpy(), low, high)  # in a tenth of the time
        elif numbers.device != observed.device:
            raise ValueError(f"{name} is on {numbers.device}; it must be on {observed.device} or on the CPU")
        # Kernels are compiled for numbers end to end, and anew for those that are not.
        return numbers.to(observed.device, torch.int64, non_blocking=True).flatten().contiguous()

    def _levels(self, density: Tensor, config: GameConfig) -> Tensor:
        return (density[..., None] >= self._table("thresholds", density.device)).sum(-1)

    def _check_room(self, out: Tensor, planes: Tensor) -> None:
        if out.device != planes.device:
            raise ValueError(f"out is on {out.device}; it must be on {planes.device} like the observations")
        if not out.is_contiguous():
            raise ValueError("out is a view; it must be a contiguous tensor")


def _of_owners(values: Tensor, codes: Tensor) -> Tensor:
    """Return (n, ..., H, W): of each entry's ``values`` (n, P+2) that of the owner of every cell."""
    return values.gather(1, codes.flatten(1).long()).view(codes.shape)


def _sums(cells: Tensor, side: int) -> Tensor:
    """Return float32 (..., ceil(H/side), ceil(W/side)): exact sums over the squares of (..., H, W)."""
    *lead, height, width = cells.shape
    padded = torch.nn.functional.pad(cells.to(torch.int32), (0, -width % side, 0, -height % side))
    squares = padded.view(*lead, padded.shape[-2] // side, side, padded.shape[-1] // side, side)
    return squares.sum((-3, -1), dtype=torch.int32).to(torch.float32)


def _cells_of_squares(layout: ObsLayout, side: int, device: torch.device) -> Tensor:
    """Return float32 (ceil(H/side), ceil(W/side)): how many cells of each square lie on the map."""
    rows, columns = (
        (length - torch.arange(0, length, side, device=device)).clamp(max=side)
        for length in (layout.height, layout.width)
    )
    return (rows[:, None] * columns).to(torch.float32)


def _in_numpy(tensors: Any) -> Any:
    """Return entries or fields on the processor with arrays for tensors, in the same memory."""
    return type(tensors)(*(tensor.numpy() for tensor in tensors))


def _bits(tensor: Tensor) -> Any:
    """Return the bits of a tensor on the processor as an array of unsigned integers: the same memory."""
    signed, unsigned = BITS[tensor.element_size()]
    return tensor.view(signed).numpy().view(unsigned)
