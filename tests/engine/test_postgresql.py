"""Snapshots from a real PostgreSQL."""

from __future__ import annotations

import datetime

import psycopg
import pytest

from reissue.engine.postgresql import Query
from reissue.engine.read import find, missing_columns
from reissue.errors import SnapshotError

ROWS = [
    ("p1", 34, "00123", "1.50", datetime.date(2020, 2, 29), "flu"),
    ("p2", 51, None, "20", datetime.date(1969, 7, 20), 'say "x", y'),
]


@pytest.fixture(scope="module")
def clinic(postgresql_url: str) -> str:
    with psycopg.connect(postgresql_url) as connection:
        connection.execute("DROP SCHEMA IF EXISTS health CASCADE")
        connection.execute("CREATE SCHEMA health")
        connection.execute(
            'CREATE TABLE health."Patients" (id text, age int, zip char(5), fee numeric, born date, "what, so" text, '
            "secret bytea)"
        )
        with connection.cursor() as cursor:
            cursor.executemany('INSERT INTO health."Patients" VALUES (%s, %s, %s, %s::numeric, %s, %s, NULL)', ROWS)
    return postgresql_url


def test_a_table_by_its_name(clinic: str) -> None:
    found = find(f"{clinic}#health.Patients", ["id", "age", "zip", "fee", "born", "what, so"])
    assert found.header[-1] == "secret"
    table = found.table.sort_by("id")
    assert list(zip(*table.to_pydict().values(), strict=True)) == [
        (*row[:3], *row[3:]) for row in (ROWS[0], (*ROWS[1][:2], None, *ROWS[1][3:]))
    ]


def test_a_query(clinic: str) -> None:
    sql = """SELECT id AS patient, age, "what, so" FROM health."Patients" WHERE age > 40 -- only the old"""
    for source in (Query(clinic, sql), f"{clinic}#{sql}", f"{clinic}#{sql}\n;"):
        assert find(source, ["patient", "age"]).table.to_pydict() == {"patient": ["p2"], "age": [51]}


def test_a_missing_column_is_named(clinic: str) -> None:
    [told] = missing_columns(["Age"], find(f"{clinic}#health.Patients", ["Age"]).header)
    assert "'Age' is missing. Did you mean 'age'" in told


def test_columns_of_one_name_are_refused_where_they_are_wanted(clinic: str) -> None:
    twins = Query(clinic, 'SELECT id, age AS id, zip FROM health."Patients"')
    with pytest.raises(SnapshotError, match="has more than one column named 'id'"):
        find(twins, ["id", "zip"])
    assert find(twins, ["zip"]).table["zip"].to_pylist() == ["00123", None]


@pytest.mark.parametrize("sql", ["SELECT * FROM nowhere", "SELECT FROM WHERE", "DROP TABLE health.x"])
def test_a_wrong_query(clinic: str, sql: str) -> None:
    with pytest.raises(SnapshotError, match="Check the address, the access rights and the query") as caught:
        find(Query(clinic, sql), ["id"])
    assert "secret@" not in str(caught.value)


def test_a_wrong_password_is_refused_and_not_shown(clinic: str) -> None:
    with pytest.raises(SnapshotError, match="cannot be read") as caught:
        find(clinic.replace("secret", "hunter2") + "#health.Patients", ["id"])
    assert "hunter2" not in str(caught.value)


def test_without_the_driver_the_message_says_what_to_install(clinic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from reissue.errors import MissingExtra

    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)
    with pytest.raises(MissingExtra, match=r"reissue\[postgresql\]"):
        find(f"{clinic}#health.Patients", ["id"])
