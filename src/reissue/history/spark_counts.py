"""What fragments on Spark tell each other: small counts through the driver, large ones from worker to worker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reissue.arrays.sets import Combinations
from reissue.engine.spark.counting import keep_frequent, sum_by
from reissue.ledger import PartWriter, Shelf
from reissue.ledger.store import Staged, Store
from reissue.model.fragment_counts import Counts

if TYPE_CHECKING:
    from reissue.engine.spark.verbs import Frame, Spark

COUNTS = pa.schema([("key", pa.int64()), ("value", pa.int32()), ("count", pa.int64())])
OWNED = pa.schema([("fragment", pa.int32()), *COUNTS])


def counts_to_table(counts: Counts) -> pa.Table:
    return pa.table([counts.key, counts.value, counts.count], schema=COUNTS)


def counts_from_table(table: pa.Table) -> Counts:
    key, value, count = (table.column(name).to_numpy() for name in COUNTS.names)
    return Counts(key.astype(np.int64), value.astype(np.int32), count.astype(np.int64))


def exchange_counts(
    spark: Spark, shelf: Shelf, nearby: Sequence[Staged | None], least: int, writers: Sequence[PartWriter]
) -> list[Staged | None]:
    """The sums, over all fragments, of the counts under the keys that each fragment has: a private file for each.

    Two shuffles of counts; keys that have fewer than `least` rows in all are left out.
    """
    items = [(fragment, staged) for fragment, staged in enumerate(nearby) if staged is not None]
    if not items:
        return [None] * len(nearby)
    store = shelf.store  # all that a worker needs of it

    def read(item: tuple[int, Staged]) -> list[pa.Table]:
        table = store.read_staged(item[1])
        return [table.add_column(0, OWNED.field(0), pa.array(np.full(len(table), item[0], dtype=np.int32)))]

    own = spark.rows_from_tasks(items, read, OWNED)
    back = sum_for_fragments(spark, own, own, least, ["key"])

    def write(table: pa.Table, fragment: int) -> Staged:
        sums = counts_to_table(counts_from_table(table)).sort_by([("key", "ascending"), ("value", "ascending")])
        return writers[fragment].rows(sums)

    found = spark.of_groups(back, "fragment", write, "summaries of fragments", len(nearby))
    return [found.get(fragment) for fragment in range(len(nearby))]


def sum_for_fragments(spark: Spark, asked: Frame, own: Frame, least: int, by: Sequence[str]) -> Frame:
    """The sums over all fragments, under the keys that each fragment asks for: two shuffles of counts.

    own: the columns `by` (together they are the key), value, count; asked: `fragment` and `by`, any of them repeatedly.
    Keys that have fewer than `least` rows in all are left out.
    """
    whole = keep_frequent(sum_by(own, [*by, "value"]), by, least)
    return spark.join(asked.select("fragment", *by).distinct(), whole, by, "inner")


def combinations_to_table(counted: Combinations) -> pa.Table:
    columns = {f"c{place}": pa.array(column) for place, column in enumerate(counted.columns)}
    return pa.table(columns | {"count": pa.array(counted.counts)})


def combinations_from_table(table: pa.Table) -> Combinations:
    *columns, counts = (np.array(column) for column in table.columns)
    return Combinations(tuple(column.astype(np.int32) for column in columns), counts.astype(np.int64))


def sum_combinations(spark: Spark, store: Store, parts: Sequence[Staged], width: int, writer: PartWriter) -> Staged:
    """The combinations that all fragments counted, of so many columns, added up: a private file.

    One shuffle of what was counted, added up by workers; one of them sorts and writes it.
    """
    names = [f"c{place}" for place in range(width)]
    schema = pa.schema([*((name, pa.int32()) for name in names), ("count", pa.int64())])
    everything = spark.rows_from_tasks(parts, lambda staged: [store.read_staged(staged)], schema)

    def written(table: pa.Table) -> Staged:
        found = combinations_from_table(table)
        return writer.rows(combinations_to_table(Combinations.of(found.columns, found.counts)))

    made = spark.on_one(sum_by(everything, names), written)
    return parts[0] if made is None else made  # all are empty, then
