"""Series of standing classes on arrays: people who come, leave, return and change, and what is published of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from reissue.methods.standing.strategy import Standing
from reissue.model.domain import Domain
from reissue.model.release import Candidate, Coded, Facts, History, Table
from reissue.model.standing_classes import StandingClasses

DOMAINS = (Domain("age", 0, 79), Domain("zip", 0, 49))
VALUES = 6


@dataclass
class Town:
    """People with an age, a place and a value; `here` are those in the next snapshot."""

    rng: np.random.Generator
    values: int = VALUES
    codes: dict[int, tuple[int, int]] = field(default_factory=dict)
    value: dict[int, int] = field(default_factory=dict)
    here: set[int] = field(default_factory=set)

    def arrive(self, count: int, value: int | None = None) -> None:
        for _ in range(count):
            person = len(self.codes)
            self.codes[person] = (int(self.rng.integers(0, 80)), int(self.rng.integers(0, 50)))
            drawn = int(min(self.rng.geometric(0.3) - 1, self.values - 1)) if self.values > 1 else 0
            self.value[person] = drawn if value is None else value
            self.here.add(person)

    def leave(self, share: float) -> None:
        self.here -= {person for person in sorted(self.here) if self.rng.random() < share}

    def come_back(self, share: float) -> None:
        self.here |= {person for person in sorted(set(self.codes) - self.here) if self.rng.random() < share}

    def move(self, share: float) -> None:
        for person in sorted(self.here):
            if self.rng.random() < share:
                self.codes[person] = (int(self.rng.integers(0, 80)), int(self.rng.integers(0, 50)))

    def change(self, share: float) -> None:
        for person in sorted(self.codes):
            if self.rng.random() < share:
                self.value[person] = int(self.rng.integers(0, self.values))

    def snapshot(self) -> Coded:
        people = self.rng.permutation(np.array(sorted(self.here), dtype=np.int64))
        codes = np.array([self.codes[int(p)] for p in people], dtype=np.int32).reshape(len(people), 2)
        values = np.array([self.value[int(p)] for p in people], dtype=np.int32)
        return Coded(people, np.asfortranarray(codes), values, DOMAINS, self.values)


@dataclass
class Publisher:
    """Publishes snapshot after snapshot, as a series does, without files."""

    strategy: Standing
    releases: list[Facts] = field(default_factory=list)
    caches: Mapping[str, Table] = field(default_factory=dict)
    seed: int = 0

    @property
    def history(self) -> History:
        return History(list(self.releases), self.caches, self.seed * 1000 + len(self.releases))

    def propose(self, snapshot: Coded) -> Candidate:
        return self.strategy.publish(snapshot, self.history)

    def publish(self, snapshot: Coded) -> Facts:
        facts = self.propose(snapshot).facts(len(self.releases) + 1, snapshot)
        fault = self.strategy.check(facts, self.history)
        assert fault is None, fault
        self.caches = self.strategy.remember(self.caches, facts)
        self.releases.append(facts)
        return facts

    def publish_all(self, snapshots: Iterable[Coded]) -> list[Facts]:
        return [self.publish(snapshot) for snapshot in snapshots]


def standing_of(facts: Facts) -> StandingClasses:
    """The standing classes of a release that has them."""
    found = StandingClasses.read(facts.extras)
    assert found is not None
    return found
