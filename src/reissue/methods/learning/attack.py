"""The learning attack: statistics learned from the releases themselves, and all classes weighed at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from reissue.arrays.types import Bool, Float64, Int64
from reissue.methods.attack import Attack, Outcome, WorkDivision
from reissue.methods.learning.attack_findings import PersonEvidence, describe_people
from reissue.methods.learning.class_graph import SeriesGraph, present_in
from reissue.methods.learning.informed_attack import WithStatistics
from reissue.methods.learning.judgement import Judgement, judge
from reissue.methods.learning.reasoning import learn, reason
from reissue.methods.learning.statistics import LEARN
from reissue.model.observed import Observed
from reissue.model.settings import Within


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
        judged = judge(graph.published, beliefs.priors, beliefs.final, graph.people.values)
        return self._tell(series, graph, judged, beliefs.final, involving)

    def _tell(
        self, series: Observed, graph: SeriesGraph, judged: Judgement, final: Float64, involving: int | None
    ) -> Outcome:
        wanted = range(1, len(series) + 1) if involving is None else (involving,)
        here = {number: present_in(series.releases[number - 1], graph.people) for number in wanted}
        asked: Bool = np.zeros(len(graph.people), dtype=np.bool_)
        for present in here.values():
            asked |= present
        exposed = judged.at_risk(self.c) & asked
        at_risk: dict[int, Int64] = {n: graph.people.subjects[exposed & present] for n, present in here.items()}
        worst = np.flatnonzero(exposed)
        worst = worst[np.lexsort((worst, -judged.belief[worst]))][: self.limit]
        evidence = PersonEvidence(self.name, self.c, self.source, series.releases, graph, judged, final)
        return Outcome(
            attack=self.name,
            findings=describe_people(evidence, series.words, worst, max(wanted, default=0)),
            total=int(exposed.sum()),
            at_risk=at_risk,
            measures={**judged.measures(asked), "exposed": float(exposed.sum())},
            notes=self._notes(graph),
        )

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
