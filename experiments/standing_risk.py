"""What an attacker learns from a whole series who knows who is in which class of every release, and statistics.

Found are the mean belief in the truth and the share of right guesses, over all releases, of the people of the first
release and of those who came later; beside what statistics alone reveal about the same people.
"""

from __future__ import annotations

import numpy as np

from learning_people import count_others, observe
from reissue.methods.learning.attack import judge
from reissue.methods.learning.class_graph import SeriesGraph
from reissue.methods.learning.statistics import learn, reason
from reissue.model.observed import Observed
from reissue.model.release import Coded, Facts
from reissue.model.standing_view import EPISODE, observe_classes
from words import Numbers


def see(releases: list[Facts], table: Coded) -> Observed:
    """What an attacker sees who knows the members; of standing classes, everybody's class for life."""
    if "row_standing" not in releases[0].extras:
        return observe(releases, table)
    seen = list(observe_classes(releases, table.domains))
    return Observed(seen, table.domains, table.value_count, Numbers(), standing=True)


def attack(series: Observed, statistics: Coded | None, until: int, known: float = 0.0) -> dict[str, float]:
    """Belief and right guesses after so many releases, by when people came.

    statistics: of other people; None: he learns them from the releases themselves. known: the share of people whose
    value he has from elsewhere; they do not count.
    """
    graph = SeriesGraph.of(series, until)
    truth = graph.people.values
    if statistics is None:
        priors = learn(graph, series.domains)
    else:
        fitted = count_others(statistics, np.arange(len(statistics)))
        priors = fitted.priors(graph.people.codes, series.domains, series.value_count)
    compromised = np.random.default_rng(3).random(len(truth)) < known
    priors[compromised] = 0.0
    priors[compromised, truth[compromised]] = 1.0
    beliefs = reason(graph.reduced, priors)
    judged = judge(graph.published, priors, beliefs, truth)
    own = priors[np.arange(len(truth)), truth] / priors.sum(axis=1)
    guessed = priors.argmax(axis=1) == truth
    members = series.releases[0].members
    assert members is not None
    early = np.isin(graph.people.subjects % EPISODE, members.subjects)
    found = {}
    for who, some in {"first": early & ~compromised, "later": ~early & ~compromised}.items():
        if some.any():
            found |= {
                f"{who} belief": float(judged.belief[some].mean()),
                f"{who} right": float(judged.right[some].mean()),
                f"{who} statistics": float(own[some].mean()),
                f"{who} statistics right": float(guessed[some].mean()),
            }
    return found


def divide(table: Coded, people: int) -> tuple[Coded, Coded]:
    """(those who may be published, the others, of whom only statistics are known)."""
    return table.part(np.arange(people)), table.part(np.arange(people, len(table)))
