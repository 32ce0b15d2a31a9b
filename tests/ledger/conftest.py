"""Fixtures: the catalogue in either database, and a series with one release."""

from __future__ import annotations

from pathlib import Path

import pytest

from reissue.ledger import Ledger, postgresql
from tests.ledger.support import create, publish


@pytest.fixture(params=["sqlite", "postgresql"])
def catalogue_url(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """Where the catalogue lies; for PostgreSQL the password is then known as it would be to a steward."""
    if request.param == "sqlite":
        return None
    monkeypatch.setenv("PGPASSWORD", "secret")
    url: str = request.getfixturevalue("postgresql_url")
    return url


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine: the server gets the time to notice that a killed publisher is gone."""
    monkeypatch.setattr(postgresql, "_PATIENCE", 600.0)


@pytest.fixture
def series(tmp_path: Path) -> Path:
    """A series with one release, its catalogue in SQLite."""
    path = tmp_path / "clinic.reissue"
    with create(path) as ledger:
        publish(ledger, 1)
    return path


@pytest.fixture
def ledger(series: Path) -> Ledger:
    return Ledger.open(series)
