"""Making one fragment of a release: everything here can be sent to a worker, and runs alike in every process."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from reissue.arrays.sets import Combinations
from reissue.arrays.types import Int32, Int64
from reissue.coding import Coding, CodingNames, CodingWords
from reissue.engine.identifiers import Identifiers
from reissue.errors import InfeasiblePolicy, show_text
from reissue.history.lending import LentColumns, lend
from reissue.history.past_releases import ABSENT, Identities, PastReleases, fold_caches, own_caches, rebuild_caches
from reissue.ledger import Marks, Shelf
from reissue.methods.strategy import Planner, Strategy
from reissue.model.fragment_counts import CountedSnapshot, FragmentCounts, TableCounts
from reissue.model.observed import Words, put_names
from reissue.model.paths import count_paths
from reissue.model.release import Candidate, Coded, Facts, History, Table, derive_seed, read_segments, take_rows
from reissue.publish.changes import ComparedRows, PermittedRows, compare, permit
from reissue.publish.self_check import (
    CommonCheck,
    EarlierLoss,
    check_attacks,
    check_classes,
    check_common,
    check_joint_series,
    check_promise,
    check_rows,
)

LEFT_OUT = "part_left_out"
"""Of the facts' extras: int64[] subjects who are in the snapshot, but not in the release."""


@dataclass(frozen=True, eq=False)
class SnapshotRows:
    """Rows of a snapshot in codes, in the order of their source: all of them, or those of one fragment.

    numbers: int64[rows] the latest number of each identifier, -1 if it has none
    codes:       int32[rows, attributes] in Fortran order; values: int32[rows]
    insensitive: the other columns to be published; None if there are none
    """

    identifiers: Identifiers
    numbers: Int64
    codes: Int32
    values: Int32
    insensitive: pa.Table | None

    def __len__(self) -> int:
        return len(self.values)

    def part(self, rows: Int64) -> SnapshotRows:
        """Some of the rows."""
        insensitive = None if self.insensitive is None else self.insensitive.take(pa.array(rows))
        codes, identifiers = take_rows(self.codes, rows), self.identifiers.part(rows)
        return SnapshotRows(identifiers, self.numbers[rows], codes, self.values[rows], insensitive)


@dataclass(frozen=True, eq=False)
class FragmentRelease:
    """One fragment of the release, checked. `caches` are those after it.

    paths: where classes are common to all fragments, what is left to be checked for all of them together
    lost:  what is lost beside earlier releases of another strategy; None if nothing is
    lent:  whence the rows have their insensitive columns; None if there are none
    """

    coded: Coded
    candidate: Candidate
    facts: Facts
    caches: Mapping[str, Table]
    steps: tuple[str, ...]
    stopped: tuple[str, ...]
    paths: Combinations | None = None
    lost: EarlierLoss | None = None
    lent: LentColumns | None = None

    @property
    def values(self) -> Int64:
        """int64[values]: how often each value would be published."""
        return np.bincount(self.facts.values, minlength=self.coded.value_count).astype(np.int64)


@dataclass(frozen=True, eq=False)
class FragmentJob:
    """One fragment of the release that is being made.

    seed:        of the whole release; each fragment derives its own
    fragment, fragments: which one of how many
    kept_caches: whether the caches in the ledger are of use; if not, they are folded anew from the facts
    first_new:   the number that the first new subject of the release gets
    """

    shelf: Shelf
    coding: Coding
    strategy: Strategy
    number: int
    seed: int
    fragment: int
    fragments: int
    kept_caches: bool
    first_new: int
    on_change: str

    @cached_property
    def past(self) -> PastReleases:
        return PastReleases(self.shelf, self.coding, self._part, counted=True)

    @cached_property
    def caches(self) -> Mapping[str, Table]:
        if len(self.past) == 0:
            return {}
        if self.kept_caches:
            return self.shelf.caches(self._part)
        return rebuild_caches(self.strategy, self.past)

    @property
    def _part(self) -> int | None:
        return self.fragment if self.fragments > 1 else None

    @property
    def common(self) -> bool:
        """Whether classes are common to all fragments: then one plan is made for all."""
        return self.fragments > 1 and self.strategy.plans_for_all

    @property
    def own_seed(self) -> int:
        return self.seed if self.fragments == 1 else derive_seed(self.seed, self.fragment + 1)

    def compare_with_past(self, rows: SnapshotRows) -> PermittedRows:
        """The rows against the last word on each subject of this fragment."""
        last = self.past[-1] if len(self.past) else None
        compared = compare(rows.numbers, rows.codes, rows.values, last, read_segments(self.caches, ABSENT))
        left_out = self.strategy.left_out(compared.numbers, self._history(None))
        if left_out is not None:
            compared = compared.without(left_out)
        return permit(
            self.strategy, compared, rows.codes, rows.values, self.coding, rows.identifiers.at, self.on_change
        )

    def count_for_others(self, rows: SnapshotRows, compared: ComparedRows) -> FragmentCounts | None:
        """What the other fragments need to know of these rows; None if the strategy looks at each by itself."""
        if self.fragments == 1:
            return None
        coded = Coded(compared.numbers, rows.codes, rows.values, self.coding.domains, len(self.coding.values))
        return self.strategy.survey(coded, self._history(None))

    def plan(self, rows: int, combinations: Mapping[str, Combinations]) -> Candidate:
        """The release without its rows, from what all fragments counted of so many rows."""
        assert isinstance(self.strategy, Planner)
        counted = CountedSnapshot(rows, self.coding.domains, len(self.coding.values), combinations)
        words = self._make_words("subject {}".format)
        try:
            plan = self.strategy.plan(counted, self._history(None))
        except InfeasiblePolicy as error:
            raise InfeasiblePolicy(put_names(str(error), words)) from error
        return _number_at_random(plan, self.seed, words)

    def check_plan(self, plan: Candidate, paths: Combinations) -> CommonCheck:
        """The release of all fragments, found sound. paths: those of everybody, added up."""
        assert isinstance(self.strategy, Planner)
        boxes = [*(facts.boxes for facts in self.past), plan.boxes]
        words = self._make_words(lambda _: "somebody")
        return check_common(self.strategy, boxes, paths, self.coding.domains, len(self.coding.values), words)

    def make(
        self, rows: SnapshotRows, compared: ComparedRows, first: int, whole: TableCounts | None = None
    ) -> FragmentRelease:
        """Anonymize the rows and check the result; new subjects are numbered from `first` on."""
        coded = self._coded(rows, compared, first)
        strategy = self._prepared(rows, coded.subjects)
        history = self._history(whole)
        words = self._make_words(_name_rows(rows.identifiers, coded.subjects))
        candidate = self._anonymized(strategy, coded, history, words)
        absent = candidate.classes < 0
        if absent.any() or self.fragments > 1:  # of all fragments, or their facts could not be joined
            candidate = replace(candidate, extras={**candidate.extras, LEFT_OUT: coded.subjects[absent]})
        facts = candidate.facts(len(self.past) + 1, coded)  # as in `past`, releases are counted
        check_rows(facts, coded, int((candidate.classes < 0).sum()), words, self.common)
        caches = fold_caches(strategy, self.caches, self.past[-1] if len(self.past) else None, facts)
        kept, lent = replace(facts, number=self.number), None
        if rows.insensitive is not None:
            last = self.past[-1] if len(self.past) else None
            lent, kept = lend(coded, kept, last, rows.insensitive, self.own_seed)
            candidate = replace(candidate, steps=(*candidate.steps, *lent.steps))
        if self.common:
            paths = count_paths([*self.past, facts], words)[0]
            return FragmentRelease(coded, candidate, kept, caches, candidate.steps, (), paths, lent=lent)
        check_classes(strategy, facts, coded, words, whole)
        check_promise(strategy, facts, history, words)
        stopped = check_attacks(strategy, facts, history, coded, words)
        held, lost = check_joint_series(strategy, self.shelf.releases, facts, history, coded, words)
        stopped += held
        return FragmentRelease(coded, candidate, kept, caches, candidate.steps, tuple(stopped), lost=lost, lent=lent)

    def _history(self, whole: TableCounts | None) -> History:
        return History(self.past, own_caches(self.caches), self.own_seed, self.first_new, whole, self.fragment)

    def _coded(self, rows: SnapshotRows, compared: ComparedRows, first: int) -> Coded:
        new = compared.numbers < 0
        subjects = compared.numbers.copy()
        subjects[new] = np.arange(first, first + new.sum())
        return Coded(subjects, rows.codes, rows.values, self.coding.domains, len(self.coding.values))

    def _make_words(self, name: Callable[[int], str]) -> CodingWords:
        """Releases are counted here, so what people call each goes by its place; the one to be made has a number."""
        called = {place: one.name for place, one in enumerate(self.shelf.releases, start=1)}
        return CodingWords(self.coding, name, {**called, len(self.past) + 1: str(self.number)})

    def _prepared(self, rows: SnapshotRows, subjects: Int64) -> Strategy:
        """The strategy with its knowledge read in the series' terms, if it wants any."""

        def lookup(identifiers: Sequence[str]) -> Int64:
            known = Identities(
                *self.shelf.identities(self._part), Marks.read(self.shelf)
            )  # only if people are named: it is as long as rows
            return known.including(rows.identifiers.take(np.arange(len(rows))), subjects).of(identifiers)

        return self.strategy.prepare(CodingNames(self.coding, lookup))

    def _anonymized(self, strategy: Strategy, coded: Coded, history: History, words: Words) -> Candidate:
        """What the strategy proposes; where a plan was made for all fragments, its classes have their numbers."""
        try:
            candidate = strategy.publish(coded, history)
        except InfeasiblePolicy as error:
            problem = put_names(str(error), words)
            if self.fragments > 1 and not strategy.stands:  # which has looked at all of them
                problem = (
                    f"In fragment {self.fragment + 1} of {self.fragments}: {problem} (Each fragment must be feasible "
                    "by itself; a series with fewer fragments may be where this one is not.)"
                )
            raise InfeasiblePolicy(problem) from error
        by_number = CodingWords(self.coding, "subject {}".format)  # what is kept names nobody, who may be forgotten
        return candidate if self.common else _number_at_random(candidate, history.seed, by_number)


def _number_at_random(candidate: Candidate, seed: int, words: Words) -> Candidate:
    """The classes renumbered at random, so that numbers say nothing; the steps in people's words."""
    numbers = np.random.default_rng([seed, 1]).permutation(len(candidate.boxes)).astype(np.int32)
    steps = tuple(put_names(step, words) for step in candidate.steps)
    return replace(candidate.renumber(numbers), steps=steps)


def name_subjects(text: str, name: Callable[[int], str]) -> str:
    """The text with marks of `mark_subject` replaced by names."""
    return re.sub(r"\x00subject:(\d+)\x00", lambda match: show_text(name(int(match[1]))), text)


def _name_rows(identifiers: Identifiers, subjects: Int64) -> Callable[[int], str]:
    """Names of these rows' subjects; others by number."""
    order: list[Int64] = []

    def name(number: int) -> str:
        if not order:
            order.append(np.argsort(subjects, kind="stable"))
        where = int(np.searchsorted(subjects, number, sorter=order[0]))
        if where < len(subjects) and subjects[order[0][where]] == number:
            return identifiers.at(int(order[0][where]))
        return f"subject {number}"

    return name
