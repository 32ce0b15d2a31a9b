"""The association attack: on the paper's tables, and against plain sets on random series."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.attacks.association import Association
from reissue.core.boxes import hulls
from reissue.core.domain import Domain
from reissue.core.observed import Members, Observed, Release
from reissue.errors import SettingsError
from tests.support.clinic import TABLE_1B, TABLE_2B, TABLE_3B, TABLE_4, TABLE_5, clinic
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
    with pytest.raises(SettingsError):
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
        boxes = hulls(codes, classes, 3)
        releases.append(Release(number, boxes, np.concatenate([classes, fakes]), shown, members))
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
