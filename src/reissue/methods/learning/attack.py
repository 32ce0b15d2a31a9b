"""The learning attack: statistics learned from the releases themselves, and all classes weighed at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

import numpy as np

from reissue.methods.attack import Attack, Outcome, WorkDivision, list_names, name_releases
from reissue.methods.learning.class_graph import SeriesGraph
from reissue.methods.learning.judgement import PersonEvidence, judge, state_share
from reissue.methods.learning.statistics import LEARN, WithStatistics, learn, reason
from reissue.model.observed import Observed, Words
from reissue.model.settings import Within

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
        judged = judge(graph.published, beliefs.priors, beliefs.final, graph.people.values)
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
