"""The studies of standing classes: risk over a whole series beside the m-family, and what readers still get.

python experiments/standing_study.py [folder of the data] [folder for the page and its figure]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import altair as alt
import numpy as np
import vl_convert

from learning_people import publish, read_adult, read_census
from reissue.methods.correlation.strategy import CorSplit
from reissue.methods.equivalence.strategy import EEquivalence
from reissue.methods.invariance.strategy import MInvariance
from reissue.methods.standing.strategy import Standing
from reissue.methods.strategy import Strategy
from reissue.model.release import Coded
from standing_adult import Published, churn, detail_lost, in_ranges, query_errors
from standing_adult import publish as publish_standing
from standing_risk import attack, divide, see

ROOT = Path(__file__).resolve().parents[1]
Row = dict[str, object]

FAMILY: dict[str, Strategy] = {
    "m-invariance, m=4": MInvariance(m=4),
    "Cor-Split, m=4, n=2": CorSplit(m=4, n=2),
    "e-equivalence, m=4, e=3": EEquivalence(m=4, e=3),
}
STANDING: dict[str, Standing] = {
    "standing, c=.25 l=4 k=4": Standing(k=4, c=0.25, totals=0.5),
    "standing, c=.34 l=3 k=4": Standing(k=4, c=0.34, l=3, totals=0.5),
    "standing, c=.4 l=4 k=8": Standing(totals=0.5),
    "standing, c=.5 l=4 k=4": Standing(k=4, c=0.5, totals=0.5),
}
CURVE = (1, 2, 3, 4, 6, 8, 12, 18, 24)


def follow_risk(
    table: Coded, live: int, releases: int, turnover: float, family: Mapping[str, Strategy]
) -> Iterator[Row]:
    """Belief and right guesses of every strategy after more and more releases."""
    needed = live + round(live * turnover) * (releases - 1)
    published, others = divide(table, min(needed, len(table) * 2 // 3))
    for name, strategy in family.items():
        series = see(publish(strategy, churn(published, live, releases, turnover)), published)
        for until in (number for number in CURVE if number <= releases):
            yield {"strategy": name, "release": until, **attack(series, others, until)}


def follow_others(table: Coded, live: int, releases: int, family: Mapping[str, Strategy]) -> Iterator[Row]:
    """The same attacker without statistics of his own, with them, and with 4% of the people's values besides."""
    published, others = divide(table, min(live + live // 10 * (releases - 1), len(table) * 2 // 3))
    for name, strategy in family.items():
        series = see(publish(strategy, churn(published, live, releases, 0.1)), published)
        attackers = {
            "releases alone": attack(series, None, releases),
            "statistics": attack(series, others, releases),
            "statistics, 4% known": attack(series, others, releases, known=0.04),
        }
        yield {"strategy": name, **{who: found["first right"] for who, found in attackers.items()}}


def read_errors(table: Coded, live: int, releases: int, turnover: float, leaving: Mapping[int, float]) -> Iterator[Row]:
    """What readers get of the last release."""
    for name, strategy in STANDING.items():
        last = publish_standing(strategy, churn(table, live, releases, turnover, leaving))[-1]
        yield {"strategy": name, **_errors(last)}


def _errors(last: Published) -> Row:
    found: Row = {"detail lost": detail_lost(last.facts, last.snapshot)}
    for width in ("wide", "narrow"):
        found |= {f"{width} {reader}": error for reader, error in query_errors(last, wide=width == "wide").items()}
    return found


def draw(rows: Sequence[Row], path: Path) -> None:
    """The share of right guesses over the releases: the picture that tells it all."""
    shown = [{**row, "right": row["first right"]} for row in rows]
    statistics = {"strategy": "statistics alone", "right": rows[0]["first statistics right"]}
    shown += [{**statistics, "release": number} for number in sorted({int(str(row["release"])) for row in rows})]
    chart = (
        alt.Chart(alt.Data(values=shown), width=520, height=300)
        .mark_line(point=True)
        .encode(
            x=alt.X("release:Q", title="releases that the attacker has"),
            y=alt.Y("right:Q", title="share of values guessed right", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("strategy:N", title=None, legend=alt.Legend(orient="right", labelLimit=300)),
        )
    )
    path.write_text(vl_convert.vegalite_to_svg(chart.to_dict()))


def tabulate(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """Markdown; numbers with two or three digits."""
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    for row in rows:
        cells = [f"{row[name]:.3f}" if isinstance(row.get(name), float) else str(row.get(name, "")) for name in columns]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


RISK = ("strategy", "release", "first belief", "first right", "later belief", "later right")
READ = ("strategy", "wide told", "wide raked", "wide flat", "narrow told", "narrow raked", "narrow flat", "detail lost")


def main(folder: Path, page: Path) -> None:
    adult, census = read_adult(folder), read_census(folder)
    both: dict[str, Strategy] = {**FAMILY, **STANDING}
    curve = list(follow_risk(adult, 5_000, 24, 0.1, both))
    last = [row for row in curve if row["release"] == 24]
    others = [
        {"data": f"Adult, {turnover:.0%} replaced", **row}
        for turnover in (0.05, 0.2)
        for row in follow_risk(adult, 5_000, 12, turnover, both)
        if row["release"] == 12
    ]
    few = {name: both[name] for name in ("m-invariance, m=4", "standing, c=.4 l=4 k=8")}
    others += [
        {"data": "census, 20,000 people", **row}
        for row in follow_risk(census, 20_000, 12, 0.1, few)
        if row["release"] == 12
    ]
    stronger = list(follow_others(adult, 5_000, 12, both))
    ranges = in_ranges(adult)
    steady = list(read_errors(ranges, 5_000, 24, 0.1, {}))
    common = np.argsort(-np.bincount(adult.values))[:2]
    leaving = list(read_errors(ranges, 5_000, 12, 0.1, {int(value): 4.0 for value in common}))
    groups = list(read_errors(adult, 5_000, 24, 0.1, {}))
    page.mkdir(parents=True, exist_ok=True)
    draw(curve, page / "risk.svg")
    words = PAGE.format(
        statistics=f"{last[0]['first statistics']:.3f} and {last[0]['first statistics right']:.3f}",
        last=tabulate(last, RISK),
        others=tabulate(others, ("data", *RISK)),
        stronger=tabulate(stronger, ("strategy", "releases alone", "statistics", "statistics, 4% known")),
        steady=tabulate(steady, READ),
        groups=tabulate(groups, READ),
        leaving=tabulate(leaving, READ),
    )
    (page / "README.md").write_text(words)


PAGE = """# Standing classes over a whole series

Made by `python experiments/standing_study.py`. Adult (occupation, 14 values, eight quasi-identifiers), 5,000 people
live, a tenth replaced before every release. The attacker knows who is in which class of every release, and statistics
from other people (naive Bayes over the quasi-identifiers); he weighs all classes of all releases at once (the learning
attack).

## What an attacker learns

Right guesses about the people of the first release, after more and more releases:

![share of values guessed right](risk.svg)

After 24 releases, the mean belief in the truth and the share of right guesses, of the people of the first release and
of those who came later. Statistics alone give {statistics}.

{last}

Regrouping makes every release a fresh equation about the same people; after three or four the values are determined. A
standing class says once what it says, so its curve is flat: release 24 tells of a person of release 1 what release 1
told.

Other turnover, other data, after 12 releases:

{others}

Right guesses about the people of the first release after 12 releases (Adult, 10% replaced), by an attacker who has only
the releases and learns statistics from them, one with statistics, and one who knows the values of 4% of the people
besides (who do not count as guessed):

{stronger}

## What readers get

Median relative error of counts in the last release (24 releases, 10% replaced); wide: age and education at 40% of the
people each, narrow: a decade of age and a sex. Told: class shares; raked: adjusted to totals (epsilon 0.5);
flat: dealt values counted as they are. Boxes are ranges of codes:

{steady}

Boxes are groups of the hierarchies, which cost more detail:

{groups}

Where the people with the two commonest values leave four times as often (12 releases), class shares age. Raked they do
not:

{leaving}
"""

if __name__ == "__main__":
    given = [Path(one) for one in sys.argv[1:]]
    main(
        given[0] if given else ROOT.parent / "shared" / "data",
        given[1] if len(given) > 1 else ROOT / "docs" / "experiments" / "standing",
    )
