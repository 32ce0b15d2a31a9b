"""Taking the last release back: it is as if it had never been, but for its number, the fact and the reason."""

from __future__ import annotations

import errno
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

import reissue as ri
from reissue.errors import SeriesError, SettingsError
from tests.support.hospital import FIGURE_1, FIGURE_3, frame, hospital_schema, population


def grown(rows: int) -> object:
    """Of the same people, the first so many."""
    return population(300).slice(0, rows)


@pytest.mark.parametrize(
    ("strategy", "fragments"),
    [
        (ri.MInvariance(m=2), 1),
        (ri.MInvariance(m=2), 2),
        (ri.Standing(k=4, l=2, row_k=3, row_l=2), 1),
        (ri.BCF(k=3), 1),
    ],
    ids=str,
)
def test_a_series_goes_on_as_if_the_release_had_never_been(tmp_path: Path, strategy: ri.Static, fragments: int) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), strategy, seed=5, fragments=fragments) as series:
        series.publish(grown(200))
        caches = {name: sorted(table) for name, table in series._ledger.shelf.caches().items()}
        coding, known = series.coding, len(series._ledger.identities()[0])
        series.publish(grown(300), label="wrong")
        back = series.withdraw("half of the ward is missing", not_handed_out=True)
        assert (back.number, back.label) == (2, "wrong")
        assert {name: sorted(table) for name, table in series._ledger.shelf.caches().items()} == caches
        assert (series.coding, len(series._ledger.identities()[0])) == (coding, known)
        assert series.verify(rebuild=True) == [], "the caches went back"
        assert sorted(path.name for path in (tmp_path / "s" / "releases").iterdir()) == ["0001"]
        third = series.publish(grown(260), label="wrong")
        assert third.number == 3, "the number is not given again; the label is"
        assert third.counts["new"] == 60
        assert series.verify(rebuild=True) == []
        with pytest.raises(SeriesError, match="no release 2; the series has 1, 3"):
            series.membership(2)
        assert len(series.membership(3)) >= 260


def test_files_of_a_withdrawn_release_that_cannot_be_taken_away_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is withdrawn, but whoever looks still finds it: the steward must know. The next opening takes it away."""
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2, c=0.5)) as series:
        series.publish(frame(FIGURE_1))
        series.publish(frame(FIGURE_3))
        shown = tmp_path / "s" / "releases" / "0002"

        def refuse(path: Path, target: Path) -> None:
            if path == shown:
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            path.rename(target)

        with monkeypatch.context() as patch:
            patch.setattr("reissue.ledger.store.move", refuse)
            with pytest.raises(SeriesError, match=r"Removing releases/0002, which is withdrawn failed: Permission"):
                series.withdraw("twice", not_handed_out=True)
        assert shown.exists()
    with ri.Series.open(tmp_path / "s") as series:
        assert [release.number for release in series.releases] == [1]
        assert not shown.exists()
        assert series.verify(rebuild=True) == []


def test_whoever_was_new_in_a_withdrawn_release_was_not_erased(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=3), seed=5) as series:
        series.publish(grown(200))
        series.publish(grown(300))
        series.withdraw("half of the ward is missing", not_handed_out=True)
        series.publish(grown(260))
        assert not any("erased" in note for note in series.audit(attacks=["intersection"]).notes)
        gone = [series.membership(1)["subject"][0].as_py()]
        series.forget(gone, erase=True)
        [note] = [note for note in series.audit(attacks=["intersection"]).notes if "erased" in note]
        assert note.startswith("1 person was erased")


def test_findings_after_a_withdrawal_name_the_releases_that_are_there(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2, c=0.5)) as series:
        series.publish(frame(FIGURE_1), label="May")
        series.publish(frame(FIGURE_1), label="wrong")
        series.withdraw("twice", not_handed_out=True)
        series.publish(frame(FIGURE_3), label="June")
        done = series.audit()
    assert done.breaches
    for finding in done.findings:
        assert set(finding.releases) <= {1, 3}, finding.attack
        assert {number for number, _ in finding.classes} <= {1, 3}
    assert any("release May" in finding.sentence and "release June" in finding.sentence for finding in done.breaches)
    document = done.to_dict()
    assert [(one["number"], one["label"]) for one in document["releases"]] == [(1, "May"), (3, "June")]  # type: ignore[attr-defined]


def test_the_first_release_may_be_withdrawn_and_the_strategy_returns(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2), fragments=2) as series:
        series.publish(population(100), strategy=ri.Static(k=4))
        series.withdraw("too coarse", not_handed_out=True)
        assert (series.releases, series.strategy) == ([], ri.Static(k=2))
        assert series.publish(population(100)).number == 2
        assert series.verify(rebuild=True) == []


def test_values_added_after_the_release_stay(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2)) as series:
        series.publish(frame(FIGURE_1))
        series.publish(frame([*FIGURE_3, ("Zed", 99, "Male", "Gout")]))
        series.extend("gender", ri.Hierarchy.from_nested({"Person": ["Male", "Female", "Other"]}))
        series.withdraw("wrong", not_handed_out=True)
        assert series.verify(rebuild=True) == []
        series.publish(frame([*FIGURE_3, ("Zoe", 34, "Other", "Flu"), ("Zac", 35, "Other", "Gout")]))
        assert series.verify(rebuild=True) == []


def test_what_may_have_been_handed_out_is_not_withdrawn(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2)) as series:
        with pytest.raises(SeriesError, match="nothing to withdraw"):
            series.withdraw("x", not_handed_out=True)
        series.publish(frame(FIGURE_1))
        with pytest.raises(SeriesError, match="publish a corrected snapshot as the next release"):
            series.withdraw("the wrong file")
        with pytest.raises(SettingsError, match="why"):
            series.withdraw(" ", not_handed_out=True)
        assert len(series.releases) == 1


def test_the_log_keeps_everything_with_time_and_user(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2)) as series:
        series.publish(frame(FIGURE_1), label="May")
        series.publish(frame(FIGURE_3))
        series.withdraw("the wrong file", not_handed_out=True)
        series.forget("Bob")
        series.extend("gender", ri.Hierarchy.from_nested({"Person": ["Male", "Female", "Other"]}))
        log = series.log()
    assert sorted(event.what for event in log) == ["extend", "forget", "publish", "withdraw"]
    assert all(event.time and event.user for event in log)
    [withdrawn] = [event for event in log if event.what == "withdraw"]
    assert withdrawn.details == {"release": 2, "label": None, "reason": "the wrong file"}
    assert "Bob" not in json.dumps([dict(event.details) for event in log])


class _StoppedClock(datetime):
    """Everything happens in one second."""

    @classmethod
    def now(cls, tz: object = None) -> _StoppedClock:
        return cls(2026, 1, 1, 12, tzinfo=UTC)


def test_the_log_follows_the_order_of_commits_not_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reissue.ledger.events.datetime", _StoppedClock)
    monkeypatch.setattr("reissue.ledger.stage.datetime", _StoppedClock)
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2)) as series:
        series.extend("gender", ri.Hierarchy.from_nested({"Person": ["Male", "Female", "Other"]}))
        series.publish(frame(FIGURE_1))
        series.forget("Bob")
        series.publish(frame(FIGURE_3))
        series.extend("gender", ri.Hierarchy.from_nested({"Person": ["Male", "Female", "Other", "None"]}))
        series.withdraw("the wrong file", not_handed_out=True)
        series.forget("Tom")
        series.publish(frame(FIGURE_3))
        log = series.log()
    assert {event.time for event in log} == {"2026-01-01T12:00:00+00:00"}
    told = [(event.what, event.details.get("release")) for event in log]
    assert told == [
        ("extend", None),
        ("publish", 1),
        ("forget", None),
        ("extend", None),
        ("withdraw", 2),
        ("forget", None),
        ("publish", 3),
    ]


def test_labels_come_from_files_and_are_not_used_twice(tmp_path: Path) -> None:
    import pyarrow.csv

    file = tmp_path / "2024-01.csv"
    pyarrow.csv.write_csv(frame(FIGURE_1), file)
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2)) as series:
        assert series.publish(file).label == "2024-01"
        pyarrow.csv.write_csv(frame(FIGURE_3), file)
        second = series.publish(file)
        assert (second.label, second.name) == (None, "2"), "a file that is written anew is called by its number"
        with pytest.raises(SettingsError, match="'2024-01' is that of an earlier release"):
            series.publish(file, label="2024-01")
        with pytest.raises(SettingsError, match="empty"):
            series.publish(file, label="")
        assert "Release 2024-01 (" in series.releases[0].describe()
        assert series.releases[0].to_dict()["label"] == "2024-01"
