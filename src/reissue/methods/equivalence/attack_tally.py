"""What the value equivalence attack has proven and found so far: bounds, attacks, people at risk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from reissue.arrays.types import Int32, Int64
from reissue.methods.attack import Finding, Outcome


@dataclass
class SearchTotals:
    """Bounds, attacks and people at risk; those of parts of a series that share no set of values can be added up.

    limit:    the most findings to describe
    proved:   no attack is smaller; smallest: the smallest attack found; cut: the smallest cut of a bucket's history
    cuts:     sets (int32[]) and cuts (int64[]) of buckets that share nobody, for attacks that combine them
    others:   there are sets whose cuts are not known here
    closed:   whether bound and attack meet everywhere
    found:    the smallest attacks, each once; total: how many break the promise; risky: int64[] the people they show
    """

    limit: int
    proved: int | None = None
    smallest: int | None = None
    cut: int | None = None
    cuts: list[tuple[Int32, Int64]] = field(default_factory=list)
    others: bool = False
    closed: bool = True
    found: list[Finding] = field(default_factory=list)
    total: int = 0
    risky: list[Int64] = field(default_factory=list)

    def bound(self, size: int) -> None:
        """No attack looked at here shows fewer people."""
        self.proved = size if self.proved is None else min(self.proved, size)

    def attack(self, size: int) -> None:
        """An attack of this size was found."""
        self.smallest = size if self.smallest is None else min(self.smallest, size)

    def cut_of(self, size: int) -> None:
        """The history of a bucket has a cut of this size."""
        self.cut = size if self.cut is None else min(self.cut, size)

    def beaten(self, size: int, classes: tuple[tuple[int, int], ...]) -> bool:
        """Whether this attack, which breaks nothing, will not be told: only the smallest of such is."""
        return bool(self.found) and (self.found[0].level, self.found[0].classes) <= (size, classes)

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
            for least, tell in ((one.proved, whole.bound), (one.smallest, whole.attack), (one.cut, whole.cut_of)):
                if least is not None:
                    tell(least)
            whole.cuts += [(shows + np.int32(sets), cuts) for shows, cuts in one.cuts]
            sets += 1 + max((int(shows.max(initial=-1)) for shows, _ in one.cuts), default=-1)
            whole.others |= one.others
            whole.closed &= one.closed
            whole.describe(one.found)
            whole.total += one.total
            whole.risky += one.risky
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
        bounds = {"lower_bound": self.proved, "smallest_attack": self.smallest, "smallest_cut": self.cut}
        measures = {name: float(value) for name, value in bounds.items() if value is not None}
        closed = self.closed and (across is None or (self.smallest is not None and self.smallest <= across))
        if self.proved is not None and self.smallest is not None:
            within = decomposes is None or self.smallest <= decomposes
            measures["exact"] = float(within and (closed or self.proved >= self.smallest))
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
