"""What is left of a person's candidates, held against what was asked for, and said in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from reissue.arrays.sets import find_owners
from reissue.arrays.types import Bool, Float64, Int32, Int64
from reissue.errors import SettingsError
from reissue.methods.attack import Finding
from reissue.methods.bcf.candidates import ReleaseChain, Targets
from reissue.model.observed import Words
from reissue.model.overlap import GroupedRelease
from reissue.model.requirement import TOLERANCE, Requirement
from reissue.model.settings import as_fraction


@dataclass(frozen=True, kw_only=True)
class CandidateLimits:
    """What the candidates of every person must satisfy (section 7.2 of the paper, cracked records removed)."""

    k: int
    confidence: float | None = None
    alpha: float | None = None
    entropy_l: float | None = None
    recursive_c: float | None = None
    recursive_l: int | None = None

    def __post_init__(self) -> None:
        if (self.recursive_c is None) != (self.recursive_l is None):
            raise SettingsError("recursive diversity needs both recursive_c and recursive_l; give both or none.")
        if self.entropy_l is not None:
            Requirement(l=self.entropy_l, diversity="entropy")
        if self.recursive_c is not None:
            Requirement(l=self.recursive_l, diversity="recursive", recursive_c=self.recursive_c)

    @property
    def diverse(self) -> bool:
        """Whether anything is asked of the values of the candidates, beside their number."""
        return any(limit is not None for limit in (self.confidence, self.alpha, self.entropy_l, self.recursive_c))

    def find_undecided(self, targets: Targets) -> Bool:
        """bool[targets]: who may or may not keep what is asked, as far as their candidates are known."""
        if targets.least is None:
            return targets.loose
        short = targets.loose if self.diverse else targets.least < self.k
        return np.asarray(short & (targets.totals >= self.k), dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class Weakness:
    """Targets that fall short of one requirement, or come closer to it than one release alone shows.

    which: int64[n] targets; level: float64[n]; breach: bool[n]; margin: float64[n] level / threshold, or the reverse,
    so that lower is worse; value: int32[n] the value to blame, -1 if none
    """

    unit: str
    threshold: float
    which: Int64
    level: Float64
    breach: Bool
    margin: Float64
    value: Int32


def weaknesses(chain: ReleaseChain, targets: Targets, asked: CandidateLimits) -> Iterator[Weakness]:
    """One per requirement: too few candidates, one value too frequent among them, values not diverse enough."""
    totals = targets.totals
    shown = _smallest_class(chain, targets)
    which = np.flatnonzero((totals < shown) | (totals < asked.k))
    yield _weakness("candidates", asked.k, which, totals.astype(np.float64), totals < asked.k)
    rows, tight = _CandidateValues(targets), ~targets.loose  # shares are not judged by amounts that may be smaller
    for unit, share in (("share", asked.confidence), ("alpha", asked.alpha)):
        if share is not None:
            limit = as_fraction(share)
            broken = tight & (rows.top * limit.denominator > limit.numerator * totals)
            level = rows.top / np.maximum(1, totals)
            yield _weakness(unit, share, np.flatnonzero(broken), level, broken, rows.top_value, less=False)
    if asked.entropy_l is not None:
        entropy = rows.entropy()
        broken = tight & (entropy < np.log(asked.entropy_l) - TOLERANCE)
        yield _weakness("entropy l", asked.entropy_l, np.flatnonzero(broken), np.exp(entropy), broken)
    if asked.recursive_c is not None and asked.recursive_l is not None:
        ratio, limit = rows.top_against_tail(asked.recursive_l), as_fraction(asked.recursive_c)
        tail = rows.tail(asked.recursive_l)
        broken = tight & ~(rows.top * limit.denominator < limit.numerator * tail)
        yield _weakness(
            "recursive c", asked.recursive_c, np.flatnonzero(broken), ratio, broken, rows.top_value, less=False
        )


def _weakness(
    unit: str,
    threshold: float,
    which: Int64,
    level: Float64,
    broken: Bool,
    value: Int32 | None = None,
    less: bool = True,
) -> Weakness:
    at = level[which]
    margin = at / threshold if less else threshold / np.maximum(at, 1e-300)
    blamed = np.full(len(which), -1, dtype=np.int32) if value is None else value[which]
    return Weakness(unit, float(threshold), which, at, broken[which], margin, blamed)


def _smallest_class(chain: ReleaseChain, targets: Targets) -> Int64:
    """int64[targets]: records of the smallest class a target matches, which is what one release alone promises."""
    columns = range(targets.classes.shape[1])
    sizes = [chain.releases[targets.arrival + c].sizes[targets.classes[:, c]] for c in columns]
    return np.asarray(np.minimum.reduce(sizes), dtype=np.int64)


class _CandidateValues:
    """The candidates of each target by value, most frequent first.

    top: int64[targets] records of the most frequent value; top_value: int32[targets]
    """

    def __init__(self, targets: Targets) -> None:
        self._row = find_owners(targets.start)
        order = np.lexsort((-targets.amounts, self._row))
        self._amounts = targets.amounts[order]
        self._rank = np.arange(len(order)) - targets.start[self._row]
        self._totals, self._count = targets.totals, len(targets)
        first = self._rank == 0
        self.top = np.zeros(self._count, dtype=np.int64)
        self.top_value = np.full(self._count, -1, dtype=np.int32)
        self.top[self._row[first]] = self._amounts[first]
        self.top_value[self._row[first]] = targets.values[order][first]

    def entropy(self) -> Float64:
        """float64[targets] in nats; 0 where nothing is left."""
        some = self._amounts > 0
        share = self._amounts[some] / self._totals[self._row[some]]
        return np.asarray(np.bincount(self._row[some], -share * np.log(share), minlength=self._count), dtype=np.float64)

    def tail(self, l: int) -> Int64:  # noqa: E741 (the literature's name)
        """int64[targets]: records of the l-th most frequent value and all rarer ones."""
        rare = self._rank >= l - 1
        return np.bincount(self._row[rare], self._amounts[rare], minlength=self._count).astype(np.int64)

    def top_against_tail(self, l: int) -> Float64:  # noqa: E741
        tail = self.tail(l)
        return np.where(tail > 0, self.top / np.maximum(1, tail), np.inf)


NAMED = 100
"""How many people a finding names; `at_risk` has all of them."""


class Behind(Protocol):
    """Tells who is behind a target, if that is known."""

    def behind(self, arrival: int, target: int) -> Int64: ...


@dataclass(frozen=True, eq=False)
class WeakTargets:
    """Weak targets of one arrival of one chain, ready to be told.

    numbers: of the chain's releases; composed: int64[targets] what the paper's own compositions leave
    """

    words: Words
    chain: ReleaseChain
    numbers: tuple[int, ...]
    targets: Targets
    composed: Int64
    weakness: Weakness
    people: Behind | None = None

    def finding(self, entry: int) -> Finding:
        """The finding of one weak target."""
        weakness, one = self.weakness, self.targets.keep(self.weakness.which[entry : entry + 1])
        numbers = self.numbers[one.arrival :]
        blamed = int(weakness.value[entry])
        return Finding(
            attack="correspondence",
            releases=self.numbers,
            subjects=self._subjects(entry),
            classes=tuple(zip(numbers, one.classes[0].tolist(), strict=True)),
            value=self.words.value(blamed) if blamed >= 0 else None,
            level=float(weakness.level[entry]),
            unit=weakness.unit,
            threshold=weakness.threshold,
            breach=bool(weakness.breach[entry]),
            sentence=self._sentence(one, numbers, entry),
            details=self._details(one, numbers, int(self.composed[weakness.which[entry]])),
        )

    def _subjects(self, entry: int) -> tuple[str, ...]:
        """Who is at risk, where the finding is a breach and members are known."""
        if self.people is None or not self.weakness.breach[entry]:
            return ()
        behind = self.people.behind(self.targets.arrival, int(self.weakness.which[entry]))
        return tuple(self.words.subject(subject) for subject in behind[:NAMED].tolist())

    def _sentence(self, one: Targets, numbers: tuple[int, ...], entry: int) -> str:
        words, unit = self.words, self.weakness.unit
        box = words.box(self.chain.joint_boxes(one)[0])
        came, before = words.release(numbers[0]), self.numbers[: one.arrival]  # a chain may begin where others were
        when = f"{came} but not in {words.release(before[-1])}" if before else came
        who = f"{'anywhere' if box in ('', 'everyone') else f'in {box}'} who is in {when}"
        if unit == "candidates":
            return self._ruled_out(one, numbers, who)
        left, level, threshold = int(one.totals[0]), float(self.weakness.level[entry]), self.weakness.threshold
        if unit == "entropy l":
            return (
                f"The {left} records that remain for someone {who} are as diverse as {level:.2f} equally frequent "
                f"values, fewer than l = {threshold:g}."
            )
        value = words.value(int(self.weakness.value[entry]))
        if unit == "recursive c":
            return (
                f"Among the {left} records that remain for someone {who}, {value} is {level:.2f} times as frequent as "
                f"the rare values together, not below c = {threshold:g}."
            )
        return (
            f"Of the {left} records that remain for someone {who}, {round(level * left)} have {value}: {level:.0%}, "
            f"more than {threshold:.0%}."
        )

    def _ruled_out(self, one: Targets, numbers: tuple[int, ...], who: str) -> str:
        sizes = [int(self._release(one, c).sizes[q]) for c, q in enumerate(one.classes[0].tolist())]
        searched = int(np.argmin(sizes))
        left, size, k = int(one.totals[0]), sizes[searched], int(self.weakness.threshold)
        loose, least = bool(one.loose[0]), left if one.least is None else int(one.least[0])
        verdict = f"fewer than k = {k}" if left < k else f"still at least k = {k}"
        if least < k <= left:
            verdict = f"and whether these are k = {k} was not found out"
        where = self.words.release(numbers[searched])
        if left == size:
            matching = "1 record" if size == 1 else f"{size} records"
            return f"Only {matching} of {where} {'matches' if size == 1 else 'match'} someone {who}, {verdict}."
        over, under = ("At least ", "at most ") if loose else ("", "")
        return (
            f"{over}{size - left} of the {size} records of {where} that match someone {who} can be ruled out; {under}"
            f"{left} {'remains' if left == 1 else 'remain'}, {verdict}."
        )

    def _details(self, one: Targets, numbers: tuple[int, ...], composed: int) -> dict[str, object]:
        """Class sizes, what can be ruled out per release in all and by value, what the paper's compositions leave."""
        word = self.words.value
        left = dict(zip(one.values.tolist(), one.amounts.tolist(), strict=True))
        sizes, cracked = {}, {}
        for c, cls in enumerate(one.classes[0].tolist()):
            release = self._release(one, c)
            here = slice(release.start[cls], release.start[cls + 1])
            groups = zip(release.values[here].tolist(), release.counts[here].tolist(), strict=True)
            sizes[numbers[c]] = int(release.sizes[cls])
            cracked[numbers[c]] = {word(v): n - left.get(v, 0) for v, n in groups if n > left.get(v, 0)}
        return {
            "arrival": numbers[0],
            "candidates": int(one.totals[0]),
            "sizes": sizes,
            "ruled_out": {number: sum(by_value.values()) for number, by_value in cracked.items()},
            "ruled_out_by_value": cracked,
            "composed": composed,
        }

    def _release(self, one: Targets, column: int) -> GroupedRelease:
        return self.chain.releases[one.arrival + column]
