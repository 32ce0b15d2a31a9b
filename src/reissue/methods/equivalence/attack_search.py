"""Searching a series for value equivalence attacks: bucket by bucket, by integer program, or in pairs of classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from reissue.arrays.types import Int32, Int64
from reissue.methods.attack import Finding, Outcome
from reissue.methods.equivalence.attack_people import ToldPeople
from reissue.methods.equivalence.class_pairs import ClassPairs, FindingWriter, find_exposed
from reissue.methods.equivalence.smallest_attack import (
    AttackWeights,
    Block,
    find_smallest_new_cut,
    find_whole_cut,
    solve_smallest_attack,
    try_attacks,
)
from reissue.model.observed import Observed

if TYPE_CHECKING:
    from reissue.methods.equivalence.attack import Equivalence

_NO_ATTACK = 2**62
_MOST_COLUMNS = 1500
"""Beyond this many kinds of people a block is too large for the integer program."""


@dataclass
class SearchTotals:
    """Bounds, attacks and people at risk; those of parts of a series that share no set of values can be added up.

    limit:    the most findings to describe
    proved:   no linear attack is smaller, by cuts or programs; printed: the same by fingerprints
    smallest: the smallest attack found; cut: the smallest cut of a bucket's history
    cuts:     sets (int32[]) and cuts (int64[]) of buckets that share nobody, for attacks that combine them
    others:   there are sets whose cuts are not known here
    closed:   whether bound and attack meet everywhere
    found:    the smallest attacks, each once; total: how many break the promise; risky: int64[] the people they show
    by_worlds: attacks among them that are not linear; unlooked: whether only pairs of classes were searched
    open_pairs: whether fingerprints could not tell of all pairs of people
    """

    limit: int
    proved: int | None = None
    printed: int | None = None
    smallest: int | None = None
    cut: int | None = None
    cuts: list[tuple[Int32, Int64]] = field(default_factory=list)
    others: bool = False
    closed: bool = True
    found: list[Finding] = field(default_factory=list)
    total: int = 0
    risky: list[Int64] = field(default_factory=list)
    by_worlds: int = 0
    unlooked: bool = False
    open_pairs: bool = False

    def bound(self, size: int) -> None:
        """No attack looked at here shows fewer people."""
        self.proved = size if self.proved is None else min(self.proved, size)

    def bound_by_prints(self, size: int) -> None:
        """No linear attack on these classes shows fewer people."""
        self.printed = size if self.printed is None else min(self.printed, size)

    def bound_lone(self, size: int | None) -> None:
        """Attacks that were not looked at show at least so many people; None: there are none."""
        if size is not None:
            if self.printed is not None:
                self.printed = min(self.printed, size)
            if self.proved is not None or self.printed is None:
                self.bound(size)

    @property
    def linear(self) -> int | None:
        """No linear attack shows fewer people."""
        bounds = (self.proved, None if self.unlooked else self.printed)
        return max((bound for bound in bounds if bound is not None), default=None)

    def attack(self, size: int) -> None:
        """An attack of this size was found."""
        self.smallest = size if self.smallest is None else min(self.smallest, size)

    def cut_of(self, size: int) -> None:
        """The history of a bucket has a cut of this size."""
        self.cut = size if self.cut is None else min(self.cut, size)

    def beaten(self, size: int, classes: tuple[tuple[int, int], ...]) -> bool:
        """Whether this attack, which breaks nothing, will not be told: only the smallest of such is."""
        return bool(self.found) and (self.found[0].level, self.found[0].classes) <= (size, classes)

    def takes(self, size: int, classes: tuple[tuple[int, int], ...]) -> bool:
        """Whether a finding of this size about these classes would be kept as of now; one that is not never will be."""
        last = self.found[-1] if len(self.found) == self.limit else None
        return last is None or (size, classes) <= (last.level, last.classes)

    def describe(self, findings: Sequence[Finding]) -> None:
        """Keep the smallest of what was found so far; of those equal in size and classes, the first."""
        ordered = sorted([*self.found, *findings], key=lambda finding: (finding.level, finding.classes))
        once = {(finding.level, finding.classes, tuple(sorted(finding.subjects))): finding for finding in ordered[::-1]}
        self.found = list(once.values())[::-1][: self.limit]

    @staticmethod
    def sum_up(tallies: Sequence[SearchTotals]) -> SearchTotals:
        """All of them together."""
        whole, sets = SearchTotals(tallies[0].limit), 0
        for one in tallies:
            for least, tell in (
                (one.proved, whole.bound),
                (one.printed, whole.bound_by_prints),
                (one.smallest, whole.attack),
                (one.cut, whole.cut_of),
            ):
                if least is not None:
                    tell(least)
            whole.cuts += [(shows + np.int32(sets), cuts) for shows, cuts in one.cuts]
            sets += 1 + max((int(shows.max(initial=-1)) for shows, _ in one.cuts), default=-1)
            whole.others |= one.others
            whole.closed &= one.closed
            whole.describe(one.found)
            whole.total += one.total
            whole.risky += one.risky
            whole.by_worlds += one.by_worlds
            whole.unlooked |= one.unlooked
            whole.open_pairs |= one.open_pairs
        return whole

    def outcome(
        self,
        attack: str,
        at_risk: Mapping[int, Int64],
        notes: Sequence[str] = (),
        decomposes: int | None = None,
    ) -> Outcome:
        """What is told. decomposes: searching by signature is exact up to this size."""
        across = self._across(decomposes)
        findings = [finding for finding in self.found if finding.breach] or self.found[:1]
        linear, smallest = self.linear, self.smallest
        least = linear if linear is None or smallest is None else min(linear, smallest)  # whole people can show more
        bounds = {"lower_bound": least, "smallest_attack": smallest, "smallest_cut": self.cut}
        measures = {name: float(value) for name, value in bounds.items() if value is not None}
        closed = self.closed and (across is None or (self.smallest is not None and self.smallest <= across))
        if linear is not None and smallest is not None:
            within = (decomposes is None or smallest <= decomposes) and (smallest >= linear or smallest == 1)
            measures["exact"] = float(within and (closed or linear >= smallest))
        return Outcome(
            attack=attack,
            findings=tuple(findings),
            total=max(self.total, len(findings)),
            at_risk=at_risk,
            measures=measures,
            notes=tuple(notes),
        )

    def _across(self, decomposes: int | None) -> int | None:
        """Bound the attacks that combine buckets: people of two of them are shown, or more (see `connect_classes`)."""
        if not self.cuts:
            return None
        shows, cuts = (np.concatenate(column) for column in zip(*self.cuts, strict=True))
        order = np.lexsort((cuts, shows))
        shows, cuts = shows[order], cuts[order]
        same = np.flatnonzero(shows[1:] == shows[:-1])  # next to each other: the smallest two of a set among them
        bounds = [int((cuts[same] + cuts[same + 1]).min() + 1) // 2] if len(same) else []
        if (self.others or len(np.unique(shows)) > 1) and decomposes is not None:
            two = 0 if self.others else int(np.sort(cuts)[:2].sum() + 1) // 2
            bounds.append(max(decomposes + 1, two))
        if len(cuts):
            self.cut_of(int(cuts.min()))
        if not bounds:
            return None
        self.bound(min(bounds))
        return min(bounds)


@dataclass
class EquivalenceSearch:
    """Collects bounds, attacks and people at risk over the parts of a series."""

    attack: Equivalence
    series: Observed
    tally: SearchTotals = field(init=False)
    until: float = field(init=False)
    shown: FindingWriter = field(init=False)
    told: ToldPeople = field(default_factory=ToldPeople)

    def __post_init__(self) -> None:
        self.tally = SearchTotals(self.attack.limit)
        self.until = monotonic() + (self.attack.time_limit or inf)
        self.shown = FindingWriter(self.attack.name, self.attack.e, self.series)

    def bucket(self, block: Block, *, only_last: bool = False) -> None:
        """A merged bucket: bound by cuts, attacks found, the gap closed if asked for or if publish must know."""
        cut = find_smallest_new_cut(block, only_last=only_last)
        if cut is None:
            return
        bound = -(-cut // 2)
        if not only_last:
            self.tally.cut_of(find_whole_cut(block))
        if only_last and bound >= self.attack.e:
            self.tally.bound(bound)
            return
        ways = try_attacks(block)
        best = ways[0].size if ways else None
        if (self.attack.exact or only_last) and (best is None or bound < best):
            bound, ways = self._programmed(block, bound, ways)
            best = ways[0].size if ways else None
        if bound == _NO_ATTACK:
            return
        self.tally.bound(bound)
        self.tally.closed &= best is not None and bound >= best
        self._ways(block, ways)
        if only_last and bound < self.attack.e and (best is None or best >= self.attack.e):
            self.write_unproven(self.shown.name_classes(block, np.arange(len(block.release))), bound)

    def program(self, block: Block) -> None:
        """A block without a bound by cuts, if it is small enough for the integer program."""
        if len(block.weight) > _MOST_COLUMNS:
            self.too_large()
            return
        bound, ways = self._programmed(block, 1, try_attacks(block))
        if bound == _NO_ATTACK:
            return
        self.tally.closed &= bool(ways) and bound >= ways[0].size
        self.tally.bound(bound)
        self._ways(block, ways)

    def too_large(self) -> None:
        """Part of the series was left to the pairs: nothing is proven."""
        self.tally.closed = False
        self.tally.bound(1)

    def _programmed(self, block: Block, bound: int, ways: list[AttackWeights]) -> tuple[int, list[AttackWeights]]:
        seconds = self.until - monotonic()
        if seconds <= 0:
            return bound, ways
        most = ways[0].size if ways else int(block.weight.sum())
        proof = solve_smallest_attack(block, most, self.attack.nodes, seconds)
        if proof.way is not None and (not ways or proof.way.size < ways[0].size):
            ways = [proof.way, *ways]
        if not ways and proof.proven:
            return _NO_ATTACK, ways
        return max(bound, min(proof.bound, most)), ways

    def _ways(self, block: Block, ways: list[AttackWeights]) -> None:
        if not ways:
            return
        self.tally.attack(ways[0].size)
        breaches = [way for way in ways if way.size < self.attack.e]
        self.tally.total += len(breaches)
        if not breaches and self.tally.beaten(ways[0].size, self.shown.name_classes(block, ways[0].rows)):
            return
        described = sorted(breaches or ways[:1], key=lambda way: (way.size, self.shown.name_classes(block, way.rows)))
        self.tally.describe([self.shown.write_weights(block, way) for way in described[: self.attack.limit]])
        for way in breaches:
            people = [block.who(int(c)) for c in np.flatnonzero(way.shown) if block.real[c]]
            self.tally.risky += people
            self.told.is_news(np.concatenate(people).tolist(), way.size)

    def pairs(self, pairs: ClassPairs) -> None:
        """Two classes against each other."""
        self.tally.closed = False
        if len(pairs.size) == 0:
            return
        self.tally.attack(int(pairs.size.min()))
        chosen = np.flatnonzero(pairs.size < self.attack.e)
        self.tally.total += len(chosen)
        if len(chosen):
            people, pair = find_exposed(self.series.releases, pairs, chosen)
            self.tally.risky.append(people)
            people = people[np.argsort(pair, kind="stable")]
            ends = np.cumsum(np.bincount(pair, minlength=len(chosen)))[:-1]
            for shown, size in zip(np.split(people, ends), pairs.size[chosen].tolist(), strict=True):
                self.told.is_news(shown.tolist(), size)
        worst = np.lexsort((pairs.right, pairs.left, pairs.size))[: min(max(len(chosen), 1), self.attack.limit)]
        first = int(worst[0])
        if len(chosen) == 0 and self.tally.beaten(int(pairs.size[first]), self.shown.name_pair(pairs, first)):
            return
        told = [i for i in worst.tolist() if self.tally.takes(int(pairs.size[i]), self.shown.name_pair(pairs, i))]
        if told:  # sentences are dear, and most pairs of a long series have nothing worse than those before
            self.tally.describe([self.shown.write_pair(pairs, i) for i in told])

    def write_unproven(self, classes: tuple[tuple[int, int], ...], bound: int) -> None:
        """Publish must be able to prove its promise: what cannot be decided counts as broken."""
        self.tally.total += 1
        self.tally.describe([self.shown.write_unproven(classes, bound)])
