"""An audit on Spark: workers read the ledger, count, and attack; outcomes come to the driver, releases do not.

A series in fragments is in parts already: no two fragments share anybody, nor, unless one plan was made for all of
them, a class. Otherwise workers count which classes are linked by people, the driver deals connected classes out to
parts, and Spark brings each part's rows together. Of the attacks that are not separable, those that are stepwise run
on many workers, two releases at a time (`methods.attack_parts` says which, and why); the others on one worker, which
reads the whole series, or, where `on_counts` says so, counts of it. Fragments of a series tell each other counts for
the attack by `beliefs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reissue.arrays.types import Int32, Int64
from reissue.audit.description import Card, Place, by_release
from reissue.audit.parallel import named
from reissue.audit.spark.beliefs import in_fragments
from reissue.audit.spark.connected_classes import Gathered
from reissue.audit.spark.equivalence import by_sets
from reissue.audit.spark.on_counts import on_counts
from reissue.audit.spark.portion import FITTING, Census, NamedPortion, Portion, Whole
from reissue.audit.spark.row_linkage import SparkColumns
from reissue.audit.steps import steps_of, together
from reissue.audit.timeline import Entry, added
from reissue.coding import Coding
from reissue.history.identities import Identities
from reissue.ledger import Ledger, Shelf
from reissue.ledger.parquet import numbers_of
from reissue.ledger.records import PrivateFile
from reissue.methods.attack import Attack, Division, Outcome
from reissue.methods.attack_parts import merge
from reissue.model.observed import Observed, Words

if TYPE_CHECKING:
    from reissue.engine.spark.verbs import Spark

MOST = 0.5
"""Where one part has more than this share of the rows, attacks run in steps if they can, from three releases on."""


class SparkAttacks:
    """How an audit runs its attacks on Spark, looks at the series, and names the few people that attacks find.

    `run` is a `parallel.Runner`, and the whole is the audit's `looking.Look`. Use as a context: what Spark keeps
    between attacks is let go at the end. names: whether people appear by identifier
    """

    def __init__(self, spark: Spark, ledger: Ledger, coding: Coding, names: bool = True) -> None:
        self._spark, self._shelf, self._coding = spark, ledger.shelf, coding
        self.names = SparkNames(spark, self._shelf)
        self._whole = Whole(self._shelf, coding, names)
        divided = self._shelf.separate != [None]
        self._parts: Gathered | None = None if divided else Gathered(spark, self._shelf, coding)
        self._cards: dict[Place, Card] = {}

    @staticmethod
    def on(ledger: Ledger, coding: Coding, settings: Mapping[str, object], names: bool = True) -> SparkAttacks:
        """With Spark as the series' engine settings say."""
        from reissue.engine.spark.verbs import connect

        return SparkAttacks(connect(settings), ledger, coding, names)

    def __enter__(self) -> SparkAttacks:
        return self

    def __exit__(self, *problem: object) -> None:
        if self._parts is not None:
            self._parts.close()

    # -- attacks

    def run(self, attack: Attack, observed: Observed) -> Outcome:
        """The outcome of `attack.run(observed)`, in the first way that the attack and the series allow.

        The releases of `observed` are not looked at: workers read them from the ledger.
        """
        for way in (self._in_parts, self._on_counts, self._in_steps, self._by_beliefs, self._by_sets):
            outcome = way(attack, observed.words)
            if outcome is not None:
                return outcome
        return self._on_one_worker(attack, observed.words)

    def _in_parts(self, attack: Attack, words: Words) -> Outcome | None:
        """None if the attack is not separable, nobody is in the series, or steps are shared out better than parts."""
        if not attack.divides(Division.PARTS) or (attack.divides(Division.STEPS) and self._hangs_together):
            return None
        outcomes = [outcome for outcome in self._attacked(attack) if outcome is not None]
        return self._named(merge(attack, outcomes), words) if outcomes else None

    @property
    def _hangs_together(self) -> bool:
        """Whether one worker would have most of the work, and steps would have not."""
        return self._parts is not None and len(self._shelf.releases) > 2 and self._parts.largest > MOST

    def _attacked(self, attack: Attack) -> list[Outcome | None]:
        if self._parts is not None:
            return self._parts.attacked(attack)
        return self._spark.each(self._portions, partial(_attacked, attack))

    def _on_counts(self, attack: Attack, words: Words) -> Outcome | None:
        return on_counts(self._spark, self._shelf, self._coding, attack)

    def _in_steps(self, attack: Attack, words: Words) -> Outcome | None:
        """None if the attack is not stepwise. The longest steps come first, so that no worker begins one last."""
        if not attack.divides(Division.STEPS):
            return None
        cores = self._spark.session.sparkContext.defaultParallelism
        steps = steps_of(len(self._shelf.releases), 2 * cores)
        outcomes = self._spark.each(steps, partial(self._whole.stepped, attack))
        return self._named(together(attack, steps, outcomes), words)

    def _by_beliefs(self, attack: Attack, words: Words) -> Outcome | None:
        """None if the series is not in fragments, or it is another attack than background knowledge."""
        outcome = in_fragments(self._spark, self._portions, attack) if self._parts is None else None
        return None if outcome is None else self._named(outcome, words)

    def _by_sets(self, attack: Attack, words: Words) -> Outcome | None:
        """None if it is another attack than equivalence, or the series is so small that one worker searches it."""
        outcome = by_sets(self._spark, self._portions, attack)
        return None if outcome is None else self._named(outcome, words)

    def _on_one_worker(self, attack: Attack, words: Words) -> Outcome:
        outcome = self._spark.each([attack], self._whole.attacked)[0]
        return outcome if attack.looks_for_names else self._named(outcome, words)

    def _named(self, outcome: Outcome, words: Words) -> Outcome:
        """The outcome of workers who told people by number; those whom it mentions are looked up all at once."""
        self.names.learn(mentioned(outcome))
        return named(outcome, words)

    # -- the look at the series

    @cached_property
    def _every(self) -> list[Portion]:
        return Portion.every(self._shelf, self._coding)

    @cached_property
    def _censuses(self) -> list[Census]:
        return self._spark.each(self._every, Portion.census)

    @cached_property
    def _portions(self) -> list[NamedPortion]:
        classes = np.array([[one.classes for one in census.tallies] for census in self._censuses], dtype=np.int64)
        return NamedPortion.naming(self._every, classes)

    @property
    def people(self) -> int | None:
        return sum(census.people for census in self._censuses)

    @property
    def changed_value(self) -> int:
        return sum(census.changed_value for census in self._censuses)

    @cached_property
    def timeline(self) -> list[Entry]:
        """The releases in whole numbers: of fragments, added up; of classes, added up by Spark."""
        releases = range(len(self._shelf.releases))
        tallies = [[census.tallies[position] for census in self._censuses] for position in releases]
        changes = [[census.changes[position] for census in self._censuses] for position in releases]
        fits = self._fits([[one.hull for one in parts] for parts in tallies])
        return [
            Entry(added(parts), reduce(add, theirs), its)
            for parts, theirs, its in zip(tallies, changes, fits, strict=True)
        ]

    def _fits(self, hulls: Sequence[Sequence[Int32 | None]]) -> list[Int64]:
        """For each release int64[kinds, 3] as in an entry: how many people of all fragments fit the classes of all."""
        frame = self._spark.rows_from_tasks(self._portions, partial(_fitting, hulls), FITTING)
        keys = frame.groupBy("release", "key").sum("sample", "fitting").toDF("release", "key", "sample", "fitting")
        shown = keys.where("sample > 0").selectExpr("release", "sample", "greatest(sample, fitting) AS fitting")
        kinds = self._spark.count(shown, ["release", "sample", "fitting"])
        found = self._spark.collect(kinds, "risks of classes")
        table = np.column_stack([np.asarray(column).astype(np.int64) for column in found.columns])
        table = table[np.lexsort(table.T[::-1])]
        return [table[table[:, 0] == position, 1:] for position in range(len(hulls))]

    def settle(self, places: Iterable[Place]) -> None:
        """Have workers tell now what the document will ask for: the series may change later."""
        _ = self.timeline
        wanted = by_release(places)
        if wanted:
            for cards in self._spark.each(self._portions, partial(_cards, wanted)):
                self._cards |= cards

    def cards(self, places: Iterable[Place]) -> Mapping[Place, Card]:
        return self._cards

    def insensitive(self, folders: Sequence[Path]) -> SparkColumns:
        """The insensitive columns of the releases that are published in these folders."""
        return SparkColumns(self._spark, folders, self._coding.schema.insensitive)


def _attacked(attack: Attack, portion: NamedPortion) -> Outcome | None:
    return portion.attacked(attack)


def _fitting(hulls: Sequence[Sequence[Int32 | None]], portion: Portion) -> Iterable[pa.Table]:
    return portion.fitting(hulls)


def _cards(wanted: Mapping[int, Int64], portion: NamedPortion) -> dict[Place, Card]:
    return portion.cards(wanted)


# -- Names


class SparkNames:
    """Who has which number: the few who are asked for, looked up by workers in the identity map."""

    def __init__(self, spark: Spark, shelf: Shelf) -> None:
        self._spark, self._shelf = spark, shelf
        self._known: dict[int, str] = {}

    def learn(self, numbers: Iterable[int]) -> None:
        """Look up these people, all at once."""
        wanted = np.array(sorted(set(numbers) - set(self._known)), dtype=np.int64)
        if len(wanted) == 0:
            return
        self._known |= {int(number): f"subject {number}" for number in wanted}  # who was forgotten
        for names in self._spark.each(self._files, partial(_names, self._shelf, wanted)):
            self._known |= names

    def name(self, number: int) -> str:
        """The identifier of a subject; its number if it has been forgotten."""
        self.learn([number])
        return self._known[number]

    def of(self, identifiers: Sequence[str]) -> Int64:
        """The latest number of each identifier, -1 if it has none."""
        wanted = [str(one) for one in identifiers]
        found = self._spark.each(self._files, partial(_numbers, self._shelf, wanted)) if wanted else []
        numbers = np.full(len(wanted), -1, dtype=np.int64)
        for some in found:
            np.maximum(numbers, some, out=numbers)
        return numbers

    @property
    def _files(self) -> list[PrivateFile]:
        return self._shelf.state.of_role("identities")


def _names(shelf: Shelf, wanted: Int64, file: PrivateFile) -> dict[int, str]:
    """The wanted people of one part of the identity map."""
    table = shelf.read(file)
    numbers = np.asarray(table["subject"]).astype(np.int64)
    rows = np.flatnonzero(np.isin(numbers, wanted))
    names = table["identifier"].take(pa.array(rows)).to_pylist()
    return dict(zip(numbers[rows].tolist(), map(str, names), strict=True))


def _numbers(shelf: Shelf, wanted: Sequence[str], file: PrivateFile) -> Int64:
    """As `Identities.of`, of one part of the identity map."""
    table = shelf.read(file)
    return Identities(table["identifier"].combine_chunks(), numbers_of(table["subject"])).of(wanted)


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
