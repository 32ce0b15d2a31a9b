"""Tables of other programs: Excel and OpenDocument sheets, and files of SAS, SPSS and Stata."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa

from reissue.errors import SnapshotError, import_extra

SHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
STATISTICS = {
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
}


def find_reader(path: Path) -> Callable[[Path, Sequence[str] | None], tuple[tuple[str, ...], pa.Table]] | None:
    """What reads (header, the wanted columns that exist) of such a file; None for other files."""
    name, mark, _ = path.name.partition("#")
    ending = Path(name).suffix.lower()
    if ending in SHEETS:
        return _read_sheet
    return _read_statistics if ending in STATISTICS and not mark else None


def split_sheet(path: Path) -> tuple[Path, str | None]:
    """The file and the sheet of `book.xlsx#Patients`; a file whose name has a `#` is itself."""
    name, mark, sheet = path.name.partition("#")
    return (path, None) if path.exists() or not mark else (path.with_name(name), sheet)


def _read_sheet(path: Path, wanted: Sequence[str] | None) -> tuple[tuple[str, ...], pa.Table]:
    instead = "pip install 'reissue[excel]'. Or save the sheet as 'CSV UTF-8'."
    fastexcel = import_extra("fastexcel", f"Reading {path.name} needs a reader: {instead}")
    file, sheet = split_sheet(path)
    try:
        book = fastexcel.read_excel(file)
        names = book.sheet_names
    except Exception as error:  # the reader has a tree of errors of its own
        raise SnapshotError(
            f"{file} cannot be read as a spreadsheet: it is damaged, protected by a password, or another format. Save "
            "it again, or save the sheet as 'CSV UTF-8'."
        ) from error
    if sheet is not None and sheet not in names:
        raise SnapshotError(f"{file} has no sheet '{sheet}'. Its sheets are {_quoted(names)}.")
    filled = [sheet] if sheet is not None else [name for name in names if _has_cells(book, name)]
    if len(filled) != 1:
        what = f"{len(filled)} sheets with something in them ({_quoted(filled)})" if filled else "no sheet with a table"
        raise SnapshotError(
            f"{file} has {what}. Say which one is the table: '{file.name}#{(filled or ['Sheet1'])[0]}'."
        )
    try:
        table = pa.table(book.load_sheet(filled[0], schema_sample_rows=None).to_arrow())
    except Exception as error:
        raise SnapshotError(f"{file}, sheet '{filled[0]}': {str(error).splitlines()[0]}. Correct the sheet.") from error
    header = tuple(table.column_names)
    return header, table.select([name for name in (wanted or header) if name in header])


def _has_cells(book: object, name: str) -> bool:
    try:
        return bool(book.load_sheet(name, n_rows=1).width)  # type: ignore[attr-defined]
    except Exception:  # an empty sheet has no header to read
        return False


def _read_statistics(path: Path, wanted: Sequence[str] | None) -> tuple[tuple[str, ...], pa.Table]:
    instead = "pip install 'reissue[stats]'. Or export the table as CSV or Parquet."
    pyreadstat = import_extra("pyreadstat", f"Reading {path.name} needs a reader: {instead}")
    read = getattr(pyreadstat, STATISTICS[path.suffix.lower()])
    try:
        header = tuple(read(path, metadataonly=True)[1].column_names)
        chosen = [name for name in (wanted or header) if name in header]
        columns = read(path, usecols=chosen, output_format="dict")[0] if chosen else {}
        table = pa.table({name: pa.array(columns[name], from_pandas=True) for name in chosen})
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, pa.ArrowException, OSError, ValueError) as error:
        raise SnapshotError(
            f"{path} cannot be read: it is damaged, incomplete, or another format than its name says "
            f"({str(error).splitlines()[0] if str(error) else type(error).__name__}). Export it again."
        ) from error
    return header, table


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
