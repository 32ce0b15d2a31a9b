"""The catalogue in SQLite: one file, in the series itself.

Rollback journal, not WAL: a finished catalogue is then one file that can be copied, opened in a read-only folder, and
used on a network drive; EXTRA makes a commit survive a power cut. Beside it lies its seal, the SHA-256 of the whole
file, so that even a flipped bit in an unused corner is noticed. The seal reads "open" while a transaction runs.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress

from reissue.errors import LedgerDamaged, ReissueError, SeriesBusy, SeriesError
from reissue.ledger.catalogue import Catalogue, Connection, Row
from reissue.ledger.disk import explain_os_errors, fault, hash_file, write_durably
from reissue.ledger.records import Layout
from reissue.ledger.system import open_owned

_OPEN = b"open\n"
_DAMAGED = ("malformed", "not a database", "no such table", "no such column", "unable to open")


class SQLiteCatalogue(Catalogue):
    def __init__(self, layout: Layout, series: str) -> None:
        super().__init__(series)
        self._layout = layout
        self.place = layout.relative(layout.catalogue)

    @staticmethod
    def create(layout: Layout, series: str) -> SQLiteCatalogue:
        layout.catalogue.unlink(missing_ok=True)
        layout.catalogue.with_name(layout.catalogue.name + "-journal").unlink(missing_ok=True)
        os.close(open_owned(layout.catalogue, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        return SQLiteCatalogue(layout, series)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self._told("Reading"), self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        with explain_os_errors(f"Writing {self._layout.relative(self._layout.seal)}"):
            write_durably(self._layout.seal, _OPEN)
        fault("catalogue.opened")
        try:
            with self._told("Writing"), self._transaction("BEGIN IMMEDIATE") as connection:
                yield connection
        finally:
            with suppress(SeriesError):  # it still says "open": the next publisher settles it
                self._seal()
                fault("catalogue.sealed")

    def held(self) -> AbstractContextManager[None]:
        return nullcontext()  # the lock file is enough: the catalogue lies beside it

    def needs_settling(self) -> bool:
        return self._read_seal() == _OPEN

    def settle(self) -> None:
        if self.needs_settling():
            problem = self._integrity()
            if problem:
                raise LedgerDamaged(f"{self.place}: {problem} Restore private/ from a backup of the series.")
            self._seal()

    def damage(self) -> str | None:
        try:
            problem = self._integrity()
        except SeriesError as error:
            return str(error)
        if problem:
            return problem
        while True:
            seal = self._read_seal()
            if seal == _OPEN:
                return None  # a transaction is running, or was killed; the next publisher settles it
            if seal == self._digest():
                return None
            if seal == self._read_seal():  # else a publisher wrote while we were hashing: look again
                return _describe_seal(seal)

    def _seal(self) -> None:
        with explain_os_errors(f"Writing {self._layout.relative(self._layout.seal)}"):
            write_durably(self._layout.seal, self._digest())

    def _digest(self) -> bytes:
        return hash_file(self._layout.catalogue).encode() + b"\n"

    def _read_seal(self) -> bytes:
        try:
            return self._layout.seal.read_bytes()
        except OSError:
            return b""

    def _integrity(self) -> str | None:
        with self._told("Checking"), closing(self._connect()) as connection:
            found = [str(text) for (text,) in connection.execute("PRAGMA integrity_check(3)")]
        return None if found == ["ok"] else f"SQLite's integrity check says: {'; '.join(found)}."

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Connection]:
        """Connections are opened per transaction: nothing is carried into a forked process, nothing lingers."""
        with closing(self._connect()) as connection:
            connection.execute(begin)
            try:
                yield SQLiteTransaction(connection)
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # closing the connection gives up what cannot be rolled back
                    connection.execute("ROLLBACK")
                raise

    def _connect(self) -> sqlite3.Connection:
        place = self._layout.catalogue
        mode = "rw" if os.access(self._layout.private, os.W_OK) and os.access(place, os.W_OK) else "ro"
        connection = sqlite3.connect(
            f"{place.absolute().as_uri()}?mode={mode}", uri=True, timeout=10.0, isolation_level=None
        )
        try:
            connection.execute("PRAGMA synchronous=EXTRA")
            connection.execute("PRAGMA fullfsync=ON")  # macOS: out of the drive's own memory, too
            connection.execute("PRAGMA secure_delete=ON")
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _told(self, doing: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise self._say(doing, str(error)) from error

    def _say(self, doing: str, reason: str) -> ReissueError:
        low = reason.lower()
        if "locked" in low or "busy" in low:
            return SeriesBusy(f"{doing} {self.place} failed: another process is using it. Try again in a moment.")
        if "full" in low:
            return SeriesError(
                f"{doing} {self.place} failed: the disk is full. Free some space and try again. "
                "What was committed before is untouched."
            )
        if "readonly" in low or "read-only" in low:
            return SeriesError(
                f"{doing} {self.place} failed: it may not be written. Run as the owner of the series, with its disk "
                "mounted for writing."
            )
        if self._layout.catalogue.exists() and not os.access(self._layout.catalogue, os.R_OK):
            return SeriesError(
                f"{self.place} may not be read. Run as the owner of the series, or correct the permissions."
            )
        if doing != "Writing" or any(word in low for word in _DAMAGED):
            return LedgerDamaged(
                f"{self.place}: the catalogue cannot be read ({reason}). Restore private/ from a backup of the series."
            )
        return SeriesError(
            f"{doing} {self.place} failed: {reason}. Check that the disk works and has space, then try again. "
            "What was committed before is untouched."
        )


def _describe_seal(seal: bytes) -> str:
    """Why a catalogue is not trusted whose seal is not its hash."""
    if not seal:
        return "its seal, private/catalogue.sha256, is missing or cannot be read: nobody can tell what it should be."
    if not re.fullmatch(rb"[0-9a-f]{64}\n", seal):
        return "its seal, private/catalogue.sha256, is not what was written: nobody can tell what it should be."
    return "it does not fit its seal, private/catalogue.sha256 (SHA-256 differs): one of them is not what was written."


class SQLiteTransaction:
    """A running transaction as the catalogue sees it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, **parameters: object) -> Sequence[Row]:
        cursor = self._connection.execute(statement, parameters)
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor]
