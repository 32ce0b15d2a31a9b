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
from reissue.engine.problems import Check, Problems, SnapshotProblem, WrongLabels
from reissue.engine.snapshot import Snapshot
from reissue.engine.spark import sources, summary
from reissue.engine.spark.found import Found, SparkRows
from reissue.engine.spark.sources import SparkSource
from reissue.engine.spark.summary import COUNTED, SENSITIVE, SnapshotPart
from reissue.engine.spark.tasks import spark_schema
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

    @property
    def insensitive(self) -> pa.Schema:
        """The insensitive columns in the types of their source, which Spark may not have."""
        return pa.schema([self._found.schema.field(name) for name in self.schema.insensitive])

    def encoded(self, coding: Coding, chosen: Callable[[Int64], Bool] | None = None) -> DataFrame:
        """The rows under a coding that has learned `seen`, one per subject; computed anew whenever it is used.

        chosen: of these rows of the source (their places), which are wanted; the others are not coded.

        row: int64, the place in the source; where that has no order, a hash of the identifier
        identifier: text, normalized; c0, c1, ...: int32 codes of the quasi-identifiers; value: int32
        i:NAME: the insensitive columns
        """
        schema, forms, name = self.schema, self._forms, self.name
        others = [self._found.schema.field(other) for other in schema.insensitive]
        codes = [f"c{a}" for a in range(len(coding.attributes))]
        fields = [("row", pa.int64()), ("identifier", pa.string()), *((code, pa.int32()) for code in codes)]
        fields += [("value", pa.int32()), *((f"i:{field.name}", field.type) for field in others)]

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
            columns |= {code: attributes[:, a] for a, code in enumerate(codes)}
            yield pa.table(columns | {f"i:{field.name}": table.column(field.name) for field in others})

        return self._found.map(encode, spark_schema(pa.schema(fields)))

    def close(self) -> None:
        """Let Spark forget what it kept of the source. The snapshot can still be used, but reads it again."""
        self._found.close()


def load(spark: Spark, source: SparkSource, schema: Schema) -> SparkSnapshot:
    """The distributed twin of `engine.snapshot.load`: one SnapshotError tells everything that is wrong.

    source: a Parquet file or a folder of them, a CSV file, "table:name", the address of a Parquet folder that Spark
    reads ("s3a://..."), or a Spark DataFrame. What comes to the driver are distinct values and summaries, never rows.
    Two passes over the rows: one reads and counts, one looks for repeated identifiers.
    """
    found = sources.find(spark, source, schema.columns, [*schema.quasi_identifiers, *schema.sensitive])
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


def _check(found: Found, schema: Schema, problems: Problems) -> SparkSnapshot:
    counted, parts, forms = _summarize_all(found, schema)
    if not parts:
        tell_empty(problems)
        parse(found.schema.empty_table(), schema, problems)
    told = summary.merge_problems(part.problems for part in parts)
    told += _find_repeated(found, schema, forms, told) if parts else []
    problems.found = summary.sort_problems([*problems.found, *told], schema)
    problems.refuse()
    seen = replace(_make_summary(counted, parts, schema), name=found.name, lines=found.lines, ordered=found.ordered)
    return SparkSnapshot(found.name, sum(part.rows for part in parts), seen, schema, found, forms)


def _summarize_all(found: Found, schema: Schema) -> tuple[list[dict[str, object]], list[SnapshotPart], Forms]:
    """(labels with their rows, what the parts tell, how the columns were read). A wrong guess costs a second pass."""
    forms = summary.first_guess(schema)
    while True:
        counted, parts = _summarize(found, schema, forms)
        right = summary.decide_forms(parts)
        if right.items() <= forms.items():
            return counted, parts, forms
        forms = forms | right


def _summarize(found: Found, schema: Schema, forms: Forms) -> tuple[list[dict[str, object]], list[SnapshotPart]]:
    from pyspark.sql import functions as F

    def task(table: pa.Table, places: Int64) -> Iterable[pa.Table]:
        if table.num_rows:
            yield summary.summarize(table, places, schema, forms)

    made = found.map(task, spark_schema(COUNTED)).groupBy("column", "label")
    merged = made.agg(F.sum("rows").alias("rows"), F.min("first").alias("first"), F.any_value("part").alias("part"))
    rows = found.spark.collect(merged, "distinct values").sort_by("first").to_pylist()
    parts = [cast(SnapshotPart, pickle.loads(row["part"])) for row in rows if row["column"] is None]
    return [row for row in rows if row["column"] is not None], parts


def _find_repeated(
    found: Found, schema: Schema, forms: Forms, told: Iterable[SnapshotProblem | WrongLabels]
) -> list[SnapshotProblem | WrongLabels]:
    """What there is to tell about identifiers of several rows."""
    name, plain, collect = schema.identifier, forms[schema.identifier], found.spark.collect
    if name not in found.schema.names or any(one.column == name and one.check == Check.TYPE for one in told):
        return []

    def hashed(table: pa.Table, _: Int64) -> Iterable[pa.Table]:
        from reissue.engine.identifiers import hash_identifiers

        yield pa.table({"hash": hash_identifiers(normalize(table.column(name), plain)[0].drop_null()).view(np.int64)})

    def task(table: pa.Table, places: Int64) -> Iterable[pa.Table]:
        yield pa.table({"id": normalize(table.column(name), plain)[0], "row": places}).drop_null()

    only = found.map(hashed, spark_schema(pa.schema([("hash", pa.int64())])), [name])
    twins = only.groupBy("hash").count().where("count > 1").limit(1)
    if not collect(twins, "repeated identifiers").num_rows:  # distinct hashes prove distinct text
        return []
    made = found.map(task, spark_schema(pa.schema([("id", pa.string()), ("row", pa.int64())])), [name])
    problems = Problems("", None)
    tell_repeated(name, *_count_repeated(made, collect), problems)
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
