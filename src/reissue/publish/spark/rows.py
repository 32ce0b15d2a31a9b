"""Rows on Spark, from a snapshot to its fragments: coded, with the numbers of known people, cut and dealt out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reissue.coding import Coding
from reissue.engine.spark.counting import add_numbers, join_latest, rename_columns
from reissue.history.identities import read_identities
from reissue.ledger import Shelf
from reissue.model.fragments import Fragments, divide
from reissue.publish.division import TableDivision
from reissue.publish.fragment import SnapshotRows

if TYPE_CHECKING:
    from reissue.engine.spark.verbs import Frame, Spark
    from reissue.model.requirement import Requirement


def safe_column_names(encoded: Frame, attributes: int) -> Frame:
    """The insensitive columns called i0, i1, ...: Spark trips over dots and quotes in names."""
    others = [f"i{n}" for n in range(len(encoded.columns) - attributes - 3)]
    return rename_columns(encoded, ["row", "identifier", *(f"c{a}" for a in range(attributes)), "value", *others])


def join_numbers(spark: Spark, encoded: Frame, shelf: Shelf) -> Frame:
    """The rows with `number`: the latest one of each identifier, -1 if it has none."""
    known = read_identities(spark, shelf) if shelf.state.of_role("identities") else None
    return join_latest(spark, encoded, known)


def assign_fragments(rows: Frame, division: TableDivision) -> Frame:
    """The rows with `fragment`."""
    return add_numbers(rows, "fragment", lambda table: division.of(read_rows(table)))


def cut_sample(spark: Spark, sample: Frame, count: int, coding: Coding, side: Requirement) -> Fragments:
    """The cuts, made by one worker from a sample of the rows; only they come to the driver."""
    domains = coding.domains

    def cut(table: pa.Table) -> Fragments:
        part = read_rows(table.sort_by("row"))
        return divide(part.codes, part.values, domains, count, side)

    found = spark.on_one(sample.select("row", "value", *_numbered_columns(sample.columns, "c")), cut)
    assert found is not None, "a snapshot has rows"
    return found


def _numbered_columns(names: Iterable[str], letter: str) -> list[str]:
    return [name for name in names if name[0] == letter and name[1:].isdigit()]


def read_rows(table: pa.Table) -> SnapshotRows:
    """The columns that `SparkSnapshot.encoded` describes, as arrays; what is not there is empty."""
    names = _numbered_columns(table.column_names, "c")
    codes = np.empty((table.num_rows, len(names)), dtype=np.int32, order="F")
    for a in range(len(names)):
        codes[:, a] = table.column(f"c{a}").to_numpy()
    others = _numbered_columns(table.column_names, "i")
    insensitive = table.select(others)
    nobody = pa.nulls(table.num_rows, pa.large_string())
    identifiers = table.column("identifier") if "identifier" in table.column_names else nobody
    if isinstance(identifiers, pa.ChunkedArray):
        identifiers = pa.concat_arrays(identifiers.cast(pa.large_string()).chunks or [nobody])
    numbers = table.column("number").to_numpy() if "number" in table.column_names else np.full(table.num_rows, -1)
    return SnapshotRows(
        identifiers,
        numbers.astype(np.int64),
        codes,
        table.column("value").to_numpy().astype(np.int32),
        insensitive if others else None,
    )
