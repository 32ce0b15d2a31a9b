"""From fragments to public files: rows of all fragments under common class numbers, in random order, part by part."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

import numpy as np
import pyarrow as pa

from reissue.arrays.sets import hash_numbers, permute_ids
from reissue.engine.output import Format, write_table
from reissue.history.public_files import name_class_column
from reissue.ledger import PublicFile
from reissue.ledger.disk import hash_file
from reissue.ledger.store import Staged
from reissue.ledger.system import force_file, move
from reissue.publish.fragment import FragmentJob

KEY = "__reissue_order__"
KEY_FIELD = pa.field(KEY, pa.int64())


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

    def rows(self, by_class: bool) -> list[pa.Table]:
        """The rows with the release's class numbers, and KEY by which they are to be sorted: at random, or by class."""
        job = self.job
        table = job.shelf.store.read_staged(self.staged)
        name = name_class_column(job.coding)
        classes = np.zeros(0, dtype=np.int64)
        if name in table.column_names:  # rows that show dealt values tell no class
            place = table.column_names.index(name)
            classes = table.column(place).to_numpy().astype(np.int64)
            if self.in_order or (job.fragments > 1 and not job.common):
                classes = permute_ids(classes + self.offset, self.classes, job.seed)
            table = table.set_column(place, table.schema.field(place), pa.array(classes.astype(np.int32)))
        if by_class:
            key = classes
        else:
            rows = np.arange(table.num_rows, dtype=np.uint64) + np.uint64(job.fragment << 40)
            key = hash_numbers(rows, job.seed).view(np.int64)
        return [number_columns(table).append_column(KEY_FIELD, pa.array(key))]


def number_columns(table: pa.Table | pa.Schema) -> pa.Table | pa.Schema:
    """The columns called p0, p1, ...: see `safe_column_names`."""
    names = [f"p{place}" for place in range(len(table.names if isinstance(table, pa.Schema) else table.column_names))]
    if isinstance(table, pa.Schema):
        return pa.schema([pa.field(name, one.type) for name, one in zip(names, table, strict=True)])
    return table.rename_columns(names)


@dataclass(frozen=True, eq=False)
class PublicWriter:
    """Writing one public table in all its formats, part by part, on workers."""

    public: Path
    private: Path
    table: str
    formats: tuple[Format, ...]
    parts: int
    schema: pa.Schema

    @property
    def names(self) -> list[str]:
        return [f"{self.table}.{format}" for format in self.formats]

    def write(self, part: int, rows: pa.Table) -> list[PublicFile]:
        rows = rows.drop_columns([KEY]).rename_columns(self.schema.names).cast(self.schema)
        return self.write_rows(part, rows)

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
