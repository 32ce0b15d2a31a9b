"""Order over machines: ranges of a key that depend on the rows alone, so that a task that runs twice agrees.

Spark's own range partitioning samples anew in every job. Numbers given out by partition would then differ between
the job that counts and the job that numbers, and two people could get the same number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SMALL = 50_000
"""Up to so many rows, one task sorts them all."""

SAMPLED = 100
"""Rows looked at for each range."""

Collect = Callable[["DataFrame", str], pa.Table]


def named(name: str) -> Column:
    """A column by its name, whatever characters the name has."""
    from pyspark.sql import functions as F

    return F.col("`" + name.replace("`", "``") + "`")


def shared_order(names: Sequence[str], order: Sequence[str]) -> list[Column]:
    """The order that all engines share: `order`, then the other columns by name, nulls first."""
    return [named(name).asc_nulls_first() for name in [*order, *sorted(set(names) - set(order))]]


def bounds(frame: DataFrame, key: str, parts: int, collect: Collect) -> list[object]:
    """At most parts-1 values of the key, ascending, that cut the rows into about equal ranges, none of them empty.

    The sample is chosen by a hash of the key, so the same rows give the same bounds, however they are partitioned.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    keys = frame.select(named(key).alias("key")).where(F.col("key").isNotNull())
    total, lowest = (
        column[0] for column in collect(keys.agg(F.count("key"), F.min("key")), "size of a table").to_pydict().values()
    )
    if parts < 2 or total == 0:
        return []
    sample = keys.where(F.pmod(F.xxhash64("key"), F.lit(max(1, total // (parts * SAMPLED)))) == 0)
    ranked = sample.withColumn("rank", F.row_number().over(Window.orderBy("key")))
    every = F.greatest(F.lit(1), (F.count("key").over(Window.partitionBy()) / parts).cast("int"))
    chosen = (
        ranked.withColumn("every", every).where(F.pmod(F.col("rank"), F.col("every")) == 0).select("key").distinct()
    )
    found = collect(chosen.orderBy("key"), "bounds of ranges").column("key").to_pylist()
    return [bound for bound in found if bound == bound and bound != lowest][: parts - 1]  # NaN belongs to the last


def bucket(key: str, bounds: Sequence[object]) -> Column:
    """int: how many bounds are at most the key, 0 for null. A search tree: O(log bounds) per row."""
    from pyspark.sql import functions as F

    def tree(low: int, high: int) -> Column:
        if low == high:
            return F.lit(low)
        middle = (low + high) // 2
        return F.when(named(key) >= F.lit(bounds[middle]), tree(middle + 1, high)).otherwise(tree(low, middle))

    return tree(0, len(bounds)).cast("int")


def numbered(frame: DataFrame, order: Sequence[str], name: str, collect: Collect) -> DataFrame:
    """The table with `name` (int64): the place 0, 1, ... of each row in the order that all engines share."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    columns = frame.columns
    order = [*order, *sorted(set(columns) - set(order))]
    total = collect(frame.agg(F.count(F.lit(1)).alias("n")), "size of a table").column("n")[0].as_py()
    sorting = shared_order(columns, order)
    if total <= SMALL or not order:
        place = F.row_number().over(Window.partitionBy().orderBy(*sorting))
        return frame.withColumn(name, (place - 1).cast("long"))
    limits = bounds(frame, order[0], _parts(frame, total), collect)
    part = "__reissue_part__"
    divided = frame.withColumn(part, bucket(order[0], limits))
    sizes = collect(divided.groupBy(part).count(), "sizes of ranges").to_pydict()
    size = dict(zip(sizes[part], sizes["count"], strict=True))
    before, offsets = 0, []
    for number in range(len(limits) + 1):
        offsets.append(before)
        before += size.get(number, 0)
    start = F.element_at(F.array(*[F.lit(offset) for offset in offsets]), named(part) + 1)
    place = F.row_number().over(Window.partitionBy(named(part)).orderBy(*sorting))
    return divided.withColumn(name, (start + place - 1).cast("long")).drop(part)


def _parts(frame: DataFrame, total: int) -> int:
    configured = int(str(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or "8"))
    return max(2, min(configured, 200, total // SMALL + 1))
