"""From fragments to public files: rows of all fragments under common class numbers, in random order, part by part."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reissue.arrays.sets import hash_numbers, permute_ids
from reissue.arrays.types import Int32
from reissue.engine.output import Format, sort_labels, write_table
from reissue.engine.spark.tasks import pack_rows, unpack_rows
from reissue.history.public_files import name_class_column
from reissue.ledger import PublicFile
from reissue.ledger.disk import hash_file
from reissue.ledger.parquet import numbers_of
from reissue.ledger.store import Staged
from reissue.ledger.system import force_file, move
from reissue.publish.fragment import FragmentJob

KEY = "__reissue_order__"
"""The column by which rows are put in order: at random, or by class."""


@dataclass(frozen=True, eq=False)
class FragmentRows:
    """One fragment's share of a public table.

    offset: classes of the fragments before it; classes: of all fragments; neither matters where classes are common
    in_order: whether its classes are numbered in the order in which they were formed, which nobody is to know
    """

    job: FragmentJob
    staged: Staged
    offset: int
    classes: int
    in_order: bool = False

    def rows(self, by_class: bool, parts: int) -> Iterable[pa.Table]:
        """The rows with the release's class numbers and KEY, packed for their part of the table: ranges of KEY.

        by_class: put the rows in the order of the classes, not at random
        """
        job = self.job
        table = unpack_rows(job.shelf.store.read_staged(self.staged))
        name = name_class_column(job.coding)
        classes = np.zeros(0, dtype=np.int64)
        if name in table.column_names:  # rows that show dealt values tell no class
            place = table.column_names.index(name)
            classes = numbers_of(table.column(place))
            if self.in_order or (job.fragments > 1 and not job.common):
                classes = permute_ids(classes + self.offset, self.classes, job.seed)
            table = table.set_column(place, table.schema.field(place), pa.array(classes.astype(np.int32)))
        if by_class:
            key, (low, high) = classes, (0, self.classes)
        else:
            rows = np.arange(table.num_rows, dtype=np.uint64) + np.uint64(job.fragment << 40)
            key, (low, high) = hash_numbers(rows, job.seed).view(np.int64), (-(2**63), 2**63)  # filled evenly
        limits = np.array([low + part * (high - low) // parts for part in range(1, parts)], dtype=np.int64)

        def place_rows(rows: pa.Table) -> Int32:
            return np.searchsorted(limits, numbers_of(rows[KEY]), side="right").astype(np.int32)

        return pack_rows(table.append_column(KEY, pa.array(key)), place_rows, parts)


@dataclass(frozen=True, eq=False)
class PublicWriter:
    """Writing one public table in all its formats, part by part, on workers."""

    public: Path
    private: Path
    table: str
    formats: tuple[Format, ...]
    parts: int

    @property
    def names(self) -> list[str]:
        return [f"{self.table}.{format}" for format in self.formats]

    def write(self, rows: pa.Table, part: int) -> list[PublicFile]:
        """Rows of all fragments in the order of KEY; where that is their class, then in that of their cells."""
        table = sort_labels(rows.drop_columns([KEY]))
        keys = {KEY: rows.column(KEY)}
        if self.table == "values":
            keys |= {f"cell {place}": _order_cells(column) for place, column in enumerate(table.columns)}
        order = pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys])
        return self.write_rows(part, table.take(order))

    def write_rows(self, part: int, rows: pa.Table) -> list[PublicFile]:
        """Rows that are as they are to be published."""
        return [self._written(part, rows, format) for format in self.formats]

    def _written(self, part: int, rows: pa.Table, format: Format) -> PublicFile:
        """Write beside, then move: a worker that dies leaves nothing where outsiders would look."""
        name = f"{self.table}.{format}" + ("" if self.parts == 1 else f"/part-{part:05d}.{format}")
        beside, path = self.private / f"public-{token_hex(8)}", self.public / name
        write_table(rows, beside, format)
        force_file(beside)
        path.parent.mkdir(exist_ok=True)
        move(beside, path)
        return PublicFile(name, hash_file(path), path.stat().st_size)


def _order_cells(column: pa.ChunkedArray) -> pa.Array:
    """Numbers in the order of the cells; the dictionary of labels is sorted."""
    cells = column.combine_chunks()
    return cells.indices if pa.types.is_dictionary(cells.type) else cells
