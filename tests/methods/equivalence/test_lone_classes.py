"""Classes that share nobody: leaving them out changes no answer, and no series of standing classes is too large."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reissue.methods.equivalence import person_matrix
from reissue.methods.equivalence.attack import Equivalence
from reissue.methods.equivalence.person_matrix import leave_out_lone
from reissue.model.observed import Observed
from tests.methods.equivalence.blocks import series_of
from tests.model.test_standing_view import observed, regrouped, series
from tests.support.correlations import random_series


def add_lone_classes(given: Observed, rng: np.random.Generator) -> Observed:
    """The same series with people beside it who are in one class of one release."""
    releases = []
    for release in given.releases:
        assert release.members is not None
        old, fresh = release.members, 1_000 * release.number
        sizes = rng.integers(1, 6, 3)
        classes = np.repeat(np.arange(3), sizes).astype(np.int32) + release.class_count
        values = rng.integers(0, given.value_count, len(classes)).astype(np.int32)
        who = fresh + np.arange(len(classes))
        codes = np.zeros((len(classes), old.codes.shape[1]), dtype=np.int32)
        members = replace(
            old,
            subjects=np.concatenate([old.subjects, who]),
            classes=np.concatenate([old.classes, classes]),
            codes=np.concatenate([old.codes, codes]),
            values=np.concatenate([old.values, values]),
        )
        boxes = np.zeros((3, *release.boxes.shape[1:]), dtype=np.int32)
        releases.append(
            replace(
                release,
                boxes=np.concatenate([release.boxes, boxes]),
                classes=np.concatenate([release.classes, classes]),
                values=np.concatenate([release.values, values]),
                members=members,
            )
        )
    return replace(given, releases=releases)


def test_what_is_shown_about_few_people_is_the_same_without_lone_classes() -> None:
    shown = least = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        whole = add_lone_classes(random_series(rng, values=3, merge=0.3, fakes=seed % 3 == 0)[0], rng)
        attack = Equivalence(e=int(rng.integers(2, 4)), limit=1_000)
        slow, fast = attack.run(whole), attack.run(replace(whole, standing=True))
        people = [{frozenset(one.subjects) for one in outcome.breaches} for outcome in (slow, fast)]
        assert people[0] == people[1], seed
        assert {n: set(who.tolist()) for n, who in slow.at_risk.items() if len(who)} == {
            n: set(who.tolist()) for n, who in fast.at_risk.items() if len(who)
        }
        shown += len(people[0])
        _, bound = leave_out_lone(whole.releases, attack.e)
        least += bound is not None
        if bound is not None and "lower_bound" in fast.measures:
            assert fast.measures["lower_bound"] <= bound
    assert shown > 50
    assert least > 50


def test_a_lone_class_of_one_value_or_of_few_people_is_looked_at() -> None:
    people, classes = np.arange(9, dtype=np.int64), np.repeat(np.arange(3, dtype=np.int32), [4, 4, 1])
    values = np.array([0, 0, 0, 0, 0, 1, 0, 1, 0], dtype=np.int32)
    left, bound = leave_out_lone(series_of([(people, classes, values)], 2).releases, 2)
    assert bound == 4
    assert left[0].numbers is not None
    assert left[0].numbers.tolist() == [0, 2]


def test_classes_are_called_as_they_were() -> None:
    lone, both, one, two = (np.arange(low, low + 4, dtype=np.int64) for low in (0, 10, 20, 30))
    values = np.array([0, 1, 0, 1, 0, 1, 0, 1, 0], dtype=np.int32)
    classes = np.repeat(np.arange(2, dtype=np.int32), [4, 5])
    releases = [
        (np.concatenate([lone + 100 * i, both, some[:1]]), classes, values) for i, some in enumerate([one, two])
    ]
    (found, *_) = Equivalence().run(replace(series_of(releases, 2), standing=True)).breaches
    assert set(found.classes) == {(1, 1), (2, 1)}
    assert set(found.subjects) == {"#20", "#30"}


@pytest.mark.parametrize("most", [0, 20_000])
def test_standing_classes_are_never_too_many(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(person_matrix, "MOST_MIXED", most)
    outcome = Equivalence().run(observed(series()))
    assert not outcome.unfinished
    assert not outcome.breaches
    assert outcome.measures["lower_bound"] >= 8


def test_people_who_are_regrouped_are_looked_at() -> None:
    left, bound = leave_out_lone(observed(regrouped(series())).releases, 2)
    assert sum(release.class_count for release in left) > 50
    assert bound is None or bound >= 2
