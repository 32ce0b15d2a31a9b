"""What the checked strategies remember says the same as the earlier releases, and is all that they need."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from reissue.methods.incremental.checked import SnapshotHistory
from reissue.methods.incremental.checked_incognito import CheckedIncognito
from reissue.methods.incremental.checked_mondrian import CheckedMondrian
from reissue.methods.incremental.running_knowledge import RunningKnowledge
from reissue.methods.incremental.whole_check import BOXES, EarlierRelease, class_boxes
from reissue.model.release import Facts, History, Table
from tests.methods.incremental.insertions import few_values, history
from tests.support.histories import run_series


class Sealed(list[Facts]):
    """Earlier releases that may be counted, not read."""

    def __getitem__(self, index: object) -> Facts:  # type: ignore[override]
        raise AssertionError("an earlier release was read again")

    def __iter__(self) -> Iterator[Facts]:
        raise AssertionError("an earlier release was read again")


@pytest.mark.parametrize("strategy", [CheckedMondrian(k=3, c=0.75), CheckedIncognito(k=3, c=0.75)])
@pytest.mark.parametrize("seed", [0, 3, 8])
def test_earlier_releases_are_not_read_again(strategy: CheckedMondrian | CheckedIncognito, seed: int) -> None:
    """The history table says the same as the releases: of every one of them, and so of the next one."""
    snapshots, _, _ = history(seed, values=4)
    releases: list[Facts] = []
    caches: dict[str, Table] = {}
    for number, snapshot in enumerate(snapshots, start=1):
        candidate = strategy.publish(snapshot, History(Sealed(releases), caches, number))
        with_facts = {name: table for name, table in caches.items() if name != BOXES}
        again = strategy.publish(snapshot, History(releases, with_facts, number))
        assert np.array_equal(candidate.classes, again.classes)
        assert np.array_equal(candidate.boxes, again.boxes)
        if isinstance(strategy, CheckedIncognito) and number > 1:
            past = SnapshotHistory.of(snapshot, History(releases, caches, number))
            for i, boxes in enumerate(class_boxes(caches, len(releases), len(snapshot.domains)) or ()):
                table = EarlierRelease.of_history(past, i, boxes)
                facts = EarlierRelease.of_facts(releases[i], snapshot.value_count)
                for name in ("number", "subjects", "classes", "values", "codes", "boxes"):
                    assert np.array_equal(getattr(table, name), getattr(facts, name)), name
                assert np.array_equal(table.groups.count, facts.groups.count)
        releases.append(candidate.facts(number, snapshot))
        caches = dict(strategy.remember(caches, releases[-1]))


def test_a_stricter_promise_does_not_trust_releases_checked_for_a_weaker_one() -> None:
    snapshots = few_values(4, releases=2)
    earlier = run_series(CheckedMondrian(k=2), snapshots[:1])
    strict = CheckedMondrian(k=6)
    assert not strict.remember({}, earlier[0])["checks"]["safe"][0]
    assert CheckedMondrian(k=2).remember({}, earlier[0])["checks"]["safe"][0]


def test_the_caches_are_a_fold_over_the_facts_and_hold_is_and_iq() -> None:
    snapshots, k, c = few_values(5, releases=4), 3, 1.0
    strategy = CheckedMondrian(k=k, c=c)
    releases = run_series(strategy, snapshots)
    caches: dict = {}
    for facts in releases:
        before = {name: dict(table) for name, table in caches.items()}
        after = strategy.remember(caches, facts)
        assert all(caches[name][column] is before[name][column] for name in before for column in before[name])
        caches = dict(after)
        for table in caches.values():
            assert len({len(column) for column in table.values()}) == 1, "columns of equal length"
    running = RunningKnowledge.of_tables(caches, 2)
    for subject in running.subjects[::97].tolist():
        cell = running.cell[np.searchsorted(running.subjects, subject)]
        counts, box = None, None
        for facts in releases:
            at = np.flatnonzero(facts.subjects == subject)
            if len(at):
                own = facts.classes[at[0]]
                here = np.bincount(facts.values[facts.classes == own], minlength=2)
                counts = here if counts is None else np.minimum(counts, here)
                cut = facts.boxes[own]
                box = (
                    cut
                    if box is None
                    else np.stack([np.maximum(box[:, 0], cut[:, 0]), np.minimum(box[:, 1], cut[:, 1])], axis=1)
                )
        known = slice(running.values.start[cell], running.values.start[cell + 1])
        expected = {int(v): int(n) for v, n in enumerate(counts) if n}
        assert (
            dict(zip(running.values.value[known].tolist(), running.values.count[known].tolist(), strict=True))
            == expected
        )
        assert np.array_equal(running.boxes[cell], box)
