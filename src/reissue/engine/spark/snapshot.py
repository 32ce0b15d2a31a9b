"""A snapshot spread over machines: read and checked by the workers, and turned into codes where its rows are."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from reissue.arrays.types import Bool, Int64
from reissue.coding import Coding, Seen
from reissue.coding.seen import Counted, Labels
from reissue.engine.identifiers import Repeated, normalize
from reissue.engine.numbers import Numbers
from reissue.engine.parsing import Forms, parse, tell_empty, tell_missing, tell_repeated
from reissue.engine.problems import SHOWN, Check, Problem, Problems, WrongLabels
from reissue.engine.snapshot import Snapshot, first_row
from reissue.engine.spark import sources, summary
from reissue.engine.spark.found import ROW, Found, Rows
from reissue.engine.spark.order import Collect, numbered
from reissue.engine.spark.sources import SparkSource
from reissue.engine.spark.summary import COUNTED, SENSITIVE, Part
from reissue.engine.spark.tasks import spark_schema
from reissue.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from reissue.engine.spark.verbs import Spark

ID = "__reissue_identifier__"
REPEATED = 5
"""How many repeated identifiers are named."""


@dataclass(frozen=True, eq=False)
class SparkSnapshot:
    """A snapshot that fits its schema; its rows stay with Spark.

    name: what to call it in a message; rows: how many; seen: what a coding has to learn, as of the embedded snapshot
    """

    name: str
    rows: int
    seen: Seen
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

        row: int64, the place in the source; where that has no order, the place by identifier
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
    problems = Problems(found.name, found.lines)
    tell_missing(schema, found.header, problems)
    if not found.schema.names:
        problems.refuse()
    if isinstance(found, Rows) and not found.ordered:
        found = _ranked(found, schema)
    try:
        return _checked(found, schema, problems)
    except BaseException:
        found.close()
        raise


def _checked(found: Found, schema: Schema, problems: Problems) -> SparkSnapshot:
    counted, parts, forms = _summarized(found, schema)
    if not parts:
        tell_empty(problems)
        parse(found.schema.empty_table(), schema, problems)
    told = summary.merged_problems(part.problems for part in parts)
    told = [_with_labels(one, found, schema, forms) if isinstance(one, WrongLabels) else one for one in told]
    told += _repeated(found, schema, forms, told) if parts else []
    problems.found = summary.in_order([*problems.found, *told], schema)
    problems.refuse()
    seen = replace(_seen(counted, parts, schema), name=found.name, lines=found.lines)
    places = {
        name: replace(numbers, where=partial(_where, found, schema, forms, name))
        for name, numbers in seen.numbers.items()
    }
    seen = replace(seen, numbers=places)
    return SparkSnapshot(found.name, sum(part.rows for part in parts), seen, schema, found, forms)


def _where(found: Found, schema: Schema, forms: Forms, name: str, value: float | None) -> tuple[float, int]:
    """As `NumericSeen.where`, for a message: workers read the rows once more."""

    def task(table: pa.Table, places: Int64) -> Iterable[pa.Table]:
        numbers = parse(table, schema, Problems("", None), forms, whole=False).attributes[name]
        row = first_row(numbers, value) if isinstance(numbers, Numbers) else None
        if isinstance(numbers, Numbers) and row is not None:
            yield pa.table({"row": [int(places[row])], "value": [float(numbers.values[row])]})

    made = found.map(task, spark_schema(pa.schema([("row", pa.int64()), ("value", pa.float64())])))
    [first] = found.spark.collect(made.orderBy("row").limit(1), "wrong values").to_pylist()
    return first["value"], first["row"]


def _ranked(found: Rows, schema: Schema) -> Rows:
    """A source without an order gets one: by identifier, then by all other columns."""
    identifier = schema.identifier

    def identified(table: pa.Table, _: Int64) -> Iterable[pa.Table]:
        names = pa.nulls(table.num_rows, pa.string())
        if identifier in table.column_names:
            with suppress(pa.ArrowException, ValueError):  # told as a problem of the column later
                names, _ = normalize(table.column(identifier), plain=False)
        yield table.append_column(ID, names)

    made = spark_schema(found.schema.append(pa.field(ID, pa.string())))
    named_rows = found.map(identified, made).persist()
    rows = numbered(named_rows, [ID], ROW, found.spark.collect).drop(ID).persist()
    ranked = replace(found, rows=rows)
    found.spark.collect(rows.groupBy().count(), "size of a table")  # so that only the rows in order are kept
    named_rows.unpersist()
    return ranked


def _summarized(found: Found, schema: Schema) -> tuple[list[dict[str, object]], list[Part], Forms]:
    """(labels with their rows, what the parts tell, how the columns were read). A wrong guess costs a second pass."""
    forms = summary.first_guess(schema)
    while True:
        counted, parts = _summary(found, schema, forms)
        right = summary.decided(parts, _dated(found, summary.mixed(parts)))
        if right.items() <= forms.items():
            return counted, parts, forms
        forms = forms | right


def _summary(found: Found, schema: Schema, forms: Forms) -> tuple[list[dict[str, object]], list[Part]]:
    from pyspark.sql import functions as F

    def task(table: pa.Table, places: Int64) -> Iterable[pa.Table]:
        if table.num_rows:
            yield summary.summarized(table, places, schema, forms)

    made = found.map(task, spark_schema(COUNTED)).groupBy("column", "label")
    merged = made.agg(F.sum("rows").alias("rows"), F.min("first").alias("first"), F.any_value("part").alias("part"))
    rows = found.spark.collect(merged, "distinct values").sort_by("first").to_pylist()
    parts = [cast(Part, pickle.loads(row["part"])) for row in rows if row["column"] is None]
    return [row for row in rows if row["column"] is not None], parts


def _dated(found: Found, columns: list[str]) -> dict[str, bool]:
    """Of text that mixes dates and numbers: whether more of its distinct labels are dates."""
    from pyspark.sql import functions as F

    if not columns:
        return {}
    made = found.map(lambda table, _: [summary.labels_by_look(table, columns)], spark_schema(COUNTED))
    counts = made.select("column", "label", "rows").distinct().groupBy("column")
    told = counts.agg(F.sum("rows").alias("dates"), F.count("rows").alias("all"))
    rows = found.spark.collect(told, "distinct values").to_pylist()
    return {row["column"]: 2 * row["dates"] > row["all"] for row in rows}


def _with_labels(problem: WrongLabels, found: Found, schema: Schema, forms: Forms) -> WrongLabels:
    """With the first wrong labels of the whole column, and how many more there are."""
    from pyspark.sql import functions as F

    def task(table: pa.Table, places: Int64) -> Iterable[pa.Table]:
        yield summary.wrong_labels(table, places, schema, forms)

    made = found.map(task, spark_schema(COUNTED))
    mine = made.where((F.col("column") == problem.column) & (F.col("part") == F.lit(bytes([problem.check]))))
    labels = mine.groupBy("label").agg(F.sum("rows").alias("rows"), F.min("first").alias("first"))
    shown = found.spark.collect(labels.orderBy("first").limit(SHOWN), "wrong values").to_pydict()
    total = labels.agg(F.count("rows").alias("labels"), F.sum("rows").alias("rows"))
    whole = found.spark.collect(total, "wrong values").to_pylist()[0]
    return replace(
        problem,
        labels=[label[0] for label in shown["label"]],
        counts=np.array(shown["rows"], dtype=np.int64),
        first=np.array(shown["first"], dtype=np.int64),
        more=(whole["labels"] - len(shown["label"]), whole["rows"] - sum(shown["rows"])),
    )


def _repeated(
    found: Found, schema: Schema, forms: Forms, told: Iterable[Problem | WrongLabels]
) -> list[Problem | WrongLabels]:
    """What there is to tell about identifiers of several rows."""
    name, plain, collect = schema.identifier, forms[schema.identifier], found.spark.collect
    if name not in found.schema.names or any(one.column == name and one.check == Check.TYPE for one in told):
        return []

    def hashed(table: pa.Table, _: Int64) -> Iterable[pa.Table]:
        from reissue.engine.identifiers import hashes

        yield pa.table({"hash": hashes(normalize(table.column(name), plain)[0].drop_null()).view(np.int64)})

    def task(table: pa.Table, places: Int64) -> Iterable[pa.Table]:
        yield pa.table({"id": normalize(table.column(name), plain)[0], "row": places}).drop_null()

    only = found.map(hashed, spark_schema(pa.schema([("hash", pa.int64())])), [name])
    twins = only.groupBy("hash").count().where("count > 1").limit(1)
    if not collect(twins, "repeated identifiers").num_rows:  # distinct hashes prove distinct text
        return []
    made = found.map(task, spark_schema(pa.schema([("id", pa.string()), ("row", pa.int64())])), [name])
    problems = Problems("", None)
    tell_repeated(name, *_most_repeated(made, collect), problems)
    return problems.found


def _most_repeated(made: DataFrame, collect: Collect) -> tuple[int, list[Repeated]]:
    """As `engine.identifiers.repeated`, of a table with `id` and `row`."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    groups = made.groupBy("id").agg(F.count("row").alias("rows"), F.min("row").alias("first")).where("rows > 1")
    total = collect(groups.agg(F.sum(F.col("rows") - 1).alias("extra")), "repeated identifiers")
    first = collect(groups.orderBy("first").limit(REPEATED), "repeated identifiers").to_pylist()
    places = made.where(F.col("id").isin([one["id"] for one in first]))
    ranked = places.withColumn("rank", F.row_number().over(Window.partitionBy("id").orderBy("row")))
    rows = collect(ranked.where(F.col("rank") <= SHOWN), "repeated identifiers").to_pylist()
    shown = [
        Repeated(one["id"], np.array([row["row"] for row in rows if row["id"] == one["id"]], np.int64), one["rows"])
        for one in first
    ]
    return total.column("extra")[0].as_py() or 0, shown


def _seen(counted: list[dict[str, object]], parts: list[Part], schema: Schema) -> Seen:
    categories: dict[str, dict[str | None, tuple[int, int]]] = {}
    sensitive: dict[Labels, tuple[int, int]] = {}
    for row in counted:
        labels, told = cast("list[str | None]", row["label"]), (cast(int, row["rows"]), cast(int, row["first"]))
        if row["column"] == SENSITIVE:
            sensitive[tuple(labels)] = told
        else:
            categories.setdefault(str(row["column"]), {})[labels[0]] = told
    attributes = schema.quasi_identifiers
    return Seen(
        categories=cast("Mapping[str, Counted]", {name: categories[name] for name in attributes if name in categories}),
        numbers={
            name: summary.merged_numbers(part.numbers[name] for part in parts)
            for name in attributes
            if name in parts[0].numbers
        },
        sensitive=sensitive,
    )
