"""The verbs on one machine, with Polars and Arrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from reissue.engine.base import Columns, Engine, Format, How, Kernel, Kind
from reissue.engine.output import write_table
from reissue.engine.read import Source, read

KINDS: Mapping[Kind, pl.DataType] = {
    "int32": pl.Int32(),
    "int64": pl.Int64(),
    "float64": pl.Float64(),
    "bool": pl.Boolean(),
    "text": pl.String(),
}


class Embedded(Engine[pl.DataFrame]):
    """Everything in the memory of this process."""

    def read(self, source: Source, columns: Sequence[str]) -> pl.DataFrame:
        return frame_of(read(source, columns).table)

    def join(self, left: pl.DataFrame, right: pl.DataFrame, on: Sequence[str], how: How) -> pl.DataFrame:
        if how in ("inner", "left"):
            both = sorted(set(left.columns) & set(right.columns) - set(on))
            if both:
                raise ValueError(f"both tables have the columns {both}; rename them before joining on {list(on)}.")
        return left.join(right, on=list(on), how=how, nulls_equal=False)

    def count(self, table: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        return table.group_by(list(by)).agg(pl.len().cast(pl.Int64).alias("count")).sort(list(by))

    def number(self, table: pl.DataFrame, within: Sequence[str], order: Sequence[str], name: str) -> pl.DataFrame:
        rank = sorted_rows(table, [*within, *order])
        start = _starts(table.select(within)[rank] if within else None, len(table))
        place = np.arange(len(table), dtype=np.int64)
        numbers = np.empty(len(table), dtype=np.int64)
        numbers[rank.to_numpy()] = place - np.repeat(start, np.diff(start, append=len(table)))
        return table.with_columns(pl.Series(name, numbers))

    def map_groups(
        self,
        table: pl.DataFrame,
        by: Sequence[str],
        order: Sequence[str],
        kernel: Kernel,
        returns: Mapping[str, Kind],
    ) -> pl.DataFrame:
        types = {name: table.schema[name] for name in by} | {name: KINDS[kind] for name, kind in returns.items()}
        table = table[sorted_rows(table, [*by, *order])]
        start = _starts(table.select(by) if by else None, len(table))
        parts = [pl.DataFrame(schema=types)]
        for first, end in zip(start.tolist(), [*start.tolist()[1:], len(table)], strict=False):
            group = table[first:end]
            result = returned_frame(kernel(numpy_of(group)), returns)
            keys = [pl.repeat(group[name][0], len(result), dtype=types[name], eager=True).alias(name) for name in by]
            parts.append(pl.DataFrame(keys).hstack(result) if keys else result)
        return pl.concat(parts)

    def write(self, table: pl.DataFrame, path: Path, format: Format, order: Sequence[str]) -> None:
        write_table(self.arrow(table, order), path, format)

    def columns(self, table: pl.DataFrame, order: Sequence[str]) -> dict[str, NDArray[np.generic]]:
        return numpy_of(table[sorted_rows(table, order)])

    def arrow(self, table: pl.DataFrame, order: Sequence[str]) -> pa.Table:
        return table[sorted_rows(table, order)].to_arrow()

    def table(self, columns: Columns | pa.Table) -> pl.DataFrame:
        if isinstance(columns, pa.Table):
            return frame_of(columns)
        return pl.DataFrame([series_of(name, values) for name, values in columns.items()])


def frame_of(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))


def series_of(name: str, values: NDArray[np.generic]) -> pl.Series:
    if values.dtype == object or values.dtype.kind in "UT":
        return pl.Series(name, values.tolist(), dtype=pl.String, strict=True)
    return pl.Series(name, np.ascontiguousarray(values))


def numpy_of(frame: pl.DataFrame) -> dict[str, NDArray[np.generic]]:
    columns: dict[str, NDArray[np.generic]] = {}
    for name in frame.columns:
        series = frame[name]
        if series.dtype == pl.String:
            columns[name] = np.array(series.to_list(), dtype=object)
        elif series.null_count():
            raise ValueError(f"column '{name}' ({series.dtype}) holds nulls, which NumPy cannot: drop or replace them.")
        else:
            columns[name] = series.to_numpy()
    return columns


def returned_frame(columns: Columns, returns: Mapping[str, Kind]) -> pl.DataFrame:
    if set(columns) != set(returns):
        raise ValueError(f"the kernel returned {sorted(columns)}, but {sorted(returns)} was announced.")
    return pl.DataFrame([series_of(name, columns[name]).cast(KINDS[kind]) for name, kind in returns.items()])


def _starts(sorted_keys: pl.DataFrame | None, rows: int) -> NDArray[np.int64]:
    """int64[groups]: the first row of each run of equal keys; one group if there are no keys."""
    if rows == 0 or sorted_keys is None:
        return np.zeros(min(rows, 1), dtype=np.int64)
    return np.flatnonzero(np.append(True, _changes(sorted_keys)))


def _changes(frame: pl.DataFrame) -> NDArray[np.bool_]:
    """bool[rows-1]: whether each row differs from the one before it; null equals null, NaN equals NaN."""
    differ = np.zeros(max(0, len(frame) - 1), dtype=np.bool_)
    for name in frame.columns:
        differ |= frame[name][1:].ne_missing(frame[name][:-1]).to_numpy()
    return differ


def sorted_rows(table: pl.DataFrame, order: Sequence[str]) -> pl.Series:
    """uint32[rows]: the rows in the order that all engines share; O(n log n), and a second pass only if rows tie."""
    rest = sorted(set(table.columns) - set(order))
    if not order:
        return _argsort(table, rest)
    rank = _argsort(table, list(order))
    if rest and not _changes(table.select(order)[rank]).all():
        rank = _argsort(table, [*order, *rest])
    return rank


def _argsort(table: pl.DataFrame, by: Sequence[str]) -> pl.Series:
    if len(table) == 0:
        return pl.Series([], dtype=pl.UInt32)
    packed = _packed(table, by)
    if packed is not None:
        return packed.arg_sort()
    return table.select(pl.arg_sort_by(list(by), maintain_order=True)).to_series()


def _packed(table: pl.DataFrame, by: Sequence[str]) -> pl.Series | None:
    """Integer columns as one int64 that sorts alike, or None if they do not fit; Polars sorts one column far faster."""
    if len(by) < 2:
        return None
    key, width = pl.lit(0, dtype=pl.Int64), 1
    for name in by:
        column = table[name]
        if not column.dtype.is_integer() or column.dtype == pl.UInt64 or column.null_count():
            return None
        low, high = int(column.min()), int(column.max())  # type: ignore[arg-type]
        width *= high - low + 1
        if width >= 2**62:
            return None
        key = key * (high - low + 1) + (pl.col(name).cast(pl.Int64) - low)
    return table.select(key.alias("key")).to_series()
