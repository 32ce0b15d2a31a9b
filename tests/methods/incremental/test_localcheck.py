"""The check of one cluster against the attacks themselves, and the observations on monotonicity."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reissue.methods.incremental.difference_attack import Difference
from reissue.methods.incremental.intersection_attack import Intersection
from reissue.methods.incremental.recut.check import Classes, Cluster, cut_is_safe, lists
from reissue.methods.incremental.recut.check_difference import difference_buffers
from reissue.methods.incremental.running_knowledge import RunningKnowledge
from reissue.methods.incremental.tracing_attack import RecordTracing
from reissue.model.observed import Groups, Observed
from tests.methods.incremental.tiny import random_series, series_of


def running_of(series: Observed) -> RunningKnowledge:
    running = RunningKnowledge.empty(len(series.domains))
    for release in series.releases:
        assert release.members is not None
        groups = Groups.of(release.classes, release.values, release.class_count, series.value_count)
        running = running.after(
            release.number, release.members.subjects, release.members.classes, groups, release.boxes
        )
    return running


def build_cluster(series: Observed) -> tuple[Cluster, Classes]:
    """All but the last release as the past, the last one as the classes in question."""
    last = series.releases[-1]
    assert last.members is not None
    running = running_of(Observed(series.releases[:-1], series.domains, series.value_count, series.words))
    rows = len(last.members.subjects)
    cell = np.full(rows, len(running.first), dtype=np.int64)
    at = np.searchsorted(last.members.subjects, running.subjects)
    cell[at] = running.cell
    known = np.zeros((len(running.first) + 1, series.value_count), dtype=np.int64)
    known[running.values.classes, running.values.value] = running.values.count
    chain = np.concatenate([running.chain, np.full((1, len(series) - 1), -1, dtype=np.int32)])[cell]
    fresh = np.zeros(len(known), dtype=np.bool_)
    fresh[-1] = True
    counts = chain.max(axis=0).astype(np.int64) + 1
    boxes = np.zeros((len(series) - 1, int(counts.max()), len(series.domains), 2), dtype=np.int32)
    for n, release in enumerate(series.releases[:-1]):
        boxes[n, : release.class_count] = release.boxes
    values, label = last.values.astype(np.int64), last.classes.astype(np.int64)
    cluster = Cluster(values, last.members.codes, cell, chain, counts, known, fresh, boxes, *lists(chain, counts))
    head, after = lists(last.classes[:, None].copy(), np.array([last.class_count]))
    return cluster, Classes(label, last.boxes, head[0], after[0])


def holds(series: Observed, k: int, c: Fraction, most: int = 1 << 40) -> bool:
    """Whether the check accepts the last release, all of its classes being new, in at most so many steps."""
    cluster, made = build_cluster(series)
    table = difference_buffers(int(cluster.counts.max()), len(made.head))
    return bool(cut_is_safe(cluster, made, np.arange(len(made.head)), k, c.numerator, c.denominator, table, most))


@pytest.mark.parametrize("seed", range(10))
def test_what_the_check_accepts_no_attack_breaks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    accepted = refused = 0
    while accepted + refused < 30:
        k, c = int(rng.integers(2, 4)), [Fraction(1, 2), Fraction(2, 3), Fraction(1)][int(rng.integers(3))]
        series = random_series(rng, releases=int(rng.integers(2, 5)), k=k, c=c)
        if series is None:
            continue
        ok, n = holds(series, k, c), len(series)
        broken = {
            attack.name: bool(attack.run(series, involving=n).findings)
            for attack in (Intersection(c=float(c)), Difference(k=k, c=float(c)), RecordTracing(k=k))
        }
        assert not (ok and any(broken.values())), broken
        assert ok or not any(holds(series, k, c, most) for most in (0, 10, 50, 200)), "who stops early accepts nothing"
        assert not holds(series, k, c, 0)
        accepted, refused = accepted + ok, refused + (not ok)
    assert refused > 0
    assert accepted > 0


def test_what_is_refused_for_values_or_differences_is_really_broken() -> None:
    """With k = 1 nothing can be traced below k, so the check must be exact: it accepts iff the attacks find nothing."""
    rng, seen = np.random.default_rng(99), [0, 0]
    while sum(seen) < 200:
        c = [Fraction(1, 2), Fraction(2, 3)][int(rng.integers(2))]
        series = random_series(rng, releases=int(rng.integers(2, 4)), k=2, c=c)
        if series is None:
            continue
        ok = holds(series, 1, c)
        found = [
            attack.run(series, involving=len(series)).findings
            for attack in (Intersection(c=float(c)), Difference(k=1, c=float(c)))
        ]
        assert ok == (not any(found))
        seen[ok] += 1
    assert min(seen) > 30


def test_observation_5_fails_for_intersection() -> None:
    """Byun et al., observation 5: what is vulnerable stays so when it is cut further. Not so: a counterexample.

    Release 1 leaves {a, a, a, b, b, b} for everybody in one class. Release 2 as one class {a, a, a, a, b, ...} has
    {a, a, a, b} in common with it: a has 75%. Cut so that the class is {a, b, ...}, the common part is {a, b}: 50%.
    """
    a, b, other = 0, 1, 2
    values = {0: a, 1: a, 2: a, 3: b, 4: b, 5: b, 6: other, 7: other, 8: other, 9: other}
    codes = {s: (s,) for s in values}
    first = [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9]]
    coarse = [[0, 1, 2, 3, 6, 7], [4, 5, 8, 9]]
    fine = [[0, 3], [1, 2, 6, 7], [4, 5, 8, 9]]
    attack = Intersection(c=0.6)
    told = attack.run(series_of(codes, values, [first, coarse])).at_risk[2].tolist()
    assert {0, 3} <= set(told)
    still = attack.run(series_of(codes, values, [first, fine])).at_risk[2].tolist()
    assert not {0, 3} & set(still)


def test_observation_5_fails_for_record_tracing() -> None:
    """Two rows of the value must be in [0-1] of the coarse release; cut in two, each could be in either part."""
    s, other = 0, 1
    rows = {0: (0, s), 1: (1, other), 2: (8, other), 3: (9, other), 4: (0, s), 5: (1, s)}
    codes, values = {x: (code,) for x, (code, _) in rows.items()}, {x: v for x, (_, v) in rows.items()}
    first, coarse, fine = [[0, 1, 2, 3]], [[0, 1, 4, 5], [2, 3]], [[0, 4], [1, 5], [2, 3]]
    attack = RecordTracing(k=3)

    def forced(newer: list[list[int]]) -> list[tuple[int, ...]]:
        outcome = attack.run(series_of(codes, values, [first, newer]))
        return [f.classes for f in outcome.findings if f.value == "v0" and f.details["traced"] == "forced"]

    assert forced(coarse) == [((1, 0), (2, 0))]
    assert forced(fine) == []


@pytest.mark.parametrize("seed", range(10))
def test_one_class_for_everybody_is_safe_after_any_safe_series(seed: int) -> None:
    """Why the root cannot fail: a safe history, and new rows that stand alone."""
    rng, asked = np.random.default_rng(seed), 0
    while asked < 15:
        k, c = 2, Fraction(2, 3)
        series = random_series(rng, releases=3, k=k, c=c)
        if series is None:
            continue
        attacks = Intersection(c=float(c)), Difference(k=k, c=float(c)), RecordTracing(k=k)
        before = Observed(series.releases[:2], series.domains, series.value_count, series.words)
        if any(attack.run(before).findings for attack in attacks):
            continue
        old, last = series.releases[1].members, series.releases[2]
        assert old is not None
        assert last.members is not None
        new = last.members.values[~np.isin(last.members.subjects, old.subjects)]
        if len(new) and (len(new) < k or np.bincount(new).max() > c * len(new)):
            continue
        codes = {int(s): tuple(x) for s, x in zip(last.members.subjects, last.members.codes.tolist(), strict=True)}
        values = dict(zip(last.members.subjects.tolist(), last.members.values.tolist(), strict=True))
        releases = [
            [np.flatnonzero(r.members.classes == i).tolist() for i in range(r.class_count)]
            for r in series.releases[:2]
            if r.members is not None
        ]
        root = series_of(codes, values, [*releases, [sorted(codes)]])
        for attack in attacks:
            assert attack.run(root, involving=3).findings == ()
        asked += 1
