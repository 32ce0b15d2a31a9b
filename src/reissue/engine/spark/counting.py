"""Small steps on Spark's tables: counts added up, identifiers matched, values looked at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from reissue.engine.spark.verbs import Spark

PLAIN = r"regexp_replace(lower(ltrim('0', trim(BOTH concat('=', char(39), char(34)) FROM {}))), '[.]0+$', '')"
"""An identifier without what programs drop or add: as `identifiers.simplify`, and without a spreadsheet's marks."""


def read_files(spark: Spark, path: Path, kind: str) -> DataFrame:
    """A file, or a folder of files, of that kind: "parquet" or "csv" with a header."""
    return spark.session.read.format(kind).option("header", True).load(str(path))


def sum_by(frame: DataFrame, by: Sequence[str]) -> DataFrame:
    """The columns `by`, each combination once, and the sum of its `count`."""
    return frame.groupBy(*by).sum("count").toDF(*by, "count")


def keep_frequent(frame: DataFrame, by: Sequence[str], least: int) -> DataFrame:
    """Only rows under keys (the columns `by`) whose `count`s come to at least so many."""
    sized = frame.selectExpr("*", f"SUM(count) OVER (PARTITION BY {', '.join(by)}) AS size")
    return sized.where(f"size >= {least}").drop("size")


def match_altered(
    spark: Spark, rows: DataFrame, known: DataFrame, shown: int
) -> tuple[list[tuple[str, str]], int, int]:
    """New identifiers that are, but for what programs alter, those of people who are known and not here.

    (some pairs of now and before, how many there are, how many identifiers are new). rows: `identifier` and `number`,
    -1 of who is new; known: `identifier`.
    """
    plain = PLAIN.format("identifier")
    fresh = rows.where("number = -1").selectExpr("identifier AS now", f"{plain} AS plain")
    left = spark.join(known, rows.select("identifier"), ["identifier"], "anti")
    left = left.selectExpr("identifier", f"{plain} AS plain").groupBy("plain").agg({"identifier": "max"})
    alike = spark.join(fresh, left, ["plain"], "inner")
    some = spark.collect(alike.orderBy("now").limit(shown), "names in a message").to_pylist()
    pairs = [(str(one["now"]), str(one["max(identifier)"])) for one in some]
    return pairs, alike.count() if some else 0, fresh.count() if some else 0


def count_values(spark: Spark, rows: DataFrame, columns: Sequence[str]) -> list[tuple[int, int, int]]:
    """Of each column: (rows, rows whose value no other row has, rows that hold their own `identifier`).

    The rows are made once, whatever the number of columns.
    """
    from pyspark.sql import functions as F

    if not columns:
        return []
    texts = [F.trim(F.col(column).cast("string")) for column in columns]
    cells = [
        F.struct(F.lit(place).alias("place"), text.alias("value"), (text == F.col("identifier")).alias("named"))
        for place, text in enumerate(texts)
    ]
    marked = rows.select(F.explode(F.array(*cells)).alias("cell")).select("cell.*")
    named, value = F.sum(F.col("named").cast("long")).alias("named"), F.col("value")
    values = marked.groupBy("place", "value").agg(F.count("*").alias("rows"), named)
    alone = F.when((F.col("rows") == 1) & value.isNotNull() & (value != ""), 1).otherwise(0)
    sums = [F.sum("rows").alias("rows"), F.sum(alone).alias("alone"), F.sum("named").alias("named")]
    told = spark.collect(values.groupBy("place").agg(*sums), "values of insensitive columns").to_pylist()
    found = {one["place"]: (int(one["rows"]), int(one["alone"]), int(one["named"] or 0)) for one in told}
    return [found.get(place, (0, 0, 0)) for place in range(len(columns))]
