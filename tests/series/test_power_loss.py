"""The power may fail at any instant: what is seen is on disk, and a series opens as before or one step further."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import reissue as ri
from reissue.documents import write_json, write_text
from reissue.errors import SeriesError, SettingsError
from tests.audit.figures import FIRST, SECOND, SNAPSHOTS
from tests.support.hospital import FIGURE_1, FIGURE_3, frame, hospital_schema, write_config
from tests.support.power import EXTRA, Disk, Moment, put_back

SERIES = "s"


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A series with one release."""
    path = tmp_path_factory.mktemp("power") / SERIES
    with ri.Series.create(path, hospital_schema(), ri.Static(k=2), seed=1) as series:
        series.publish(frame(FIGURE_1))
    return path


def publish(root: Path) -> None:
    with ri.Series.open(root / SERIES) as series:
        series.publish(frame(FIGURE_3))


def forget(root: Path) -> None:
    with ri.Series.open(root / SERIES) as series:
        series.forget("Bob")


def extend(root: Path) -> None:
    with ri.Series.open(root / SERIES) as series:
        series.extend("gender", ri.Hierarchy.from_nested({"Person": ["Male", "Female", "Other"]}))


def withdraw(root: Path) -> None:
    with ri.Series.open(root / SERIES) as series:
        series.withdraw("the wrong file", not_handed_out=True)


def known(series: ri.Series) -> object:
    return sorted(series._ledger.identities()[0].to_pylist())


PEOPLE = ["Bob", "Eve", "Mike", "Tom"]
CHANGES: dict[str, tuple[Callable[[Path], None], Callable[[ri.Series], object], object, object]] = {
    # what is done, what is looked at, before, after
    "publish": (publish, lambda series: [one.number for one in series.releases], [1], [1, 2]),
    "forget": (forget, known, PEOPLE, [name for name in PEOPLE if name != "Bob"]),
    "withdraw": (withdraw, lambda series: (len(series.releases), known(series)), (1, PEOPLE), (0, [])),
    "extend": (extend, lambda series: series._ledger.coding_versions, [1], [1, 2]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_series_is_as_before_or_one_step_further(name: str, origin: Path, tmp_path: Path) -> None:
    change, look, before, after = CHANGES[name]
    disk = Disk(tmp_path / "disk")
    shutil.copytree(origin, disk.root / SERIES)
    with disk.watched():
        change(disk.root)
    assert_in_order(disk)
    found = set()
    for number, (fate, moment, tree) in enumerate(disk.outages()):
        path = put_back(tree, tmp_path / f"after{number}") / SERIES
        with ri.Series.open(path) as series:
            state = look(series)
            assert state in (before, after), fate
            assert series.verify(rebuild=True) == [], fate
            assert not list((path / "private" / "staging").iterdir()), fate
            assert sorted(os.listdir(path / "releases")) == [f"{one.number:04d}" for one in series.releases], fate
        if moment.event == "done" or (name == "publish" and visible(moment, disk)):
            assert state == after, f"{fate}: what was seen, or told as done, is lost"
        found.add(str(state))
        shutil.rmtree(path.parent)
    assert len(found) == 2, "both must have occurred, or nothing is proved"


def visible(moment: Moment, disk: Disk) -> bool:
    """Whether outsiders see the second release."""
    folder = os.stat(disk.root).st_ino
    for name in (SERIES, "releases"):
        folder = moment.now.names[folder][name]
    return "0002" in moment.now.names[folder]


def assert_in_order(disk: Disk) -> None:
    """What is renamed is on disk first, and the folder that gets it is forced to disk before anything is committed."""
    assert disk.levels == {EXTRA}, "SQLite forces even the removal of its journal to disk"
    assert "COMMIT" in disk.events
    for target, sure in disk.renames:
        assert sure, f"{target} got its name before its content was on disk"
    waiting: set[str] = set()
    for event in disk.events:
        if event.startswith(("rename ", "replace ")):
            waiting.add(os.path.dirname(event.split(" -> ")[1]))
        elif event.startswith("fsync "):
            waiting.discard(event.removeprefix("fsync "))
        elif event in ("before COMMIT", "done"):
            assert not waiting, f"{event}: new names in {waiting} are not on disk"


def create(root: Path) -> None:
    ri.Series.create(root / SERIES, hospital_schema(), ri.Static(k=2), seed=1).close()


def adopt(root: Path) -> None:
    ri.adopt(
        root / SERIES, [FIRST, SECOND], list(SNAPSHOTS), schema=hospital_schema(), strategy=ri.Static(k=2)
    ).series.close()


@pytest.mark.parametrize(("make", "releases"), [(create, 0), (adopt, 2)], ids=["create", "adopt"])
def test_a_new_series_is_whole_or_can_be_made_again(
    make: Callable[[Path], None], releases: int, tmp_path: Path
) -> None:
    disk = Disk(tmp_path / "disk")
    disk.root.mkdir()
    with disk.watched():
        make(disk.root)
    assert_in_order(disk)
    outcomes = set()
    for number, (fate, moment, tree) in enumerate(disk.outages()):
        root = put_back(tree, tmp_path / f"after{number}")
        whole = opens(root / SERIES)
        assert whole or moment.event != "done", f"{fate}: it was told as done"
        if not whole and make is adopt and number % 12:  # it takes a while
            continue
        if not whole:
            make(root)
        with ri.Series.open(root / SERIES) as series:
            assert len(series.releases) == releases, fate
            assert series.verify(rebuild=True) == [], fate
        outcomes.add(whole)
        shutil.rmtree(root)
    assert outcomes == {True, False}


def test_an_unused_series_that_is_replaced_is_the_old_one_the_new_one_or_beside(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "disk")
    create(disk.root)
    old, new = ri.Static(k=2), ri.Static(k=2, c=0.9)
    config = write_config(tmp_path, "c = 0.9\n")
    with disk.watched():
        ri.Series.from_config(disk.root / SERIES, config, seed=1, replace_unused=True).close()
    assert_in_order(disk)
    outcomes = set()
    for number, (fate, moment, tree) in enumerate(disk.outages()):
        root = put_back(tree, tmp_path / f"after{number}")
        place = root / SERIES if opens(root / SERIES) else next(root.glob(f"{SERIES}.replaced-*"))
        with ri.Series.open(place) as series:
            found = (place.name == SERIES, series.strategy)
            assert found != (False, new), fate
            assert series.verify() == [], fate
        assert moment.event != "done" or found == (True, new), f"{fate}: it was told as done"
        outcomes.add(found[1])
        shutil.rmtree(root)
    assert outcomes == {old, new}


def test_an_unused_series_that_cannot_be_replaced_is_back_in_its_place(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "disk")
    create(disk.root)
    config = write_config(tmp_path)
    with disk.watched(), pytest.raises(SettingsError, match="seed is -1"):
        ri.Series.from_config(disk.root / SERIES, config, seed=-1, replace_unused=True)
    assert len(disk.renames) == 2, "away and back, or nothing is proved"
    for number, (fate, moment, tree) in enumerate(disk.outages()):
        root = put_back(tree, tmp_path / f"after{number}")
        places = sorted(root.iterdir())
        with ri.Series.open(places[0]) as series:
            assert series.verify() == [], fate
        assert moment.event != "done" or places == [root / SERIES], f"{fate}: it was back"
        shutil.rmtree(root)


def opens(path: Path) -> bool:
    try:
        ri.Series.open(path).close()
    except SeriesError:
        return False
    return True


def test_a_report_is_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "disk")
    disk.root.mkdir()
    report, document = disk.root / "report.html", disk.root / "audit.json"
    report.write_text("of last month")
    with disk.watched():
        write_text("of this month", report)
        write_json({"month": 2}, document)
    assert all(sure for _, sure in disk.renames)
    for fate, moment, tree in disk.outages():
        found = tree["report.html"]
        assert found in (b"of last month", b"of this month"), fate
        if moment.event == "done":
            assert found == b"of this month", fate
            assert b'"month": 2' in (tree["audit.json"] or b""), fate


def test_the_disk_of_these_tests_forgets(tmp_path: Path) -> None:
    """Or they would prove nothing: a file that is not forced to disk may be empty, a name may be gone."""
    root = tmp_path / "disk"
    root.mkdir()
    (root / "old").write_text("before")
    disk = Disk(root)
    with disk.watched():
        (root / "new").write_text("after")
        os.replace(root / "new", root / "old")
    found = {tree.get("old") for fate, moment, tree in disk.outages() if moment.event == "done"}
    assert found >= {b"before", b""}
    assert disk.renames == [("disk/old", False)]
    with pytest.raises(AssertionError, match="SQLite"):
        assert_in_order(disk)
