"""The catalogue in PostgreSQL, for teams: the same tables, one database for many series.

The series remembers the address without its password. The password comes from PGPASSWORD, ~/.pgpass, or the address
given when the series is opened.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress

from sqlalchemy import URL, create_engine, make_url, text
from sqlalchemy import Connection as Server
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.pool import NullPool

from reissue.errors import MissingExtra, SeriesBusy, SeriesError
from reissue.ledger.catalogue import Catalogue, Connection, Row

_TABLES_LOCK = 0x7265_6973_7375_65  # two series created at once must not both create the tables
_PATIENCE = 2.0  # seconds until the server has noticed that a killed publisher's connection is gone


def parse_url(address: str) -> URL:
    """An address of a PostgreSQL database; postgresql:// and postgres:// mean psycopg 3 too."""
    try:
        url = make_url(address.replace("postgres://", "postgresql://", 1))
    except ArgumentError as error:
        raise SeriesError(
            "The catalogue's address cannot be read. It looks like postgresql+psycopg://user@host:5432/database."
        ) from error
    if url.get_backend_name() != "postgresql":
        raise SeriesError(
            f"A catalogue cannot be kept in '{url.get_backend_name()}'. Give postgresql+psycopg://user@host/database, "
            "or nothing for SQLite."
        )
    return url.set(drivername="postgresql+psycopg")


def without_password(url: URL) -> str:
    """What the series remembers."""
    kept = {name: value for name, value in url.query.items() if name != "password"}
    bare = URL.create(url.drivername, url.username, None, url.host, url.port, url.database, kept)
    return bare.render_as_string()


class PostgreSQLCatalogue(Catalogue):
    def __init__(self, url: URL, series: str) -> None:
        try:
            # In a database without an encoding text would come as bytes.
            self._engine = create_engine(url, poolclass=NullPool, connect_args={"client_encoding": "utf8"})
        except (ImportError, NoSuchModuleError) as error:
            raise MissingExtra("A catalogue in PostgreSQL needs psycopg: pip install 'reissue[postgresql]'.") from error
        super().__init__(series)
        self.place = f"the PostgreSQL database '{url.database}' on {url.host or url.query.get('host', 'this machine')}"
        self._holding: Server | None = None
        self._lock = int.from_bytes(hashlib.sha256(series.encode()).digest()[:8], "big", signed=True)

    def create_tables(self, connection: Connection) -> None:
        connection.execute("SELECT pg_advisory_xact_lock(:key)", key=_TABLES_LOCK)
        super().create_tables(connection)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self._told("Reading"), self._engine.connect() as connection:
            connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield PostgreSQLTransaction(connection)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Uses the connection that holds the lock: if it was lost, another publisher may be at work, and this fails."""
        if self._holding is not None and self._holding.invalidated:
            raise SeriesError(f"The connection to {self.place} was lost, and the lock with it. Try again.")
        with self._told("Writing"):
            source = self._engine.connect() if self._holding is None else nullcontext(self._holding)
            with source as connection, connection.begin():
                connection.execute(text("SET LOCAL synchronous_commit = 'on'"))
                yield PostgreSQLTransaction(connection)

    @contextmanager
    def held(self) -> Iterator[None]:
        with self._told("Locking"):
            connection = self._engine.connect()
        try:
            with self._told("Locking"):
                self._take(connection)
            self._holding = connection
            yield
        finally:
            self._holding = None
            with suppress(DBAPIError):
                connection.close()  # the server frees the lock with the connection

    def needs_settling(self) -> bool:
        return False

    def settle(self) -> None:
        """The server settles its own transactions."""

    def damage(self) -> str | None:
        """The server checks its own pages; what the rows say is checked against the files."""
        return None

    def _take(self, connection: Server) -> None:
        until = time.monotonic() + _PATIENCE
        while True:
            taken = connection.execute(text("SELECT pg_try_advisory_lock(:key)"), {"key": self._lock}).scalar()
            connection.commit()
            if taken:
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
        except DBAPIError as error:
            reason = str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else type(error.orig).__name__
            raise SeriesError(
                f"{doing} the catalogue in {self.place} failed: {reason}. Check that the server runs and that you may "
                "log in (password: PGPASSWORD, ~/.pgpass, or the address given at open). What was committed before is "
                "untouched."
            ) from error


class PostgreSQLTransaction:
    """A running transaction as the catalogue sees it."""

    def __init__(self, connection: Server) -> None:
        self._connection = connection

    def execute(self, statement: str, **parameters: object) -> Sequence[Row]:
        result = self._connection.execute(text(statement), parameters)
        return [dict(row) for row in result.mappings()] if result.returns_rows else []
