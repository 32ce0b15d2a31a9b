"""Files of any kind, encrypted with the key of a series: written and read in pieces, so that none is held whole.

Parquet's own encryption (AES-GCM, a key for each file) does it: a sealed file is a column of pieces of the other one.
The salt of its key is part of its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import pyarrow as pa
import pyarrow.parquet as pq

from reissue.errors import LedgerDamaged
from reissue.ledger.disk import open_private
from reissue.ledger.keys import SALT_BYTES, file_key, new_salt
from reissue.ledger.parquet import load_encryption
from reissue.ledger.system import open_in_memory

ENDING = ".sealed"
PIECE = 1 << 21
"""Bytes that are encrypted at once; Parquet has room for 32,767 pieces, 64 GB."""
_SCHEMA = pa.schema([("data", pa.large_binary())])


class SealedWriter:
    """Takes the bytes of a file and writes them encrypted to a new one that only its owner may read."""

    def __init__(self, path: Path, master: bytes) -> None:
        self.salt = new_salt()
        self._file, self._rest = open_private(path), bytearray()
        properties = load_encryption().create_encryption_properties(file_key(master, self.salt))
        self._writer = pq.ParquetWriter(
            self._file,
            _SCHEMA,
            compression="none",
            use_dictionary=False,
            write_statistics=False,
            encryption_properties=properties,
        )

    def __enter__(self) -> SealedWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None and self._rest:
                self._put()
            self._writer.close()
        finally:
            self._file.close()

    def write(self, piece: bytes) -> None:
        self._rest += piece
        if len(self._rest) >= PIECE:
            self._put()

    def _put(self) -> None:
        self._writer.write_table(pa.table([pa.array([bytes(self._rest)], pa.large_binary())], schema=_SCHEMA))
        self._rest.clear()


def name_sealed(name: str, salt: bytes) -> str:
    return f"{name}.{salt.hex()}{ENDING}"


def read_name(path: Path) -> str:
    """What the file is called without its seal; as it is called if it has none."""
    return path.name[: -len(ENDING) - 2 * SALT_BYTES - 1] if path.name.endswith(ENDING) else path.name


def read_pieces(path: Path, master: bytes) -> Iterator[bytes]:
    """The bytes of a sealed file, a piece at a time; LedgerDamaged if it is not as it was written."""
    try:
        salt = bytes.fromhex(path.name.removesuffix(ENDING).rpartition(".")[2])
        properties = load_encryption().create_decryption_properties(file_key(master, salt))
        with pq.ParquetFile(path, decryption_properties=properties) as file:
            for place in range(file.num_row_groups):
                yield from (cell.as_py() for cell in file.read_row_group(place)["data"])
    except (OSError, ValueError, pa.ArrowException) as error:
        raise LedgerDamaged(
            f"{path.name} cannot be decrypted: it was altered, or sealed with another key. Discard it, and drop the "
            "table again."
        ) from error


@contextmanager
def open_sealed(path: Path, folder: Path, master: bytes) -> Iterator[Path]:
    """The file as it was, by a name in `folder`: in memory where the system can, else readable by its owner only."""
    place = folder / read_name(path)
    file = open_in_memory(place) or open_private(place)
    with file:
        for piece in read_pieces(path, master):
            file.write(piece)
        file.flush()
        yield place
