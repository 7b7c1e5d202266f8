"""Films read by plain Python, by the description in docs/watching.md alone: the oracle of writer and page."""

import json
import zlib


def varint(data, at):
    """The number that begins at ``at``, and where the next one begins; IndexError if there is no end."""
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return number, at


def signed(number):
    return -(number + 1) // 2 if number % 2 else number // 2


def blocks_of(data):
    """The blocks that are complete in the uncompressed bytes."""
    blocks, at = [], 0
    while at < len(data):
        try:
            length, start = varint(data, at)
        except IndexError:
            break
        if start + length > len(data):
            break
        blocks.append(data[start : start + length])
        at = start + length
    return blocks


def numbers_of(block):
    numbers, at = [], 0
    while at < len(block):
        number, at = varint(block, at)
        numbers.append(number)
    return iter(numbers)


def read_film(film):
    """Header, frames as dicts of lists, and whether the film has its end; ``film`` may be cut anywhere."""
    header, *blocks = blocks_of(zlib.decompressobj().decompress(film))
    header = json.loads(header)
    height, width, seats = header["height"], header["width"], header["num_players"]
    tick, board, troops, alive = 0, [0] * (height * width), [0] * (seats + 1), [False] * (seats + 1)
    died, pools = [None] * (seats + 1), [0] * (seats * (seats + 1))
    frames = []
    for block in blocks:
        if not block:
            return header, frames, True
        numbers = numbers_of(block)
        tick += next(numbers)
        for _ in range(next(numbers)):
            seat, age = next(numbers), next(numbers)
            alive[seat] = not alive[seat]
            died[seat] = None if alive[seat] else tick - age
        for seat in range(1, seats + 1):
            troops[seat] += signed(next(numbers))
        owners = [(next(numbers), next(numbers)) for _ in range(next(numbers))]
        row = column = 0
        for code, runs in owners:
            for _ in range(runs):
                row += signed(next(numbers))
                column += signed(next(numbers))
                length = next(numbers)
                assert 0 < length <= width - column
                assert all(board[row * width + column + n] != code for n in range(length))
                board[row * width + column : row * width + column + length] = [code] * length
        pool = 0
        for _ in range(next(numbers)):
            pool += next(numbers)
            pools[pool] += signed(next(numbers))
        gifts = None
        if "teams" in header:
            gifts = [[next(numbers) for _ in range(3)] for _ in range(next(numbers))]
        assert list(numbers) == []
        attacks = [
            [n // (seats + 1) + 1, n % (seats + 1), troops_] for n, troops_ in enumerate(pools) if troops_
        ]
        rows = [board[start : start + width] for start in range(0, height * width, width)]
        frames.append(
            {
                "tick": tick,
                "owner": rows,
                "troops": troops[1:],
                "alive": alive[1:],
                "died": died[1:],
                "attacks": attacks,
                "gifts": gifts,
            }
        )
    return header, frames, False
