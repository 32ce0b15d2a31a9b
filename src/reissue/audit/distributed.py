"""An audit on Spark: workers read the ledger and attack its parts; outcomes come to the driver, rows do not.

A series in fragments is in parts already: no two fragments share anybody. Otherwise workers count which classes are
linked by people, the driver deals connected classes out to parts, and Spark brings each part's rows together.
Attacks that are not separable (`attacks.merging` says which, and why) run on the driver on the whole series.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reissue.attacks.base import Attack, Outcome
from reissue.attacks.merging import merge, separates
from reissue.audit.gathered import Gathered, class_counts
from reissue.audit.parallel import Task, anonymous, named
from reissue.coding import Coding
from reissue.core.domain import Int32, Int64
from reissue.core.fragments import global_subjects, scattered
from reissue.core.observed import Observed, Release, Words
from reissue.core.snapshot import Facts
from reissue.core.tokens import TokenWords
from reissue.ledger import Ledger, Shelf
from reissue.ledger.records import PrivateFile
from reissue.series.distributed import connected
from reissue.series.identities import Identities
from reissue.series.past import PastReleases

if TYPE_CHECKING:
    from reissue.engine.spark.verbs import Spark


class SparkAttacks:
    """How an audit runs its attacks on Spark, and how it names the few people they find.

    `run` is a `parallel.Runner`. Use as a context: what Spark keeps between attacks is let go at the end.
    """

    def __init__(self, spark: Spark, ledger: Ledger, coding: Coding) -> None:
        self._spark, self._shelf = spark, ledger.shelf
        self.names = SparkNames(spark, ledger)
        whole = self._shelf.fragments == [None]
        self._parts: Gathered | Fragmented = (Gathered if whole else Fragmented)(spark, self._shelf, coding)

    @staticmethod
    def on(ledger: Ledger, coding: Coding, settings: Mapping[str, object]) -> SparkAttacks:
        """With Spark as the series' engine settings say."""
        return SparkAttacks(connected(settings), ledger, coding)

    def __enter__(self) -> SparkAttacks:
        return self

    def __exit__(self, *problem: object) -> None:
        self._parts.close()

    def run(self, attack: Attack, observed: Observed) -> Outcome:
        """The outcome of `attack.run(observed)`, worked out by workers if the attack is separable."""
        if not separates(attack):
            return attack.run(observed)
        outcomes = [outcome for outcome in self._parts.attacked(attack) if outcome is not None]
        if not outcomes:  # nobody is in the series
            return attack.run(observed)
        outcome = merge(attack, outcomes)
        self.names.learn(mentioned(outcome))
        return named(outcome, observed.words)


# -- A series in fragments


@dataclass(frozen=True, eq=False)
class Portion:
    """One fragment of a series, to be read by a worker.

    before, classes: for each release, the classes of the fragments before this one, and of all fragments
    """

    shelf: Shelf
    coding: Coding
    fragment: int
    fragments: int
    before: tuple[int, ...]
    classes: tuple[int, ...]

    def attacked(self, attack: Attack) -> Outcome | None:
        """What a worker tells; nothing where the fragment never had anybody."""
        part = self.observed()
        if not any(len(release.members.subjects) for release in part.releases if release.members is not None):
            return None
        return Task(attack, anonymous(part)).run()

    def observed(self) -> Observed:
        """The fragment under the names of the whole release: its classes, its counterfeits. O(rows)."""
        past = PastReleases(self.shelf, self.coding, self.fragment)
        seeds = [record.seed for record in self.shelf.releases]
        releases = [
            self._release(facts, names.astype(np.int32))
            for facts, names in (
                (facts, scattered(np.arange(first, first + facts.class_count), total, seed))
                for facts, first, total, seed in zip(past, self.before, self.classes, seeds, strict=True)
            )
        ]
        return Observed(releases, self.coding.domains, len(self.coding.values), TokenWords())

    def _release(self, facts: Facts, names: Int32) -> Release:
        order = np.argsort(names)
        place = np.empty(len(names), dtype=np.int32)
        place[order] = np.arange(len(names), dtype=np.int32)
        renamed = Facts(
            number=facts.number,
            boxes=facts.boxes[order],
            subjects=global_subjects(facts.subjects, self.fragment, self.fragments),
            classes=place[facts.classes],
            values=facts.values,
            codes=facts.codes,
            anatomized=facts.anatomized,
        )
        return replace(Release.of(renamed), numbers=names[order])


class Fragmented:
    """The parts of a series in fragments: the fragments. Each worker reads its own from the ledger."""

    def __init__(self, spark: Spark, shelf: Shelf, coding: Coding) -> None:
        self._spark, self._shelf, self._coding = spark, shelf, coding

    def attacked(self, attack: Attack) -> list[Outcome | None]:
        return self._spark.each(self._portions, partial(_attacked, attack))

    @cached_property
    def _portions(self) -> list[Portion]:
        fragments = [fragment for fragment in self._shelf.fragments if fragment is not None]
        counts = np.array(self._spark.each(fragments, partial(class_counts, self._shelf)), dtype=np.int64)
        before, total = np.cumsum(counts, axis=0) - counts, counts.sum(axis=0)
        return [
            Portion(self._shelf, self._coding, one, len(fragments), tuple(before[one].tolist()), tuple(total.tolist()))
            for one in fragments
        ]

    def close(self) -> None:
        """Nothing is kept."""


def _attacked(attack: Attack, portion: Portion) -> Outcome | None:
    return portion.attacked(attack)


# -- Names


class SparkNames:
    """Who has which number: a few looked up by workers, all of them read here only for attacks that run here."""

    def __init__(self, spark: Spark, ledger: Ledger) -> None:
        self._spark, self._ledger = spark, ledger
        self._known: dict[int, str] = {}

    def learn(self, numbers: Iterable[int]) -> None:
        """Look up these people, all at once."""
        wanted = np.array(sorted(set(numbers) - set(self._known)), dtype=np.int64)
        if len(wanted) == 0 or "_all" in self.__dict__:
            return
        shelf = self._ledger.shelf
        found = self._spark.each(shelf.state.of_role("identities"), partial(_names, shelf, wanted))
        self._known |= {int(number): f"subject {number}" for number in wanted}  # who was forgotten
        for names in found:
            self._known |= names

    def name(self, number: int) -> str:
        """The identifier of a subject; its number if it has been forgotten."""
        known = self._known.get(number)
        return self._all.name(number) if known is None else known

    def of(self, identifiers: Sequence[str]) -> Int64:
        """The latest number of each identifier, -1 if it has none."""
        return self._all.of(identifiers)

    @cached_property
    def _all(self) -> Identities:
        return Identities.read(self._ledger)


def _names(shelf: Shelf, wanted: Int64, file: PrivateFile) -> dict[int, str]:
    """The wanted people of one part of the identity map."""
    table = shelf.read(file)
    numbers = np.asarray(table["subject"]).astype(np.int64)
    rows = np.flatnonzero(np.isin(numbers, wanted))
    names = table["identifier"].take(pa.array(rows)).to_pylist()
    return dict(zip(numbers[rows].tolist(), map(str, names), strict=True))


def mentioned(outcome: Outcome) -> set[int]:
    """The people whom the findings and notes of a worker's outcome name."""
    heard = _Heard(set())
    named(outcome, heard)
    return heard.subjects


@dataclass(frozen=True)
class _Heard(Words):
    """Words that only listen."""

    subjects: set[int]

    def box(self, box: Int32) -> str:
        return ""

    def value(self, code: int) -> str:
        return ""

    def subject(self, number: int) -> str:
        self.subjects.add(number)
        return ""

    def release(self, number: int) -> str:
        return ""
