"""The difference attack: classes of one release taken out of those of another (Byun et al., section 4.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue.attacks.base import Finding, Outcome
from reissue.attacks.sides import Side, check_settings, names, pairs_of, people, sides_of, whole
from reissue.core.domain import Bool, Int64
from reissue.core.hall import Gap, Gaps, gaps
from reissue.core.observed import Observed
from reissue.core.overlap import Overlap
from reissue.core.requirements import as_fraction


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Find classes E inside classes N(E) of another release that leave fewer than k people, or one value above c.

    k, c:  what the people left over must satisfy
    limit: the most findings to describe
    """

    k: int = 2
    c: float = 0.5
    limit: int = 100

    name: ClassVar[str] = "difference"
    assumes: ClassVar[str] = "The attacker knows who is in which class of every release, and that values do not change."
    needs_members: ClassVar[bool] = True
    persistent: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole(self.k))  # thresholds come as floats
        check_settings(k=self.k, c=self.c, limit=self.limit)

    def run(self, series: Observed, *, involving: int | None = None) -> Outcome:
        """Every pair of releases, in both directions; exact, by flows (see reissue.core.hall)."""
        share = as_fraction(self.c)
        findings: list[Finding] = []
        at_risk: dict[int, Int64] = {}
        total, smallest = 0, self.k
        for older, newer in pairs_of(sides_of(series, involving), involving):
            forward = older.shared_with(newer)
            for left, right, overlap in ((older, newer, forward), (newer, older, forward.turned())):
                found = gaps(
                    left.groups, right.groups, overlap, self.k, (share.numerator, share.denominator), self.limit
                )
                smallest, total = min(smallest, found.smallest), total + found.total
                subjects = right.members.subjects[_risky(found, right, overlap)]
                at_risk[right.number] = np.union1d(at_risk.get(right.number, np.empty(0, np.int64)), subjects)
                findings += self._findings(series, left, right, overlap, found)
        findings.sort(key=_order)
        highest = max((finding.level for finding in findings if finding.value is not None), default=0.0)
        return Outcome(
            attack=self.name,
            findings=tuple(findings[: self.limit]),
            total=total,
            at_risk=at_risk,
            measures={
                "smallest_difference": float(smallest),
                "highest_share": highest,
                "subjects_at_risk": float(len(np.unique(np.concatenate([np.empty(0, np.int64), *at_risk.values()])))),
            },
        )

    def _findings(self, series: Observed, left: Side, right: Side, overlap: Overlap, found: Gaps) -> list[Finding]:
        """The worst gaps; where a set breaks both k and c, the value tells more."""
        frequent = [gap for gap in found.gaps if gap.value >= 0]
        sharp = {
            (gap.value, gap.lefts[0]): found.sharpest(gap) for gap in sorted(frequent, key=lambda g: -g.share)[:20]
        }
        frequent = [sharp.get((gap.value, gap.lefts[0]), gap) for gap in frequent]
        sets: dict[bytes, Gap] = {}
        for gap in sorted(frequent, key=lambda g: -g.share) + [gap for gap in found.gaps if gap.value < 0]:
            sets.setdefault(gap.lefts.tobytes() + b"|" + gap.rights.tobytes(), gap)
        return [self._finding(series, left, right, overlap, gap) for gap in list(sets.values())[: self.limit]]

    def _finding(self, series: Observed, left: Side, right: Side, overlap: Overlap, gap: Gap) -> Finding:
        words = series.words
        inside = np.isin(left.members.classes, gap.lefts)
        over = np.isin(right.members.classes, gap.rights)
        over &= ~np.isin(right.members.subjects, left.members.subjects[inside])
        subjects = right.members.subjects[over]
        share = as_fraction(self.c)
        tells = gap.value >= 0 and gap.count * share.denominator > gap.size * share.numerator
        return Finding(
            attack=self.name,
            releases=tuple(sorted((left.number, right.number))),
            subjects=names(words, subjects),
            classes=tuple((left.number, int(e)) for e in gap.lefts) + tuple((right.number, int(n)) for n in gap.rights),
            value=words.value(gap.value) if tells else None,
            level=gap.share if tells else float(gap.size),
            unit="share of one value" if tells else "people",
            threshold=self.c if tells else float(self.k),
            breach=True,
            sentence=self._sentence(series, left, right, gap, subjects),
            details={"people": gap.size, "inside": tuple(gap.lefts.tolist()), "around": tuple(gap.rights.tolist())},
        )

    def _sentence(self, series: Observed, left: Side, right: Side, gap: Gap, subjects: Int64) -> str:
        words, one, other = series.words, series.words.release(left.number), series.words.release(right.number)
        boxes = right.release.boxes[gap.rights]
        hull = np.stack([boxes[..., 0].min(axis=0), boxes[..., 1].max(axis=0)], axis=-1)
        joined = left.number < right.number and not np.isin(subjects, left.members.subjects).any()
        if joined:
            who = f"Everyone who joined between {one} and {other} and is {words.box(hull)}"
        else:
            who = (
                f"Everyone in {_classes(gap.rights)} of {other} ({words.box(hull)}) "
                f"who is not in {_classes(gap.lefts)} of {one}"
            )
        if gap.value < 0:
            return f"{who}: they are only {people(gap.size)}, fewer than k = {self.k}."
        have = "their 1 row has" if gap.size == 1 else f"{gap.count:,} of their {gap.size:,} rows have"
        few = f", and they are fewer than k = {self.k}" if gap.size < self.k else ""
        return f"{who}: {have} {words.value(gap.value)} (at most {100 * self.c:.0f}% is allowed){few}."


def _risky(found: Gaps, right: Side, overlap: Overlap) -> Bool:
    """bool[members of the right release]: whether they are among the people of some difference found."""
    risk = found.loose_risk[right.members.classes]
    counted = found.inside[overlap.left[overlap.link]]
    risk[overlap.at_right[counted]] = found.link_risk[overlap.link[counted]]
    return np.asarray(risk, dtype=np.bool_)


def _classes(numbers: Int64) -> str:
    if len(numbers) == 1:
        return f"class {numbers[0]}"
    return "classes " + ", ".join(str(n) for n in numbers[:5].tolist()) + (", ..." if len(numbers) > 5 else "")


def _order(finding: Finding) -> tuple[bool, float, tuple[int, ...]]:
    """Values first, the surest first; then the smallest sets."""
    tells = finding.value is not None
    return not tells, -finding.level if tells else finding.level, finding.releases
