"""The attacker who knows the algorithm: how classes were cut or dealt tells who has which value with whom.

If someone left of a cut comes after someone right of it, they do not have the same value: the rows of one value are
left of the cut up to their median, and right of it from there on. Of those who were left over where sets were dealt,
some value of the set is missing (`attack_origins`). What follows for everybody's value is summed up here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

import numpy as np

from reissue.arrays.compiled import njit
from reissue.arrays.factor_graph import FactorGraph, Propagation, restrict
from reissue.arrays.sets import lookup
from reissue.arrays.types import Float64, Int64
from reissue.errors import InputError
from reissue.methods.attack import Attack, Outcome, WorkDivision, name_releases
from reissue.methods.invariance.attack_origins import (
    Leftovers,
    RebuiltCuts,
    count_cuts,
    is_split,
    rebuild_cuts,
    rebuild_leftovers,
)
from reissue.methods.learning.attack import PersonEvidence, judge, state_share
from reissue.methods.learning.class_graph import SeriesGraph
from reissue.methods.learning.statistics import PUBLISHER, WithStatistics, learn, refit
from reissue.model.observed import Observed, Words
from reissue.model.settings import Within

MOSTLY = 0.5
"""Lists of values were cut where so many of the cuts that would make its classes are found; by chance, few are."""
REFITS = 2
"""Where statistics are learned, they are learned again so many times from what the cuts told."""
TRUST = 0.99
"""How far a deduction, or a cut that was rebuilt, is trusted."""
ROUNDS = 60
"""Rounds at most in which everybody's beliefs exclude what others may have, and classes deal their values."""
CAREFUL = 0.8
"""How much of the last round's exclusions stays: beliefs that turn certain too soon do not turn back."""
CLOSE = 1e-3
"""Beliefs that change by less than that, on average, are at rest."""


@dataclass(frozen=True, eq=False)
class _Deduced:
    """What was deduced of a series."""

    evidence: PersonEvidence
    cuts: RebuiltCuts
    groups: int
    excluded: Int64


@dataclass(frozen=True, kw_only=True)
class KnownAlgorithm(WithStatistics, Attack):
    """Whose value m-invariance and Cor-Split give away by how they choose classes.

    c:          a belief above it, with odds at least three times those of any one class, is a breach
    statistics: how values depend on quasi-identifiers: the "publisher"'s own snapshots (the worst case), "learn" it
                from the releases, or the path of a file of shares by categories of people
    """

    c: Annotated[float, Within("a belief", above=0, most=1)] = 0.5
    statistics: str = PUBLISHER

    name: ClassVar[str] = "known-algorithm"
    assumes: ClassVar[str] = (
        "The attacker knows who is in which class of every release, how values are spread among kinds of people, and "
        "how classes are chosen; not the seed."
    )
    measuring: ClassVar[bool] = True
    selective: ClassVar[bool] = True
    divisions: ClassVar[Mapping[WorkDivision, str]] = {}  # statistics are those of everybody

    def run(self, series: Observed, *, involving: int | None = None) -> Outcome:
        until = len(series) if involving is None else involving
        graph = SeriesGraph.of(series, until)
        cuts, leftovers = self._rebuild(series, graph, until)
        priors, beliefs = self._believe(series, graph, cuts, leftovers)
        judged = judge(graph.published, priors, beliefs, graph.people.values)
        groups = sum(len(one.start) - 1 for one in leftovers)
        excluded = count_excluded(cuts, len(graph.people))
        evidence = PersonEvidence(self.name, self.c, self.limit, graph, judged)
        return self._tell(series, _Deduced(evidence, cuts, groups, excluded), involving)

    def _rebuild(self, series: Observed, graph: SeriesGraph, until: int) -> tuple[RebuiltCuts, list[Leftovers]]:
        """Of releases whose lists of values were cut, the cuts; of the others, who was left over where."""
        known, cuts, leftovers = np.zeros(len(graph.people), dtype=np.bool_), [], []
        for one in (series.releases[position] for position in range(until)):
            if one.members is None:
                continue
            people = lookup(graph.people.subjects, one.members.subjects)[0]
            if is_split(one):
                least = MOSTLY * count_cuts(one)
                made = rebuild_cuts(one, one.members, people, series.domains, least)
                if made.found >= least:
                    cuts.append(made)
                else:
                    leftovers.append(
                        rebuild_leftovers(one, one.members, people, known[people], series.domains, series.value_count)
                    )
            known[people] = True
        if not cuts and not leftovers:
            raise InputError(
                "it reads how classes were cut or dealt, as m-invariance and Cor-Split do it: classes that show all "
                "their values equally often, several with the same values. No release has such classes."
            )
        return RebuiltCuts.join([RebuiltCuts.none(), *cuts]), leftovers

    def _believe(
        self, series: Observed, graph: SeriesGraph, cuts: RebuiltCuts, leftovers: list[Leftovers]
    ) -> tuple[Float64, Float64]:
        """(float64[people, values] what statistics say, what is believed in the end)."""
        priors = self.find_priors(series, graph.people)
        if priors is not None:
            return priors, exclude(graph.reduced, cuts, leftovers, priors)
        priors = learn(graph, series.domains)
        for _ in range(REFITS):
            priors = refit(graph, series.domains, exclude(graph.reduced, cuts, leftovers, priors))
        return priors, exclude(graph.reduced, cuts, leftovers, priors)

    def _tell(self, series: Observed, deduced: _Deduced, involving: int | None) -> Outcome:
        notes = (
            f"{self.source} What statistics alone tell about people of a kind is inference about a population, not "
            "disclosure by the series: only what the choice of classes adds to them counts.",
            "It measures how far one attacker comes; it proves nothing about others.",
        )
        return deduced.evidence.tell(
            series,
            involving,
            partial(self._describe, series.words, deduced),
            notes,
            cuts=float(deduced.cuts.found),
            cuts_not_rebuilt=float(deduced.cuts.lost),
            left_over=float(deduced.groups),
        )

    def _describe(
        self, words: Words, deduced: _Deduced, i: int, classes: list[tuple[int, int]]
    ) -> tuple[str, dict[str, object]]:
        people, judged, others = deduced.evidence.graph.people, deduced.evidence.judged, int(deduced.excluded[i])
        who, value = words.subject(int(people.subjects[i])), words.value(int(people.values[i]))
        belief, alone, true = float(judged.belief[i]), float(judged.alone[i]), float(judged.come_true[i])
        releases = name_releases(words, [number for number, _ in classes])
        pairs = f"by the cuts {others:,} times somebody is found not to share {who}'s value" if others else "by others"
        if deduced.cuts.found:
            why = f"Knowing how the classes of {releases} were cut", f"who stands on which side of a cut: {pairs}"
        else:
            why = f"Knowing how the classes of {releases} were dealt", "who was left over where sets were dealt"
        sentence = (
            f"{why[0]}, an attacker is {state_share(belief)} sure that {who} "
            f"has {value}, rightly; one class alone gives at most {state_share(alone)} with the same statistics. "
            f"The rest follows from {why[1]}. Of the people guessed so firmly, "
            f"{100 * true:.0f}% are guessed rightly. {self.source}"
        )
        return sentence, {"excluded": others}


def add_missing(surely: Float64, leftovers: Leftovers, found: Float64) -> None:
    """Add to found[i, v] the logarithm of the chance that some value is missing in i's groups, if i has v.

    surely: float64[people, values], the logarithm of the chance that a person does not have the value.
    O(entries * values + entries * sets of the group * values of a set).
    """
    one = leftovers
    _add_missing(surely, one.start, one.people, one.shared, one.sets, one.first, one.values, found)


@njit(cache=True)
def _add_missing(surely, start, people, shared, sets, first, values, found):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Looked at are the values of a group's sets; a person's own (the others are 0 in surely) are fewer still.

    Of one person alone all values of a set but the person's are missing: that adds the logarithm of 1.
    """
    kinds = surely.shape[1]
    absent, others, here = np.zeros(kinds), np.zeros(kinds), np.zeros(kinds)
    own, shown, seen = np.empty(kinds, np.int64), np.empty(kinds, np.int64), np.full(kinds, -1, np.int64)
    for group in range(len(start) - 1):
        if start[group + 1] - start[group] < 2:
            continue
        wanted = 0
        for one in range(shared[group], shared[group + 1]):
            for e in range(first[sets[one]], first[sets[one] + 1]):
                if seen[values[e]] != group:
                    seen[values[e]] = group
                    shown[wanted], wanted = values[e], wanted + 1
        for v in shown[:wanted]:
            absent[v] = 0.0
            for i in range(start[group], start[group + 1]):
                absent[v] += surely[people[i], v]
            others[v] = here[v] = 1.0 - np.exp(absent[v])  # whether one of them has it
        for i in range(start[group], start[group + 1]):
            person, many = people[i], 0
            for v in range(kinds):
                if surely[person, v] != 0.0:
                    own[many], many = v, many + 1
                    if seen[v] == group:
                        here[v] = 1.0 - np.exp(absent[v] - surely[person, v])
            for one in range(shared[group], shared[group + 1]):
                _add_set(values, first[sets[one]], first[sets[one] + 1], own, many, here, person, found)
            for at in range(many):
                here[own[at]] = others[own[at]]


@njit(cache=True)
def _add_set(values, begin, end, own, many, here, person, found):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """As `add_missing`, for one person, whose values are own[:many], and the set values[begin:end]."""
    apart, known = 0.0, False  # of values that are not in the set: the same for all of them
    for at in range(many):
        v, rest, inside = own[at], 1.0, False
        for e in range(begin, end):
            inside |= values[e] == v
            rest *= here[values[e]] if values[e] != v else 1.0
        if inside and rest > 0.0:
            left = 1.0 - TRUST * rest
            found[person, v] += np.log(left) if left < 1.0 else 0.0
        elif not inside:
            if not known:
                left, known = 1.0 - TRUST * rest, True
                apart = np.log(left) if left < 1.0 else 0.0
            found[person, v] += apart


def exclude(graph: FactorGraph, cuts: RebuiltCuts, leftovers: Sequence[Leftovers], priors: Float64) -> Float64:
    """float64[people, values]: beliefs in which nobody has the value of someone he cannot share it with, on average.

    Mean field over the pairs, exact dealing inside classes. A round: O(people * values * depth of the cuts).
    """
    possible = graph.possible
    logs = np.log(restrict(priors, possible) + ~possible)
    talk = Propagation(graph)
    talk.start(priors, afresh=True)
    talk.sweep(3)
    weights = np.zeros(logs.shape)
    for _ in range(ROUNDS):
        before = talk.beliefs
        found = np.zeros(logs.shape)
        surely = np.log(1.0 - TRUST * before)  # once for the many cuts that are beyond doubt, and for all groups
        told = (cuts.start, cuts.people, cuts.left, cuts.place, cuts.weight, cuts.shared, cuts.values)
        _add_exclusions(before, surely, *told, found)
        for one in leftovers:
            add_missing(surely, one, found)
        weights = CAREFUL * weights + (1.0 - CAREFUL) * found
        both = np.where(possible, logs + weights, -np.inf)
        talk.start(np.exp(both - both.max(axis=1, keepdims=True)), afresh=False)
        talk.sweep(1)
        if np.abs(talk.beliefs - before).sum() < CLOSE * len(before):
            break
    return talk.beliefs


def count_excluded(cuts: RebuiltCuts, people: int) -> Int64:
    """int64[people]: how many others stand where they would not if they shared the person's value, cut by cut.

    Only by cuts of which the attribute is beyond doubt.
    """
    counts = np.zeros(people, dtype=np.int64)
    _count_excluded(cuts.start, cuts.people, cuts.left, cuts.place, cuts.weight, counts)
    return counts


@njit(cache=True)
def _add_exclusions(beliefs, surely, start, people, left, place, weight, shared, values, found):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Add to found[i, v] the logarithm of the chance that nobody who cannot share a value with i has v."""
    for cut in range(len(weight)):
        own = values[shared[cut] : shared[cut + 1]]
        trust = TRUST * weight[cut] if weight[cut] < 1.0 else 0.0
        said = beliefs if trust > 0.0 else surely
        _pass_along(said, start[cut], start[cut + 1], 1, True, people, left, place, own, trust, found)
        _pass_along(said, start[cut + 1] - 1, start[cut] - 1, -1, False, people, left, place, own, trust, found)


@njit(cache=True)
def _pass_along(said, begin, end, step, told, people, left, place, own, trust, found):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Go along a cut: who is on the side `told` is excluded by everybody of the other side whom one came by before.

    said: float64[people, values], beliefs that are trusted so far; where trust is 0, the logarithms ready to be added.
    """
    gathered = np.zeros(len(own))
    at = begin
    while at != end:
        stop = at
        while stop != end and place[stop] == place[at]:  # equals neither come before nor after each other
            if left[stop] == told:
                for s in range(len(own)):
                    found[people[stop], own[s]] += gathered[s]
            stop += step
        while at != stop:
            if left[at] != told:
                for s in range(len(own)):
                    one = said[people[at], own[s]]
                    gathered[s] += np.log(1.0 - trust * one) if trust > 0.0 else one
            at += step


@njit(cache=True)
def _count_excluded(start, people, left, place, weight, counts):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    for cut in range(len(weight)):
        if weight[cut] < 1.0:
            continue
        for step in (1, -1):
            told = step == 1
            at, end = (start[cut], start[cut + 1]) if told else (start[cut + 1] - 1, start[cut] - 1)
            others = 0
            while at != end:
                stop = at
                while stop != end and place[stop] == place[at]:
                    if left[stop] == told:
                        counts[people[stop]] += others
                    stop += step
                while at != stop:
                    others += left[at] != told
                    at += step
