"""Tables and figures of the BCF experiment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import altair as alt
import vl_convert

CASES = ("200D2", "2000D2", "allD2")
SENS = ("Sen1", "Sen3")
TAXONOMIES = ("ARX", "deep")
ALTERNATIVES = {"bcf": "BCF-anonymized R2", "k_r2": "k-anonymized R2 (unsafe)", "k_d2": "k-anonymized D2 alone"}


@dataclass(frozen=True)
class Row:
    """One test case and what was measured in it."""

    taxonomies: str
    sen: str
    d2: str
    k: int
    levels: dict[str, float]


def write(rows: list[Row], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for taxonomies in TAXONOMIES:
        mine = [row for row in rows if row.taxonomies == taxonomies]
        _draw(_violations(mine), folder / f"violations-{taxonomies.lower()}.svg")
        _draw(_costs(mine), folder / f"cost-{taxonomies.lower()}.svg")
    (folder / "README.md").write_text(_page(rows))


def _page(rows: list[Row]) -> str:
    parts = [INTRO, _summary(rows)]
    for taxonomies in TAXONOMIES:
        mine = [row for row in rows if row.taxonomies == taxonomies]
        name = taxonomies.lower()
        parts += [
            f"## {HEADINGS[taxonomies]}",
            f"![FA and BA of separately k-anonymized releases](violations-{name}.svg)",
            f"![Discernibility of the three alternatives](cost-{name}.svg)",
            _table(mine),
        ]
    return "\n\n".join(parts) + "\n"


def _summary(rows: list[Row]) -> str:
    lines = ["| taxonomies | | paper | here |", "|---|---|---|---|"]
    for taxonomies in TAXONOMIES:

        def pick(sen: str, d2: str, taxonomies: str = taxonomies) -> list[Row]:
            return [row for row in rows if (row.taxonomies, row.sen, row.d2) == (taxonomies, sen, d2)]

        broken = [row for row in pick("Sen3", "allD2") if row.levels["unsafe_FA"] < row.k]
        worst = min(pick("Sen3", "allD2"), key=lambda row: row.levels["unsafe_FA"] / row.k)
        lines.append(
            f"| {taxonomies} | F violated, Sen3, all new rows | 4 of 5 k, worst FA = 21 at k = 40 | {len(broken)} of "
            f"5, worst FA = {worst.levels['unsafe_FA']:.0f} at k = {worst.k} |"
        )
        small = [row for sen in SENS for d2 in ("200D2", "2000D2") for row in pick(sen, d2)]
        hurt = sum(row.levels["unsafe_BA"] < row.k for row in small)
        lines.append(
            f"| {taxonomies} | B violated, 200 or 2,000 new rows | frequent, down to BA = 1 | {hurt} of {len(small)}, "
            f"down to {min(row.levels['unsafe_newcomer'] for row in small):.0f} |"
        )
        for sen, paper in (("Sen1", "66%"), ("Sen3", "32%")):
            saved = 1 - _mean(pick(sen, "200D2"), "bcf") / _mean(pick(sen, "200D2"), "k_d2")
            lines.append(f"| {taxonomies} | cost below D2 alone, {sen}, 200 new | {paper} | {saved:.0%} |")
        extra = _mean(pick("Sen3", "2000D2"), "bcf") / _mean(pick("Sen3", "2000D2"), "k_r2") - 1
        lines.append(f"| {taxonomies} | cost above unsafe R2, Sen3, 2,000 new | 25% | {extra:.0%} |")
    held = all(min(row.levels[f"safe_{level}"] for level in ("FA", "CA", "BA")) >= row.k for row in rows)
    equal = all(row.levels["unsafe_FA"] == row.levels["unsafe_CA"] for row in rows)
    slowest = max(row.levels["seconds"] for row in rows)
    lines.append(f"| both | FA, CA, BA >= k in every BCF release | yes | {'yes' if held else 'NO'} |")
    lines.append(f"| both | FA = CA in every unsafe pair | yes | {'yes' if equal else 'NO'} |")
    lines.append(f"| both | slowest BCF release | < 7 s with reading, Pentium IV | {slowest:.3f} s in memory |")
    return "\n".join(lines)


def _mean(rows: Iterable[Row], level: str) -> float:
    return mean(row.levels[level] for row in rows)


def _table(rows: list[Row]) -> str:
    lines = [
        "| sensitive | D2 | k | FA = CA | BA | newcomer | cost BCF | cost R2 | cost D2 | FA, BA of BCF | classes |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        at = row.levels
        fa, ba = (f"**{at[n]:.0f}**" if at[n] < row.k else f"{at[n]:.0f}" for n in ("unsafe_FA", "unsafe_BA"))
        lines.append(
            f"| {row.sen} | {row.d2} | {row.k} | {fa} | {ba} | {at['unsafe_newcomer']:.0f} | {at['bcf']:.3f} | "
            f"{at['k_r2']:.3f} | {at['k_d2']:.3f} | {at['safe_FA']:.0f}, {at['safe_BA']:.0f} | {at['classes']:.0f} |"
        )
    return "\n".join(lines)


def _violations(rows: list[Row]) -> alt.LayerChart | alt.FacetChart:
    data = [
        {"sensitive": row.sen, "level": level, "D2": row.d2, "k": row.k, "records": row.levels[f"unsafe_{level}"]}
        for row in rows
        for level in ("FA", "BA")
    ]
    base = alt.Chart(alt.Data(values=data))
    lines = base.mark_line(point=True).encode(
        x=alt.X("k:Q", scale=alt.Scale(domain=[30, 210])),
        y=alt.Y("records:Q", title="records that remain", scale=alt.Scale(domainMax=300, clamp=True)),
        color=alt.Color("D2:N", sort=list(CASES)),
    )
    bound = base.mark_line(strokeDash=[4, 4], color="black").encode(x="k:Q", y="k:Q")
    return alt.layer(lines, bound).properties(width=220, height=160).facet(column="sensitive:N", row="level:N")


def _costs(rows: list[Row]) -> alt.FacetChart:
    data = [
        {"sensitive": row.sen, "D2": row.d2, "k": row.k, "alternative": name, "cost": row.levels[key]}
        for row in rows
        for key, name in ALTERNATIVES.items()
    ]
    return (
        alt.Chart(alt.Data(values=data))
        .mark_line(point=True)
        .encode(
            x=alt.X("k:Q", scale=alt.Scale(domain=[30, 210])),
            y=alt.Y("cost:Q", title="normalized discernibility"),
            color=alt.Color("alternative:N", sort=list(ALTERNATIVES.values())),
        )
        .properties(width=220, height=140)
        .facet(row=alt.Row("sensitive:N"), column=alt.Column("D2:N", sort=list(CASES)))
    )


def _draw(chart: alt.LayerChart | alt.FacetChart, path: Path) -> None:
    path.write_text(vl_convert.vegalite_to_svg(chart.to_json()))


HEADINGS = {"ARX": "With ARX's hierarchies", "deep": "With deeper taxonomies"}
INTRO = """# BCF on Adult: section 6 of the paper

`python experiments/bcf_adult.py` reads UCI Adult without incomplete rows. D1 is the test split (15,060 rows), released
first. D2, the new rows, are the first 200, the first 2,000, or all 30,162 rows of the training split. Sen1: the country
is sensitive, seven quasi-identifiers. Sen3: country, education and occupation together are, five quasi-identifiers.

*FA = CA* and *BA* are of two releases that were k-anonymized one by one; bold is a violation. BA counts every class, as
the paper defines it: 0 means that nobody new can be in some class, which harms nobody. *Newcomer* is the fewest
candidates of someone new who can exist. *Cost* is the sum of squared class sizes over the square of the rows:
BCF-anonymized R2, k-anonymized R2 (unsafe), k-anonymized D2 alone.

The paper does not print its taxonomies. ARX's are flat (race and sex have one step, most others two), so few classes
are possible. The deeper ones in the script are nearly binary: more classes, and more F violations when many are new.
Shapes can be compared, not digits."""
