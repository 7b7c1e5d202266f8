"""The counter-based random numbers of the game, in plain Python integers modulo 2**64."""

MASK = 2**64 - 1


def mix(z: int) -> int:
    """Return ``z`` scrambled: one round of splitmix64."""
    z = (z + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def H(seed: int, stream: int, tick: int, index: int) -> int:
    """Return the 64-bit random number that a stream holds at (tick, index) for this seed."""
    return mix(mix(mix(mix(seed & MASK) ^ (stream & MASK)) ^ (tick & MASK)) ^ (index & MASK))
