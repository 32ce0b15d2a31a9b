"""Known people under altered identifiers: they are not taken for new ones."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import reissue as ri
from reissue.errors import SeriesError, SnapshotError
from tests.support.hospital import hospital_schema

PEOPLE = [(f"{number:04}", 20 + number % 40, "Male" if number % 2 else "Female", "Flu" if number % 3 else "Asthma")
          for number in range(1, 61)]  # fmt: skip


def snapshot(identifiers: list[str], first: int = 0) -> pa.Table:
    rows = [(name, *PEOPLE[place][1:]) for place, name in enumerate(identifiers, start=first)]
    return pa.table(dict(zip(("name", "age", "gender", "diagnosis"), map(list, zip(*rows, strict=True)), strict=True)))


@pytest.fixture
def series(tmp_path: Path) -> ri.Series:
    made = ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2), seed=1)
    made.publish(snapshot([name for name, *_ in PEOPLE[:40]]))
    return made


@pytest.mark.parametrize(
    ("altered", "shown"),
    [
        (lambda name: name.lstrip("0"), "'10' ('0010' before)"),
        (lambda name: f"00{name}", "'000001' ('0001' before)"),
        (lambda name: f"'{name}", "''0001' ('0001' before)"),
        (lambda name: f'="{name}"', "'=\"0001\"' ('0001' before)"),
        (lambda name: name if int(name) % 4 else name.lstrip("0"), "'12' ('0012' before)"),
    ],
)
def test_identifiers_that_a_program_altered_are_refused(series: ri.Series, altered, shown: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(SnapshotError, match="are those of people of earlier snapshots") as refused:
        series.publish(snapshot([altered(name) for name, *_ in PEOPLE]))
    assert shown in str(refused.value)
    assert "Export the column as text" in str(refused.value)
    assert len(series.releases) == 1, "nothing was published"
    series.publish(snapshot([name for name, *_ in PEOPLE]))


def test_an_audit_does_not_overlook_them(tmp_path: Path) -> None:
    names = [name for name, *_ in PEOPLE]
    release = snapshot(names).drop_columns(["name"])
    given = {"schema": hospital_schema(), "releases": [release, release], "attacks": ["intersection"]}
    assert ri.audit(snapshots=[snapshot(names), snapshot(names)], **given).outcomes
    with pytest.raises(SnapshotError, match=r"column 'name' .*no audit would notice"):
        ri.audit(snapshots=[snapshot(names), snapshot([name.lstrip("0") for name in names])], **given)


def test_forgetting_asks_back(series: ri.Series) -> None:
    with pytest.raises(SeriesError, match="matched exactly; did you mean '0007'"):
        series.forget("7")
    with pytest.raises(SeriesError, match="was it erased before"):
        series.forget("nobody")


def test_other_people_may_come_and_all_may_leave(series: ri.Series) -> None:
    series.publish(snapshot([f"B{number}" for number in range(60)]))
    series.publish(snapshot([name for name, *_ in PEOPLE[:40]]))
    assert [release.counts["new"] for release in series.releases] == [40, 60, 0]


def test_a_few_likenesses_are_chance(series: ri.Series) -> None:
    """Of the six new people four, or all five of five, have the number of somebody who left, but for zeros."""
    names = [name for name, *_ in PEOPLE]
    alike = [name.lstrip("0") for name in names[:4]]
    series.publish(snapshot([*alike, *names[5:40], "x", "y"]))
    with pytest.raises(SnapshotError, match="5 of the 5 new ones"):
        series.publish(snapshot([*alike, "x", "y", *(name.lstrip("0") for name in names[5:10]), *names[10:40]]))
