"""A few people of a clinic as a file and as a frame; what loading them says or makes of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from reissue.coding import Coding
from reissue.engine.read import Source
from reissue.engine.snapshot import load
from reissue.errors import SnapshotError
from reissue.schema import Schema

CLINIC = Schema(
    identifier="patient",
    quasi_identifiers={"age": {"type": "numeric"}, "zip": {"prefix": [3]}},
    sensitive="diagnosis",
    insensitive=["note"],
)

GOOD = "patient,age,zip,diagnosis,note\np1,20,00123,flu,a\np2,31,00456,cold,\np3,20,00123,flu,b\n"


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(text)
    return path


def message(source: Source, schema: Schema = CLINIC) -> str:
    with pytest.raises(SnapshotError) as caught:
        load(source, schema)
    return str(caught.value)


def coded(source: Source, schema: Schema = CLINIC) -> tuple[list[list[int]], list[int], Coding]:
    snapshot = load(source, schema)
    coding = Coding.start(schema).learn(snapshot.seen)
    codes, values = snapshot.encode(coding)
    assert codes.dtype == values.dtype == np.int32
    assert codes.flags.f_contiguous
    return codes.tolist(), values.tolist(), coding


def frame(**changes: object) -> pa.Table:
    columns: dict[str, object] = {
        "patient": ["p1", "p2", "p3"],
        "age": [20, 31, 20],
        "zip": ["00123", "00456", "00123"],
        "diagnosis": ["flu", "cold", "flu"],
        "note": ["a", None, "b"],
    }
    return pa.table(columns | changes)
