"""The page of the standing study: its tables and figures from what was measured."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path

from drawing import BLUE, BROWN, GREEN, GREY, ORANGE, PURPLE, RED, draw_bars, draw_lines
from reissue import __version__

Row = dict[str, object]
COLORS = {
    "m-invariance, m=4": RED,
    "cor-split, m=4, n=2": ORANGE,
    "e-equivalence, m=4, e=3": PURPLE,
    "static, k=8 c=.4 (unsafe)": BROWN,
    "standing, c=.25 l=4 k=4": GREEN,
    "standing, c=.4 l=4 k=8": BLUE,
}
RISK = ("strategy", "first belief", "first right", "later belief", "later right")
READ = (
    "strategy", "wide told", "wide raked", "wide learned", "wide flat", "narrow told", "narrow raked", "narrow learned",
    "narrow flat", "rates", "detail lost", "seconds",
)  # fmt: skip
ATTACKERS = ("strategy", "releases alone", "statistics", "statistics, 4% known")


def tabulate(rows: Iterable[Row], columns: Sequence[str]) -> str:
    """Markdown; shares with three digits."""
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    for row in rows:
        cells = [f"{row[name]:.3f}" if isinstance(row.get(name), float) else str(row.get(name, "")) for name in columns]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def find_ends(rows: Sequence[Row], scene: str) -> list[Row]:
    """What was found of a scene after its last release."""
    numbers = [int(str(row["release"])) for row in rows if row["scene"] == scene and row["release"] != "all"]
    return [row for row in rows if row["scene"] == scene and row["release"] == max(numbers)]


def draw_risk(rows: Sequence[Row], scene: str, path: Path, names: Sequence[str]) -> None:
    """The share of right guesses about the people of the first release, over the releases."""
    curves: dict[str, tuple[str, list[tuple[float, float]]]] = {}
    own = [row for row in rows if row["scene"] == scene and row["release"] != "all"]
    for name in names:
        points = [
            (float(str(row["release"])), float(str(row["first right"]))) for row in own if row["strategy"] == name
        ]
        if points:
            curves[name.split(" (")[0]] = COLORS[name], points
    last = max(float(str(row["release"])) for row in own)
    alone = float(str(own[0]["first statistics right"]))
    curves["statistics, no release"] = GREY, [(1.0, alone), (last, alone)]
    ticks = [tick for tick in (1.0, 6.0, 12.0, 18.0, 24.0) if tick <= last]
    title = "Values guessed right by an attacker with statistics"
    draw_lines(path, title, curves, "releases laid side by side", ticks=ticks, gutter=215)


def draw_errors(rows: Sequence[Row], scene: str, path: Path) -> None:
    """The error of wide counts in the last release, by strategy."""
    own = [row for row in rows if row["scene"] == scene and row["release"] == "all"]
    bars = [(str(row["strategy"]), float(str(row["wide told"])), COLORS.get(str(row["strategy"]), GREY)) for row in own]
    draw_bars(path, "How far off are counts? Median error, the last of 24 releases", bars)


def _describe_scene(rows: Sequence[Row], scene: str) -> str:
    ends = find_ends(rows, scene)
    statistics = [
        float(str(ends[0][f"{who} statistics{what}"])) for who in ("first", "later") for what in ("", " right")
    ]
    known = "{:.3f} and {:.3f} (newcomers {:.3f} and {:.3f})".format(*statistics)
    read = [row for row in rows if row["scene"] == scene and row["release"] == "all"]
    count = int(str(read[0]["people"]))
    return (
        f"### {scene}\n\nAfter {ends[0]['release']} releases; {count:,} people in the last one. "
        f"Statistics alone: {known}.\n\n"
        f"{tabulate(ends, RISK)}\n\n{tabulate(read, READ)}"
    )


def write(rows: list[Row], known: list[Row], page: Path) -> None:
    """README.md, the figure, and all that was measured as JSON."""
    page.mkdir(parents=True, exist_ok=True)
    scenes = list(dict.fromkeys(str(row["scene"]) for row in rows))
    draw_risk(rows, scenes[0], page / "risk.svg", list(COLORS))
    draw_risk(rows, scenes[0], page / "two.svg", ["m-invariance, m=4", "standing, c=.4 l=4 k=8"])
    draw_errors(rows, scenes[0], page / "errors.svg")
    attackers = [row for row in rows if row["release"] == "all" and "releases alone" in row]
    made = {"version": __version__, "date": date.today().isoformat(), "rows": rows, "known algorithm": known}
    digits = json.loads(json.dumps(made), parse_float=lambda text: round(float(text), 4))
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in digits.pop("rows"))
    told = json.dumps(digits)[:-1] + f', "rows": [\n{lines}\n]}}\n'
    (page / "measured.json").write_text(told, encoding="utf-8")
    text = PAGE.format(
        version=f"Reissue {made['version']}, {made['date']}",
        attackers="\n\n".join(
            f"{scene}:\n\n{tabulate((row for row in attackers if row['scene'] == scene), ATTACKERS)}"
            for scene in dict.fromkeys(str(row["scene"]) for row in attackers)
        ),
        known=tabulate(known, ("strategy", "without", "knowing", "chance")),
        scenes="\n\n".join(_describe_scene(rows, scene) for scene in scenes),
    )
    (page / "README.md").write_text(text, encoding="utf-8")


PAGE = """# Standing classes over a whole series

Made by `python experiments/standing_study.py` ({version}); all numbers are in `measured.json` beside this page. Adult:
occupation, 14 values, eight quasi-identifiers with ARX's hierarchies; the census-like table: occupation in 50 values,
four quasi-identifiers; the made-up clinic: exam results that depend on sex, age and weight, every new result an
episode. Up to 24 releases. Boxes are groups of the hierarchies.

## What an attacker learns

The attacker knows who is in which class of every release, and statistics from other people (naive Bayes over the
quasi-identifiers). He weighs all classes of all releases at once (the [learning attack](../../attacks/learning.md)).
Right guesses about the people of the first release, 5,000 of Adult live, a tenth replaced before every release:

![Values guessed right after 1 to 24 releases](risk.svg)

Regrouping makes every release a fresh equation about the same people; after three or four most values are known. A
standing class says once what it says, so its curve is flat.

Three attackers, after the last release: one has only the releases and learns statistics from them; one has statistics;
one knows the values of 4% of the people besides (who do not count as guessed).

{attackers}

An attacker who knows the algorithm, Adult, one release, right guesses without and with that knowledge. m-invariance and
cor-split: what follows from how [their classes are made](../../attacks/known-algorithm.md). Standing: what can be
learned by [simulating it](../known-algorithm/README.md) on other people; chance is what the same models gain where
there is nothing to learn.

{known}

## What readers get

![Median relative error of counts by strategy](errors.svg)

## Every history

Belief is the mean belief in the truth, right the share of right guesses: of the people of the first release, and of
those who came later. Errors are medians over counts in the last release (wide: two attributes at 40% of the people
each; narrow: a decade and a sex); told: class shares, or the rows of a class spread over its box; raked: adjusted to
totals (epsilon 0.5); learned: shared out inside classes as all classes suggest, which is what `reissue estimate` does
with a told release; flat: dealt values counted as they are. Rates: of values by decade and sex, as published.
Detail lost: the mean share of a domain that a row's label spans. Seconds: processor time of a release, on average.

{scenes}
"""
