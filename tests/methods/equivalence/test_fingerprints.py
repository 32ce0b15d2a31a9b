"""Attacks of one and two people on a side, by all classes together: against linear algebra, and by all worlds."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from reissue.arrays.types import Float64
from reissue.methods.equivalence.attack import Equivalence
from reissue.methods.equivalence.attack_people import list_small_parts
from reissue.methods.equivalence.fingerprints import find_equal_pairs, find_equal_people, take_fingerprints
from reissue.methods.equivalence.person_matrix import connect_classes, list_everyone, number_classes, trace_patterns
from reissue.model.observed import Observed
from tests.methods.equivalence.blocks import series_of
from tests.support.correlations import random_series


class Definition:
    """The person matrix with a column for each class's rows of nobody, and everybody's value."""

    def __init__(self, series: Observed) -> None:
        rows = number_classes(series.releases)
        self.subjects = trace_patterns(series.releases, rows).subjects
        inside = np.zeros((len(rows.shows), len(self.subjects)))
        self.value: dict[int, int] = {}
        for position, release in enumerate(series.releases):
            for some in (release.counterfeits, release.members):
                if some is not None:
                    self.value |= dict(zip(some.subjects.tolist(), some.values.tolist(), strict=True))
            who, classes = list_everyone(release)
            inside[rows.first[position] + classes, np.searchsorted(self.subjects, who)] = 1.0
        sizes = np.concatenate([release.sizes for release in series.releases])
        strangers = sizes - inside.sum(axis=1)
        self.rows = np.hstack([inside, np.diag(strangers)[:, strangers > 0]])
        self.rank = np.linalg.matrix_rank(self.rows)

    def is_attack(self, left: tuple[int, ...], right: tuple[int, ...]) -> bool:
        """Whether some weights of classes show exactly these people, and their values cancel (definition 10)."""
        shown: Float64 = np.zeros(self.rows.shape[1])
        for people, sign in ((left, 1), (right, -1)):
            for person in people:
                shown[np.searchsorted(self.subjects, person)] += sign
        if sorted(self.value[s] for s in left) != sorted(self.value[s] for s in right) or not shown.any():
            return False
        return bool(np.linalg.matrix_rank(np.vstack([self.rows, shown]), tol=1e-8) == self.rank)


def prints_of(series: Observed):  # type: ignore[no-untyped-def]
    rows = number_classes(series.releases)
    found = take_fingerprints(series.releases, rows, trace_patterns(series.releases, rows))
    assert found.settled
    return found


def test_everybody_shown_equal_to_somebody_is_found_and_nobody_else() -> None:
    equal = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        series, _ = random_series(rng, values=int(rng.integers(2, 5)), merge=0.3, fakes=seed % 3 == 0)
        slow, found = Definition(series), prints_of(series)
        groups: dict[int, int] = {}
        for a, b in find_equal_people(found):
            one, two = int(found.who(a)[0]), int(found.who(b)[0])
            groups[two] = groups.setdefault(one, one)
        people = [int(s) for s in slow.subjects if s >= 0]
        for one, two in combinations(people, 2):
            same = one in groups and groups[one] == groups.get(two)
            assert same == slow.is_attack((one,), (two,)), (seed, one, two)
            equal += same
    assert equal > 100


def test_where_classes_alone_tell_every_value_rounding_errors_part_nobody() -> None:
    """Seven people of one value in each part, three of them together in each release: no other world is possible."""
    releases = []
    for first in range(7):
        people = sorted((first + step) % 7 for step in (0, 1, 3))  # the lines of the plane of seven points
        who = np.array([*people, *(7 + person for person in people)], dtype=np.int64)
        releases.append((who, np.repeat(np.arange(2, dtype=np.int32), 3), np.zeros(6, dtype=np.int32)))
    series = series_of(releases, 1)
    assert Definition(series).is_attack((0,), (1,))
    assert Definition(series).is_attack((0,), (10,))
    assert len(find_equal_people(prints_of(series))) == 13, "one chain of fourteen people"


@pytest.mark.parametrize(("e", "people"), [(2, "one person"), (3, "one or two people"), (5, "one or two people")])
def test_it_is_said_for_how_many_people_small_parts_were_listed(e: int, people: str) -> None:
    series, _ = random_series(np.random.default_rng(1), values=3, merge=0.3, fakes=False)
    said = f"settled, each by itself, by listing every possibility, for {people} on each side."
    assert any(note.endswith(said) for note in Equivalence(e=e).run(series).notes)


def test_pairs_of_people_shown_equal_to_others_are_found_and_are_all() -> None:
    attacks = none = 0
    for seed in range(40):
        rng = np.random.default_rng([2, seed])
        series, _ = random_series(rng, values=int(rng.integers(2, 5)), merge=0.0, fakes=False)
        slow, found = Definition(series), prints_of(series)
        pairs, whole = find_equal_pairs(found)
        for left, right in pairs:
            sides = [tuple(int(s) for c in side for s in found.who(c)) for side in (left, right)]
            assert slow.is_attack(*sides), seed
            attacks += 1
        if not pairs and whole and not find_equal_people(found):
            people = [int(s) for s in slow.subjects]
            for four in combinations(people, 4):
                for right in combinations(four[1:], 2):
                    left = tuple(s for s in four if s not in right)
                    assert not slow.is_attack(left, right), (seed, four)
            none += 1
    assert attacks > 20
    assert none > 2


def test_a_pair_of_people_is_found_in_a_part_of_thousands() -> None:
    """Everybody hangs together; in the third release two classes of the second have exchanged two people for two."""
    rng = np.random.default_rng(5)
    people, truth = 3_000, rng.integers(0, 3, 3_000).astype(np.int32)
    truth[[0, 1]] = truth[[4, 5]] = (0, 1)
    made = [rng.permutation(people) // 5 for _ in range(2)]
    second = made[1].copy()
    second[[0, 1]], second[[4, 5]] = people, people + 1  # two classes that nobody else is in ...
    second[[2, 3]] = people  # ... but for two who stay, and
    third = second.copy()
    third[[0, 1]], third[[4, 5]] = people + 1, people  # those who take each other's place
    everybody = np.arange(people, dtype=np.int64)
    classes = [np.unique(one, return_inverse=True)[1].astype(np.int32) for one in (made[0], second, third)]
    found = prints_of(series_of([(everybody, own, truth) for own in classes], 3))
    assert np.bincount(found.component).max() > 2_900
    pairs, whole = find_equal_pairs(found)
    assert whole
    sides = {frozenset(frozenset(int(s) for c in side for s in found.who(c)) for side in both) for both in pairs}
    assert frozenset({frozenset({0, 1}), frozenset({4, 5})}) in sides


def classes_of(*releases: list[list[int]], truth: dict[int, int]) -> Observed:
    made = []
    for groups in releases:
        rows = sorted((person, c) for c, group in enumerate(groups) for person in group)
        people = np.array([person for person, _ in rows], dtype=np.int64)
        classes = np.array([c for _, c in rows], dtype=np.int32)
        made.append((people, classes, np.array([truth[int(s)] for s in people], dtype=np.int32)))
    return series_of(made, 2)


WHOLE_PEOPLE = classes_of(
    [[0, 1, 2, 3, 5, 6]], [[2, 3, 5, 6, 7, 8]], [[2, 3, 4, 5], [1, 6, 7, 8]],
    truth={0: 0, 4: 0, 6: 0, 1: 1, 2: 0, 3: 1, 5: 1, 7: 0, 8: 1},
)  # fmt: skip


def test_whole_people_show_what_weights_of_classes_do_not() -> None:
    """No two people are equal by weights, yet in every world 0, 4 and 6 share a value."""
    assert find_equal_people(prints_of(WHOLE_PEOPLE)) == []
    outcome = Equivalence(e=2).run(WHOLE_PEOPLE)
    shown = {frozenset(finding.subjects) for finding in outcome.breaches}
    assert shown == {frozenset({"#0", "#4"}), frozenset({"#4", "#6"})}
    assert outcome.measures["smallest_attack"] == 1.0
    assert outcome.measures["lower_bound"] == 1.0
    assert all(finding.details["by"] == "worlds" for finding in outcome.breaches)
    assert any("do not follow by adding and subtracting classes" in note for note in outcome.notes)


def test_worlds_are_all_that_the_classes_allow() -> None:
    rows = number_classes(WHOLE_PEOPLE.releases)
    pieces = connect_classes(rows, trace_patterns(WHOLE_PEOPLE.releases, rows))
    (part,) = list_small_parts(WHOLE_PEOPLE.releases, rows, pieces)
    allowed = set()
    for world in product((0, 1), repeat=len(part.people)):
        value = dict(zip(part.people.tolist(), world, strict=True))
        shown = [
            (release.values[release.classes == c].tolist(), release.members.subjects[release.members.classes == c])
            for release in WHOLE_PEOPLE.releases
            for c in range(release.class_count)
            if release.members is not None
        ]
        if all(sorted(value[int(s)] for s in people) == sorted(values) for values, people in shown):
            allowed.add(world)
    assert {tuple(world) for world in part.worlds.tolist()} == allowed
    assert len(allowed) == 12
    assert len(part.worlds) == len(allowed) == 12


@pytest.mark.parametrize("e", [2, 3])
def test_what_is_found_does_not_depend_on_how_classes_and_people_are_numbered(e: int) -> None:
    found = 0
    for seed in range(25):
        rng = np.random.default_rng([3, seed])
        series, _ = random_series(rng, values=3, merge=0.3, fakes=False)
        other = renumbered(series, rng)
        one, two = (Equivalence(e=e, limit=10_000).run(some) for some in (series, other[0]))
        assert one.measures == two.measures, seed
        names = {new: old for old, new in other[1].items()}
        at_risk = {number: {names[int(s)] for s in who} for number, who in two.at_risk.items()}
        assert at_risk == {number: set(who.tolist()) for number, who in one.at_risk.items()}, seed
        found += len(one.breaches)
    assert found > 30


def renumbered(series: Observed, rng: np.random.Generator) -> tuple[Observed, dict[int, int]]:
    """The same series with other numbers for its people and for the classes of each release."""
    everybody = sorted({int(s) for r in series.releases if r.members is not None for s in r.members.subjects})
    name = dict(zip(everybody, rng.permutation(1000)[: len(everybody)].tolist(), strict=True))
    made = []
    for release in series.releases:
        assert release.members is not None
        classes = rng.permutation(release.class_count)
        people = np.array([name[int(s)] for s in release.members.subjects], dtype=np.int64)
        order = np.argsort(people)
        own = classes[release.members.classes[order]].astype(np.int32)
        made.append((people[order], own, release.members.values[order].astype(np.int32)))
    return series_of(made, series.value_count), name
