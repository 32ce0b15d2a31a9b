"""The array types that everything is written in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]
Bool = NDArray[np.bool_]

NO_NUMBERS: Int64 = np.empty(0, dtype=np.int64)
NO_CODES: Int32 = np.empty(0, dtype=np.int32)
