"""Public files of a series: cut into parts, and kept from being read in this process."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet
import pytest

from reissue.engine.output import write_table
from reissue.ledger import Ledger, Shelf


def refuse_releases(patch: pytest.MonkeyPatch) -> None:
    """From now on this process cannot read a release, neither from the ledger nor a file that was published."""

    def stop(*_: object) -> None:
        raise AssertionError("the driver read a release")

    def guarded(method: object) -> object:
        def run(self: object, *given: object, **named: object) -> object:
            if any("/releases/" in str(one) for one in (self, *given[:1])):
                stop()
            return method(self, *given, **named)  # type: ignore[operator]

        return run

    for kind in (Ledger, Shelf):
        patch.setattr(kind, "facts", stop)
    patch.setattr(pyarrow.parquet.ParquetFile, "__init__", guarded(pyarrow.parquet.ParquetFile.__init__))
    patch.setattr(Path, "open", guarded(Path.open))


def in_parts(file: Path) -> None:
    """A public file becomes a folder of files, as large releases are."""
    table = pyarrow.parquet.read_table(file)
    file.unlink()
    file.mkdir()
    for part in range(3):
        write_table(table.slice(part * 100, 100 if part < 2 else None), file / f"part-{part:05d}.parquet", "parquet")
