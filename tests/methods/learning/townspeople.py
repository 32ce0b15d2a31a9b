"""People of a made-up town whose values depend on who they are, published again and again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reissue.methods.strategy import Strategy
from reissue.model.domain import Domain
from reissue.model.observed import Observed, ObservedRelease
from reissue.model.release import Coded, Facts, History, Table
from tests.support.words import PlainWords

VALUES = 8
DOMAINS = (Domain("age", 0, 39), Domain("place", 0, 11), Domain("sex", 0, 1))


def town(people: int, *, dependence: float = 1.5, seed: int = 0) -> Coded:
    """dependence: how strongly the attributes speak for values; 0: not at all."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(d.lo, d.hi + 1, people) for d in DOMAINS], axis=1).astype(np.int32)
    likely = np.zeros((people, VALUES))
    for a, domain in enumerate(DOMAINS):
        turn = codes[:, a] / (domain.hi + 1)  # every value is somewhere the likeliest, so that all are as frequent
        likely += dependence * np.cos(2 * np.pi * (turn[:, None] - np.arange(VALUES) / VALUES) + a)
    values = (likely + rng.gumbel(size=likely.shape)).argmax(axis=1).astype(np.int32)
    return Coded(np.arange(people, dtype=np.int64), np.asfortranarray(codes), values, DOMAINS, VALUES)


def live_on(table: Coded, live: int, releases: int, turnover: float = 0.2) -> list[Coded]:
    """Snapshots; between two of them, a share of the people leaves for good and as many come."""
    rng, here, known = np.random.default_rng(1), np.arange(live), live
    snapshots = [table.part(here)]
    for _ in range(releases - 1):
        batch = round(turnover * live)
        here = np.sort(np.concatenate([rng.permutation(here)[batch:], np.arange(known, known + batch)]))
        known += batch
        snapshots.append(table.part(here))
    return snapshots


def publish(strategy: Strategy, snapshots: list[Coded]) -> Observed:
    releases: list[Facts] = []
    caches: dict[str, Table] = {}
    for number, snapshot in enumerate(snapshots, start=1):
        facts = strategy.publish(snapshot, History(releases, caches, number)).facts(number, snapshot)
        caches = dict(strategy.remember(caches, facts))
        releases.append(facts)
    first = snapshots[0]
    return Observed([ObservedRelease.of(facts) for facts in releases], first.domains, first.value_count, PlainWords())


def renumber_classes(series: Observed) -> Observed:
    """The same series with the classes of every release numbered at random."""
    rng, renamed = np.random.default_rng(5), []
    for release in series.releases:
        assert release.members is not None
        new = rng.permutation(release.class_count).astype(np.int32)
        boxes = release.boxes.copy()
        boxes[new] = release.boxes
        members = replace(release.members, classes=new[release.members.classes])
        renamed.append(replace(release, boxes=boxes, classes=new[release.classes], members=members))
    return replace(series, releases=renamed)
