"""Types of arrays that many modules name: see numpy.typing."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Arrays = dict[str, Array]
"""Arrays by name, such as an observation."""
Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]
Ints32 = npt.NDArray[np.int32]
Ints8 = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]
