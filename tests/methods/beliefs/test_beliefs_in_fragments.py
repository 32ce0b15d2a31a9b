"""The background knowledge attack in fragments that are told each other's counts: exactly that of the whole series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Literal

import numpy as np
import pytest

from reissue.errors import InputError
from reissue.methods.attack import Outcome
from reissue.methods.beliefs.attack import BackgroundKnowledge, Sum
from reissue.methods.beliefs.attack_cycle import simulate_claims
from reissue.methods.beliefs.knowledge import Knowledge, ReadKnowledge, Second
from reissue.methods.beliefs.posterior import Estimator
from reissue.methods.beliefs.revision import Claims, carry, normalize
from reissue.model.boxes import bounding_boxes
from reissue.model.fragment_counts import TableCounts
from reissue.model.observed import Members, Observed, ObservedRelease
from reissue.model.release import Coded
from tests.support.histories import Turnover, generate, toy_domains
from tests.support.in_parts import split_series
from tests.support.words import PlainWords

VALUES = 5


def divided(rng: np.random.Generator, rows: int = 150) -> tuple[Observed, list[Observed]]:
    """A series of which two or three fragments share neither people nor classes; and these fragments.

    Everything happens: people come, go, return and change, rows stand for nobody, published values are not always the
    true ones, and a fragment may be empty for a time.
    """
    turnover = Turnover(arrive=0.3, leave=0.3, back=0.4, move=0.1, update=0.3)
    snapshots = generate(rng, releases=4, rows=rows, values=VALUES, turnover=turnover, skew=0.7)
    fragments = int(rng.integers(2, 4))
    home = rng.integers(0, fragments, 1 + max(int(one.subjects.max()) for one in snapshots))
    empty = int(rng.integers(1, 8))  # the release in which nobody of fragment 0 is there, if there is such a release
    releases, bins = [], []
    for number, snapshot in enumerate(snapshots, start=1):
        if number == empty:
            here = np.flatnonzero(home[snapshot.subjects] > 0)
            snapshot = Coded(snapshot.subjects[here], snapshot.codes[here], snapshot.values[here], (), VALUES)
        release, owners = _release(rng, number, snapshot, home)
        releases.append(release)
        bins.append(owners)
    whole = Observed(releases, toy_domains(), VALUES, PlainWords())
    return whole, split_series(whole, bins)


def _release(
    rng: np.random.Generator, number: int, snapshot: Coded, home: np.ndarray
) -> tuple[ObservedRelease, np.ndarray[tuple[int], np.dtype[np.int32]]]:
    """(release, int32[classes] the fragment of each class), classes of a few people alike, numbered at random."""
    order = np.argsort(snapshot.subjects)
    subjects, codes, values = snapshot.subjects[order], snapshot.codes[order], snapshot.values[order]
    alike = np.lexsort((codes[:, 0] + rng.normal(0, 5, len(codes)), home[subjects]))
    new_home = np.diff(home[subjects][alike], prepend=-1) != 0
    classes = np.empty(len(subjects), dtype=np.int32)
    classes[alike] = np.cumsum(new_home | (rng.random(len(alike)) < 0.25)) - 1
    count = int(classes.max()) + 1
    numbers = rng.permutation(count).astype(np.int32)
    classes = numbers[classes]
    owners = np.empty(count, dtype=np.int32)
    owners[classes] = home[subjects]
    fakes = rng.integers(0, count, int(rng.integers(0, 6))).astype(np.int32)
    shown = np.where(rng.random(len(values)) < 0.05, rng.integers(0, VALUES, len(values)), values)
    row_classes = np.concatenate([fakes, classes])
    row_values = np.concatenate([rng.integers(0, VALUES, len(fakes)), shown]).astype(np.int32)
    members = Members(subjects, classes, np.asfortranarray(codes), values)
    return ObservedRelease(number, bounding_boxes(codes, classes, count), row_classes, row_values, members), owners


def told(attack: BackgroundKnowledge, parts: Sequence[Observed]) -> list[dict[int, TableCounts]]:
    """What each fragment is told, by release."""
    surveys = [list(attack.survey(part)) for part in parts]
    every: list[dict[int, TableCounts]] = [{} for _ in parts]
    for of in zip(*surveys, strict=True):
        for own, one, whole in zip(every, of, TableCounts.of([one.tally for one in of]), strict=True):
            own[one.number] = replace(whole, nearby=whole.nearby.under(one.asked))
    return every


def in_fragments(attack: BackgroundKnowledge, parts: Sequence[Observed]) -> Outcome:
    wholes: Sequence[Mapping[int, TableCounts] | None] = told(attack, parts)
    return attack.conclude([attack.attack_part(part, whole) for part, whole in zip(parts, wholes, strict=True)])


def comparable(outcome: Outcome) -> tuple[object, ...]:
    at_risk = {number: people.tolist() for number, people in outcome.at_risk.items()}
    return outcome.findings, outcome.total, dict(outcome.measures), at_risk, outcome.notes


def knowing(rng: np.random.Generator, attack: BackgroundKnowledge, series: Observed) -> BackgroundKnowledge:
    """The attack with some of what files may say."""
    given = ReadKnowledge()
    if rng.random() < 0.3:  # a table of shares for the young, one for women, one for all
        boxes = np.array([[d.lo, d.hi] for d in series.domains], dtype=np.int32)[None].repeat(3, axis=0)
        boxes[0, 0, 1], boxes[1, 2] = 30, (1, 1)
        given = replace(given, boxes=boxes, shares=normalize(rng.random((3, VALUES))))
    if rng.random() < 0.3:
        given = replace(given, one=normalize(rng.random((VALUES, VALUES))))
    if rng.random() < 0.3:
        first, between, last = np.array([[0, 0, 2], [1, 1, 2], [2, 3, 2]], dtype=np.int32)
        given = replace(given, second=Second(first, between, last, np.array([0.5, 0.5, 1.0])))
    if rng.random() < 0.5:
        n = int(rng.integers(1, 40))
        subjects = rng.choice(200, n, replace=False)  # some are in no release
        confidences = rng.choice([0.2, 0.6, 1.0], n)
        values, numbers = rng.integers(0, VALUES, n), rng.integers(1, 6, n)
        given = replace(given, claims=Claims(subjects, values.astype(np.int32), numbers.astype(np.int32), confidences))
    return attack.inform(given)


def any_attack(rng: np.random.Generator) -> BackgroundKnowledge:
    how: tuple[Literal["prior", "posterior"], ...] = ("prior", "posterior")
    estimator = ("omega", "bayes", "js-reduce")[int(rng.integers(3))]
    return BackgroundKnowledge(
        threshold=float(rng.choice([0.0, 0.1, 0.4])),
        estimator=estimator,  # type: ignore[arg-type]
        steps=2 if rng.random() < 0.5 else 1,
        cascading=how[int(rng.integers(2))] if estimator == "bayes" else "prior",
        sigma=float(rng.choice([0.0, 0.0, 0.1, 1.0])),
        confidence=float(rng.choice([0.5, 1.0])),
        knowledge=Knowledge(
            values=str(rng.choice(["estimate", "estimate", "uniform"])),
            transitions=str(rng.choice(["estimate", "estimate", "uniform"])),
            second=str(rng.choice(["estimate", "estimate", "uniform"])),
            smoothing=float(rng.choice([0.5, 10.0])),
        ),
        seed=int(rng.integers(0, 2**40)),
        limit=int(rng.choice([1, 7, 1000])),
    )


@pytest.mark.parametrize("seed", range(5))
def test_fragments_that_are_told_find_exactly_what_the_whole_does(seed: int) -> None:
    """Every finding, its place, every measure to the last bit, whatever the settings and the knowledge."""
    for case in range(16):
        rng = np.random.default_rng([seed, case])
        whole, parts = divided(rng, int(rng.choice([30, 150, 400])))
        attack = knowing(rng, any_attack(rng), whole)
        assert comparable(in_fragments(attack, parts)) == comparable(attack.run(whole)), case


def test_fragments_that_are_told_nothing_find_something_else() -> None:
    """Each of the counts matters: without it, what is estimated is not what the whole series tells."""
    differ = {"values": 0, "moves": 0, "second": 0, "nearby": 0}
    for seed in range(3):
        whole, parts = divided(np.random.default_rng([99, seed]), 800)
        attack = BackgroundKnowledge(threshold=0.1, steps=2)
        right, wholes = comparable(attack.run(whole)), told(attack, parts)
        for name in differ:
            wrong = []
            for part, own, alone in zip(parts, wholes, ([one] for one in parts), strict=True):
                theirs = told(attack, alone)[0]  # as if there were no other fragments
                some = {
                    number: replace(one, nearby=theirs[number].nearby)
                    if name == "nearby"
                    else replace(one, everywhere={**one.everywhere, name: theirs[number].everywhere[name]})
                    for number, one in own.items()
                }
                wrong.append(attack.attack_part(part, some))
            differ[name] += comparable(attack.conclude(wrong)) != right
    assert differ == dict.fromkeys(differ, 3)


@pytest.mark.parametrize("estimator", ["bayes", "exact"])
def test_ties_do_not_depend_on_what_classes_are_called(estimator: Estimator) -> None:
    """Uniform knowledge makes everybody alike at first; a fragment that calls its classes anew concludes the same."""
    for seed in range(12):
        whole, parts = divided(np.random.default_rng([5, seed]), 60)
        attack = BackgroundKnowledge(estimator=estimator, knowledge=Knowledge(values="uniform"), threshold=0.05)
        anonymous = [replace(p, releases=[replace(r, numbers=None) for r in p.releases]) for p in parts]
        right = attack.run(whole).measures
        assert in_fragments(attack, parts).measures == right
        assert in_fragments(attack, anonymous).measures == right


def test_people_outside_a_given_table_are_counted_in_all_fragments() -> None:
    whole, parts = divided(np.random.default_rng(3), 200)
    box = np.array([[[0, 30], [0, 11], [0, 1]]], dtype=np.int32)
    attack = BackgroundKnowledge().inform(ReadKnowledge(boxes=box, shares=np.full((1, VALUES), 1 / VALUES)))
    errors = []
    for run in (lambda: attack.run(whole), lambda: in_fragments(attack, parts)):
        with pytest.raises(InputError, match="belong to no category") as error:
            run()
        errors.append(str(error.value))
    assert errors[0] == errors[1]


def test_lots_are_cast_for_each_person() -> None:
    """As many as sigma says, others in every release, and the same people whoever else is there."""
    whole, parts = divided(np.random.default_rng(4), 3000)
    drawn = simulate_claims(whole, 0.2, 0.9, 7)
    first = whole.releases[0].members
    assert first is not None
    assert 0.17 < len(drawn.at(1)) / len(first.subjects) < 0.23
    own = [simulate_claims(part, 0.2, 0.9, 7) for part in parts]
    for number in (1, 2, 3, 4):
        found = np.sort(np.concatenate([one.at(number).subjects for one in own]))
        assert found.tolist() == drawn.at(number).subjects.tolist()
    for one, next_ in pairwise(drawn.at(number).subjects for number in (1, 2, 3, 4)):
        assert 0.05 < np.isin(one, next_).mean() < 0.35
    assert len(simulate_claims(whole, 1.0, 0.9, 7).at(1)) == len(first.subjects)
    assert len(simulate_claims(whole, 0.2, 0.9, 8).at(1)) != len(drawn.at(1))


def test_sums_are_exact_in_any_order_and_any_parts() -> None:
    rng = np.random.default_rng(1)
    for n in (0, 1, 2, 50, 999):
        numbers = rng.random(n) * 10.0 ** rng.integers(-320, 3, n)
        numbers[rng.random(n) < 0.2] = 0.0
        cut = int(rng.integers(0, n + 1))
        shuffled = rng.permutation(numbers)
        both = Sum.of(shuffled[:cut]) + Sum.of(shuffled[cut:])
        assert both == Sum.of(numbers)
        right = sum(map(Fraction, numbers.tolist()), Fraction(0))
        assert Fraction(both.units, 2**1074) == right
        assert both.mean == (float(right / n) if n else 0.0)
        assert (both.count, both.largest) == (n, numbers.max(initial=0.0))


def test_beliefs_are_carried_on_person_by_person() -> None:
    """To the last bit the same for some people as for all; NumPy's product is not."""
    rng = np.random.default_rng(2)
    beliefs, moves = normalize(rng.random((400, 17))), normalize(rng.random((17, 17)))
    beliefs[rng.random(beliefs.shape) < 0.5] = 0.0
    everybody = carry(beliefs, moves)
    assert np.allclose(everybody, beliefs @ moves, rtol=1e-12)
    for n in (1, 2, 3, 7, 50):
        some = np.sort(rng.choice(400, n, replace=False))
        assert np.array_equal(carry(beliefs[some], moves), everybody[some])
