"""CSV files: read strictly and fast by Arrow; when that fails, read again slowly to say where and why."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import zlib
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.csv

from reissue.errors import SnapshotError
from reissue.schema.spelling import UTF_8

DELIMITERS = (",", ";", "\t", "|")
BLOCK = 1 << 22
RELEASED = 4
"""Pieces after which memory that parsing left free goes back to the system."""
SHOWN = 3  # how many places a message names
UNKNOWN = "\ufffd"
"""Stands for bytes that no text has."""
REMEDY = {
    True: "Save the file as 'CSV UTF-8' (Excel offers it under 'Save as'). If all your files come like this, from "
    'Windows say, declare it in the config: encoding = "windows-1252" under [schema.spelling].',
    False: "Save the file as 'CSV UTF-8', or declare another encoding under [schema.spelling].",
}
"""By whether UTF-8 was expected."""
TEXT, CODES = pa.string(), pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True)
class CsvFile:
    """A file with a header line; fields are separated by `,` `;` `|` or tab and quoted by `"` where needed.

    encoding: UTF-8, or what was declared for files that are not
    """

    path: Path
    zipped: bool
    delimiter: str
    header: tuple[str, ...]
    encoding: str = UTF_8

    @staticmethod
    def open(path: Path, start: bytes, wanted: Sequence[str], encoding: str = UTF_8) -> CsvFile:
        """Read the header; the delimiter is the one that finds most of the wanted columns, then most columns."""
        zipped = start[:2] == b"\x1f\x8b"
        if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise SnapshotError(f"{path} is UTF-16, not UTF-8. Save it as 'CSV UTF-8'.")
        if not zipped and b"\0" in start:
            raise SnapshotError(f"{path} is neither CSV nor Parquet (it holds binary data). Save it as 'CSV UTF-8'.")
        plain = CsvFile(path, zipped, ",", ())
        if encoding != UTF_8 and plain._is_utf8():
            encoding = UTF_8
        headers = {mark: replace(plain, delimiter=mark, encoding=encoding)._header() for mark in DELIMITERS}
        best = max(DELIMITERS, key=lambda mark: (len(set(wanted) & set(headers[mark])), len(headers[mark])))
        found = CsvFile(path, zipped, best, headers[best], encoding)
        there = set(wanted) & set(found.header)
        if any(UNKNOWN in name for name in found.header) and 0 < len(there) < len(set(wanted)):
            found._refuse_bytes(found.header)  # the wanted column may be the one whose name cannot be read
        return found

    def fetch(self, columns: Sequence[str], encoded: Container[str]) -> pa.Table:
        """These columns as text; those in `encoded` as dictionaries. An empty field is null."""
        if not columns:
            return pa.table({})
        if self._only_header():
            return pa.schema([(name, CODES if name in encoded else TEXT) for name in columns]).empty_table()
        with self._reading(columns):
            if all(name in encoded for name in columns):  # a table to be looked at: pieces take less memory
                with suppress(pa.ArrowInvalid), self._stream() as stream:  # a row longer than a piece is read below
                    options = self._reads(use_threads=False, block_size=BLOCK // 4)
                    return _collect(pyarrow.csv.open_csv(stream, options, *self._options(columns, encoded)))
            return self._parse(columns, encoded, None)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """These columns as text, in pieces: a file of any size in little memory. An empty field is null."""
        if self._only_header():
            return
        with self._reading(columns), self._stream() as stream:
            options = self._reads(block_size=BLOCK)
            yield from pyarrow.csv.open_csv(stream, options, *self._options(columns, ()))

    @contextmanager
    def _reading(self, columns: Sequence[str]) -> Iterator[None]:
        """Says what is wrong with a file that cannot be read, or that could, but ends within quotes."""
        try:
            yield
        except (pa.ArrowException, OSError, EOFError, UnicodeError, zlib.error) as error:
            self._explain(columns)
            raise SnapshotError(
                f"{self.path} cannot be read as CSV ({str(error).splitlines()[0]}). Export it again as 'CSV UTF-8'."
            ) from error
        if self._quotes() % 2:
            self._refuse_open_quote()

    def lines(self, rows: Sequence[int]) -> list[int]:
        """The line on which each data row (from 1) begins. Walks the file: for error messages only."""
        wanted = {row: row + 1 for row in rows}
        try:
            for row, (line, _) in enumerate(self._records()):
                if row in wanted:
                    wanted[row] = line
                if row >= max(wanted, default=0):
                    break
        except csv.Error:  # a field beyond the reader's limit: count rows as lines from there on
            pass
        return [wanted[row] for row in rows]

    def _binary(self) -> BinaryIO:
        return cast(BinaryIO, gzip.open(self.path) if self.zipped else self.path.open("rb"))

    def _text(self) -> io.TextIOWrapper:
        encoding = "utf-8-sig" if self.encoding == UTF_8 else self.encoding
        return io.TextIOWrapper(self._binary(), encoding=encoding, errors="replace", newline="")

    def _is_utf8(self) -> bool:
        """Whether all of the file is UTF-8; one that is damaged is, until it is read."""
        decoder = codecs.getincrementaldecoder(UTF_8)()
        try:
            with self._binary() as file:
                for block in iter(lambda: file.read(BLOCK), b""):
                    decoder.decode(block)
                decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
        except (OSError, EOFError, zlib.error):
            return True
        return True

    def _header(self) -> tuple[str, ...]:
        try:
            return tuple(next(self._records())[1])
        except StopIteration:
            raise SnapshotError(f"{self.path} holds no text. Export the table again, with a header line.") from None
        except csv.Error as error:
            raise SnapshotError(f"{self.path} has no readable header ({error}). Export it again as CSV.") from None
        except (OSError, EOFError, zlib.error) as error:
            raise self._damaged(error) from None

    def _only_header(self) -> bool:
        """Whether the file ends with its header; Arrow fails on such a file if the line has no end."""
        try:
            return len(list(itertools.islice(self._records(), 2))) < 2 and self._quotes() % 2 == 0
        except (csv.Error, OSError, EOFError, zlib.error):
            return False

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """(line on which it begins, fields) of every record that is not an empty line, the header first."""
        with self._text() as text:
            reader, line = csv.reader(text, delimiter=self.delimiter), 1
            for record in reader:
                if record:
                    yield line, record
                line = reader.line_num + 1

    def _parse(
        self,
        columns: Sequence[str],
        encoded: Container[str],
        on_bad_row: Callable[[pyarrow.csv.InvalidRow], str] | None,
    ) -> pa.Table:
        threads = on_bad_row is None
        options = self._options(columns, encoded, on_bad_row)
        with self._stream() as stream:
            reads = self._reads(use_threads=threads and self._block() == BLOCK, block_size=self._block())
            return pyarrow.csv.read_csv(stream, reads, *options)

    def _block(self) -> int:
        """How much is read at a time: of a small file no more than there is, since Arrow takes memory for all of it."""
        return BLOCK if self.zipped else min(BLOCK, self.path.stat().st_size + 1)

    def _reads(self, **given: Any) -> pyarrow.csv.ReadOptions:
        return pyarrow.csv.ReadOptions(encoding="utf8" if self.encoding == UTF_8 else self.encoding, **given)

    def _stream(self) -> pa.NativeFile:
        return pa.input_stream(str(self.path), compression="gzip" if self.zipped else None)

    def _options(
        self,
        columns: Sequence[str],
        encoded: Container[str],
        on_bad_row: Callable[[pyarrow.csv.InvalidRow], str] | None = None,
    ) -> tuple[pyarrow.csv.ParseOptions, pyarrow.csv.ConvertOptions]:
        return (
            pyarrow.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True, invalid_row_handler=on_bad_row),
            pyarrow.csv.ConvertOptions(
                column_types={name: CODES if name in encoded else TEXT for name in columns},
                include_columns=list(columns),
                strings_can_be_null=True,
                null_values=[""],
            ),
        )

    def _quotes(self) -> int:
        with self._binary() as file:
            return sum(block.count(b'"') for block in iter(lambda: file.read(BLOCK), b""))

    def _explain(self, columns: Sequence[str]) -> None:
        """Raise the error that says what is wrong with the file, if it is one of the usual ones."""
        try:
            self._refuse_bytes(columns)
            self._refuse_open_quote()
            self._refuse_long()
            self._refuse_ragged(columns)
        except (OSError, EOFError, zlib.error) as error:
            raise self._damaged(error) from None

    def _damaged(self, error: BaseException) -> SnapshotError:
        return SnapshotError(f"{self.path} is damaged or incomplete ({error}). Copy or export it again.")

    def _refuse_bytes(self, columns: Sequence[str]) -> None:
        """Bytes that no text of the encoding has, in a column that is read."""
        with self._binary() as file:
            for number, line in enumerate(file, start=1):
                try:
                    line.decode(self.encoding)
                except UnicodeDecodeError as error:
                    bad, column = line[error.start : error.end], self._bad_field(line)
                    if column is None or column in columns:
                        where = f" in column '{column}'" if column else ""
                        raise SnapshotError(
                            f"{self.path}, line {number}{where}: the byte 0x{bad.hex()} is not {self._called}. "
                            + REMEDY[self.encoding == UTF_8]
                        ) from None

    @property
    def _called(self) -> str:
        return "UTF-8" if self.encoding == UTF_8 else f"{self.encoding} (encoding under [schema.spelling])"

    def _bad_field(self, line: bytes) -> str | None:
        """The column of the first field that is not UTF-8, if the line is a whole record."""
        try:
            fields = next(csv.reader([line.decode("latin-1")], delimiter=self.delimiter), [])
        except csv.Error:  # a bare carriage return, or a field beyond the reader's limit
            return None
        if len(fields) != len(self.header):
            return None
        for name, value in zip(self.header, fields, strict=True):
            try:
                value.encode("latin-1").decode(self.encoding)
            except UnicodeDecodeError:
                return name
        return None

    def _refuse_open_quote(self) -> None:
        """A quote that is never closed swallows the rest of the file, and a line put after its end."""
        if self._quotes() % 2 == 0:
            return
        sentinel, begun, end, last = "\x00", 1, 0, [""]
        with self._text() as text:
            reader = csv.reader(itertools.chain(text, [sentinel]), delimiter=self.delimiter)
            try:
                for record in reader:
                    begun, end, last = end + 1, reader.line_num, record
            except csv.Error:  # the field that never ends exceeds the reader's limit
                begun, last = end + 1, [""]
        if last != [sentinel]:
            raise SnapshotError(
                f'{self.path}, line {begun}: a quote (") is opened and never closed, so the file is incomplete or '
                'a quote inside a value is not doubled (""). Export it again, or correct that line.'
            )

    def _refuse_long(self) -> None:
        """A row that does not fit into a block of the reader's."""
        before = 0
        try:
            for line, _ in self._records():
                before = line
        except csv.Error:
            raise SnapshotError(
                f"{self.path}, after line {before}: a field or a row is too long (rows may have up to "
                f"{BLOCK >> 20} MB). Is a quote or an end of line missing, or a document in a cell? Correct it, or "
                "leave the column out."
            ) from None

    def _refuse_ragged(self, columns: Sequence[str]) -> None:
        """Rows with more or fewer fields than the header: a cut file, or a delimiter inside an unquoted value."""
        bad: list[pyarrow.csv.InvalidRow] = []

        def keep(row: pyarrow.csv.InvalidRow) -> str:
            bad.append(row)
            return "skip"

        if self.encoding == UTF_8 and not self._is_utf8():  # bytes that are no text cannot be shown to `keep`
            same = replace(self, encoding="latin-1")
            same._parse(same._header()[:1], (), keep)
        else:
            self._parse(columns[:1], columns, keep)
        if bad:
            lines = self.lines([row.number - 1 for row in bad[:SHOWN]])
            places = "; ".join(
                f"line {line} has {row.actual_columns}" for line, row in zip(lines, bad[:SHOWN], strict=True)
            )
            more = f" and {len(bad) - SHOWN} more" if len(bad) > SHOWN else ""
            raise SnapshotError(
                f"{self.path}: every line must have {len(self.header)} fields like the header, but {places}{more}. "
                f"{self._ragged_remedy(bad)}"
            )

    def _ragged_remedy(self, bad: Sequence[pyarrow.csv.InvalidRow]) -> str:
        """What to do about lines of another length than the header's."""
        if all(row.actual_columns == len(self.header) + 1 and row.text.endswith(self.delimiter) for row in bad):
            return f"These lines end with a '{self.delimiter}' that the header lacks: leave it out, or add it there."
        return f"Quote values that contain '{self.delimiter}'; if it is the last line, the file is incomplete."


def _collect(reader: pyarrow.csv.CSVStreamingReader) -> pa.Table:
    """All pieces as one table. What parsing leaves free between them would else double the memory by the end."""
    pieces = []
    for piece in reader:
        pieces.append(piece)
        if len(pieces) % RELEASED == 0:
            pa.default_memory_pool().release_unused()
    return pa.Table.from_batches(pieces, reader.schema)
