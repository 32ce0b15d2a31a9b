"""The learning attack: statistics learned from the releases themselves, and all classes weighed at once; its worth.

What an attacker's beliefs are worth is judged by the truth, beside the same statistics without the releases: whoever's
value is believed rightly, and more firmly than by one release, is a finding. The attacker who knows the algorithm is
judged so, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

import numpy as np

from reissue.arrays.factor_graph import FactorGraph, restrict
from reissue.arrays.sets import lookup
from reissue.arrays.types import Bool, Float64, Int32, Int64
from reissue.methods.attack import Attack, Finding, Outcome, WorkDivision, list_names, name_releases
from reissue.methods.learning.class_graph import KnownPeople, SeriesGraph, present_in
from reissue.methods.learning.statistics import LEARN, WithStatistics, learn, reason
from reissue.model.observed import Observed, ObservedRelease, Words
from reissue.model.settings import Within

SURE = 0.9
"""Above this belief an attacker counts as sure."""
THREEFOLD = 3.0
"""So many times the odds of one release must rise before the series is held to have disclosed anything."""
ALIKE = 50
"""How many people at least are looked at to tell how often beliefs come true."""
MOST_GROUPS = 20
_EVEN = 1e-9
"""Beliefs that differ by less are a tie: each of them is the best guess as often."""


@dataclass(frozen=True, eq=False)
class Judgement:
    """Of everybody the belief in the true value, and how often the best guess is right; all float64[people].

    belief, right:         with all classes
    plain, plain_right:    statistics and the values that the person's classes leave possible, without the classes
    alone, alone_right:    statistics and one class of the person: the highest belief, the mean of right guesses
    firmest, come_true:    the belief in the best guess, and how often that is right of people believed as firmly
    """

    belief: Float64
    right: Float64
    plain: Float64
    plain_right: Float64
    alone: Float64
    alone_right: Float64
    firmest: Float64
    come_true: Float64

    def at_risk(self, threshold: float) -> Bool:
        """bool[people]: whose belief is above the threshold and whose odds rose threefold over any one release.

        A belief counts for no more than it comes true: who is sure of everybody and right by chance knows nothing.
        """
        worth = self.belief * np.minimum(1.0, self.come_true / np.maximum(self.firmest, 1e-12))
        rose = _odds(worth) >= THREEFOLD * _odds(self.alone)
        return np.asarray((worth > threshold) & rose, dtype=np.bool_)

    def measures(self, people: Bool) -> dict[str, float]:
        """Averages over some people, to nine digits: those are the same in whatever order people come."""

        def mean(column: Float64) -> float:
            return round(float(column[people].mean()), 9) if people.any() else 0.0

        return {
            "belief": mean(self.belief),
            "right": mean(self.right),
            "sure_and_right": mean((self.belief > SURE).astype(np.float64)),
            "gain": mean(self.belief - self.plain),
            "belief_of_one_release": mean(self.alone),
            "right_of_one_release": mean(self.alone_right),
            "belief_of_statistics": mean(self.plain),
            "right_of_statistics": mean(self.plain_right),
        }


def judge(graph: FactorGraph, priors: Float64, final: Float64, truth: Int32) -> Judgement:
    """graph: all classes as published; priors, final: float64[people, values]; truth: int32[people] true values"""
    plain = restrict(priors, graph.possible)
    alone, alone_right = _judge_alone(graph, priors, truth)
    belief, right = _judge_table(final, truth)
    firmest = final.max(axis=1, initial=0.0)
    come_true = _count_right(firmest, right)
    return Judgement(belief, right, *_judge_table(plain, truth), alone, alone_right, firmest, come_true)


def _count_right(firmest: Float64, right: Float64) -> Float64:
    """float64[people]: how often the best guess is right among the people who are believed about as firmly.

    These are at least ALIKE people, or everybody; people believed the same are counted together.
    """
    order = np.argsort(firmest, kind="stable")
    groups = max(1, min(MOST_GROUPS, len(order) // ALIKE))
    steps = np.arange(groups) * len(order) // groups
    edges = firmest[order[steps]] if len(order) else firmest
    group = np.searchsorted(edges - _EVEN, firmest, side="right") - 1
    people = np.maximum(np.bincount(group, minlength=groups), 1)
    return np.asarray((np.bincount(group, right, minlength=groups) / people)[group], dtype=np.float64)


def _judge_table(beliefs: Float64, truth: Int32) -> tuple[Float64, Float64]:
    """(float64[people] the belief in the truth, how often the best guess is right)."""
    own = beliefs[np.arange(len(truth)), truth]
    best = beliefs.max(axis=1, initial=0.0)
    ties = (beliefs >= best[:, None] - _EVEN).sum(axis=1)
    return own, np.asarray((own >= best - _EVEN) / np.maximum(ties, 1), dtype=np.float64)


def _judge_alone(graph: FactorGraph, priors: Float64, truth: Int32) -> tuple[Float64, Float64]:
    """The same of single classes: (highest belief in the truth, mean right guesses over a person's classes)."""
    told = graph.deal_alone(priors)
    deals = graph.deals
    width = np.repeat(np.diff(deals.value_start), np.diff(deals.member_start))
    start = np.cumsum(width) - width
    row = np.repeat(np.arange(len(width)), width)
    best = np.maximum.reduceat(told, start) if len(start) else np.empty(0)
    close = told >= best[row] - _EVEN
    ties = np.bincount(row[close], minlength=len(width))
    true = np.flatnonzero(graph.cells % graph.value_count == np.repeat(truth[graph.members], width))
    own, right = np.zeros(len(width)), np.zeros(len(width))
    own[row[true]] = told[true]
    right[row[true]] = close[true] / ties[row[true]]
    highest = np.zeros(graph.people)
    np.maximum.at(highest, graph.members, own)
    times = np.maximum(np.bincount(graph.members, minlength=graph.people), 1)
    return highest, np.bincount(graph.members, right, minlength=graph.people) / times


def _odds(belief: Float64) -> Float64:
    return np.asarray(belief / np.maximum(1.0 - belief, 1e-12), dtype=np.float64)


Describe = Callable[[int, list[tuple[int, int]]], tuple[str, dict[str, object]]]
"""Of a person by number and their (release, class) pairs: the sentence of the finding, and its details."""


@dataclass(frozen=True, eq=False)
class PersonEvidence:
    """Whose value an attacker believes to know. threshold: from which belief on that counts; limit: whom to list"""

    attack: str
    threshold: float
    limit: int
    graph: SeriesGraph
    judged: Judgement

    def tell(
        self,
        series: Observed,
        involving: int | None,
        describe: Describe,
        notes: tuple[str, ...],
        **measures: float,
    ) -> Outcome:
        """One finding for each of the worst people, the strongest belief first; and how many there are."""
        people, judged = self.graph.people, self.judged
        until = len(series) if involving is None else involving
        wanted = [series.releases[i] for i in range(0 if involving is None else until - 1, until)]
        here = {release.number: present_in(release, people) for release in wanted}
        asked: Bool = np.zeros(len(people), dtype=np.bool_)
        for present in here.values():
            asked |= present
        exposed = judged.at_risk(self.threshold) & asked
        worst = np.flatnonzero(exposed)
        worst = worst[np.lexsort((worst, -judged.belief[worst]))][: self.limit]
        where = find_classes(series.releases, people, worst, until)
        return Outcome(
            attack=self.attack,
            findings=tuple(self._find(series.words, i, classes, *describe(i, classes)) for i, classes in where.items()),
            total=int(exposed.sum()),
            at_risk={number: people.subjects[exposed & present] for number, present in here.items()},
            measures={**judged.measures(asked), "exposed": float(exposed.sum()), **measures},
            notes=notes,
        )

    def _find(
        self, words: Words, i: int, classes: list[tuple[int, int]], sentence: str, details: dict[str, object]
    ) -> Finding:
        people, judged = self.graph.people, self.judged
        belief, alone, true = float(judged.belief[i]), float(judged.alone[i]), float(judged.come_true[i])
        return Finding(
            attack=self.attack,
            releases=tuple(number for number, _ in classes),
            subjects=(words.subject(int(people.subjects[i])),),
            classes=tuple(classes),
            value=words.value(int(people.values[i])),
            level=belief,
            unit="belief in the true value",
            threshold=self.threshold,
            sentence=sentence,
            details={"belief": belief, "one_release": alone, "come_true": true, **details},
            rank=(-belief, int(people.subjects[i])),
        )


def find_classes(
    releases: Sequence[ObservedRelease], people: KnownPeople, some: Int64, until: int
) -> dict[int, list[tuple[int, int]]]:
    """The (release, class) pairs of some people, up to a release. some: int64[] numbers of people"""
    where: dict[int, list[tuple[int, int]]] = {int(i): [] for i in some}
    for release in (releases[position] for position in range(until if len(some) else 0)):
        if release.members is None:
            continue
        at, there = lookup(release.members.subjects, people.subjects[some])
        for i, its in zip(some[there], release.members.classes[at[there]], strict=True):
            where[int(i)].append((release.number, release.called(its)))
    return where


def state_share(share: float) -> str:
    """As a percentage; never 100%, as nothing is certain to who guesses, nor 0% of what is possible."""
    return "more than 99%" if share >= 0.995 else "less than 1%" if 0.0 < share < 0.005 else f"{100 * share:.0f}%"


MOST_VALUES = 8
"""So many possible values of a person are listed by name."""


@dataclass(frozen=True, kw_only=True)
class Learning(WithStatistics, Attack):
    """Whose value all releases together give away to someone who reasons about everybody at once.

    c:          a belief above it, with odds at least three times those that any one release gives, is a breach
    statistics: how values depend on quasi-identifiers: "learn" it from the releases, take the "publisher"'s own
                snapshots (the worst case), or the path of a file of shares by categories of people
    """

    c: Annotated[float, Within("a belief", above=0, most=1)] = 0.5
    statistics: str = LEARN

    name: ClassVar[str] = "learning"
    assumes: ClassVar[str] = (
        "The attacker knows who is in which class of every release, and that values do not change; nothing else."
    )
    measuring: ClassVar[bool] = True
    divisions: ClassVar[Mapping[WorkDivision, str]] = {}  # statistics are learned from everybody

    def run(self, series: Observed, *, involving: int | None = None) -> Outcome:
        until = len(series) if involving is None else involving
        graph = SeriesGraph.of(series, until)
        priors = self.find_priors(series, graph.people)
        if priors is None:
            priors = learn(graph, series.domains)
        beliefs = reason(graph.reduced, priors)
        judged = judge(graph.published, priors, beliefs, graph.people.values)
        evidence = PersonEvidence(self.name, self.c, self.limit, graph, judged)
        describe = partial(self._describe, series.words, evidence)
        return evidence.tell(series, involving, describe, self._notes(graph))

    def _describe(
        self, words: Words, evidence: PersonEvidence, i: int, classes: list[tuple[int, int]]
    ) -> tuple[str, dict[str, object]]:
        people, judged = evidence.graph.people, evidence.judged
        who, value = words.subject(int(people.subjects[i])), words.value(int(people.values[i]))
        belief, alone, plain = float(judged.belief[i]), float(judged.alone[i]), float(judged.plain[i])
        possible = [words.value(int(v)) for v in np.flatnonzero(evidence.graph.published.possible[i])]
        releases = name_releases(words, [number for number, _ in classes])
        if len(classes) > 1:
            seen, they, best = (
                f"Taken together, the classes of {releases} leave",
                "they make",
                "One of them alone gives at most",
            )
        else:
            seen, they, best = f"The class of {releases} leaves", "it makes", "Alone it gives"
        sentence = (
            f"{seen} {list_names(possible, MOST_VALUES)} for {who}; weighed together with everybody else's, {they} "
            f"an attacker {state_share(belief)} sure that it is {value}, rightly. {best} {state_share(alone)} "
            f"with the same statistics, and the statistics over these values {state_share(plain)}. Of the people "
            f"guessed so firmly, {100 * float(judged.come_true[i]):.0f}% are guessed rightly. {self.source}"
        )
        return sentence, {"statistics": plain, "values": tuple(possible)}

    def _notes(self, graph: SeriesGraph) -> tuple[str, ...]:
        notes = [
            f"{self.source} What statistics alone tell about people of a kind is inference about a population, not "
            "disclosure by the series: only what the releases add to it counts.",
            "It measures how far one attacker comes; it proves nothing about others.",
        ]
        if graph.skipped:
            numbers = ", ".join(map(str, graph.skipped))
            notes.append(f"Releases {numbers} come without their members and were passed over.")
        return tuple(notes)
