"""A snapshot spread over machines: read and checked by the workers, and turned into codes where its rows are."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from reissue.arrays.types import Bool, Int64
from reissue.coding import Coding, SnapshotSummary
from reissue.coding.learning import Counted, Labels
from reissue.engine.identifiers import Repeated, normalize
from reissue.engine.parsing import Forms, parse, tell_empty, tell_missing, tell_repeated
from reissue.engine.problems import Problems, SnapshotProblem, WrongLabels
from reissue.engine.snapshot import Snapshot
from reissue.engine.spark import sources, summary
from reissue.engine.spark.found import Found, SparkRows
from reissue.engine.spark.gathering import count_cores
from reissue.engine.spark.sources import SparkSource
from reissue.engine.spark.summary import COUNTED, SENSITIVE, SnapshotPart
from reissue.engine.spark.tasks import PACKED, Placing, conform, pack_rows, spark_schema
from reissue.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from reissue.engine.spark.verbs import Spark

Collect = Callable[["DataFrame", str], pa.Table]
REPEATED = 5
"""How many repeated identifiers are named."""


@dataclass(frozen=True, eq=False)
class SparkSnapshot:
    """A snapshot that fits its schema; its rows stay with Spark.

    name: what to call it in a message; rows: how many; seen: what a coding has to learn, as of the embedded snapshot
    """

    name: str
    rows: int
    seen: SnapshotSummary
    schema: Schema
    _found: Found
    _forms: Forms

    def coded_schema(self, coding: Coding) -> pa.Schema:
        """The columns of rows in codes, see `encoded`."""
        codes = [(f"c{a}", pa.int32()) for a in range(len(coding.attributes))]
        kinds = [self._found.schema.field(name).type for name in self.schema.insensitive]
        others = [(f"i{place}", _find_plain_type(kind)) for place, kind in enumerate(kinds)]
        fields = [("row", pa.int64()), ("identifier", pa.large_string()), *codes, ("value", pa.int32()), *others]
        return pa.schema(fields)

    def encoded(
        self,
        coding: Coding,
        place: Placing | None = None,
        count: int = 1,
        chosen: Callable[[Int64], Bool] | None = None,
    ) -> DataFrame:
        """The rows under a coding that has learned `seen`, as `tasks.PACKED`; computed anew whenever it is used.

        place: which of `count` places each of some rows goes to; None: all go to place 0
        chosen: of these rows of the source (their places), which are wanted; the others are not coded.

        The packed tables have the columns
        row: int64, the place in the source; where that has no order, a hash of the identifier
        identifier: text, normalized; c0, c1, ...: int32 codes of the quasi-identifiers; value: int32
        i0, i1, ...: the insensitive columns
        """
        schema, forms, name, made = self.schema, self._forms, self.name, self.coded_schema(coding)

        def encode(table: pa.Table, places: Int64) -> Iterable[pa.Table]:
            if chosen is not None:
                wanted = chosen(places)
                table, places = table.filter(pa.array(wanted)), places[wanted]
            if len(places) == 0:
                return
            problems = Problems(name, None)
            parsed = parse(table, schema, problems, forms, whole=False)
            problems.refuse()
            attributes, values = Snapshot.of(name, parsed).encode(coding)
            columns = {"row": places, "identifier": parsed.identifiers, "value": values}
            columns |= {f"c{a}": codes for a, codes in enumerate(attributes.T)}
            columns |= {f"i{place}": table.column(other) for place, other in enumerate(schema.insensitive)}
            coded = conform(pa.table(columns), made)
            yield from pack_rows(coded, place, count, int(places[0]))

        return self._found.map(encode, spark_schema(PACKED))

    def close(self) -> None:
        """Let Spark forget what it kept of the source. The snapshot can still be used, but reads it again."""
        self._found.close()


def load(spark: Spark, source: SparkSource, schema: Schema) -> SparkSnapshot:
    """The distributed twin of `engine.snapshot.load`: one SnapshotError tells everything that is wrong.

    source: a Parquet file or a folder of them, a CSV file, "table:name", the address of a Parquet folder that Spark
    reads ("s3a://..."), or a Spark DataFrame. What comes to the driver are distinct values and summaries, never rows.
    One pass over the rows; another one if identifiers seem to repeat.
    """
    codes = [*schema.quasi_identifiers, *schema.sensitive]
    found = sources.find(spark, source, schema.columns, codes, schema.spelling.encoding)
    if isinstance(found, SparkRows) and not found.ordered:
        found = found.keep(schema.identifier)
    problems = Problems(found.name, found.lines, found.ordered)
    tell_missing(schema, found.header, problems)
    if not found.schema.names:
        problems.refuse()
    try:
        return _check(found, schema, problems)
    except BaseException:
        found.close()
        raise


def _find_plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _check(found: Found, schema: Schema, problems: Problems) -> SparkSnapshot:
    counted, parts, twins, forms = _summarize_all(found, schema)
    if not parts:
        tell_empty(problems)
        parse(found.schema.empty_table(), schema, problems)
    told = summary.merge_problems(part.problems for part in parts)
    told += _find_repeated(found, schema, forms) if twins else []
    problems.found = summary.sort_problems([*problems.found, *told], schema)
    problems.refuse()
    seen = replace(_make_summary(counted, parts, schema), name=found.name, lines=found.lines, ordered=found.ordered)
    return SparkSnapshot(found.name, sum(part.rows for part in parts), seen, schema, found, forms)


Summarized = tuple[list[dict[str, object]], list[SnapshotPart], bool]
"""Labels with their rows, what the parts tell, and whether identifiers may repeat."""


def _summarize_all(found: Found, schema: Schema) -> tuple[list[dict[str, object]], list[SnapshotPart], bool, Forms]:
    """The same, and how the columns were read: a wrong guess costs a second pass."""
    forms = summary.first_guess(schema)
    while True:
        counted, parts, twins = _summarize(found, schema, forms)
        right = summary.decide_forms(parts)
        if right.items() <= forms.items():
            return counted, parts, twins, forms
        forms = forms | right


def _summarize(found: Found, schema: Schema, forms: Forms) -> Summarized:
    count = count_cores(found.spark)

    def task(table: pa.Table, places: Int64) -> Iterable[pa.Table]:
        if table.num_rows:
            yield summary.summarize(table, places, schema, forms, count)

    made = found.map(task, spark_schema(COUNTED))
    merged = found.spark.map_places(made, "place", summary.merge, COUNTED, count)
    rows = found.spark.collect(merged, "distinct values").sort_by("first").to_pylist()
    parts = [cast(SnapshotPart, pickle.loads(row["part"])) for row in rows if row["part"] is not None]
    return [row for row in rows if row["column"] is not None], parts, any(row["hashes"] is not None for row in rows)


def _find_repeated(found: Found, schema: Schema, forms: Forms) -> list[SnapshotProblem | WrongLabels]:
    """What there is to tell about identifiers of several rows, of which some have the same hash."""
    name, plain = schema.identifier, forms[schema.identifier]

    def task(table: pa.Table, places: Int64) -> Iterable[pa.Table]:
        yield pa.table({"id": normalize(table.column(name), plain)[0], "row": places}).drop_null()

    made = found.map(task, spark_schema(pa.schema([("id", pa.string()), ("row", pa.int64())])), [name])
    problems = Problems("", None)
    tell_repeated(name, *_count_repeated(made, found.spark.collect), problems)
    return problems.found


def _count_repeated(made: DataFrame, collect: Collect) -> tuple[int, list[Repeated]]:
    """As `engine.identifiers.repeated`, of a table with `id` and `row`; only the first row of each is told."""
    from pyspark.sql import functions as F

    groups = made.groupBy("id").agg(F.count("row").alias("rows"), F.min("row").alias("first")).where("rows > 1")
    total = collect(groups.agg(F.sum(F.col("rows") - 1).alias("extra")), "repeated identifiers")
    first = collect(groups.orderBy("first").limit(REPEATED), "repeated identifiers").to_pylist()
    shown = [Repeated(one["id"], np.array([one["first"]], np.int64), one["rows"]) for one in first]
    return total.column("extra")[0].as_py() or 0, shown


def _make_summary(counted: list[dict[str, object]], parts: list[SnapshotPart], schema: Schema) -> SnapshotSummary:
    categories: dict[str, dict[str | None, tuple[int, int]]] = {}
    sensitive: dict[Labels, tuple[int, int]] = {}
    for row in counted:
        labels, told = cast("list[str | None]", row["label"]), (cast(int, row["rows"]), cast(int, row["first"]))
        if row["column"] == SENSITIVE:
            sensitive[tuple(labels)] = told
        else:
            categories.setdefault(str(row["column"]), {})[labels[0]] = told
    attributes = schema.quasi_identifiers
    return SnapshotSummary(
        categories=cast("Mapping[str, Counted]", {name: categories[name] for name in attributes if name in categories}),
        numbers={
            name: summary.merge_numbers([part.numbers[name] for part in parts])
            for name in attributes
            if name in parts[0].numbers
        },
        sensitive=sensitive,
    )
