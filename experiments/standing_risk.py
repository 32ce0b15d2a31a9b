"""What an attacker with statistics learns from a whole series: standing classes beside m-invariance, Adult and census.

python experiments/standing_risk.py [folder of the data] [adult|census] [live people] [releases] [turnover] [names...]

The attacker knows who is in which class of every release, and statistics of other people (of Adult, the half that is
never published). Printed are the mean belief in the truth and the share of right guesses, over all releases, of the
people of the first release and of those who came later; beside what statistics alone tell of the same people.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from learning_people import count_others, observe, publish, read_adult, read_census
from reissue.methods.invariance.strategy import MInvariance
from reissue.methods.learning.class_graph import SeriesGraph
from reissue.methods.learning.judgement import judge
from reissue.methods.learning.reasoning import learn, reason
from reissue.methods.standing.strategy import Standing
from reissue.methods.strategy import Strategy
from reissue.model.observed import Observed
from reissue.model.release import Coded, Facts
from reissue.model.standing_view import EPISODE, observe_classes
from standing_adult import churn
from words import Numbers

ROOT = Path(__file__).resolve().parents[1]
STRATEGIES: dict[str, Strategy] = {
    "standing c=.4 l=4 k=8": Standing(),
    "standing c=.25 l=4 k=4": Standing(k=4, c=0.25),
    "standing c=.34 l=3 k=4": Standing(k=4, c=0.34, l=3),
    "standing c=.5 l=4 k=4": Standing(k=4, c=0.5),
    "m-invariance m=4": MInvariance(m=4),
}


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
    judged = judge(graph.published, beliefs.priors, beliefs.final, truth)
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


def main(folder: Path, data: str, live: int, releases: int, turnover: float, names: list[str]) -> None:
    table = read_adult(folder) if data == "adult" else read_census(folder)
    needed = live + round(live * turnover) * (releases - 1)
    published, others = divide(table, min(needed, len(table) * 2 // 3))
    print(f"{data}, {live:,} live people of {len(published):,}, {releases} releases, {turnover:.0%} replaced each time")
    for name, strategy in STRATEGIES.items():
        if names and not any(wanted in name for wanted in names):
            continue
        series = see(publish(strategy, churn(published, live, releases, turnover)), published)
        for until in sorted({1, 2, 4, 6, 12, releases} & set(range(1, releases + 1))):
            found = attack(series, others, until)
            print(f"{name:24s} after {until:2d}", "  ".join(f"{what} {number:.3f}" for what, number in found.items()))


if __name__ == "__main__":
    given = sys.argv[1:]
    main(
        Path(given[0]) if given else ROOT.parent / "shared" / "data",
        given[1] if len(given) > 1 else "adult",
        int(given[2]) if len(given) > 2 else 5_000,
        int(given[3]) if len(given) > 3 else 24,
        float(given[4]) if len(given) > 4 else 0.1,
        given[5:],
    )
