"""The historical correlation attack: what compromised people give away about others across releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Self

import numpy as np

from reissue.arrays.sets import difference, find_owners, intersection, sorted_unique, union
from reissue.arrays.types import Int64
from reissue.errors import SettingsError
from reissue.methods.attack import Attack, Finding, Outcome, WorkDivision, name_releases, name_subjects
from reissue.methods.correlation.breach_probability import BreachChance, CompromisedShare
from reissue.methods.correlation.correlations import (
    FollowedSeries,
    Unsafe,
    follow_rows,
    tell_pair,
)
from reissue.methods.correlation.explanations import explain
from reissue.methods.correlation.inference import (
    GIVEN,
    PriorSets,
    Restricted,
    World,
    build_world,
    infer,
    read_prior_sets,
)
from reissue.methods.correlation.simulation import draw_compromised, simulate
from reissue.model.observed import Names, Observed, ObservedRelease
from reissue.model.settings import PeopleCount, Within


@dataclass(frozen=True, kw_only=True)
class HistoricalCorrelation(Attack):
    """Find classes of two releases that differ in few people; follow what compromised people give away (Riboni 2009).

    n:           classes that differ from an earlier class in fewer than n people are breaches (1: look at none)
    compromised: people whose value the attacker knows, by name or surrogate number
    possible:    a CSV file with what an attacker takes to be possible beforehand: subject, value, a line for each
    p:           instead: everybody is compromised with this probability; findings are of one draw, measures of `trials`
    h:           with p: the share of people who may be disclosed, chains included; more is a breach, fewer is none
    trials:      how often to draw
    seed:        of the draws
    """

    n: PeopleCount = 2
    compromised: tuple[str | int, ...] = ()
    possible: str | None = None
    p: CompromisedShare | None = None
    h: BreachChance | None = None
    trials: Annotated[int, Within("how often to draw", least=1)] = 10
    seed: int = 0

    _prior: ClassVar[PriorSets | None] = None  # an instance that was prepared has its own
    name: ClassVar[str] = "historical-correlation"
    assumes: ClassVar[str] = (
        "The attacker knows who is in which class of every release, that values do not change, "
        "and the values of the compromised people."
    )
    divisions: ClassVar[Mapping[WorkDivision, str]] = {WorkDivision.PARTS: "only classes with common rows are compared"}
    combines: ClassVar[Mapping[str, str]] = {
        "classes": "sum",
        "unsafe_classes": "sum",
        "unsafe_pairs": "sum",
        "smallest_difference": "least",
    }

    def divides(self, division: WorkDivision) -> bool:
        """Compromised people are drawn from everybody, or looked up among everybody."""
        return not self._follows_people and super().divides(division)

    @property
    def _follows_people(self) -> bool:
        return bool(self.compromised) or self.p is not None or self.possible is not None

    def prepare(self, names: Names) -> Self:
        if self.possible is None:
            return self
        prepared = copy(self)
        object.__setattr__(prepared, "_prior", read_prior_sets(self.possible, names))
        return prepared

    @property
    def looks_for_names(self) -> bool:
        return any(isinstance(person, str) for person in self.compromised)

    def __post_init__(self) -> None:
        if isinstance(self.compromised, str | int):  # one person
            object.__setattr__(self, "compromised", (self.compromised,))
        super().__post_init__()
        if self.p is not None and self.compromised:
            raise SettingsError("Both compromised and p are given; name the compromised people or draw them, not both.")

    def run(self, series: Observed, *, involving: int | None = None) -> Outcome:
        last = len(series) if involving is None else involving
        positions = range(last) if involving is None else range(involving - 1, involving)
        rows = FollowedSeries.of(series.releases[:last])
        found = {i: rows.find_unsafe_pairs(i, int(self.n)) for i in positions}
        differing = rows.find_differing([*found.values()])
        at_risk: dict[int, Int64] = {series.releases[i].number: differing[i] for i in positions}
        findings, total = self._of_pairs(series, rows, found), sum(map(len, found.values()))
        measures = _measure_classes(series, found)
        notes = list(self.notes({}))
        if self._follows_people:
            people, more, number = self._compromised(series, last, involving, measures, at_risk)
            findings, total = [*people, *findings], total + number
            notes.append(more)
        return Outcome(
            attack=self.name,
            findings=tuple(findings[: self.limit]),
            total=total,
            at_risk=at_risk,
            measures=measures,
            notes=tuple(notes),
            measuring=self.p is not None,  # draws prove nothing about other draws
        )

    def notes(self, tallies: Mapping[str, int]) -> tuple[str, ...]:
        return (
            "Classes are compared two at a time; reasoning over three or more classes at once (see the equivalence "
            "attack) can relate further people. Counterfeits are taken to be recognizable, which favours the attacker.",
        )

    # Classes that differ in few people.

    def _of_pairs(self, series: Observed, rows: FollowedSeries, found: dict[int, Unsafe]) -> list[Finding]:
        """One finding for each of the worst pairs: those that differ least."""
        least = [
            (_rank_pair(series, rows, pairs, int(k)), i, int(k))
            for i, pairs in found.items()
            for k in rows.list_least(pairs, self.limit)
        ]
        return [self._pair(series, rows, found[i], k) for _, i, k in sorted(least)[: self.limit]]

    def _pair(self, series: Observed, rows: FollowedSeries, pairs: Unsafe, k: int) -> Finding:
        words, numbers = series.words, (int(pairs.older[k]), int(pairs.newer[k]))
        (earlier, older), (release, newer) = (_locate(series, rows, number) for number in numbers)
        theirs, mine = rows.list_only_in(*numbers), rows.list_only_in(*numbers[::-1])
        sentence = tell_pair(words, (earlier, older, theirs), (release, newer, mine), rows.count_shared(*numbers))
        return Finding(
            attack=self.name,
            releases=(earlier.number, release.number),
            subjects=name_subjects(words, union(theirs, mine), self.limit),
            classes=((earlier.number, earlier.called(older)), (release.number, release.called(newer))),
            level=float(pairs.apart[k]),
            unit="people in which two classes differ",
            threshold=float(self.n),
            sentence=sentence,
            details={"older": tuple(theirs.tolist()), "newer": tuple(mine.tolist())},
            rank=_rank_pair(series, rows, pairs, k),
        )

    # People who lose values when others are compromised.

    def _compromised(
        self,
        series: Observed,
        last: int,
        involving: int | None,
        measures: dict[str, float],
        at_risk: dict[int, Int64],
    ) -> tuple[list[Finding], str, int]:
        """(findings, a note, how many people lose values); adds to the measures and to those at risk."""
        releases = [series.releases[i] for i in range(last)]
        world = build_world(releases)
        people = draw_compromised(world, self.p, self.seed) if self.p is not None else self._named(series, world)
        told = infer(world, people, prior=self._prior)
        lost = _find_losses(world, told)
        if involving is not None and last > 1:
            lost = difference(lost, np.sort(self._known_before(world, releases[:-1], people, told)))
        disclosed = lost[told.left[lost] == 1]
        summary = self._measure(series, world, measures) if self.p is not None else []
        accepted = self.h is not None and not summary
        for number in at_risk if not accepted else ():
            here = intersection(follow_rows(series.find(number)).subjects, world.subjects[disclosed])
            at_risk[number] = union(at_risk[number], here)
        measures |= {
            "compromised": float(len(people)),
            "restricted": float(len(lost)),
            "disclosed": float(len(disclosed)),
        }
        note = f"{len(people):,} people are taken to be compromised; {len(lost):,} others lose values by that, "
        note += f"{len(disclosed):,} of them all but the true one."
        if told.contradiction:
            note += " Somebody is left without any value: values must have changed between releases."
        if self._prior is not None and self._prior.unmatched:
            note += f" {self._prior.unmatched:,} people of {self.possible} are not in these releases."
        if self.p is not None:
            note += " Predicted probabilities take as n the smallest difference found (or asked for), and count no "
            note += "chains: compare them with measured_once; measured_breach is what chains reach."
        if accepted:
            note += f" Chains disclose {measures['measured_breach']:.2g} of the others; h={self.h:g} allows it."
        order = lost[np.lexsort((world.subjects[lost], told.left[lost]))][: self.limit]
        found = [self._person(series, world, told, int(r)) for r in order]
        if accepted:  # what one draw gives away is within what the policy accepts
            found = [replace(finding, breach=False) for finding in found]
        return [*summary, *found], note, len(summary) + len(lost)

    def _measure(self, series: Observed, world: World, measures: dict[str, float]) -> list[Finding]:
        """Draw again and again; a finding if more people are disclosed than h allows. Adds to the measures."""
        assert self.p is not None
        degree = int(measures["smallest_difference"]) or int(self.n)
        measures |= simulate(world, self.p, degree, self.trials, self.seed, self._prior)
        measured = measures["measured_breach"]
        if self.h is None or measured <= self.h:
            return []
        numbers = tuple(int(number) for number in sorted_unique(world.number.astype(np.int64)))
        return [
            Finding(
                attack=self.name,
                releases=numbers,
                subjects=(),
                classes=(),
                value=None,
                level=measured,
                unit="share of people disclosed",
                threshold=self.h,
                breach=True,
                sentence=(
                    f"With {100 * self.p:.3g}% of the people known, chains of reasoning over "
                    f"{name_releases(series.words, numbers)} disclose {100 * measured:.3g}% of the others (mean of "
                    f"{self.trials} draws); the policy allows {100 * self.h:.3g}%."
                ),
                details={"predicted": measures["predicted_breach"], "measured_once": measures["measured_once"]},
            )
        ]

    def _named(self, series: Observed, world: World) -> Int64:
        """int64[]: positions of the compromised people in the world."""
        numbers = {int(s) for s in self.compromised if not isinstance(s, str)}
        names = {s for s in self.compromised if isinstance(s, str)}
        if names:
            called: dict[str, int] = {}
            for number in world.subjects[world.subjects >= 0].tolist():
                name = series.words.subject(number)
                if name in names:
                    called[name] = number
            missing = sorted(names - set(called))
            if missing:
                raise SettingsError(
                    f"Nobody called {missing[0]!r} is in these releases. Compromised people are named as in findings: "
                    "by identifier where the audit shows names, else as 'subject 12'."
                )
            numbers |= set(called.values())
        try:
            return world.people(np.array(sorted(numbers), dtype=np.int64))
        except KeyError as error:
            raise SettingsError(f"There is no subject number {error} in these releases.") from error

    def _known_before(
        self, world: World, releases: Sequence[ObservedRelease], people: Int64, told: Restricted
    ) -> Int64:
        """int64[]: positions of those who had lost as many values before the last release."""
        before = build_world(releases)
        there = np.isin(world.subjects[people], before.subjects)
        was = infer(before, before.people(world.subjects[people[there]]), prior=self._prior)
        at = world.people(before.subjects)
        return at[(was.left <= told.left[at])]

    def _person(self, series: Observed, world: World, told: Restricted, person: int) -> Finding:
        words = series.words
        sentence, through = explain(world, told, words, person)
        slots = slice(world.entry_start[person], world.entry_start[person + 1])
        left = [words.value(int(v)) for v in world.entries[slots][told.possible[slots]]]
        gone = [words.value(int(v)) for v in world.entries[slots][~told.possible[slots]]]
        classes = tuple((int(world.number[c]), int(world.inside[c])) for c in through)
        return Finding(
            attack=self.name,
            releases=tuple(sorted({number for number, _ in classes})),
            subjects=(words.subject(int(world.subjects[person])),),
            classes=classes,
            value=left[0] if len(left) == 1 else None,
            level=float(len(left)),
            unit="possible values",
            threshold=2.0,
            breach=len(left) < 2,
            sentence=sentence,
            details={"left": tuple(left), "ruled_out": tuple(gone)},
        )


def _rank_pair(series: Observed, rows: FollowedSeries, pairs: Unsafe, k: int) -> tuple[float, ...]:
    """Pairs that differ least come first."""
    (earlier, older), (release, newer) = (_locate(series, rows, int(at[k])) for at in (pairs.older, pairs.newer))
    return int(pairs.apart[k]), release.number, earlier.number, release.called(newer), earlier.called(older)


def _locate(series: Observed, rows: FollowedSeries, number: int) -> tuple[ObservedRelease, int]:
    """A class as it is numbered in its release."""
    place = int(rows.find_release(np.array([number]))[0])
    return series.releases[place], number - int(rows.classes[place])


def _find_losses(world: World, told: Restricted) -> Int64:
    """int64[]: positions of real people who are not compromised and lost a value they could have had."""
    owner = find_owners(world.entry_start)
    later = np.bincount(owner[(told.rule != 0) & (told.rule != GIVEN)], minlength=len(world.subjects))
    losing = (later > 0) & (world.subjects >= 0)
    losing[told.compromised] = False
    return np.flatnonzero(losing)


def _measure_classes(series: Observed, found: dict[int, Unsafe]) -> dict[str, float]:
    smallest = min((int(pairs.apart.min()) for pairs in found.values() if len(pairs)), default=0)
    return {
        "classes": float(sum(series.releases[i].class_count for i in found)),
        "unsafe_classes": float(sum(len(sorted_unique(pairs.newer)) for pairs in found.values())),
        "unsafe_pairs": float(sum(map(len, found.values()))),
        "smallest_difference": float(smallest),
    }
