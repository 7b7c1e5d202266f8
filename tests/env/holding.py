"""Ways of holding an array: each is kept as long as what it returns, and tells what it shows."""

from __future__ import annotations

import ctypes
import pickle
import queue
import threading
import weakref

import numpy as np


class Sub(np.ndarray):
    """A class of arrays as libraries have them."""


class InThread:
    """An array that a local name of another thread refers to, and nothing else."""

    def __init__(self, array):
        self._wishes, self._answers = queue.Queue(), queue.Queue()
        threading.Thread(target=answer, args=(array, self._wishes, self._answers), daemon=True).start()
        assert self.read() is not None  # it has begun

    def read(self):
        self._wishes.put("read")
        return self._answers.get()

    def __del__(self):
        self._wishes.put("end")


def answer(array, wishes, answers):
    while wishes.get() == "read":
        answers.put(array.tobytes())


def base_of(array):
    return array if array.base is None else array.base  # a copy has none


def by_generator(array):
    while True:
        yield array.tobytes()


def by_error(array):
    try:
        raise KeyError
    except KeyError as error:
        return error


def by_cycle(array):
    cycle = [array]
    cycle.append(cycle)
    return cycle


def by_dlpack(array):
    try:
        return np.from_dlpack(array)
    except BufferError:  # numpy before 2.1 exports no array that is read-only
        return array


def of_array(array):
    return np.asarray(array).tobytes()


def of_error(error):
    return error.__traceback__.tb_frame.f_locals["array"].tobytes()


def of_reference(reference):
    array = reference()
    return None if array is None else array.tobytes()


BYTES = ctypes.POINTER(ctypes.c_uint8)
WAYS = {
    "the array": (lambda array: array, of_array),
    "a slice": (lambda array: array[1:, ..., :1], of_array),
    "one game": (lambda array: array[1], of_array),
    "turned over": (lambda array: array.T[::-1], of_array),
    "as bytes": (lambda array: array.view(np.uint8), of_array),
    "broadcast": (lambda array: np.broadcast_to(array, (2, *array.shape)), of_array),
    "as strided": (lambda array: np.lib.stride_tricks.as_strided(array, writeable=False), of_array),
    "windows": (lambda array: np.lib.stride_tricks.sliding_window_view(array, 2, axis=0), of_array),
    "a subclass": (lambda array: array.view(Sub)[1:], of_array),
    "masked": (lambda array: np.ma.array(array, copy=False), of_array),
    "its base": (base_of, of_array),
    "dlpack": (by_dlpack, of_array),
    "an object array": (lambda array: np.array([{"x": array}], object), lambda one: one[0]["x"].tobytes()),
    "an iterator": (lambda array: array.flat, lambda one: one.copy().tobytes()),
    "a memoryview": (memoryview, memoryview.tobytes),
    "a part of a memoryview": (lambda array: memoryview(array)[1:], memoryview.tobytes),
    "an array of a memoryview": (lambda array: np.asarray(memoryview(array)), of_array),
    "a pickle buffer": (pickle.PickleBuffer, lambda one: memoryview(one).tobytes()),
    "a pickle": (pickle.dumps, lambda one: pickle.loads(one).tobytes()),
    "a pointer": (lambda array: array.ctypes.data_as(BYTES), lambda one: bytes(one[:8])),
    "deep in lists": (lambda array: [[({"x": array},)]], lambda one: one[0][0][0]["x"].tobytes()),
    "a function": (lambda array: lambda: array.tobytes(), lambda one: one()),
    "a generator": (by_generator, next),
    "a traceback": (by_error, of_error),
    "a cycle": (by_cycle, lambda one: one[0].tobytes()),
    "another thread": (InThread, InThread.read),
    "weakly": (weakref.ref, of_reference),
    "its base, weakly": (lambda array: weakref.ref(base_of(array)), of_reference),
}
"""By name: what holds an array, and what that shows; None if it shows nothing any more."""
