"""The association attack: on the paper's tables, and against plain sets on random series."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from reissue.errors import SettingsError
from reissue.methods.invariance.attack import Association
from reissue.model.boxes import bounding_boxes
from reissue.model.domain import Domain
from reissue.model.observed import Members, Observed, ObservedRelease
from tests.support.clinic import TABLE_1B, TABLE_2B, TABLE_3B, TABLE_4, TABLE_5, clinic
from tests.support.refusals import names
from tests.support.words import PlainWords


def test_tables_1_and_3_are_2_invariant() -> None:
    outcome = Association(m=2, invariant=True).run(clinic(TABLE_1B, TABLE_3B))
    assert outcome.findings == ()
    assert outcome.measures["m_invariant"] == 1.0
    assert outcome.measures["fewest_possible_values"] == 2.0


def test_tables_1_and_2_tell_that_alice_has_cancer() -> None:
    outcome = Association(m=2).run(clinic(TABLE_1B, TABLE_2B))
    alice = next(finding for finding in outcome.findings if finding.subjects == ("Alice",))
    assert alice.value == "cancer"
    assert alice.releases == (1, 2)
    assert alice.breach
    assert outcome.measures["m_invariant"] == 0.0


def test_merged_tables_are_weakly_but_not_strictly_invariant() -> None:
    measures = Association(m=2).run(clinic(TABLE_4, TABLE_5)).measures
    assert measures["weakly_m_invariant"] == 1.0
    assert measures["m_invariant"] == 0.0


def test_involving_names_only_what_the_release_adds() -> None:
    series = clinic(TABLE_1B, TABLE_2B)
    assert Association(m=2).run(series, involving=1).findings == ()
    assert any(f.subjects == ("Alice",) for f in Association(m=2).run(series, involving=2).findings)


def test_a_value_above_its_share_is_a_breach() -> None:
    lonely = clinic([(["Alice", "Chris", "Bob"], [])])
    finding = Association(m=2).run(lonely).findings[0]
    assert (finding.value, finding.unit) == ("cancer", "share of the class")
    assert finding.level == pytest.approx(2 / 3)


@pytest.mark.parametrize("settings", [{"m": 1}, {"limit": 0}])
def test_settings_out_of_range_are_refused(settings: dict[str, int]) -> None:
    with pytest.raises(SettingsError, match=names(settings)):
        Association(**settings)


def random_series(rng: np.random.Generator) -> Observed:
    values = 4
    truth = rng.integers(0, values, 12).astype(np.int32)
    releases = []
    for number in range(1, int(rng.integers(2, 5))):
        subjects = np.flatnonzero(rng.random(12) < 0.7).astype(np.int64)
        classes = rng.integers(0, 3, len(subjects)).astype(np.int32)
        codes = rng.integers(0, 9, (len(subjects), 1)).astype(np.int32)
        fakes = rng.integers(0, 3, int(rng.integers(0, 2))).astype(np.int32)
        members = Members(subjects, classes, codes, truth[subjects])
        shown = np.concatenate([truth[subjects], rng.integers(0, values, len(fakes)).astype(np.int32)])
        boxes = bounding_boxes(codes, classes, 3)
        releases.append(ObservedRelease(number, boxes, np.concatenate([classes, fakes]), shown, members))
    return Observed(releases, (Domain("a", 0, 8),), values, PlainWords())


def left_by_sets(series: Observed, until: int) -> dict[int, set[int]]:
    left: dict[int, set[int]] = {}
    for release in series.releases[:until]:
        assert release.members is not None
        for subject, its in zip(release.members.subjects, release.members.classes, strict=True):
            shown = {int(v) for v in release.values[release.classes == its]}
            left[int(subject)] = left.get(int(subject), shown) & shown
    return left


def test_candidates_equal_plain_set_intersections() -> None:
    for seed in range(400):
        series = random_series(np.random.default_rng(seed))
        m = 2 + seed % 2
        expected = {s: v for s, v in left_by_sets(series, len(series)).items() if len(v) < m}
        findings = [f for f in Association(m=m).run(series).findings if f.unit == "possible values"]
        assert {f.subjects[0]: f.level for f in findings} == {f"#{s}": len(v) for s, v in expected.items()}


def test_involving_finds_everybody_whom_the_last_release_exposes() -> None:
    for seed in range(400):
        series = random_series(np.random.default_rng(seed))
        last = len(series)
        before, after = left_by_sets(series, last - 1), left_by_sets(series, last)
        newly = {s for s, v in after.items() if len(v) < 2 and (s not in before or len(before[s]) >= 2)}
        found = {
            f.subjects[0] for f in Association(m=2).run(series, involving=last).findings if f.unit == "possible values"
        }
        members = series.releases[-1].members
        assert members is not None
        assert {f"#{s}" for s in newly if s in set(members.subjects.tolist())} <= found
        assert found <= {f"#{s}" for s, v in after.items() if len(v) < 2}


def numbered_by_arrival(series: Observed) -> Observed:
    """The same series with subjects numbered in the order of their first release, as a ledger numbers them."""
    number: dict[int, int] = {}
    releases, first_new = [], 0
    for release in series.releases:
        assert release.members is not None
        first_new = len(number)
        for subject in release.members.subjects.tolist():
            number.setdefault(subject, len(number))
        subjects = np.asarray([number[s] for s in release.members.subjects.tolist()], dtype=np.int64)
        order = np.argsort(subjects)
        members = release.members
        ordered = Members(subjects[order], members.classes[order], members.codes[order], members.values[order])
        releases.append(replace(release, members=ordered))
    return replace(series, releases=releases, first_new=first_new)


def test_knowing_who_is_new_changes_nothing_but_the_search() -> None:
    newcomers = 0
    for seed in range(400):
        series = numbered_by_arrival(random_series(np.random.default_rng(seed)))
        blind = replace(series, first_new=None)
        assert series.releases[-1].members is not None
        assert series.first_new is not None
        newcomers += int((series.releases[-1].members.subjects >= series.first_new).sum())
        for last in range(1, len(series) + 1):
            known = Association(m=2, invariant=bool(seed % 2)).run(series, involving=last)
            searched = Association(m=2, invariant=bool(seed % 2)).run(blind, involving=last)
            assert known.findings == searched.findings
            assert known.measures == searched.measures
            assert {n: s.tolist() for n, s in known.at_risk.items()} == {
                n: s.tolist() for n, s in searched.at_risk.items()
            }
    assert newcomers > 400


def test_new_people_are_not_searched_in_older_releases() -> None:
    class Counting(list[ObservedRelease]):
        asked: ClassVar[list[int]] = []

        def __getitem__(self, index):  # type: ignore[no-untyped-def]
            self.asked.append(index)
            return super().__getitem__(index)

    releases = []
    for number, people in enumerate(([0, 1], [0, 1], [0, 1, 2, 3]), start=1):
        subjects, classes = np.asarray(people, dtype=np.int64), np.asarray(people, dtype=np.int32) // 2
        codes, values = np.zeros((len(people), 1), dtype=np.int32), np.asarray(people, dtype=np.int32)
        boxes = bounding_boxes(codes, classes, int(classes.max()) + 1)
        releases.append(ObservedRelease(number, boxes, classes, values, Members(subjects, classes, codes, values)))
    series = Observed(Counting(releases), (Domain("a", 0, 8),), 4, PlainWords(), first_new=2)
    assert not Association(m=2).run(series, involving=3).findings
    assert 0 not in Counting.asked
