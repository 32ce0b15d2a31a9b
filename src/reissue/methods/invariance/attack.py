"""The value association attack: which sensitive values do the classes of a series leave possible for a person?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue.arrays.sets import find_starts, lookup
from reissue.arrays.types import NO_CODES, NO_NUMBERS, Bool, Int32, Int64
from reissue.methods.attack import (
    Attack,
    Finding,
    Outcome,
    WorkDivision,
    count_rows,
    list_names,
    name_releases,
    name_subjects,
    put_in_brackets,
)
from reissue.methods.invariance.signatures import Signatures, collect_sets, join_sets, number_sets
from reissue.model.observed import Observed, ObservedRelease, require_members
from reissue.model.settings import SignatureSize


@dataclass(frozen=True, eq=False)
class Uniqueness:
    """How evenly each class of one release shows its values.

    classes: int32[n] classes that have rows; kinds, size, most, fewest: int64[n] different values, rows, rows of the
    most and of the least frequent value; value: int32[n] the most frequent value
    """

    classes: Int32
    kinds: Int64
    size: Int64
    most: Int64
    fewest: Int64
    value: Int32

    def weak(self, m: int) -> Bool:
        """bool[n]: at least m values, all equally often (weak m-uniqueness)."""
        return np.asarray((self.kinds >= m) & (self.most == self.fewest), dtype=np.bool_)

    def strict(self, m: int) -> Bool:
        """bool[n]: at least m values, each once (m-uniqueness)."""
        return np.asarray((self.kinds >= m) & (self.most == 1), dtype=np.bool_)


def measure_uniqueness(release: ObservedRelease) -> Uniqueness:
    """Per class with rows, its different values and their counts. O(rows log rows)."""
    classes, values, counts = release.groups
    if len(classes) == 0:
        return Uniqueness(NO_CODES, NO_NUMBERS, NO_NUMBERS, NO_NUMBERS, NO_NUMBERS, NO_CODES)
    first = np.flatnonzero(np.diff(classes, prepend=-1))
    kinds = np.diff(np.append(first, len(classes)))
    most = np.maximum.reduceat(counts, first)
    top = np.lexsort((values, -counts, classes))[first]
    return Uniqueness(
        classes[first], kinds, np.add.reduceat(counts, first), most, np.minimum.reduceat(counts, first), values[top]
    )


@dataclass(frozen=True, eq=False)
class Possible:
    """What is possible for each subject.

    subjects: int64[people] ascending; sets: the distinct sets; candidates: int32[people] the set left by all releases
    so far; changed: bool[people] whether two of its classes showed different sets
    """

    subjects: Int64
    sets: Signatures
    candidates: Int32
    changed: Bool

    @property
    def left(self) -> Int64:
        """int64[people]: how many values remain possible for each."""
        return self.sets.sizes[self.candidates]

    @staticmethod
    def nobody() -> Possible:
        return Possible(NO_NUMBERS, Signatures.none(), NO_CODES, np.empty(0, dtype=np.bool_))


def look_up_sets(release: ObservedRelease, rows: Int64, known: Signatures) -> tuple[Signatures, Int32]:
    """(`known` with what it lacked, int32[rows]: the value set of each of these members' class). O(release rows)."""
    classes = require_members(release).classes[rows]
    wanted = np.zeros(release.class_count, dtype=np.bool_)
    wanted[classes] = True
    number = np.cumsum(wanted) - 1
    if wanted.all():  # the groups are needed anyway then
        start = np.searchsorted(release.groups[0], np.arange(release.class_count + 1)).astype(np.int64)
        own, class_set = number_sets(start, release.groups[1])
    else:
        published = wanted[release.classes]
        renumbered = number[release.classes[published]].astype(np.int32)
        own, class_set = collect_sets(renumbered, release.values[published], int(wanted.sum()))
    sets, at = join_sets(known, own)
    return sets, at[class_set[number[classes]]]


def intersect_sets(sets: Signatures, left: Int32, right: Int32) -> tuple[Signatures, Int32]:
    """(sets with what they lacked, int32[n]: intersection of sets left[i] and right[i]). O(n log n)."""
    pair, of = np.unique((left.astype(np.int64) << 32) | right, return_inverse=True)
    a, b = (pair >> 32).astype(np.int32), (pair & 0xFFFFFFFF).astype(np.int32)
    owner = np.repeat(np.arange(len(pair)), sets.sizes[a])
    offset = np.cumsum(sets.sizes[a]) - sets.sizes[a]
    values = sets.values[np.arange(len(owner)) + np.repeat(sets.start[a] - offset, sets.sizes[a])]
    both = sets.entries(b[owner], values) >= 0
    size = np.bincount(owner[both], minlength=len(pair))
    common, number = number_sets(find_starts(size), values[both])
    union, at = join_sets(sets, common)
    return union, at[number][of]


def follow(state: Possible, release: ObservedRelease) -> tuple[Possible, Int64]:
    """The state after one more release, and int64[members]: where each of its members is in it.

    O(people ever seen + release rows log release rows).
    """
    members = require_members(release)
    sets, now = look_up_sets(release, np.arange(len(members.subjects)), state.sets)
    at, there = lookup(state.subjects, members.subjects)
    candidates, changed = state.candidates.copy(), state.changed.copy()
    moved = np.flatnonzero(there)[candidates[at[there]] != now[there]]
    if len(moved):
        sets, candidates[at[moved]] = intersect_sets(sets, candidates[at[moved]], now[moved])
        changed[at[moved]] = True
    subjects = np.concatenate([state.subjects, members.subjects[~there]])
    order = np.argsort(subjects, kind="stable")
    candidates = np.concatenate([candidates, now[~there]])[order]
    changed = np.concatenate([changed, np.zeros(int((~there).sum()), dtype=np.bool_)])[order]
    merged = Possible(subjects[order], sets, candidates, changed)
    return merged, np.searchsorted(merged.subjects, members.subjects)


def look_back(releases: Sequence[ObservedRelease], newest: int, first_new: int | None = None) -> Possible:
    """What release `newest` (its position) adds for its members.

    A member whose last class before showed the same set as its class now loses nothing by the new release, so only the
    others are followed further back; those numbered from `first_new` on are in no older release. O(release rows log
    release rows), plus per older release the cost of looking up those who have not been found yet.
    """
    release = releases[newest]
    subjects = require_members(release).subjects
    sets, now = look_up_sets(release, np.arange(len(subjects)), Signatures.none())
    candidates, changed = now.copy(), np.zeros(len(subjects), dtype=np.bool_)
    open_ = np.arange(len(subjects) if first_new is None else np.searchsorted(subjects, first_new))
    for position in range(newest - 1, -1, -1):
        if len(open_) == 0:
            break
        older = releases[position]
        at, there = lookup(require_members(older).subjects, subjects[open_])
        found = open_[there]
        sets, then = look_up_sets(older, at[there], sets)
        same = (then == now[found]) & ~changed[found]
        differ = found[~same]
        if len(differ):
            sets, candidates[differ] = intersect_sets(sets, candidates[differ], then[~same])
            changed[differ] = True
        open_ = np.setdiff1d(open_, found[same], assume_unique=True)
    return Possible(subjects, sets, candidates, changed)


@dataclass(frozen=True, kw_only=True)
class Association(Attack):
    """Intersect the value sets of a person's classes; weigh the values inside each class.

    m:         fewer than m possible values for a person, or a value above 1/m of a class, is a breach
    invariant: also count every departure from weak m-invariance as a breach: a class whose values are not equally
               frequent, a person whose classes show different sets, even where m values remain possible
    """

    m: SignatureSize = 2
    invariant: bool = False

    name: ClassVar[str] = "association"
    assumes: ClassVar[str] = "The attacker knows who is in which class of every release, and that values do not change."
    divisions: ClassVar[Mapping[WorkDivision, str]] = {
        WorkDivision.PARTS: "a person's classes lie in one part, and shares are those of single classes"
    }
    combines: ClassVar[Mapping[str, str]] = {
        "m_unique": "min",
        "weakly_m_unique": "min",
        "m_invariant": "min",
        "weakly_m_invariant": "min",
        "changed_signatures": "sum",
        "fewest_possible_values": "min",
        "largest_share": "max",
    }

    def run(self, series: Observed, *, involving: int | None = None) -> Outcome:
        state = Possible.nobody()
        shown: list[tuple[ObservedRelease, Uniqueness]] = []
        at_risk: dict[int, Int64] = {}
        if involving is None:
            for release in series.releases:
                state, at = follow(state, release)
                shown.append((release, measure_uniqueness(release)))
                at_risk[release.number] = self._at_risk(release, shown[-1][1], self._exposed(state)[at])
        else:
            release = series.releases[involving - 1]
            state = look_back(series.releases, involving - 1, series.first_new)
            shown.append((release, measure_uniqueness(release)))
            at_risk[release.number] = self._at_risk(release, shown[-1][1], self._exposed(state))
        people, classes = np.flatnonzero(self._exposed(state)), self._bad_classes(shown)
        findings = [*self._of_people(series, state, people, involving), *self._of_classes(series, classes)]
        findings.sort(key=lambda finding: finding.rank)
        return Outcome(
            attack=self.name,
            findings=tuple(findings[: self.limit]),
            total=len(people) + len(classes),
            at_risk=at_risk,
            measures=self._measures(state, shown),
            notes=self.notes({}),
        )

    def notes(self, tallies: Mapping[str, int]) -> tuple[str, ...]:
        return ("Each person's classes are intersected one person at a time; joint reasoning may leave fewer values.",)

    def _exposed(self, state: Possible) -> Bool:
        """bool[people]: fewer than m values are left, or (invariant) the set has changed."""
        few = state.left < self.m
        return np.asarray(few | state.changed if self.invariant else few, dtype=np.bool_)

    def _bad(self, unique: Uniqueness) -> Bool:
        """bool[classes]: a value has more than 1/m of the class, or (invariant) the values are not equally frequent."""
        uneven = unique.most * self.m > unique.size
        return np.asarray(uneven | ~unique.weak(self.m) if self.invariant else uneven, dtype=np.bool_)

    def _at_risk(self, release: ObservedRelease, unique: Uniqueness, exposed: Bool) -> Int64:
        """int64[]: members who are exposed themselves or sit in a bad class."""
        members = require_members(release)
        bad = np.zeros(release.class_count, dtype=np.bool_)
        bad[unique.classes[self._bad(unique)]] = True
        return members.subjects[exposed | bad[members.classes]]

    def _bad_classes(
        self, shown: list[tuple[ObservedRelease, Uniqueness]]
    ) -> list[tuple[ObservedRelease, Uniqueness, int]]:
        return [(release, unique, int(i)) for release, unique in shown for i in np.flatnonzero(self._bad(unique))]

    def _of_people(self, series: Observed, state: Possible, people: Int64, involving: int | None) -> list[Finding]:
        """One finding for each of the worst people: where they were seen, and what is left."""
        worst = people[np.argsort(state.left[people], kind="stable")[: self.limit]]
        until = len(series) if involving is None else involving
        where: dict[int, list[tuple[int, int]]] = {int(i): [] for i in worst}
        for release in (series.releases[position] for position in range(until if len(worst) else 0)):
            at, there = lookup(require_members(release).subjects, state.subjects[worst])
            for i, its in zip(worst[there], require_members(release).classes[at[there]], strict=True):
                where[int(i)].append((release.number, release.called(its)))
        return [self._person(series, state, i, classes) for i, classes in where.items()]

    def _person(self, series: Observed, state: Possible, i: int, classes: list[tuple[int, int]]) -> Finding:
        words = series.words
        own = int(state.candidates[i])
        values = [words.value(int(v)) for v in state.sets.values[state.sets.start[own] : state.sets.start[own + 1]]]
        who = words.subject(int(state.subjects[i]))
        releases = name_releases(words, [number for number, _ in classes])
        together = f"Taken together, {releases} leave" if len(classes) > 1 else f"On its own, {releases} leaves"
        few = "only " if len(values) < self.m else ""
        left = few + list_names(values) if values else "no value: it must have changed"
        changed = " This person's classes show different sets of values." if state.changed[i] else ""
        return Finding(
            attack=self.name,
            releases=tuple(number for number, _ in classes),
            subjects=(who,),
            classes=tuple(classes),
            value=values[0] if len(values) == 1 else None,
            level=float(len(values)),
            unit="possible values",
            threshold=float(self.m),
            sentence=f"{together} {left} for {who}.{changed}" if values else f"{together} {who} {left}.{changed}",
            details={"chance": 1.0 / max(len(values), 1), "values": tuple(values)},
            rank=(-1.0 / max(len(values), 1), 0, len(values), int(state.subjects[i])),
        )

    def _of_classes(self, series: Observed, classes: list[tuple[ObservedRelease, Uniqueness, int]]) -> list[Finding]:
        classes = sorted(classes, key=lambda c: -float(c[1].most[c[2]] / c[1].size[c[2]]))[: self.limit]
        return [self._class(series, release, unique, i) for release, unique, i in classes]

    def _class(self, series: Observed, release: ObservedRelease, unique: Uniqueness, i: int) -> Finding:
        words = series.words
        number, most, size = int(unique.classes[i]), int(unique.most[i]), int(unique.size[i])
        value, kinds = words.value(int(unique.value[i])), int(unique.kinds[i])
        if most * self.m > size:
            asked = f"with m = {self.m} no value may have more than {100 / self.m:.0f}%"
        else:
            asked = f"it shows {'one value' if kinds == 1 else f'{kinds} values'}, which are not equally frequent"
        members = require_members(release)
        inside = members.subjects[members.classes == number]
        return Finding(
            attack=self.name,
            releases=(release.number,),
            subjects=name_subjects(words, inside, self.limit),
            classes=((release.number, release.called(number)),),
            value=value,
            level=most / size,
            unit="share of the class",
            threshold=1.0 / self.m,
            sentence=(
                f"In {words.release(release.number)}, {most} of the {count_rows(size)} of class "
                f"{release.called(number)}{put_in_brackets(words.box(release.boxes[number]))} "
                f"{'has' if most == 1 else 'have'} {value}; {asked}."
            ),
            details={"chance": most / size},
            rank=(-most / size, 1, release.number, release.called(number)),
        )

    def _measures(self, state: Possible, shown: list[tuple[ObservedRelease, Uniqueness]]) -> dict[str, float]:
        m, steady = self.m, not bool(state.changed.any())
        weak = all(bool(unique.weak(m).all()) for _, unique in shown)
        strict = all(bool(unique.strict(m).all()) for _, unique in shown)
        shares = [float((unique.most / unique.size).max(initial=0.0)) for _, unique in shown]
        return {
            "m_unique": float(strict),
            "weakly_m_unique": float(weak),
            "m_invariant": float(strict and steady),
            "weakly_m_invariant": float(weak and steady),
            "changed_signatures": float(state.changed.sum()),
            "fewest_possible_values": float(state.left.min()) if len(state.left) else 0.0,
            "largest_share": max(shares, default=0.0),
        }
