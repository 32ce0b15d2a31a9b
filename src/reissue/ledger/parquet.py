"""Arrays to Parquet and back, exactly: dtype, shape and memory order return as they were.

Arrays meet Arrow by their buffers: `pa.array` and `to_numpy` would import pandas, wherever it is installed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from reissue.errors import import_extra
from reissue.ledger.disk import HashingFile, open_private
from reissue.model.release import Facts, Table

_CHUNK = 1 << 26  # bytes per cell of a packed array; Parquet cannot hold a cell of 2 GiB
_SMALL = 1 << 20  # bytes of a file that several threads read no sooner than one
_FORMS = b"reissue.arrays"
_STORABLE = "biufSUMm"  # kinds of NumPy dtypes that are plain bytes


def write_table(path: Path, table: pa.Table, key: bytes | None = None) -> tuple[str, int]:
    """Write a table to a new owner-only file; its SHA-256 and size. O(bytes), hashed on the way; not yet synced.

    Numbers of subjects are delta-coded (ascending, they become a few bits each), codes are split into their bytes, of
    which most are zeros. No statistics: they would repeat values, and nothing here filters by them.
    """
    with open_private(path) as file:
        hashing = HashingFile(file)
        _write(table, pa.PythonFile(hashing, mode="w"), key)
    return hashing.sha256, hashing.size


def to_bytes(table: pa.Table, key: bytes | None = None) -> bytes:
    """The same in memory, for something small."""
    sink = pa.BufferOutputStream()
    _write(table, sink, key)
    return bytes(sink.getvalue())


def _write(table: pa.Table, sink: pa.NativeFile, key: bytes | None) -> None:
    codings = {pa.int32(): "BYTE_STREAM_SPLIT", pa.int64(): "DELTA_BINARY_PACKED"}
    pq.write_table(
        table,
        sink,
        compression="zstd",
        compression_level=1,
        use_dictionary=False,
        column_encoding={field.name: codings[field.type] for field in table.schema if field.type in codings},
        write_statistics=False,
        encryption_properties=None if key is None else load_encryption().create_encryption_properties(key),
    )


def read_table(content: bytes, key: bytes | None = None, columns: Sequence[str] | None = None) -> pa.Table:
    properties = None if key is None else load_encryption().create_decryption_properties(key)
    file = pq.ParquetFile(pa.BufferReader(content), decryption_properties=properties)
    return file.read(columns, use_threads=len(content) > _SMALL)


def load_encryption() -> Any:
    """pyarrow's module for encryption, which not every build has."""
    needed = "This build of pyarrow has no Parquet encryption. Install pyarrow's own wheel."
    return import_extra("pyarrow.parquet.encryption", needed)


def pack(arrays: Table) -> pa.Table:
    """Arrays of any shape as cells of bytes, a large array in several; their forms are in the table's metadata."""
    forms: list[tuple[str, str, list[int], str, int]] = []
    cells: list[pa.Array] = []
    for name, given in arrays.items():
        array = np.asarray(given)
        if array.dtype.kind not in _STORABLE:
            raise TypeError(f"The ledger cannot keep '{name}': its dtype is {array.dtype}; use numbers or fixed text.")
        fortran = array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous
        flat = np.ascontiguousarray(array.T if fortran else array).reshape(-1).view(np.uint8)
        parts = [flat[start : start + _CHUNK] for start in range(0, len(flat), _CHUNK)]
        forms.append((name, array.dtype.str, list(array.shape), "F" if fortran else "C", len(parts)))
        cells += [_cell(part) for part in parts]
    table = pa.table({"data": pa.chunked_array(cells, pa.large_binary())})
    return table.replace_schema_metadata({_FORMS: json.dumps(forms)})


def unpack(table: pa.Table) -> dict[str, NDArray[np.generic]]:
    cells = iter(table["data"])
    arrays: dict[str, NDArray[np.generic]] = {}
    for name, dtype, shape, order, parts in json.loads(table.schema.metadata[_FORMS]):
        content = bytearray(b"".join(next(cells).as_buffer() for _ in range(parts)))  # writable, its own memory
        flat = np.frombuffer(content, dtype=np.dtype(dtype))
        arrays[name] = flat.reshape(shape[::-1]).T if order == "F" else flat.reshape(shape)
    return arrays


def _cell(part: NDArray[np.uint8]) -> pa.Array:
    """Bytes as one cell, without copying them."""
    offsets = np.array([0, len(part)], dtype=np.int64)
    return pa.Array.from_buffers(pa.large_binary(), 1, [None, pa.py_buffer(offsets), pa.py_buffer(part)])


def bytes_array(cells: Sequence[bytes], kind: pa.DataType) -> pa.Array:
    """Text or bytes (kind: string, or large_binary) as an Arrow array."""
    width = np.int32 if pa.types.is_string(kind) else np.int64
    offsets = np.concatenate([[0], np.cumsum([len(cell) for cell in cells])]).astype(width)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(cells))]
    return pa.Array.from_buffers(kind, len(cells), buffers)


def numbers_array(column: NDArray[np.generic]) -> pa.Array:
    """Numbers as an Arrow array, without copying them if they are contiguous."""
    column = np.ascontiguousarray(column)
    kind = pa.from_numpy_dtype(column.dtype)
    return pa.Array.from_buffers(kind, len(column), [None, pa.py_buffer(column)])


def rows_of(facts: Facts) -> pa.Table:
    """The row-sized part of facts: subject, class, value, code_0, code_1, ... without copying Fortran columns."""
    columns: dict[str, NDArray[np.generic]] = {"subject": facts.subjects, "class": facts.classes, "value": facts.values}
    for attribute in range(facts.codes.shape[1]):
        columns[f"code_{attribute}"] = facts.codes[:, attribute]
    return pa.table({name: numbers_array(column) for name, column in columns.items()})


def shape_of(facts: Facts) -> pa.Table:
    """The rest of facts: boxes, extras, and whether the release is anatomized."""
    arrays: dict[str, NDArray[np.generic]] = {"boxes": facts.boxes, "anatomized": np.array(facts.anatomized)}
    arrays["codes_dtype"] = np.empty(0, dtype=facts.codes.dtype)
    return pack(arrays | {f"extra:{name}": array for name, array in facts.extras.items()})


def read_facts(number: int, rows: pa.Table, shape: pa.Table) -> Facts:
    arrays = unpack(shape)
    attributes = rows.num_columns - 3
    codes = np.empty((rows.num_rows, attributes), dtype=arrays["codes_dtype"].dtype, order="F")
    for attribute in range(attributes):
        _fill(codes[:, attribute], rows[f"code_{attribute}"])
    return Facts(
        number=number,
        boxes=arrays["boxes"],  # type: ignore[arg-type]
        subjects=_column(rows["subject"]),  # type: ignore[arg-type]
        classes=_column(rows["class"]),  # type: ignore[arg-type]
        values=_column(rows["value"]),  # type: ignore[arg-type]
        codes=codes,
        anatomized=bool(arrays["anatomized"]),
        extras={name.removeprefix("extra:"): array for name, array in arrays.items() if name.startswith("extra:")},
    )


def numbers_of(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """int64[rows]: a column of numbers."""
    return _column(column).astype(np.int64, copy=False)


def _column(column: pa.ChunkedArray) -> NDArray[np.generic]:
    """A writable array of its own: compiled kernels treat read-only arrays as another type and compile again."""
    array: NDArray[np.generic] = np.empty(len(column), dtype=str(column.type))
    _fill(array, column)
    return array


def _fill(target: NDArray[np.generic], column: pa.ChunkedArray) -> None:
    start = 0
    for chunk in column.chunks:
        if len(chunk):
            whole = np.frombuffer(chunk.buffers()[1], dtype=target.dtype)
            target[start : start + len(chunk)] = whole[chunk.offset : chunk.offset + len(chunk)]
            start += len(chunk)


def identities_table(identifiers: pa.Array, numbers: NDArray[np.int64]) -> pa.Table:
    """The identity map, or a part of it: which identifier has which subject number."""
    if isinstance(identifiers, pa.ChunkedArray):
        identifiers = identifiers.combine_chunks()
    if identifiers.null_count:
        raise ValueError(f"{identifiers.null_count} identifiers are missing (null).")
    if not pa.types.is_string(identifiers.type):
        identifiers = identifiers.cast(pa.string())
    return pa.table({"identifier": identifiers, "subject": numbers_array(np.asarray(numbers, dtype=np.int64))})


def document_table(content: bytes) -> pa.Table:
    return pack({"json": np.frombuffer(content, dtype=np.uint8)})


def document_from(table: pa.Table) -> bytes:
    return unpack(table)["json"].tobytes()
