"""Where tables come from: CSV and Parquet files, data frames that speak Arrow, PostgreSQL.

Text files are kept as text until the schema says what a column is, so "00123" stays "00123".
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import readlink
from pathlib import Path
from typing import Protocol, cast

import pyarrow as pa
import pyarrow.parquet

from reissue.engine.csv_file import CsvFile
from reissue.engine.postgresql import Query, fetch, parse
from reissue.engine.workbook import find_reader, split_sheet
from reissue.errors import SnapshotError
from reissue.schema.spelling import UTF_8


class ArrowStream(Protocol):
    """Any table that hands itself over through Arrow's C stream: pandas, polars, pyarrow and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Source = str | Path | Query | ArrowStream
"""A path, "postgresql://...#SELECT ...", a Query, or a data frame."""


@dataclass(frozen=True, eq=False)
class Read:
    """What a source holds of the wanted columns.

    name:   what to call the source in a message
    header: all columns of the source
    table:  those wanted columns that exist, in the order wanted, rows in the order of the source
    lines:  for text files, the line numbers of data rows (both from 1)
    encoding: of a text file that is not UTF-8
    """

    name: str
    header: tuple[str, ...]
    table: pa.Table
    lines: Callable[[Sequence[int]], list[int]] | None = None
    encoding: str = UTF_8


def find(source: Source, wanted: Sequence[str] | None, *, encoded: Container[str] = (), encoding: str = UTF_8) -> Read:
    """Read those of the wanted columns that exist (None: all); `encoded` text comes as Arrow dictionaries.

    encoding: of CSV files that are not UTF-8
    """
    if isinstance(source, str) and source.startswith(("postgresql://", "postgres://")):
        source = parse(source)
    if isinstance(source, Query):
        found = Read(source.name, *fetch(source, wanted))
    elif isinstance(source, str | Path):
        refuse_addresses(str(source))
        found = _file(Path(source), wanted, encoded, encoding)
    else:
        found = _frame(source, wanted)
    refuse_twins(found.name, found.header, found.table.column_names)
    return found


def refuse_addresses(source: str) -> None:
    """What is no path on this machine: nothing at all, a table of Spark's, a file elsewhere."""
    if not source:
        raise SnapshotError("The name of the table is empty. Give the path of a CSV or Parquet file.")
    if source.startswith("table:"):
        raise SnapshotError(f"{source} is a table of Spark's: use the engine 'spark', or export the table to a file.")
    if "://" in source:
        raise SnapshotError(
            f"{source} is an address. This machine reads files, and tables of postgresql://...: copy the file here "
            "first, or use the engine 'spark'."
        )


def refuse_twins(name: str, header: Sequence[str], wanted: Sequence[str]) -> None:
    """Columns of one name cannot be told apart."""
    twice = sorted({column for column in wanted if header.count(column) > 1})
    if twice:
        raise SnapshotError(f"{name} has more than one column named {_quoted(twice)}. Rename or drop the others.")


def missing_column(name: str, header: Sequence[str]) -> str:
    """A sentence about a column that is not there, with the names that come near it."""
    folded, sought = {other.strip().casefold(): other for other in header}, name.strip().casefold()
    keys = difflib.get_close_matches(sought, folded, n=3, cutoff=0.7)
    keys += [key for key in folded if key not in keys and len(key) > 2 and (key in sought or sought in key)]
    near = [folded[key] for key in keys[:3]]
    if near:
        hint = f"Did you mean {' or '.join(repr(other) for other in near)}? Rename it there or in the schema."
    else:
        hint = f"The columns are {_shown(header)}. Add it, or correct the name in the schema."
    return f"Column '{name}' is missing. {hint}"


def missing_columns(wanted: Sequence[str], header: Sequence[str]) -> list[str]:
    """Sentences about the wanted columns that are not there; a single one if the first line names none of them."""
    missing = [name for name in wanted if name not in header]
    sentences = [missing_column(name, header) for name in missing]
    found = len(header) > 1 and any("Did you mean" in text for text in sentences)
    if len(missing) > 1 and len(missing) == len(wanted) and not found:
        return [
            f"No column of the schema ({_quoted(wanted)}) is there; the columns are {_shown(header)}. The first line "
            "must name the columns: leave out titles and comments above it, and separate fields by , ; | or tab."
        ]
    return sentences


def _shown(header: Sequence[str]) -> str:
    return _quoted(header[:12]) + (", ..." if len(header) > 12 else "")


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def choose_columns(header: Sequence[str], wanted: Sequence[str] | None) -> list[str]:
    """Those of the wanted columns that exist; all if None."""
    return list(dict.fromkeys(header)) if wanted is None else [name for name in wanted if name in header]


def _file(path: Path, wanted: Sequence[str] | None, encoded: Container[str], encoding: str) -> Read:
    if path.is_dir():
        return _folder(path, wanted, encoded, encoding)
    reader = find_reader(path)
    if reader is not None:
        _read_beginning(split_sheet(path)[0])
        header, table = reader(path, wanted)
        return Read(str(path), header, table, lambda rows: [row + 1 for row in rows])
    opened = open_csv(path, wanted or (), encoding)
    if opened is None:
        return _parquet(path, wanted, encoded)
    table = opened.fetch(choose_columns(opened.header, wanted), encoded)
    return Read(str(path), opened.header, table, opened.lines, opened.encoding)


def files_of(folder: Path) -> list[Path]:
    """The files of a table that is a folder, in the order of their names: all Parquet, or all CSV."""
    every = [file for file in folder.rglob("*") if file.is_file()]
    found = [file for file in every if not any(part[0] in "_." for part in file.relative_to(folder).parts)]
    for endings in ((".parquet", ".pq"), (".csv",)):
        files = [file for file in found if file.suffix.lower() in endings]
        if files:
            _refuse_overlooked(folder, found, files)
            return sorted(files, key=lambda file: file.relative_to(folder).parts)
    raise SnapshotError(
        f"{folder} is a folder without Parquet or CSV files. Name a CSV or Parquet file, or a folder of these."
    )


def _refuse_overlooked(folder: Path, found: Sequence[Path], files: Sequence[Path]) -> None:
    """CSV files beside Parquet files of the same names are the same table; others would be left out silently."""
    twins = {file.with_suffix("") for file in files}
    others = [file for file in found if file.suffix.lower() == ".csv" and file.with_suffix("") not in twins]
    if others:
        raise SnapshotError(
            f"{folder} holds Parquet and CSV files, and {others[0].name} has no Parquet file of its name. Keep the "
            "files of one table in the folder, all of one kind."
        )


def is_divided_by_values(folder: Path) -> bool:
    """Whether a folder keeps some columns in the names of its folders (year=2026/), as Spark writes it."""
    return any(entry.is_dir() and "=" in entry.name for entry in folder.iterdir())


def _folder(path: Path, wanted: Sequence[str] | None, encoded: Container[str], encoding: str) -> Read:
    """All files of a folder as one table."""
    if (path / "private").is_dir() and (path / "releases").is_dir():
        raise SnapshotError(f"{path} is a series, not a table. Name the file with the rows to publish.")
    if is_divided_by_values(path):
        raise SnapshotError(
            f"{path} is a folder divided by the values of columns ('year=2026'), which Spark reads: use the engine "
            "'spark', or write the table as plain Parquet files."
        )
    files = files_of(path)
    parts = [_file(file, wanted, encoded, encoding) for file in files]
    for file, part in zip(files, parts, strict=True):
        if set(part.header) != set(parts[0].header):
            raise SnapshotError(f"{file} has other columns than {files[0]}. Export all files of {path} alike.")
    try:
        whole = pa.concat_tables([part.table for part in parts], promote_options="permissive")
    except pa.ArrowException:
        raise SnapshotError(_find_differing(path, files, [part.table for part in parts])) from None
    found = next((part.encoding for part in parts if part.encoding != UTF_8), UTF_8)
    return Read(str(path), parts[0].header, whole.unify_dictionaries(), encoding=found)


def _find_differing(folder: Path, files: Sequence[Path], tables: Sequence[pa.Table]) -> str:
    """Which column has types in two files that cannot be one, in the words of Spark's reader."""
    for name in tables[0].column_names:
        columns = [table.select([name]) for table in tables]
        kinds = [column.schema.field(0).type for column in columns]
        first = next((i for i, kind in enumerate(kinds) if not pa.types.is_null(kind)), 0)
        for file, kind, column in zip(files, kinds, columns, strict=True):
            try:
                pa.concat_tables([columns[first], column], promote_options="permissive")
            except pa.ArrowException:
                one, other = (
                    kind.value_type if pa.types.is_dictionary(kind) else kind for kind in (kinds[first], kind)
                )
                return (
                    f"{folder}: column '{name}' is of type {one} in '{files[first].name}' and {other} in "
                    f"'{file.name}'. Export all its files with the same types."
                )
    return f"The files of {folder} differ in a column's type. Export all its files with the same types."


def open_csv(path: Path, wanted: Sequence[str], encoding: str = UTF_8) -> CsvFile | None:
    """The file if it is CSV, None if it is Parquet, and an error if it is neither or cannot be read."""
    start = _read_beginning(path)
    if start[:4] in (b"PAR1", b"PARE") or path.suffix.lower() in (".parquet", ".pq"):
        return None
    if start[:4] == b"PK\x03\x04" or start[:4] == b"\xd0\xcf\x11\xe0":
        raise SnapshotError(
            f"{path} is a spreadsheet or an archive, not CSV or Parquet. Save it as 'CSV UTF-8', "
            "or give it the ending of its format (.xlsx) where this machine reads it."
        )
    return CsvFile.open(path, start, wanted, encoding)


def _read_beginning(path: Path) -> bytes:
    """The first bytes of a file, or an error that says why it cannot be had."""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise SnapshotError(
                f"{path} is a pipe or device, which can be read only once. Write the table to a file first."
            )
        with path.open("rb") as file:
            start = file.read(4096)
    except FileNotFoundError:
        if path.is_symlink():
            raise SnapshotError(f"{path} is a link to {readlink(path)}, which does not exist. Mend the link.") from None
        near = difflib.get_close_matches(path.name, _names(path.parent), n=1)
        hint = f" Did you mean '{path.parent / near[0]}'?" if near else " Check the path."
        raise SnapshotError(f"{path} does not exist.{hint}") from None
    except IsADirectoryError:
        raise SnapshotError(f"{path} is a folder. Name one CSV or Parquet file in it.") from None
    except OSError as error:
        raise SnapshotError(f"{path} cannot be read: {error.strerror}. Check its access rights.") from None
    except ValueError as error:
        raise SnapshotError(f"{str(path)!r} is no path: {error}.") from None
    if not start:
        raise SnapshotError(f"{path} is empty (0 bytes). Export the table again.")
    return start


def _names(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError:
        return []


def _parquet(path: Path, wanted: Sequence[str] | None, encoded: Container[str]) -> Read:
    with reading_parquet(path):
        with pyarrow.parquet.ParquetFile(path) as file:
            schema = file.schema_arrow
        names = choose_columns(schema.names, wanted)
        refuse_twins(str(path), schema.names, names)
        as_codes = [name for name in names if name in encoded and is_text(schema.field(name).type)]
        with pyarrow.parquet.ParquetFile(path, read_dictionary=as_codes, memory_map=True) as file:
            return Read(str(path), tuple(schema.names), file.read(columns=names))


@contextmanager
def reading_parquet(path: Path) -> Iterator[None]:
    """Says what may be wrong with a Parquet file that cannot be read."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise SnapshotError(
            f"{path} cannot be read as Parquet: it is damaged, incomplete, encrypted, or another format "
            f"({_short(error)}). Copy or export it again."
        ) from error


def is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def _short(error: BaseException) -> str:
    return str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__


def _frame(source: ArrowStream, wanted: Sequence[str] | None) -> Read:
    kind = f"{type(source).__module__.partition('.')[0]} {type(source).__name__}"
    if kind == "polars LazyFrame":
        names = source.collect_schema().names()  # type: ignore[attr-defined]
        source = cast(ArrowStream, source.select(choose_columns(names, wanted)).collect())  # type: ignore[attr-defined]
        return Read(f"the {kind}", tuple(names), _frame(source, wanted).table)
    if kind == "polars DataFrame":
        names = source.columns  # type: ignore[attr-defined]
        return Read(f"the {kind}", tuple(names), source.select(choose_columns(names, wanted)).to_arrow())  # type: ignore[attr-defined]
    if kind == "pandas DataFrame":
        return _pandas(source, wanted, kind)
    if not hasattr(source, "__arrow_c_stream__"):
        raise SnapshotError(
            f"A {kind} cannot be read as a table. Give a path to a CSV or Parquet file, 'postgresql://...#SELECT ...', "
            "or a data frame of pandas, polars or pyarrow."
        )
    try:
        table = source if isinstance(source, pa.Table) else pa.RecordBatchReader.from_stream(source).read_all()
    except pa.ArrowInvalid as error:
        raise SnapshotError(f"A {kind} is no table: give a data frame with all columns of the schema.") from error
    positions = [table.column_names.index(name) for name in choose_columns(table.column_names, wanted)]
    return Read(f"the {kind}", tuple(table.column_names), table.select(positions))


def _pandas(frame: object, wanted: Sequence[str] | None, kind: str) -> Read:
    """Only the wanted columns are converted, one by one, so that an error can name the column."""
    if any(name is not None for name in frame.index.names):  # type: ignore[attr-defined]
        frame = frame.reset_index()  # type: ignore[attr-defined]
    header = tuple(str(name) for name in frame.columns)  # type: ignore[attr-defined]
    columns = {}
    for name in choose_columns(header, wanted):
        position = header.index(name)
        try:
            columns[name] = pa.Array.from_pandas(frame.iloc[:, position])  # type: ignore[attr-defined]
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise SnapshotError(
                f"Column '{name}' of the {kind} mixes types or holds objects ({_short(error)}). "
                f"Make it one type first, for example frame['{name}'].astype('string')."
            ) from error
    return Read(f"the {kind}", header, pa.table(columns))
