"""An audit on Spark: workers read the ledger, count, and attack; outcomes come to the driver, releases do not.

Every attack declares how its work can be divided (`methods.attack_parts` says why), and there is one way for each kind
of division. What cannot be divided runs on one worker, which reads the whole series.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from reissue.audit.description import FITTING, SeriesView, Workers
from reissue.audit.spark.counted import attack_paths, share_counts
from reissue.audit.spark.fragment import FragmentReader
from reissue.audit.spark.names import SparkNames, find_mentioned, name_outcome
from reissue.audit.spark.regrouped import LinkedParts, RegroupedRows, search_value_sets
from reissue.audit.spark.row_linkage import SparkColumns
from reissue.coding import Coding, CodingWords
from reissue.ledger import Ledger
from reissue.methods.attack import Attack, Outcome, WorkDivision, merge
from reissue.methods.attack_parts import SharedCountAttack, ValueSetAttack, join_steps, list_steps

if TYPE_CHECKING:
    from reissue.engine.spark.verbs import Spark

MOST = 0.5
"""Where one part has more than this share of the rows, attacks run in steps if they can, from three releases on."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class SparkAttacks(Workers):
    """How an audit runs its attacks on Spark, views the series, and names the few people that attacks find.

    Use as a context: what Spark keeps between attacks is let go at the end. names: whether people appear by identifier
    """

    lasting = False

    def __init__(self, spark: Spark, ledger: Ledger, coding: Coding, names: bool = True) -> None:
        self._spark, self._shelf, self._coding, self._names_shown = spark, ledger.shelf, coding, names
        self.names = SparkNames(spark, self._shelf)
        self.words = CodingWords(coding, self.names.name if names else "subject {}".format, ledger.shelf.labels)
        self._whole = FragmentReader(self._shelf, coding)
        self.view = SeriesView(FragmentReader.every(self._shelf, coding, self._shelf.separate), self)
        self._kept = ExitStack()

    @staticmethod
    def on(ledger: Ledger, coding: Coding, settings: Mapping[str, object], names: bool = True) -> SparkAttacks:
        """With Spark as the series' engine settings say."""
        from reissue.engine.spark.verbs import connect

        return SparkAttacks(connect(settings), ledger, coding, names)

    def __enter__(self) -> SparkAttacks:
        return self

    def __exit__(self, *problem: object) -> None:
        self._kept.close()

    # -- attacks

    def run(self, attack: Attack) -> Outcome:
        """The outcome of the attack on the series, in the first way that the attack and the series allow."""
        ways = {
            WorkDivision.PARTS: self._run_in_parts,
            WorkDivision.COUNTS: self._run_on_counts,
            WorkDivision.STEPS: self._run_in_steps,
            WorkDivision.SHARED_COUNTS: self._run_with_shared_counts,
            WorkDivision.VALUE_SETS: self._run_by_value_sets,
        }
        for division, way in ways.items():
            outcome = way(attack) if attack.divides(division) else None
            if outcome is not None:
                return outcome
        return self._run_on_one_worker(attack)

    def _run_in_parts(self, attack: Attack) -> Outcome | None:
        """None if nobody is in the series, or steps are shared out better than parts."""
        if self._divided:
            outcomes = self._spark.each(self._readers, lambda fragment: fragment.attack(attack))
        elif attack.divides(WorkDivision.STEPS) and len(self._shelf.releases) > 2 and self._linked.largest > MOST:
            return None
        else:
            outcomes = list(self._parts.each(attack.run))
        told = [outcome for outcome in outcomes if outcome is not None]
        return self._named(merge(attack, told)) if told else None

    @property
    def _divided(self) -> bool:
        """Whether fragments share neither people nor classes, so that each is a part."""
        return self._shelf.separate != [None]

    @cached_property
    def _linked(self) -> LinkedParts:
        return LinkedParts(self._spark, self._common, [one.classes for one in self.view.tallies])

    @property
    def _common(self) -> list[FragmentReader]:
        """The fragments of a series whose classes they have in common; the whole, if it is not divided."""
        return FragmentReader.every(self._shelf, self._coding, self._shelf.fragments, common=True)

    @cached_property
    def _parts(self) -> RegroupedRows:
        return self._kept.enter_context(self._linked.regroup())

    def _run_on_counts(self, attack: Attack) -> Outcome | None:
        """None if fragments have classes of their own, or somebody must be named."""
        if not all(one.common_classes for one in self._shelf.releases):
            return None
        return attack_paths(self._spark, self._common, attack)

    def _run_in_steps(self, attack: Attack) -> Outcome | None:
        """The longest steps come first, so that no worker begins one last."""
        from reissue.engine.spark.gathering import count_cores

        steps = list_steps(len(self._shelf.releases), 2 * count_cores(self._spark))
        outcomes = self._spark.each(steps, partial(self._whole.attack_step, attack))
        return self._named(join_steps(attack, steps, outcomes))

    def _run_with_shared_counts(self, attack: Attack) -> Outcome | None:
        """None if the series is not in fragments."""
        assert isinstance(attack, SharedCountAttack)
        return self._named(share_counts(self._spark, self._readers, attack)) if self._divided else None

    def _run_by_value_sets(self, attack: Attack) -> Outcome | None:
        """None if the series is so small that one worker searches it."""
        assert isinstance(attack, ValueSetAttack)
        outcome = search_value_sets(self._spark, self._readers, attack)
        return None if outcome is None else self._named(outcome)

    @property
    def _readers(self) -> list[FragmentReader]:
        return [one for one in self.view.fragments if isinstance(one, FragmentReader)]

    def _run_on_one_worker(self, attack: Attack) -> Outcome:
        whole, names = self._whole, self._names_shown
        outcome = self._spark.each([attack], lambda one: whole.attack_whole(one, names))[0]
        return outcome if attack.looks_for_names else self._named(outcome)

    def _named(self, outcome: Outcome) -> Outcome:
        """The outcome of workers who told people by number; those whom it mentions are looked up all at once."""
        self.names.learn(find_mentioned(outcome))
        return name_outcome(outcome, self.words)

    # -- the view of the series

    def each(self, items: Sequence[Item], task: Callable[[Item], Result]) -> list[Result]:
        return self._spark.each(items, task)

    def count_fits(self, items: Sequence[Item], task: Callable[[Item], Iterable[pa.Table]]) -> pa.Table:
        from reissue.engine.spark.gathering import combine, select_where

        rows = self._spark.rows_from_tasks(items, task, FITTING)
        keys = combine(rows, ["release", "key"], {"sample": "sum", "fitting": "sum"})
        shown = select_where(keys, "sample > 0", ["release", "sample", "greatest(sample, fitting) AS fitting"])
        return self._spark.collect(self._spark.count(shown, ["release", "sample", "fitting"]), "risks of classes")

    def insensitive(self, folders: Sequence[Path]) -> SparkColumns:
        """The insensitive columns of the releases that are published in these folders."""
        return SparkColumns(self._spark, folders, self._coding.schema.insensitive)
