"""Tables and figures of the Cor-Split experiment, and figure 2 of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import altair as alt
import numpy as np
import vl_convert

from reissue.methods.correlation.breach_probability import (
    breach_probability,
    choose_degree,
    ct_probability,
    hc_probability,
)

Row = dict[str, object]


@dataclass(frozen=True)
class Scenario:
    """What was measured in one setting; lists are by release, dictionaries by strategy."""

    name: str
    live: int
    turnover: float
    classes: dict[str, list[int]]
    unsafe: dict[str, list[int]]
    counterfeits: dict[str, list[int]]
    errors: list[Row]
    seconds: dict[str, list[float]]
    step: str
    breaches: list[Row]

    @property
    def slug(self) -> str:
        return self.name.split(",")[0].lower()


@dataclass(frozen=True)
class Results:
    m: int
    n: int
    p: float
    h: float
    largest: float
    queries: int
    scenarios: list[Scenario]


def write(results: Results, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    _figure_2(results, folder)
    for one in results.scenarios:
        pictures = [
            (f"unsafe-{one.slug}.svg", one.unsafe, f"classes unsafe with n = {results.n}"),
            (f"counterfeits-{one.slug}.svg", one.counterfeits, "counterfeits in the release"),
        ]
        for name, counts, title in pictures:
            rows: list[Row] = [
                {"release": i, "strategy": strategy, "count": count}
                for strategy, its in counts.items()
                for i, count in enumerate(its, start=1)
            ]
            _draw(_lines(rows, "release", "count", title), folder / name)
        _draw(_lines(one.errors, "selectivity", "error", "median relative error"), folder / f"errors-{one.slug}.svg")
    (folder / "README.md").write_text(_page(results))


def _figure_2(results: Results, folder: Path) -> None:
    """The formulas of section 3 over the number of releases a person is in."""
    lives = range(1, 25)
    ct: list[Row] = [
        {"releases": L, "strategy": f"p = {p}", "y": ct_probability(p, L)} for p in (0.01, 0.04, 0.1) for L in lives
    ]
    m, p = results.m, results.p
    hc: list[Row] = [
        {"releases": L, "strategy": f"n = {n}", "y": hc_probability(p, L, m, n)} for n in (1, 2, 3) for L in lives
    ]
    pb: list[Row] = [
        {"releases": L, "strategy": f"n = {n}", "y": breach_probability(p, L, m, n)} for n in (1, 2, 3) for L in lives
    ]
    for letter, rows, title in (("a", ct, "by compromised people"), ("b", hc, "by correlations"), ("c", pb, "breach")):
        _draw(_lines(rows, "releases", "y", f"probability: {title}"), folder / f"figure-2{letter}.svg")


def _lines(rows: Sequence[Row], x: str, y: str, title: str) -> alt.Chart:
    return (
        alt.Chart(alt.Data(values=list(rows)), width=420, height=240)
        .mark_line(point=True)
        .encode(
            x=alt.X(f"{x}:Q", title=x),
            y=alt.Y(f"{y}:Q", title=title),
            color=alt.Color("strategy:N", title=None, legend=alt.Legend(orient="bottom")),
        )
    )


def _draw(chart: alt.Chart, path: Path) -> None:
    path.write_text(vl_convert.vegalite_to_svg(chart.to_json()))


def _table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    return "\n".join([*lines, *("| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows)])


def _cell(cell: object) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else f"{cell:,}" if isinstance(cell, int) else str(cell)


def _formula(results: Results) -> str:
    m, p, h = results.m, results.p, results.h
    rows = [
        [L, *(breach_probability(p, L, m, n) for n in range(1, m + 1)), choose_degree(p, L, m, h)] for L in (21, 24)
    ]
    return _table(["L", *(f"n = {n}" for n in range(1, m + 1)), f"smallest n below h = {h}"], rows)


def _scenario(one: Scenario, n: int) -> str:
    plain, safe = "m-invariance", "Cor-Split"
    rows = [
        [
            i + 1,
            one.classes[plain][i],
            *(what[who][i] for what in (one.unsafe, one.counterfeits) for who in (plain, safe)),
        ]
        for i in range(len(one.classes[plain]))
    ]
    headings = [
        "release",
        "classes",
        *(f"{what}: {who}" for what in ("unsafe", "counterfeits") for who in (plain, safe)),
    ]
    answers = {float(str(row["selectivity"])): dict[str, object]() for row in one.errors}
    for row in one.errors:
        answers[float(str(row["selectivity"]))][str(row["strategy"])] = row["error"]
    times = {name: float(np.median(seconds[1:])) for name, seconds in one.seconds.items()}
    share = 100 * sum(one.unsafe[plain]) / sum(one.classes[plain])
    return f"""## {one.live:,} people, {100 * one.turnover:.0f}% replaced before each of {len(rows)} releases

m-invariance made {sum(one.unsafe[plain]):,} classes that are unsafe with n = {n} ({share:.1f}% of all its classes);
Cor-Split made {sum(one.unsafe[safe]):,}. Most counterfeits in one release: {max(one.counterfeits[plain])} and
{max(one.counterfeits[safe])} of {one.live:,} rows. Median CPU seconds per release after the first, without files and
self-check: {times[plain]:.2f} and {times[safe]:.2f}. The last release of Cor-Split says:

> {one.step}

![unsafe classes](unsafe-{one.slug}.svg) ![counterfeits](counterfeits-{one.slug}.svg)

{_table(headings, rows)}

Median relative error of count queries on the last release, by the share of the domain a query covers:

![query error](errors-{one.slug}.svg)

{_table(["selectivity", plain, safe], [[s, its[plain], its[safe]] for s, its in answers.items()])}

{_breaches(one)}
"""


def _breaches(one: Scenario) -> str:
    rows = [
        [row["strategy"], int(str(row["releases"])), int(float(str(row["smallest_difference"])))]
        + [row[f"{what}_{key}"] for key in ("ct", "hc") for what in ("predicted", "measured")]
        + [row["predicted_breach"], row["measured_once"], row["measured_breach"]]
        for row in one.breaches
    ]
    headings = ["strategy", "releases", "smallest difference below n", "predicted ct", "measured ct"]
    headings += ["predicted hc", "measured hc", "predicted breach", "measured, rules once", "measured, with chains"]
    return "A share p of the people compromised at random:\n\n" + _table(headings, rows)


def _page(results: Results) -> str:
    parts = "\n".join(_scenario(one, results.n) for one in results.scenarios)
    return f"""# Cor-Split on census-like data

The experiments of Riboni & Bettini, *Cor-Split: Defending Privacy in Data Re-Publication from Historical Correlations
and Compromised Tuples* (2009), repeated with m = {results.m} and n = {results.n}. Quasi-identifiers: age, birthplace,
education, sex. Made by `python -m experiments.cor_split_occ`.

**The incomes are synthetic.** The people are sampled from ACS PUMS 2018, which stands for the paper's census table, but
the data only tells who earns more than 50K. The 50 income ranges are made up from education, hours, age, occupation,
that one bit, and noise; the most frequent range has {100 * results.largest:.1f}% of the people. So shapes count here,
not digits.

## The formulas (figure 2)

The probability that one wrong value is ruled out for a person by compromised people (a), by historical correlations
(b, m = {results.m}, p = {results.p}), and that all of them are, by either (c), over the releases the person is in:

![2a](figure-2a.svg) ![2b](figure-2b.svg) ![2c](figure-2c.svg)

{_formula(results)}

The paper runs n = 3 for L = 21 and for L = 24; by its own formula n = 2 is enough for L = 21.

{parts}
## Reading the last tables

*ct* and *hc* are the probabilities that one wrong value is ruled out for a person who is not compromised, by the one
rule applied once. *Breach* is the probability that everything but the truth is ruled out. Predictions take everybody's
own number of releases, and as n the smallest difference found below {results.n} (0: none, so {results.n}). They suppose
floor(m / n) new correlations of the smallest size for everybody in every release, which is far more than there are, and
new neighbours every time, although neighbours repeat: so they lie above what one application of the rules gives.

**They do not bound chains.** Applied until nothing changes, the same two rules disclose hardly anybody while a series
is short, and then, within one or two more releases, most of the people: every further release sets each person beside
other people with the same values, until the classes determine each other like the lines of a sudoku, with the
compromised people as the given digits. This holds for m-invariance and for Cor-Split alike. Where people are replaced
quickly the chains take longer to form. Cor-Split gives people other neighbours more often than m-invariance does, so
they can even form earlier: compare the last rows of the second setting. Keeping differences at n or more prevents what
follows from two classes and a few compromised people; it does not prevent this. What helps is fewer releases per
person, or classes so large that few values are ever ruled out (see e-equivalence, which publishes whole buckets).

Queries restrict all four quasi-identifiers, {results.queries:,} per selectivity; queries that nobody matches are left
out.
"""
