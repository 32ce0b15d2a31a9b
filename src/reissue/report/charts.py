"""The charts of the audit's report, as Vega-Lite made with Altair.

Colours are CSS variables of the page, so that one drawing serves light, dark and paper. Fields have names of our own;
what comes from data is only ever a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from reissue.errors import import_extra
from reissue.report.render import NEEDED, Spec
from reissue.report.text import call_releases

if TYPE_CHECKING:
    import altair

Rows = list[dict[str, object]]
Names = Mapping[int, str]
"""What each release is called, by its number, in their order."""
COLOURS = [f"var(--s{i})" for i in range(1, 9)]
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3]]
RISK_LINES = {"EMA 9%": 0.09, "ARX 20%": 0.2}
"""Highest chances of re-identification that others use: the European Medicines Agency, and ARX by default."""
CONFIG: Spec = {
    "background": "transparent",
    "font": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--soft)",
        "titleColor": "var(--soft)",
        "gridColor": "var(--line)",
        "domainColor": "var(--line)",
        "tickColor": "var(--line)",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    },
    "legend": {"orient": "bottom", "columns": 2, "labelColor": "var(--ink)", "labelFontSize": 12, "symbolSize": 120},
    "text": {"color": "var(--ink)"},
}


def import_altair() -> Any:
    """Altair, or a MissingExtra that says what to install."""
    return import_extra("altair", NEEDED)


def draw_audit(document: Mapping[str, object]) -> dict[str, Spec]:
    """Chart id -> chart; a chart without data is left out."""
    releases = cast("Sequence[Mapping[str, object]]", document["releases"])
    attacks = cast("Sequence[Mapping[str, object]]", document["attacks"])
    verdict, names = cast("Mapping[str, object]", document["verdict"]), call_releases(releases)
    charts = {
        "overview": draw_overview(cast("Sequence[Mapping[str, int | None]]", verdict["at_risk"]), names),
        "timeline": draw_timeline(releases, names),
        "risk": draw_risk(attacks, names),
        "arx": draw_arx_risk(releases, names),
        "loss": draw_loss(releases, names),
        "sizes": draw_sizes(releases, names),
    }
    return {name: chart for name, chart in charts.items() if chart is not None}


def draw_overview(at_risk: Sequence[Mapping[str, int | None]], names: Names) -> Spec | None:
    """People at risk from any attack out of all, release by release; nothing where nobody is."""
    if not any(at["subjects"] for at in at_risk):
        return None
    alt = import_altair()
    rows: Rows = [
        {"release": names[at["release"] or 0], "what": what, "people": people, "order": order}
        for at in at_risk
        for order, (what, people) in enumerate(
            {"at risk": at["subjects"] or 0, "not at risk": (at["of"] or 0) - (at["subjects"] or 0)}.items()
        )
        if people
    ]
    colour = alt.Scale(domain=["at risk", "not at risk"], range=["var(--bad)", "var(--line)"])
    y = alt.Y("people:Q", title="people", axis=alt.Axis(tickCount=4))
    return finish(_stack_bars(rows, _make_release_axis(rows, names), y, colour), 120)


def draw_timeline(releases: Sequence[Mapping[str, object]], names: Names) -> Spec | None:
    """Who is in each release: stayed, came back, new; and below the line who left."""
    rows: Rows = []
    for release in releases:
        name = names[cast("int", release["number"])]
        changes = cast("Mapping[str, int] | None", release["changes"])
        members = cast("int | None", release["members"])
        if changes is None or members is None:
            rows.append({"release": name, "what": "rows", "people": release["rows"], "order": 0})
            continue
        stayed = members - changes["new"] - changes["back"]
        parts = {"stayed": stayed, "came back": changes["back"], "new": changes["new"], "left": -changes["gone"]}
        rows += [
            {"release": name, "what": what, "people": people, "order": order}
            for order, (what, people) in enumerate(parts.items())
        ]
    alt = import_altair()
    what = list(dict.fromkeys(str(row["what"]) for row in rows))
    colours = {
        "rows": COLOURS[0],
        "stayed": COLOURS[0],
        "came back": COLOURS[2],
        "new": COLOURS[1],
        "left": "var(--soft)",
    }
    y = alt.Y("people:Q", title="people" if "stayed" in what else "rows")
    colour = alt.Scale(domain=what, range=[colours[one] for one in what])
    return finish(_stack_bars(rows, _make_release_axis(rows, names), y, colour), 200)


def _stack_bars(rows: Rows, x: object, y: object, colour: object) -> altair.Chart:
    """A bar for each release, of `people` by `what` in the order given."""
    alt = import_altair()
    chart: altair.Chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_bar(size=alt.expr("min(40, bandwidth('x') * 0.7)"))
        .encode(
            x=x,
            y=y,
            color=alt.Color("what:N", title=None, scale=colour),
            order=alt.Order("order:Q"),
            tooltip=["release:O", "what:N", alt.Tooltip("people:Q", format=",")],
        )
    )
    return chart


def draw_risk(attacks: Sequence[Mapping[str, object]], names: Names) -> Spec | None:
    """The share of people at risk in each release, a line for each attack that puts anybody at risk."""
    rows: Rows = []
    for attack in attacks:
        risks = cast("Sequence[Mapping[str, int | None]]", attack["at_risk"])
        if not any(at["subjects"] for at in risks):
            continue  # a line along the bottom would only hide another one
        for at in risks:
            if at["of"]:
                share = (at["subjects"] or 0) / at["of"]
                rows.append(
                    {"attack": attack["title"], "release": names[at["release"] or 0], "share": share, **_counts(at)}
                )
    if not rows:
        return None
    alt = import_altair()
    titles = list(dict.fromkeys(str(row["attack"]) for row in rows))
    colours = [COLOURS[i % len(COLOURS)] for i in range(len(titles))]
    dashes = [DASHES[(i + i // len(COLOURS)) % len(DASHES)] for i in range(len(titles))]
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(point=alt.OverlayMarkDef(size=50), strokeWidth=2.5)
        .encode(
            x=_make_release_axis(rows, names),
            y=alt.Y("share:Q", title="share of people at risk", axis=alt.Axis(format="%"), scale=alt.Scale(zero=True)),
            color=alt.Color("attack:N", legend=None, scale=alt.Scale(domain=titles, range=colours)),
            strokeDash=alt.StrokeDash("attack:N", legend=None, scale=alt.Scale(domain=titles, range=dashes)),
            opacity=alt.condition(picks("attack"), alt.value(1.0), alt.value(0.15)),
            tooltip=[
                "attack:N",
                "release:O",
                alt.Tooltip("subjects:Q", title="people at risk", format=","),
                alt.Tooltip("of:Q", title="of", format=","),
            ],
        )
        .add_params(alt.param(name=PICKED, value=""))
    )
    return with_legend(finish(chart, 240), titles, colours, dashes)


def _counts(at: Mapping[str, int | None]) -> dict[str, object]:
    return {"subjects": at["subjects"], "of": at["of"]}


def draw_arx_risk(releases: Sequence[Mapping[str, object]], names: Names) -> Spec | None:
    """Re-identification in each release alone, by ARX's three attackers."""
    rows: Rows = []
    for release in releases:
        risk = cast("Mapping[str, Mapping[str, float]]", release["risk"])
        three = {
            "prosecutor, highest": risk["prosecutor"]["highest"],
            "journalist, highest": risk["journalist"]["highest"],
            "marketer, average": risk["marketer"]["success_rate"],
        }
        called = names[cast("int", release["number"])]
        rows += [{"release": called, "attacker": name, "risk": value} for name, value in three.items()]
    alt = import_altair()
    attackers = list(dict.fromkeys(row["attacker"] for row in rows))
    legend = _make_line_legend()
    colours, dashes = (alt.Scale(domain=attackers, range=some[:3]) for some in (COLOURS, DASHES))
    base = alt.Chart(alt.Data(values=rows))
    lines = base.mark_line(point=True, strokeWidth=2).encode(
        x=_make_release_axis(rows, names),
        y=alt.Y("risk:Q", title="chance of re-identification", axis=alt.Axis(format="%"), scale=alt.Scale(zero=True)),
        color=alt.Color("attacker:N", title=None, scale=colours, legend=legend),
        strokeDash=alt.StrokeDash("attacker:N", title=None, scale=dashes, legend=legend),
        tooltip=["attacker:N", "release:O", alt.Tooltip("risk:Q", format=".2%")],
    )
    limits = alt.Chart(alt.Data(values=[{"limit": limit, "name": name} for name, limit in RISK_LINES.items()]))
    rule = limits.mark_rule(color="var(--bad)", strokeDash=[4, 4]).encode(y="limit:Q")
    named = limits.mark_text(align="left", dx=4, dy=-6, x=0, color="var(--bad)").encode(y="limit:Q", text="name:N")
    return finish(lines + rule + named, 200)


def draw_loss(releases: Sequence[Mapping[str, object]], names: Names) -> Spec | None:
    """The share of the quasi-identifiers' detail that each release gives up."""
    rows: Rows = [
        {"release": names[number], "lost": cast("Mapping[str, float | None]", release["utility"])["gcp"]}
        for number, release in zip(names, releases, strict=True)
    ]
    rows = [row for row in rows if row["lost"] is not None]
    if not rows:
        return None
    alt = import_altair()
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(point=True, strokeWidth=2, color=COLOURS[0])
        .encode(
            x=_make_release_axis(rows, names),
            y=alt.Y("lost:Q", title="detail lost", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
            tooltip=["release:O", alt.Tooltip("lost:Q", title="detail lost", format=".1%")],
        )
    )
    return finish(chart, 200)


def draw_sizes(releases: Sequence[Mapping[str, object]], names: Names) -> Spec | None:
    """Smallest, median and largest class of each release, on a logarithmic scale."""
    rows: Rows = []
    for release in releases:
        sizes = cast("Mapping[str, float]", release["sizes"])
        if sizes["smallest"]:
            keys = {key: sizes[key] for key in ("smallest", "median", "largest")}
            rows.append({"release": names[cast("int", release["number"])], **keys})
    if not rows:
        return None
    alt = import_altair()
    base = alt.Chart(alt.Data(values=rows)).encode(x=_make_release_axis(rows, names))
    scale = alt.Scale(type="log", nice=True)
    axis = alt.Axis(values=_choose_ticks(max(cast("float", row["largest"]) for row in rows)), format=",")
    tips = ["release:O", *(alt.Tooltip(f"{key}:Q", format=",") for key in ("smallest", "median", "largest"))]
    span = base.mark_rule(color=COLOURS[0], strokeWidth=3, opacity=0.4).encode(
        y=alt.Y("smallest:Q", title="rows in a class", scale=scale, axis=axis), y2="largest:Q", tooltip=tips
    )
    ends = base.mark_point(color=COLOURS[0], filled=True, size=40).encode(y=alt.Y("smallest:Q"), tooltip=tips)
    middle = base.mark_tick(color="var(--ink)", thickness=3, size=14).encode(y=alt.Y("median:Q"), tooltip=tips)
    return finish(span + ends + middle, 200)


def _make_release_axis(rows: Rows, names: Names) -> altair.X:
    """The releases of the rows, in their order, by what people call them."""
    alt = import_altair()
    several = len({row["release"] for row in rows})
    axis = alt.Axis(labelAngle=0, labelOverlap=True, labelSeparation=8, labelLimit=100, grid=False)
    title = "release" if several > 1 else None
    return cast("altair.X", alt.X("release:O", title=title, sort=list(names.values()), axis=axis))


def _make_line_legend() -> altair.Legend:
    """A legend that shows lines as they are drawn, not dashed circles."""
    return cast("altair.Legend", import_altair().Legend(symbolType="stroke", symbolSize=500, symbolStrokeWidth=3))


def _choose_ticks(largest: float) -> list[int]:
    """1, 2, 5, 10, ... until beyond the largest; from a thousand on only 1, 10, 100, ..."""
    steps = (1, 2, 5) if largest < 1_000 else (1,)
    sizes = [step * 10**power for power in range(16) for step in steps]
    return sizes[: next((i for i, size in enumerate(sizes) if size >= largest), len(sizes)) + 1]


PICKED = "picked"
"""The parameter of a chart that buttons beside it set: what is brought out, or nothing."""


def picks(field: str) -> str:
    """Whether a mark is brought out: it is what was picked, or nothing was."""
    return f"{PICKED} === '' || datum.{field} === {PICKED}"


def with_legend(
    spec: Spec, names: Sequence[str], colours: Sequence[str], dashes: Sequence[Sequence[int]] | None = None
) -> Spec:
    """The chart with what page.js makes a legend of: one button for each name, for the mouse and the keyboard."""
    looks = dashes or [[]] * len(names)
    entries = [{"name": n, "colour": c, "dash": d} for n, c, d in zip(names, colours, looks, strict=True)]
    return {**spec, "usermeta": {"legend": entries}}


def finish(chart: altair.TopLevelMixin, height: int) -> Spec:
    """As wide as its place on the page, in the page's colours."""
    built = chart.properties(width="container", height=height, autosize={"type": "fit-x", "contains": "padding"})
    spec = cast("dict[str, object]", built.to_dict())
    return {**spec, "config": CONFIG}


PLAIN = {
    "var(--ink)": "#1c2128", "var(--soft)": "#57606a", "var(--line)": "#d5dbe1", "var(--bad)": "#a8201a",
    "var(--s1)": "#1f6fb4", "var(--s2)": "#c2540a", "var(--s3)": "#2b8a3e", "var(--s4)": "#8540a8",
    "var(--s5)": "#b0285f", "var(--s6)": "#0b7285", "var(--s7)": "#7a5c00", "var(--s8)": "#495057",
    "transparent": "#ffffff", "var(--paper)": "#ffffff", "container": 720,
}  # fmt: skip
"""What a picture in a file of its own has instead of the page's colours and width: style.css's light ones."""


def set_alone(value: object) -> object:
    """A chart made for the page, for a file of its own."""
    if isinstance(value, Mapping):
        return {key: set_alone(item) for key, item in value.items() if key != "autosize"}
    if isinstance(value, list | tuple):
        return [set_alone(item) for item in value]
    return PLAIN.get(value, value) if isinstance(value, str) else value
