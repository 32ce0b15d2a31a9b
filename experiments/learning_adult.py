"""What attackers with statistics get from each strategy: Adult over six releases, census-like people, one release.

python experiments/learning_adult.py [folder of the data] [folder of the docs pages of the attacks]

Writes the figures of docs/attacks/learning.md and known-algorithm.md, and prints the numbers of their tables.
"""

from __future__ import annotations

import sys
from pathlib import Path

import altair as alt
import numpy as np
import vl_convert

from learning_people import count_others, observe, publish, read_adult, read_census, replace_people
from reissue.errors import InputError
from reissue.methods.attack import Attack
from reissue.methods.baselines.merge import Merge
from reissue.methods.baselines.static import Static
from reissue.methods.correlation.strategy import CorSplit
from reissue.methods.equivalence.strategy import EEquivalence
from reissue.methods.invariance.known_algorithm_attack import KnownAlgorithm
from reissue.methods.invariance.strategy import MInvariance
from reissue.methods.learning.attack import Learning
from reissue.methods.strategy import Strategy
from reissue.model.observed import Observed
from reissue.model.release import Coded

ROOT = Path(__file__).resolve().parents[1]
LIVE, BATCH, RELEASES, HALF, FIRST = 20_000, 4_000, 6, 22_611, 12_000
STRATEGIES: dict[str, Strategy] = {
    "m-invariance, m=4": MInvariance(m=4),
    "Cor-Split, m=4, n=2": CorSplit(m=4, n=2),
    "e-equivalence, m=4, e=3": EEquivalence(m=4, e=3),
    "static Mondrian, k=8, c=.5": Static(k=8, c=0.5),
    "merge, k=8, c=.5": Merge(k=8, c=0.5),
}
Row = dict[str, object]


def measure(label: str, attack: Attack, series: Observed, who: str) -> Row | None:
    """One line: belief in the truth, right guesses, sure and right; None where the attack does not apply."""
    try:
        found = attack.run(series).measures
    except InputError:
        return None
    row: Row = {"strategy": label, "releases": len(series), "attacker": who, **found}
    shown = {key: round(found[key], 3) for key in ("belief", "right", "sure_and_right", "right_of_one_release")}
    print(label, len(series), who, shown, flush=True)
    return row


def over_releases(table: Coded) -> list[Row]:
    """Every strategy, after one to six releases."""
    half, rows = count_others(table, np.arange(HALF, len(table))), []
    for label, strategy in STRATEGIES.items():
        releases = publish(strategy, replace_people(table, LIVE, BATCH, RELEASES))
        for count in range(1, RELEASES + 1):
            series = observe(releases[:count], table)
            rows.append(measure(label, Learning(), series, "the releases alone"))
            rows.append(measure(label, Learning().inform(half), series, "with statistics of other people"))
    return [row for row in rows if row is not None]


def of_one_release(table: Coded, label: str, people: int, others: np.ndarray) -> list[Row]:
    """The first release, to who knows how classes are cut and to who does not."""
    statistics, rows = count_others(table, others), []
    for name, strategy in list(STRATEGIES.items())[:3]:
        series = observe(publish(strategy, iter([table.part(np.arange(people))])), table)
        about = f"{label}: {name}"
        rows.append(measure(about, Learning().inform(statistics), series, "statistics and classes"))
        rows.append(measure(about, KnownAlgorithm().inform(statistics), series, "knows the algorithm, too"))
        rows.append(measure(about, KnownAlgorithm(statistics="learn"), series, "knows the algorithm, no statistics"))
    return [row for row in rows if row is not None]


def draw_releases(rows: list[Row], path: Path) -> None:
    chart = (
        alt.Chart(alt.Data(values=rows), width=260, height=220)
        .mark_line(point=True)
        .encode(
            x=alt.X("releases:O", title="releases laid side by side"),
            y=alt.Y("right:Q", title="occupations guessed rightly", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("strategy:N", title=None, legend=alt.Legend(orient="bottom", columns=3, labelLimit=300)),
            column=alt.Column("attacker:N", title=None, sort=["the releases alone"]),
        )
    )
    path.write_text(vl_convert.vegalite_to_svg(chart.to_json()))


def draw_one_release(rows: list[Row], path: Path) -> None:
    chart = (
        alt.Chart(alt.Data(values=rows), width=420)
        .mark_bar()
        .encode(
            x=alt.X("right:Q", title="occupations guessed rightly from one release", scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("attacker:N", title=None, sort=None),
            color=alt.Color("attacker:N", legend=None, sort=None),
            row=alt.Row("strategy:N", title=None, sort=None, header=alt.Header(labelAngle=0, labelAlign="left")),
        )
    )
    path.write_text(vl_convert.vegalite_to_svg(chart.to_json()))


def main(data: Path, pages: Path) -> None:
    adult, census = read_adult(data), read_census(data)
    draw_releases(over_releases(adult), pages / "learning.svg")
    others = np.arange(len(census) // 2, len(census))
    rows = of_one_release(adult, "Adult", FIRST, np.arange(HALF, len(adult)))
    rows += of_one_release(census, "census-like", 2 * LIVE, others)
    draw_one_release(rows, pages / "known-algorithm.svg")
    series = observe(publish(MInvariance(m=4), replace_people(census, 2 * LIVE, 2 * BATCH, RELEASES)), census)
    measure("census-like: m-invariance, m=4", Learning(), series, "the releases alone")
    known = Learning().inform(count_others(census, others))
    measure("census-like: m-invariance, m=4", known, series, "with statistics of other people")


if __name__ == "__main__":
    main(
        Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared" / "data",
        Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs" / "attacks",
    )
