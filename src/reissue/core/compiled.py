"""`njit` for kernels, with a cache that several processes may fill at once.

numba numbers the files of its cache 1, 2, ... by looking at what its index lists, so that two processes that compile
the same kernel for different types at the same moment give both the same number: from then on every process that reads
the cache runs one kernel's code in place of the other's. Workers of Spark, and tests side by side, do just that. Here a
file is named by what it holds, so that it can only be overwritten by its equal.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from numba import njit
from numba.core.caching import IndexDataCacheFile

__all__ = ["njit"]


def _save(self: Any, key: object, data: object) -> None:
    """As numba's, but for the name."""
    overloads = self._load_index()
    name = overloads.get(key)
    if name is None:
        what = sha256(repr((self._source_stamp, str(key))).encode()).hexdigest()[:20]
        name = f"{self._index_name.removesuffix('.nbi')}.{what}.nbc"
        overloads[key] = name
        self._save_index(overloads)
    self._save_data(name, data)


IndexDataCacheFile.save = _save  # type: ignore[method-assign]
