"""Findings about people whose value an attacker believes to know, with the evidence in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue.arrays.sets import lookup
from reissue.arrays.types import Float64, Int64
from reissue.methods.attack import Finding
from reissue.methods.learning.class_graph import KnownPeople, SeriesGraph
from reissue.methods.learning.judgement import Judgement
from reissue.methods.wording import list_names, name_releases
from reissue.model.observed import ObservedRelease, Words

MOST_VALUES = 8
"""So many possible values of a person are listed by name."""


@dataclass(frozen=True, eq=False)
class PersonEvidence:
    """What findings about people are made from. source: where statistics come from, in a sentence"""

    attack: str
    threshold: float
    source: str
    releases: Sequence[ObservedRelease]
    graph: SeriesGraph
    judged: Judgement
    final: Float64


def describe_people(evidence: PersonEvidence, words: Words, worst: Int64, until: int) -> tuple[Finding, ...]:
    """One finding for each of the worst people, the strongest belief first. worst: int64[] numbers of people"""
    where = find_classes(evidence.releases, evidence.graph.people, worst, until)
    return tuple(_describe(evidence, words, i, classes) for i, classes in where.items())


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


def _describe(evidence: PersonEvidence, words: Words, i: int, classes: list[tuple[int, int]]) -> Finding:
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
    true = float(judged.come_true[i])
    return Finding(
        attack=evidence.attack,
        releases=tuple(number for number, _ in classes),
        subjects=(who,),
        classes=tuple(classes),
        value=value,
        level=belief,
        unit="belief in the true value",
        threshold=evidence.threshold,
        sentence=(
            f"{seen} {list_names(possible, MOST_VALUES)} for {who}; weighed together with everybody else's, {they} "
            f"an attacker {state_share(belief)} sure that it is {value}, rightly. {best} {state_share(alone)} "
            f"with the same statistics, and the statistics over these values {state_share(plain)}. Of the people "
            f"guessed so firmly, {100 * true:.0f}% are guessed rightly. {evidence.source}"
        ),
        details={
            "belief": belief,
            "one_release": alone,
            "statistics": plain,
            "come_true": true,
            "values": tuple(possible),
        },
        rank=(-belief, int(people.subjects[i])),
    )


def state_share(share: float) -> str:
    """As a percentage; never 100%, as nothing is certain to who guesses, nor 0% of what is possible."""
    return "more than 99%" if share >= 0.995 else "less than 1%" if 0.0 < share < 0.005 else f"{100 * share:.0f}%"
