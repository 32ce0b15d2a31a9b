"""Snapshots straight from PostgreSQL, through ADBC: rows arrive as Arrow, never as Python objects."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from reissue.errors import SnapshotError, import_extra


@dataclass(frozen=True)
class Query:
    """The result of one SELECT; `url` as libpq reads it: postgresql://user@host:port/database."""

    url: str = field(repr=False)  # it may hold a password
    sql: str

    @property
    def name(self) -> str:
        """The source in a message: without the password."""
        return f"{_without_password(self.url)} ({_shorten(self.sql)})"


def parse(text: str) -> Query:
    """'postgresql://host/database#SELECT ...' or '...#schema.table', as given on the command line."""
    url, mark, sql = text.partition("#")
    sql = sql.strip().rstrip(";").strip()
    if not mark or not sql:
        raise SnapshotError(
            f"{_without_password(url)} names a database but no table. Add '#' and a query or a table to it: "
            "'postgresql://host/database#SELECT * FROM patients' or 'postgresql://host/database#patients'."
        )
    if not re.search(r"\s", sql):
        sql = "SELECT * FROM " + ".".join(_identifier(part.strip('"')) for part in sql.split("."))
    return Query(url, sql)


NEEDED = "Reading from PostgreSQL needs a driver: pip install 'reissue[postgresql]'."


def fetch(query: Query, wanted: Sequence[str] | None) -> tuple[tuple[str, ...], pa.Table]:
    """All column names of the result, and the wanted columns that exist; only those travel."""
    import_extra("adbc_driver_postgresql", NEEDED)
    import adbc_driver_manager
    from adbc_driver_postgresql import dbapi

    inner = f"({query.sql.strip().rstrip(';')}\n) AS snapshot"  # a newline ends a trailing comment
    try:
        with dbapi.connect(query.url) as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {inner} LIMIT 0")
            header = tuple(str(column[0]) for column in cursor.description or ())
            chosen = [name for name in (header if wanted is None else wanted) if name in header]
            repeated = len(set(chosen)) < len(chosen) or any(header.count(name) > 1 for name in chosen)
            if repeated or not chosen:
                return header, _none(chosen)
            cursor.execute(f"SELECT {', '.join(map(_identifier, chosen))} FROM {inner}")
            return header, _plain(cursor.fetch_arrow_table())
    except adbc_driver_manager.Error as error:
        text = str(error).replace(query.url, _without_password(query.url))
        raise SnapshotError(
            f"{query.name} cannot be read: {' '.join(text.split())[:300]} "
            "Check the address, the access rights and the query."
        ) from None


def _none(names: Sequence[str]) -> pa.Table:
    return pa.table({name: pa.array([], pa.string()) for name in names})


def _plain(table: pa.Table) -> pa.Table:
    """Types that Arrow does not know (numeric, uuid) arrive as text in a wrapper: unwrap it."""
    for place, column in enumerate(table.schema):
        if isinstance(column.type, pa.BaseExtensionType):
            table = table.set_column(place, column.name, table.column(place).cast(column.type.storage_type))
    return table


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _without_password(url: str) -> str:
    url = re.sub(r"(//[^/@:]*):.*@", r"\1@", url)
    return re.sub(r"([?&]password=)[^&]*", r"\1...", url)


def _shorten(sql: str) -> str:
    line = " ".join(sql.split())
    return line if len(line) <= 60 else line[:57] + "..."
