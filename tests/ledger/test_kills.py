"""Killed at any point, a series is as before or one step further, and complete; and trying again works."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

from reissue.errors import SeriesError
from reissue.ledger import FAULT_POINTS, Ledger
from tests.ledger.support import (
    KILLED,
    assert_is_whole,
    create,
    identifiers,
    in_child,
    make_older,
    publish,
    some_caches,
)

RELEASE_POINTS = [point for point in FAULT_POINTS if point.split(".")[0] in ("stage", "commit", "catalogue")]
BEFORE_THE_COMMIT = [point for point in RELEASE_POINTS if point.startswith("stage")] + [
    "commit.begun",
    "commit.synced",
    "commit.moving",
    "commit.moved",
    "commit.transaction",
    "catalogue.opened",
]


# Where the database makes a difference; the files are handled by the same code.
ON_THE_SERVER = {
    *("create.transaction", "create.catalogue", "create.config", "stage.facts", "commit.moved", "commit.transaction"),
    *("commit.committed", "commit.renamed", "commit.marked", "commit.swept", "forget.transaction", "forget.committed"),
    *("coding.transaction", "caches.committed", "withdraw.transaction", "withdraw.committed"),
    *("upgrade.transaction", "upgrade.committed", "back.transaction", "back.committed"),
}


def on_both(points: Iterable[str]) -> list[object]:
    """Every point with the catalogue in SQLite, those that matter with PostgreSQL."""
    here = [pytest.param("sqlite", point, id=point) for point in points]
    there = [pytest.param("postgresql", point, id=f"{point}-postgresql") for point in points if point in ON_THE_SERVER]
    return [*here, *there]


def test_the_points_cover_every_step() -> None:
    assert len(set(FAULT_POINTS)) == len(FAULT_POINTS)
    assert {point.split(".")[0] for point in FAULT_POINTS} == {
        *("create", "adopt", "stage", "commit", "catalogue", "coding", "caches", "forget", "withdraw", "amend"),
        *("upgrade", "back"),
    }


@pytest.mark.parametrize(
    ("catalogue_url", "point"),
    on_both([point for point in FAULT_POINTS if point.startswith("create")]),
    indirect=["catalogue_url"],
)
def test_a_killed_creation_can_be_tried_again(tmp_path: Path, catalogue_url: str | None, point: str) -> None:
    path = tmp_path / "s"
    assert in_child(lambda: create(path, catalogue_url), point) == KILLED
    if point == "create.renamed":
        assert_is_whole(Ledger.open(path), 0)
        with pytest.raises(SeriesError, match="is a series already"):
            create(path, catalogue_url)
        return
    with pytest.raises(SeriesError, match=r"creation of the series .* was interrupted"):
        Ledger.open(path)
    left = path / ".creating" / "left"  # what an attempt of another version may have left
    left.write_bytes(b"half a file")
    with create(path, catalogue_url) as ledger:
        assert not (path / "private" / "left").exists()
        assert_is_whole(ledger, 0)
        publish(ledger, 1)
    assert_is_whole(Ledger.open(path), 1)


@pytest.mark.parametrize(("catalogue_url", "point"), on_both(RELEASE_POINTS), indirect=["catalogue_url"])
def test_a_killed_publication_is_nothing_or_whole(tmp_path: Path, catalogue_url: str | None, point: str) -> None:
    path = tmp_path / "s"
    with create(path, catalogue_url) as ledger:
        publish(ledger, 1)
    assert in_child(lambda: publish(Ledger.open(path), 2), point) == KILLED
    if not catalogue_url:
        assert_nothing_visible_is_unknown(path)
    expected = 1 if point in BEFORE_THE_COMMIT else 2
    assert_is_whole(Ledger.open(path), expected)
    with Ledger.open(path) as ledger:
        publish(ledger, expected + 1)
    assert_is_whole(Ledger.open(path), expected + 1)


def assert_nothing_visible_is_unknown(path: Path) -> None:
    """What lies in releases/ is in the catalogue, seen without any recovery by the ledger."""
    with sqlite3.connect(path / "private" / "catalogue.sqlite") as catalogue:
        known = {f"{number:04d}" for (number,) in catalogue.execute("SELECT number FROM reissue_releases")}
    catalogue.close()
    assert set(os.listdir(path / "releases")) <= known


@pytest.mark.parametrize("first", ["commit.committed", "commit.renamed", "commit.synced-reveal"])
def test_a_recovery_may_be_killed_too(series: Path, first: str) -> None:
    assert in_child(lambda: publish(Ledger.open(series), 2), first) == KILLED
    again = "commit.renamed" if first == "commit.committed" else "catalogue.opened"
    for point in (again, "catalogue.opened", "commit.marked"):
        assert in_child(lambda: Ledger.open(series), point) == KILLED
        assert_nothing_visible_is_unknown(series)
    assert_is_whole(Ledger.open(series), 2)


CHANGES: dict[str, tuple[Callable[[Ledger], object], Callable[[Ledger], object], object, object]] = {
    # what is done, what is looked at, before, after
    "coding": (lambda one: one.add_coding(3, {"a": 1}), lambda one: one.coding_versions, [1, 2], [1, 2, 3]),
    "caches": (
        lambda one: one.replace_caches({"x": {"y": np.arange(3)}, "z": {}}),
        lambda one: sorted(one.caches()),
        sorted(some_caches(1)),
        ["x", "z"],
    ),
    "forget": (
        lambda one: one.forget([identifiers(1)[4]]),
        lambda one: one.identities()[0].to_pylist(),
        identifiers(1),
        [name for name in identifiers(1) if name != identifiers(1)[4]],
    ),
    "withdraw": (
        lambda one: one.withdraw("a mistake", {}),
        lambda one: ([record.number for record in one.releases], one._state.withdrawn, one.identities()[0].to_pylist()),
        ([1], [], identifiers(1)),
        ([], [1], []),
    ),
    "amend": (
        lambda one: one.add_coding(3, {"a": 1}, {"b": 2}),
        lambda one: (one.coding_versions, "b" in one.meta),
        ([1, 2], False),
        ([1, 2, 3], True),
    ),
    "upgrade": (lambda one: one.upgrade(), lambda one: format_of(one), (1, 1), (2, 2)),
    "back": (lambda one: one.upgrade(back=True), lambda one: format_of(one), (2, 2), (1, 1)),
}
PREPARED: dict[str, list[Callable[[Path], None]]] = {
    "upgrade": [make_older],
    "back": [make_older, lambda path: Ledger.open(path).upgrade()],
}


def format_of(ledger: Ledger) -> tuple[int, int]:
    """What the catalogue and series.json say."""
    return ledger._state.format, json.loads((ledger.path / "private" / "series.json").read_text())["format"]


@pytest.mark.parametrize(
    ("catalogue_url", "point"),
    on_both([point for point in FAULT_POINTS if point.split(".")[0] in CHANGES]),
    indirect=["catalogue_url"],
)
def test_a_killed_change_is_nothing_or_whole(tmp_path: Path, catalogue_url: str | None, point: str) -> None:
    change, look, before, after = CHANGES[point.split(".")[0]]
    path = tmp_path / "s"
    with create(path, catalogue_url) as ledger:
        publish(ledger, 1)
    for prepare in PREPARED.get(point.split(".")[0], []):
        prepare(path)
    assert in_child(lambda: change(Ledger.open(path)), point) == KILLED
    done = point.split(".")[1] in ("committed", "swept", "hidden")
    with Ledger.open(path) as ledger:
        assert look(ledger) == (after if done else before)
        assert ledger.verify() == []
        files = {file.path for file in ledger._state.files.values()}
        assert set(os.listdir(path / "private" / "files")) == files
        assert os.listdir(path / "releases") == [f"{record.number:04d}" for record in ledger.releases]
        assert os.listdir(path / "private" / "staging") == []
        if not done:
            change(ledger)
        assert look(ledger) == after
        publish(ledger, 2, new_coding=False)
        assert ledger.verify() == []


def test_kills_at_any_moment_lose_nothing(tmp_path: Path) -> None:
    """Not only at the named points: a process that publishes without pause is killed again and again."""
    path = tmp_path / "s"
    create(path).close()
    publish(Ledger.open(path), 1)
    started = time.perf_counter()
    publish(Ledger.open(path), 2)
    once = time.perf_counter() - started
    chance = random.Random(7 + int(os.environ.get("REISSUE_KILLS_SEED", "0")))
    published = 2
    for _ in range(int(os.environ.get("REISSUE_KILLS", "60")) // 3):  # `make kills` asks for more
        child = os.fork()
        if child == 0:
            try:
                ledger = Ledger.open(path)
                while True:
                    publish(ledger, len(ledger.releases) + 1)
            finally:
                os._exit(1)
        time.sleep(3 * once * chance.random())
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == KILLED  # it had not failed by itself
        with Ledger.open(path) as ledger:
            assert len(ledger.releases) >= published
            published = len(ledger.releases)
            assert_is_whole(ledger, published)
            publish(ledger, published + 1)
            published += 1
