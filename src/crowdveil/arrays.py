"""Types of the arrays that kernels and results exchange."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]


def frozen(array: Any) -> Any:
    """The same array, made read-only."""
    array.setflags(write=False)
    return array
