"""Hashes of identifiers that are the same on every machine and in every version."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reissue.arrays.compiled import njit
from reissue.arrays.types import Int64


def hashes(identifiers: pa.Array) -> NDArray[np.uint64]:
    """uint64[rows]: FNV-1a of the bytes of each text. O(bytes)."""
    if isinstance(identifiers, pa.ChunkedArray):
        identifiers = identifiers.combine_chunks()
    text = identifiers.cast(pa.large_string())
    offsets = np.frombuffer(text.buffers()[1], dtype=np.int64)[text.offset : text.offset + len(text) + 1]
    content = text.buffers()[2]
    return _fnv(offsets.copy(), np.frombuffer(content or b"", dtype=np.uint8).copy())


@njit(cache=True)
def _fnv(offsets: Int64, content: NDArray[np.uint8]) -> NDArray[np.uint64]:
    found = np.empty(len(offsets) - 1, dtype=np.uint64)
    for row in range(len(found)):
        value = np.uint64(0xCBF29CE484222325)
        for place in range(offsets[row], offsets[row + 1]):
            value = (value ^ np.uint64(content[place])) * np.uint64(0x100000001B3)
        found[row] = value
    return found
