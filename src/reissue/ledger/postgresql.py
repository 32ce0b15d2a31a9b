"""The catalogue in PostgreSQL, for teams: the same tables, one database for many series.

The series remembers the address without its password. The password comes from PGPASSWORD, ~/.pgpass, or the address
given when the series is opened.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from reissue.errors import SeriesBusy, SeriesError, import_extra
from reissue.ledger.catalogue import Catalogue, Connection, Row

if TYPE_CHECKING:
    from psycopg import Connection as Server

    Rows = Server[dict[str, Any]]

NEEDED = "A catalogue in PostgreSQL needs psycopg: pip install 'reissue[postgresql]'."
_TABLES_LOCK = 0x7265_6973_7375_65  # two series created at once must not both create the tables
_PATIENCE = 2.0  # seconds until the server has noticed that a killed publisher's connection is gone


def parse_url(address: str) -> str:
    """An address of a PostgreSQL database as libpq reads it; postgres:// and postgresql+psycopg:// mean the same."""
    scheme, separator, rest = address.partition("://")
    if not separator:
        raise SeriesError("The catalogue's address cannot be read. It looks like postgresql://user@host:5432/database.")
    kind = scheme.partition("+")[0]
    if kind not in ("postgresql", "postgres"):
        raise SeriesError(
            f"A catalogue cannot be kept in '{kind}'. Give postgresql://user@host/database, or nothing for SQLite."
        )
    return f"postgresql://{rest}"


def without_password(url: str) -> str:
    """What the series remembers."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    kept = [(name, value) for name, value in parse_qsl(parts.query) if name != "password"]
    return urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}{at}{host}", query=urlencode(kept)))


class PostgreSQLCatalogue(Catalogue):
    def __init__(self, url: str, series: str) -> None:
        super().__init__(series)
        self._url = url
        self._driver = import_extra("psycopg", NEEDED)
        parts = urlsplit(url)
        host = parts.hostname or dict(parse_qsl(parts.query)).get("host", "this machine")
        self.place = f"the PostgreSQL database '{parts.path.strip('/')}' on {host}"
        self._holding: Rows | None = None
        self._lock = int.from_bytes(hashlib.sha256(series.encode()).digest()[:8], "big", signed=True)

    def create_tables(self, connection: Connection) -> None:
        connection.execute("SELECT pg_advisory_xact_lock(:key)", key=_TABLES_LOCK)
        super().create_tables(connection)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self._told("Reading"), closing(self._connect()) as connection:
            connection.isolation_level = self._driver.IsolationLevel.REPEATABLE_READ
            with connection.transaction():
                yield PostgreSQLTransaction(connection)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Uses the connection that holds the lock: if it was lost, another publisher may be at work, and this fails."""
        if self._holding is not None and self._holding.closed:
            raise SeriesError(f"The connection to {self.place} was lost, and the lock with it. Try again.")
        with self._told("Writing"):
            source = closing(self._connect()) if self._holding is None else nullcontext(self._holding)
            with source as connection, connection.transaction():
                connection.execute("SET LOCAL synchronous_commit = 'on'")
                yield PostgreSQLTransaction(connection)

    @contextmanager
    def held(self) -> Iterator[None]:
        with self._told("Locking"):
            connection = self._connect()
        with closing(connection):  # the server frees the lock with the connection
            with self._told("Locking"):
                self._take(connection)
            self._holding = connection
            try:
                yield
            finally:
                self._holding = None

    def needs_settling(self) -> bool:
        return False

    def settle(self) -> None:
        """The server settles its own transactions."""

    def damage(self) -> str | None:
        """The server checks its own pages; what the rows say is checked against the files."""
        return None

    def _connect(self) -> Rows:
        # In a database without an encoding text would come as bytes.
        opened: Rows = self._driver.connect(
            self._url, autocommit=True, client_encoding="utf8", row_factory=self._driver.rows.dict_row
        )
        return opened

    def _take(self, connection: Rows) -> None:
        until = time.monotonic() + _PATIENCE
        while True:
            found = connection.execute("SELECT pg_try_advisory_lock(%s) AS taken", (self._lock,)).fetchone()
            if found is not None and found["taken"]:
                return
            if time.monotonic() > until:
                raise SeriesBusy(
                    f"Another publisher holds this series in {self.place}. Wait until it has finished, then try again."
                )
            time.sleep(0.05)

    @contextmanager
    def _told(self, doing: str) -> Iterator[None]:
        try:
            yield
        except self._driver.Error as error:
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise SeriesError(
                f"{doing} the catalogue in {self.place} failed: {reason}. Check that the server runs and that you may "
                "log in (password: PGPASSWORD, ~/.pgpass, or the address given at open). What was committed before is "
                "untouched."
            ) from error


class PostgreSQLTransaction:
    """A running transaction as the catalogue sees it."""

    def __init__(self, connection: Rows) -> None:
        self._connection = connection

    def execute(self, statement: str, **parameters: object) -> Sequence[Row]:
        written = re.sub(r":([a-z_0-9]+)", r"%(\1)s", statement)
        cursor = self._connection.execute(written.encode(), parameters or None)
        return cursor.fetchall() if cursor.description else []
