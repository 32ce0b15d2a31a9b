"""The attacker who knows the algorithm: how classes were cut or dealt tells who has which value with whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

import numpy as np

from reissue.arrays.sets import lookup
from reissue.arrays.types import Float64, Int64
from reissue.errors import InputError
from reissue.methods.attack import Attack, Outcome, WorkDivision, name_releases
from reissue.methods.invariance.attack_cuts import RebuiltCuts, count_cuts, is_split, rebuild_cuts
from reissue.methods.invariance.attack_exclusions import Leftovers, count_excluded, exclude, rebuild_leftovers
from reissue.methods.learning.attack import PersonEvidence, judge, state_share
from reissue.methods.learning.class_graph import SeriesGraph
from reissue.methods.learning.statistics import PUBLISHER, WithStatistics, learn, refit
from reissue.model.observed import Observed, Words
from reissue.model.settings import Within

MOSTLY = 0.5
"""Lists of values were cut where so many of the cuts that would make its classes are found; by chance, few are."""
REFITS = 2
"""Where statistics are learned, they are learned again so many times from what the cuts told."""


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
                made = rebuild_cuts(one, one.members, people, series.domains)
                if made.found >= MOSTLY * count_cuts(one):
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
