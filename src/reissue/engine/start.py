"""How a process that only runs one command starts."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

import pyarrow as pa


class _NoPandas(MetaPathFinder):
    """Says that pandas is not installed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is not used by the command line", name="pandas")
        return None


@contextmanager
def one_command() -> Iterator[None]:
    """What a process may leave out that ends after one command: pandas, and looking for garbage among few objects.

    Tables are arrays, which go when the last reference does; the collector would only walk over imported modules.
    """
    without_pandas()
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def without_pandas() -> None:
    """Keep pyarrow from importing pandas, which costs a second wherever it is installed and serves no file.

    pyarrow looks for pandas once, when it first meets an object it does not know. For the command line, which reads
    files and never a data frame, the answer may as well be no. Other code can import pandas afterwards as usual.
    """
    if "pandas" in sys.modules:
        return
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(finder)
