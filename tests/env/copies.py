"""All ways to copy an environment: pickles of every protocol, in band and out, and copies."""

import copy
import pickle

import cloudpickle  # gymnasium brings it along


def out_of_band(played, view):
    """Return a copy whose arrays lie in buffers of the sender's, as ``view`` hands them over."""
    buffers = []
    data = pickle.dumps(played, protocol=5, buffer_callback=buffers.append)
    assert buffers
    return pickle.loads(data, buffers=[view(buffer.raw()) for buffer in buffers])


def off_by_one(data):
    """Return the bytes in memory where no number of theirs is aligned."""
    memory = bytearray(len(data) + 1)
    memory[1:] = data
    return memoryview(memory)[1:]


WAYS = {
    **{
        f"protocol {n}": lambda played, n=n: pickle.loads(pickle.dumps(played, protocol=n))
        for n in range(2, pickle.HIGHEST_PROTOCOL + 1)
    },
    "out of band": lambda played: out_of_band(played, bytearray),
    "out of band, read-only": lambda played: out_of_band(played, bytes),
    "out of band, off by one": lambda played: out_of_band(played, off_by_one),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "cloudpickle": lambda played: cloudpickle.loads(cloudpickle.dumps(played)),
}
