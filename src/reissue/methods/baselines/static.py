"""Static: every release anonymized by itself, blind to the ones before it. A baseline that is NOT safe in a series."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np

from reissue.arrays.types import Int64
from reissue.errors import SettingsError
from reissue.methods.strategy import ANYTHING, Changes, Strategy
from reissue.methods.value_order import OrderedValues
from reissue.model.feasible import refuse_infeasible
from reissue.model.fragment_counts import Counts, FragmentCounts
from reissue.model.observed import Names
from reissue.model.release import Candidate, Coded, Counterfeits, Facts, History, Table
from reissue.model.requirement import Distance, Diversity, Gain, Likeness, Ratio, Requirement
from reissue.model.requirement_kernels import Limits
from reissue.model.settings import RowCount, Share, Spare, ValueCount
from reissue.partition.mondrian import Partition, mondrian

Algorithm = Literal["mondrian", "incognito"]

UNSAFE = "Earlier releases were not looked at: this release may give people away when it is laid beside them."


@dataclass(frozen=True, kw_only=True)
class OneTable(Strategy):
    """What a strategy that protects one table at a time asks of every class: see reissue.model.requirement."""

    k: RowCount
    c: Share = 1.0
    algorithm: Algorithm = "mondrian"
    l: ValueCount | None = None  # noqa: E741 (the literature's name)
    diversity: Diversity = "distinct"
    recursive_c: Ratio | None = None

    @property
    def requirement(self) -> Requirement:
        """What every class must satisfy."""
        return Requirement(k=self.k, c=self.c, l=self.l, diversity=self.diversity, recursive_c=self.recursive_c)


@dataclass(frozen=True, kw_only=True)
class Static(OrderedValues, OneTable):
    """UNSAFE ACROSS RELEASES. Every class of each single release meets the requirement; nothing holds for the series.

    The baseline of Byun et al. (2006), section 6: what one gets from a tool that protects one table at a time.

    k, c: (k,c)-anonymity: at least k rows in a class, no value above share c of it
    algorithm: "mondrian" (median cuts of boxes) or "incognito" (one level of generalization per attribute)
    l, diversity, recursive_c, t, ordered, beta, likeness: further conditions, see reissue.model.requirement
    value_order: the values, the lowest first, if t is `ordered` and they are not numbers or bins
    suppress: the share of rows that incognito may leave out, because fewer than k people are like them; 0: nobody
    """

    name: ClassVar[str] = "static"
    supports: ClassVar[Changes] = ANYTHING

    t: Distance | None = None
    ordered: bool = False
    beta: Gain | None = None
    likeness: Likeness = "basic"
    value_order: tuple[str, ...] = ()
    suppress: Spare = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.suppress and self.algorithm == "mondrian":
            raise SettingsError(
                f'suppress is {self.suppress:g}; with algorithm = "mondrian" everybody fits into a class, none is left '
                'out. Set algorithm = "incognito", or leave suppress out.'
            )

    def prepare(self, names: Names) -> Self:
        return self.with_order(names)

    @property
    def requirement(self) -> Requirement:
        """What every class must satisfy."""
        return replace(
            super().requirement,
            t=self.t,
            ordered=self.ordered,
            order=self._order,
            beta=self.beta,
            likeness=self.likeness,
        )

    def survey(self, snapshot: Coded, history: History) -> FragmentCounts:
        """t-closeness and beta-likeness compare every class with the whole table; so fragments count for each other."""
        values = {"values": Counts.of_values(value_counts(snapshot))} if self.requirement.needs_table else {}
        return FragmentCounts(values)

    @property
    def undivided(self) -> str | None:
        """Levels are those of the whole table."""
        if self.algorithm == "mondrian":
            return None
        from reissue.partition.incognito import ONE_LEVEL

        return ONE_LEVEL.format(name="Incognito", other='algorithm = "mondrian"')

    def publish(self, snapshot: Coded, history: History) -> Candidate:
        """Group the snapshot's rows by themselves; the history is not looked at."""
        table = self._table(snapshot, history)
        spare = int(self.suppress * len(snapshot))
        partition, sentence = anonymize(snapshot, self.requirement, self.algorithm, table, spare)
        steps = (sentence, UNSAFE) if len(history) else (sentence,)
        return Candidate(partition.boxes, partition.classes, Counterfeits.none(len(snapshot.domains)), steps)

    def _table(self, snapshot: Coded, history: History) -> Int64 | None:
        """int64[value_count] of the whole table, if the rows are a fragment of it and the requirement looks at it.

        Raises InfeasiblePolicy unless the rows, taken as one class, meet the requirement.
        """
        whole = history.whole
        table = None if whole is None or not whole.everywhere else whole.values(snapshot.value_count)
        refuse_infeasible(self.requirement, value_counts(snapshot), table=table)
        return table

    def remember(self, caches: Mapping[str, Table], release: Facts) -> Mapping[str, Table]:
        """Nothing: no release looks back."""
        return caches

    def thresholds(self) -> Mapping[str, float]:
        return self.requirement.thresholds()

    def side_of_a_cut(self, room: float) -> Requirement:
        return replace(super().side_of_a_cut(room), ordered=self.ordered, likeness=self.likeness)


def value_counts(snapshot: Coded) -> Int64:
    """int64[value_count]: how often each sensitive value occurs."""
    return np.bincount(snapshot.values, minlength=snapshot.value_count).astype(np.int64)


def anonymize(
    snapshot: Coded, requirement: Requirement, algorithm: Algorithm, table: Int64 | None = None, spare: int = 0
) -> tuple[Partition, str]:
    """Partition all rows so that every class meets the requirement; with a sentence that says what was done.

    The rows taken as one class must meet it: see refuse_infeasible. table: int64[value_count] of the whole table, where
    these rows are a fragment of it. spare: how many rows incognito may leave out.
    """
    limits = requirement.limits(value_counts(snapshot) if table is None else table)
    if algorithm == "mondrian":
        partition = mondrian(snapshot.codes, snapshot.values, snapshot.domains, limits)
        how = "by median cuts (Mondrian)"
    else:
        partition, how = _generalize(snapshot, limits, spare)
    sizes = np.bincount(partition.classes[partition.classes >= 0])
    rows = int(sizes.sum())
    if rows < len(snapshot):
        how += f"; {len(snapshot) - rows:,} rows that are like fewer than {requirement.k} are left out"
    return partition, (
        f"Grouped {rows:,} rows into {len(sizes):,} classes of {sizes.min():,} to {sizes.max():,} rows {how}, "
        f"{requirement.sentence()}."
    )


def _generalize(snapshot: Coded, limits: Limits, spare: int) -> tuple[Partition, str]:
    """The best full-domain generalization of the rows, and how it was made."""
    from reissue.partition.incognito import incognito

    partition, node = incognito(snapshot.codes, snapshot.values, snapshot.domains, limits, spare=spare)
    levels = ", ".join(f"{d.name} {level}" for d, level in zip(snapshot.domains, node, strict=True) if level)
    return partition, f"by full-domain generalization (Incognito; levels: {levels or 'all 0'})"
