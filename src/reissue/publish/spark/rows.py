"""Rows on Spark, from a snapshot to its fragments: coded, with the numbers of known people, cut and dealt out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reissue.coding import Coding
from reissue.history.identities import identities
from reissue.ledger import Shelf
from reissue.model.fragments import Fragments, divide
from reissue.publish.division import Division
from reissue.publish.fragment import Rows

if TYPE_CHECKING:
    from reissue.engine.spark.verbs import Frame, Spark
    from reissue.model.requirement import Requirement


def placed(encoded: Frame, attributes: int) -> Frame:
    """The insensitive columns called i0, i1, ...: Spark trips over dots and quotes in names."""
    others = range(len(encoded.columns) - attributes - 3)
    return encoded.toDF("row", "identifier", *(f"c{a}" for a in range(attributes)), "value", *(f"i{n}" for n in others))


def with_numbers(spark: Spark, encoded: Frame, shelf: Shelf) -> Frame:
    """The rows with `number`: the latest one of each identifier, -1 if it has none."""
    if not shelf.state.of_role("identities"):
        return encoded.selectExpr("*", "CAST(-1 AS BIGINT) AS number")  # everybody is new: no need to shuffle
    known = identities(spark, shelf)
    latest = known.groupBy("identifier").max("subject").withColumnRenamed("max(subject)", "number")
    return spark.join(encoded, latest, ["identifier"], "left").fillna(-1, ["number"])


def with_fragment(rows: Frame, division: Division) -> Frame:
    """The rows with `fragment`."""
    from reissue.engine.spark.tasks import mapped

    schema = deepcopy(rows.schema).add("fragment", "integer")

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        from reissue.engine.identifiers import hashes

        for batch in batches:
            table = pa.Table.from_batches([batch])
            part = rows_of(table)
            keys = hashes(part.identifiers) if division.tree.by_identifier else None
            yield table.append_column("fragment", pa.array(division.of(part.codes, part.numbers, keys)))

    return rows.mapInArrow(mapped(run, schema), schema)


def cuts(spark: Spark, sample: Frame, count: int, coding: Coding, side: Requirement) -> Fragments:
    """The cuts, made by one worker from a sample of the rows; only they come to the driver."""
    from reissue.engine.spark.tasks import mapped, spark_schema

    domains = coding.domains

    def cut(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        gathered = list(batches)
        if gathered:
            part = rows_of(pa.Table.from_batches(gathered).sort_by("row"))
            yield pa.table({"tree": [json.dumps(divide(part.codes, part.values, domains, count, side).to_dict())]})

    codes = sample.select("row", "value", *_numbered_columns(sample.columns, "c")).repartition(1)
    told = spark_schema(pa.schema([("tree", pa.string())]))
    found = spark.collect(codes.mapInArrow(mapped(cut, told), told), "cuts of fragments")
    return Fragments.from_dict(json.loads(found.column("tree")[0].as_py()))


def _numbered_columns(names: Iterable[str], letter: str) -> list[str]:
    return [name for name in names if name[0] == letter and name[1:].isdigit()]


def rows_of(table: pa.Table) -> Rows:
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
    return Rows(
        identifiers,
        numbers.astype(np.int64),
        codes,
        table.column("value").to_numpy().astype(np.int32),
        insensitive if others else None,
    )
