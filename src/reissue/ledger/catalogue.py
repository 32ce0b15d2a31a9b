"""The catalogue: which files and releases a series has, in one transactional database (SQLite or PostgreSQL)."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Any, Protocol, TypeVar

from reissue.errors import LedgerDamaged, SeriesError
from reissue.ledger.records import FORMAT, OLDER_FORMATS, CatalogueState, PrivateFile, PublicFile, ReleaseRecord

Row = Mapping[str, Any]
T = TypeVar("T")

# the tables, in SQL that SQLite and PostgreSQL both understand; every row names its series, so that several can share
# one database
SERIES = "reissue_series"
FILES = "reissue_files"
RELEASES = "reissue_releases"
PUBLIC = "reissue_public"
CREATED = (SERIES, FILES, RELEASES, PUBLIC)

CREATE = (
    f"""CREATE TABLE IF NOT EXISTS {SERIES} (
        id VARCHAR(32) NOT NULL PRIMARY KEY,
        format INTEGER NOT NULL,
        created VARCHAR(40) NOT NULL,
        seed TEXT NOT NULL, -- as text: it may exceed 64 bits
        next_subject BIGINT NOT NULL,
        key_check VARCHAR(64) NOT NULL, -- empty if the series is not encrypted
        pointer TEXT NOT NULL,
        config_sha256 VARCHAR(64) NOT NULL
    )""",
    f"""CREATE TABLE IF NOT EXISTS {FILES} (
        series VARCHAR(32) NOT NULL,
        role VARCHAR(16) NOT NULL,
        name VARCHAR(255) NOT NULL,
        release INTEGER NOT NULL,
        sha256 VARCHAR(64) NOT NULL,
        size BIGINT NOT NULL,
        salt VARCHAR(32) NOT NULL,
        PRIMARY KEY (series, role, name)
    )""",
    f"""CREATE TABLE IF NOT EXISTS {RELEASES} (
        series VARCHAR(32) NOT NULL,
        number INTEGER NOT NULL,
        created VARCHAR(40) NOT NULL,
        strategy TEXT NOT NULL,
        settings TEXT NOT NULL,
        seed TEXT NOT NULL,
        coding_version INTEGER NOT NULL,
        counts TEXT NOT NULL,
        steps TEXT NOT NULL,
        revealed BOOLEAN NOT NULL,
        PRIMARY KEY (series, number)
    )""",
    f"""CREATE TABLE IF NOT EXISTS {PUBLIC} (
        series VARCHAR(32) NOT NULL,
        release INTEGER NOT NULL,
        path VARCHAR(1000) NOT NULL,
        sha256 VARCHAR(64) NOT NULL,
        size BIGINT NOT NULL,
        PRIMARY KEY (series, release, path)
    )""",
)

# what is read of each table
_SERIES = "format, seed, next_subject, key_check, pointer, config_sha256"
_FILES = "role, name, release, sha256, size, salt"
_RELEASES = "number, created, strategy, settings, seed, coding_version, counts, steps, revealed"
_PUBLIC = "release, path, sha256, size"
_NUMBERED = ("coding", "event")  # roles whose files are named by numbers
_NUMBERS = {"format", "next_subject", "release", "size", "number", "coding_version", "revealed"}


class Connection(Protocol):
    """A transaction of either database."""

    def execute(self, statement: str, **parameters: object) -> Sequence[Row]:
        """Run one statement in which parameters are written :name; the rows that it finds."""


class Catalogue(ABC):
    """What both databases share. `place` is how messages call it."""

    place: str

    def __init__(self, series: str) -> None:
        self._series = series
        self._made: dict[tuple[object, ...], Any] = {}

    # What a database does in its own way

    @abstractmethod
    def reading(self) -> AbstractContextManager[Connection]:
        """One consistent view."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Connection]:
        """One transaction: all of it, durably, or nothing."""

    @abstractmethod
    def held(self) -> AbstractContextManager[None]:
        """Keep other publishers out as far as the database can. Raises SeriesBusy."""

    @abstractmethod
    def needs_settling(self) -> bool:
        """Whether a transaction is running, or was killed."""

    @abstractmethod
    def settle(self) -> None:
        """After a kill: make the catalogue's own check right again."""

    @abstractmethod
    def damage(self) -> str | None:
        """What is wrong with the database itself, or None."""

    # What both do in the same way

    def create_tables(self, connection: Connection) -> None:
        for statement in CREATE:
            connection.execute(statement)

    def add_series(self, connection: Connection, row: dict[str, object], files: Iterable[PrivateFile]) -> None:
        """Record a new series; rows that a killed attempt left under the same id are replaced."""
        self.replace_rows(connection, dict.fromkeys(CREATED, ()))
        _insert(connection, SERIES, id=self._series, **row)
        self.put_files(connection, files)

    def put_files(self, connection: Connection, files: Iterable[PrivateFile]) -> None:
        """Refer to these files; a file of the same role and name is no longer referred to."""
        files = list(files)
        self.drop_these(connection, files)
        for file in files:
            _insert(connection, FILES, series=self._series, **asdict(file))

    def drop_files(self, connection: Connection, role: str) -> None:
        connection.execute(
            f"DELETE FROM {FILES} WHERE series = :series AND role = :role", series=self._series, role=role
        )

    def drop_these(self, connection: Connection, files: Iterable[PrivateFile]) -> None:
        for file in files:
            connection.execute(
                f"DELETE FROM {FILES} WHERE series = :series AND role = :role AND name = :name",
                series=self._series,
                role=file.role,
                name=file.name,
            )

    def put_next_subject(self, connection: Connection, number: int) -> None:
        connection.execute(
            f"UPDATE {SERIES} SET next_subject = :number WHERE id = :series", number=number, series=self._series
        )

    def put_release(self, connection: Connection, record: ReleaseRecord) -> None:
        """Record a release that is not revealed yet."""
        row = {
            "number": record.number,
            "created": record.created,
            "seed": str(record.seed),
            "coding_version": record.coding_version,
            "revealed": False,
        }
        _insert(connection, RELEASES, series=self._series, **row, **_to_words(record))
        for file in record.files:
            row = {"release": record.number, "path": file.name, "sha256": file.sha256, "size": file.size}
            _insert(connection, PUBLIC, series=self._series, **row)

    def put_words(self, connection: Connection, record: ReleaseRecord) -> None:
        """Keep the words of a recorded release as this record has them."""
        words = _to_words(record)
        values = ", ".join(f"{name} = :{name}" for name in words)
        statement = f"UPDATE {RELEASES} SET {values} WHERE series = :series AND number = :number"
        connection.execute(statement, series=self._series, number=record.number, **words)

    def put_format(self, connection: Connection, number: int, pointer: str) -> None:
        statement = f"UPDATE {SERIES} SET format = :number, pointer = :pointer WHERE id = :series"
        connection.execute(statement, number=number, pointer=pointer, series=self._series)

    def copy_rows(self) -> dict[str, list[Row]]:
        """All rows of the series, by table."""
        with self.reading() as connection:
            return {
                table: [dict(row) for row in connection.execute(_select_rows("SELECT *", table), series=self._series)]
                for table in CREATED
            }

    def replace_rows(self, connection: Connection, rows: Mapping[str, Iterable[Row]]) -> None:
        """Put rows that were copied in the place of those that are there."""
        for table in CREATED:
            connection.execute(_select_rows("DELETE", table), series=self._series)
            for row in rows[table]:
                _insert(connection, table, **row)

    def drop_release(self, connection: Connection, number: int) -> None:
        """Forget a release and the files that belong to it alone."""
        for table, column in ((FILES, "release"), (PUBLIC, "release"), (RELEASES, "number")):
            connection.execute(
                f"DELETE FROM {table} WHERE series = :series AND {column} = :number", series=self._series, number=number
            )

    def mark_revealed(self, connection: Connection, number: int) -> None:
        connection.execute(
            f"UPDATE {RELEASES} SET revealed = :revealed WHERE series = :series AND number = :number",
            revealed=True,
            series=self._series,
            number=number,
        )

    def load(self) -> CatalogueState:
        """Everything the catalogue says, read at one moment. O(files + releases)."""
        with self.reading() as connection:
            found = connection.execute(f"SELECT {_SERIES} FROM {SERIES} WHERE id = :series", series=self._series)
            files = self._all(connection, _FILES, FILES, "role, name")
            releases = self._all(connection, _RELEASES, RELEASES, "number")
            public = self._all(connection, _PUBLIC, PUBLIC, "release, path")
        if not found:
            raise LedgerDamaged(
                f"private/series.json: {self.place} does not know the series it names (id {self._series}). "
                "Give the database with which the series was created, or restore both from a backup."
            )
        for one in (*found, *public):
            self._check_kinds(one)
        row = found[0]
        if row["format"] not in (FORMAT, *OLDER_FORMATS):
            raise SeriesError(
                f"{self.place} has format {row['format']}; this version of Reissue reads format {FORMAT}."
            )
        shown: dict[int, list[PublicFile]] = {}
        for one in public:
            shown.setdefault(one["release"], []).append(PublicFile(one["path"], one["sha256"], one["size"]))
        try:
            kept, self._made = self._made, {}
            private = [self._make(kept, one, _file_from, ()) for one in files]
            records = [self._make(kept, one, _record_from, tuple(shown.get(one["number"], ()))) for one in releases]
            return CatalogueState(
                seed=int(row["seed"]),
                next_subject=row["next_subject"],
                key_check=row["key_check"],
                pointer=row["pointer"],
                config_sha256=row["config_sha256"],
                format=row["format"],
                files={(file.role, file.name): file for file in private},
                releases=tuple(records),
                waiting=tuple(one["number"] for one in releases if not one["revealed"]),
            )
        except (ValueError, TypeError) as error:
            raise self._damaged(str(error)) from error

    def _make(
        self,
        kept: Mapping[tuple[object, ...], Any],
        row: Row,
        make: Callable[[Row, tuple[PublicFile, ...]], T],
        shown: tuple[PublicFile, ...],
    ) -> T:
        """What a row says: made anew only if it says something else than when it was last read."""
        key = (make, *row.values(), shown)
        if key not in kept:
            self._check_kinds(row)
        made: T = kept[key] if key in kept else make(row, shown)
        self._made[key] = made
        return made

    def _check_kinds(self, row: Row) -> None:
        """SQLite keeps any kind of cell in any column."""
        for name, cell in row.items():
            right = isinstance(cell, int) and cell >= 0 if name in _NUMBERS else isinstance(cell, str)
            if name == "name" and row["role"] in _NUMBERED:
                right = right and cell.isdecimal()
            if not right:
                raise self._damaged(f"{name} is {cell!r:.40}")

    def _damaged(self, reason: str) -> LedgerDamaged:
        return LedgerDamaged(
            f"{self.place}: a row is not what was written ({reason}). Restore private/ from a backup of the series."
        )

    def _all(self, connection: Connection, columns: str, table: str, order: str) -> Sequence[Row]:
        statement = f"SELECT {columns} FROM {table} WHERE series = :series ORDER BY {order}"
        return connection.execute(statement, series=self._series)


def _insert(connection: Connection, table: str, **row: object) -> None:
    names = ", ".join(row)
    places = ", ".join(f":{name}" for name in row)
    connection.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", **row)


def _select_rows(act: str, table: str) -> str:
    return f"{act} FROM {table} WHERE {'id' if table == SERIES else 'series'} = :series"


def _to_words(record: ReleaseRecord) -> dict[str, str]:
    return {
        "strategy": record.strategy,
        "settings": json.dumps(dict(record.settings)),
        "counts": json.dumps(dict(record.counts)),
        "steps": json.dumps({"sealed": record.sealed} if record.sealed else list(record.steps), ensure_ascii=False),
    }


def _file_from(row: Row, _: tuple[PublicFile, ...]) -> PrivateFile:
    return PrivateFile(**row)


def _record_from(row: Row, files: tuple[PublicFile, ...]) -> ReleaseRecord:
    steps, settings, counts = (json.loads(row[name]) for name in ("steps", "settings", "counts"))
    sealed = steps.get("sealed") if isinstance(steps, dict) else ""
    if not (isinstance(settings, dict) and isinstance(counts, dict) and isinstance(steps, dict | list)):
        raise ValueError(f"steps, settings and counts of release {row['number']} are of another kind")
    if not isinstance(sealed, str) or not all(isinstance(text, str) for text in steps):
        raise ValueError(f"the words about release {row['number']} are no text")
    return ReleaseRecord(
        number=row["number"],
        created=row["created"],
        strategy=row["strategy"],
        settings=settings,
        seed=int(row["seed"]),
        coding_version=row["coding_version"],
        counts=counts,
        steps=() if sealed else tuple(steps),
        sealed=sealed,
        files=files,
    )
