"""The charts of a comparison: risk against query error, and published rates against true ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import cast

from reissue.report.charts import COLOURS, Rows, finish, import_altair
from reissue.report.rate_charts import draw_points
from reissue.report.render import Spec

TICKS = (0, 0.0001, 0.001, 0.01, 0.1, 1)
HEIGHTS = {"above": -7, "below": 9, "lower": 23, "higher": -21}
"""Where a label may stand beside its point, in pixels down."""
HEIGHT, LINE = 340, 13
"""Of the map and of a label, in pixels."""
CROWDED = 0.05
"""Strategies with less than this share of the highest risk could not be told apart on an even axis."""


def draw_map(document: Mapping[str, object]) -> Spec:
    """Strategies by the share of people at risk and by query error; those on the frontier are filled and joined."""
    alt = import_altair()
    frontier = cast("Sequence[str]", document["frontier"])
    taken = cast("Mapping[str, object]", document["recommendation"])["label"]
    runs = [run for run in cast("Sequence[Mapping[str, object]]", document["runs"]) if run["status"] == "done"]
    best = "recommended" if any(run["label"] == taken and withstands(run) for run in runs) else "comes closest"
    rows: Rows = []
    for run in runs:
        label = str(run["label"])
        kind = best if label == taken else "best of its risk" if label in frontier else "beaten"
        rows.append({"label": label, "risk": run["risk"], "error": run["query_error"], "kind": kind})
    near_zero = _find_crowd([cast("float", row["risk"]) for row in rows])
    _place_labels(rows, near_zero)
    share = alt.Axis(format="%", tickCount=10, labelFlush=False, labelOverlap=True, labelSeparation=4)
    scale, title = alt.Scale(nice=True), "share of people at risk"
    if near_zero is not None:
        share = alt.Axis(format=".2~%", values=TICKS, labelFlush=False, labelOverlap=True)
        scale, title = alt.Scale(type="symlog", constant=near_zero), f"{title} (logarithmic, with zero)"
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("risk:Q", title=title, axis=share, scale=scale),
        y=alt.Y("error:Q", title="query error", axis=alt.Axis(format="%"), scale=alt.Scale(zero=True)),
        tooltip=["label:N", alt.Tooltip("risk:Q", format=".1%"), alt.Tooltip("error:Q", format=".1%")],
    )
    kinds = [best, "best of its risk", "beaten"]
    shape = alt.Scale(domain=kinds, range=["diamond", "circle", "cross"])
    colour = alt.Scale(domain=kinds, range=[COLOURS[2], COLOURS[0], COLOURS[7]])
    points = base.mark_point(filled=True, size=140, opacity=1).encode(
        shape=alt.Shape("kind:N", title=None, scale=shape), color=alt.Color("kind:N", title=None, scale=colour)
    )
    line = base.transform_filter("datum.kind != 'beaten'").mark_line(color=COLOURS[0], strokeDash=[4, 3], opacity=0.6)
    layers = [line]
    for side, align, dx in (("right", "left", 9), ("left", "right", -9)):
        for height, dy in HEIGHTS.items():
            if not any((row["side"], row["height"]) == (side, height) for row in rows):
                continue
            here = base.transform_filter(f"datum.side == '{side}' && datum.height == '{height}'")
            place = {"align": align, "dx": dx, "dy": dy, "limit": 260, "fontSize": 12}
            around = here.mark_text(**place, stroke="var(--paper)", strokeWidth=4, strokeJoin="round")
            text = here.mark_text(**place, color="var(--ink)")
            layers += [around.encode(text="label:N"), text.encode(text="label:N")]  # readable on lines and points
    return finish(alt.layer(*layers, points), HEIGHT)


def draw_rates(document: Mapping[str, object]) -> Spec | None:
    """Published rates against true ones, the recommended strategy first; the legend brings out another."""
    taken = cast("Mapping[str, object]", document["recommendation"])["label"]
    rows: Rows = []
    for run in cast("Sequence[Mapping[str, object]]", document["runs"]):
        measured = cast("Sequence[Mapping[str, object]]", run.get("rates") or ())
        points = cast("Sequence[Sequence[float]]", measured[0]["points"]) if measured else ()
        rows += [{"label": run["label"], "true": true, "published": told} for true, told in points]
    if not rows:
        return None
    names = list(dict.fromkeys(str(row["label"]) for row in rows))
    return draw_points(rows, names, str(taken) if taken in names else names[0])


def withstands(run: Mapping[str, object]) -> bool:
    """Whether no attack on a comparison's run succeeded."""
    attacks = cast("Mapping[str, Mapping[str, object]]", run["attacks"])
    return not any(attack["status"] == "breached" for attack in attacks.values())


def _find_crowd(risks: Sequence[float]) -> float | None:
    """Where a logarithmic axis begins, if several strategies crowd at zero while another is far from it."""
    most, some = max(risks, default=0.0), [risk for risk in risks if risk > 0]
    crowd = [risk for risk in risks if risk < CROWDED * most]
    return max(min(some), TICKS[1]) if len(crowd) > 1 and any(crowd) else None


def _place_labels(rows: Rows, near_zero: float | None) -> None:
    """Beside its point, towards the middle; at the first height that no label of a near point has.

    near_zero: where the axis of risk becomes logarithmic; None: nowhere
    """
    furthest = max((cast("float", row["risk"]) for row in rows), default=0.0) or 1.0
    for row in rows:
        risk = cast("float", row["risk"])
        row["place"] = risk if near_zero is None else math.log1p(risk / near_zero) / math.log1p(furthest / near_zero)
    most = max((cast("float", row["error"]) for row in rows), default=0.0) or 1.0
    placed: list[tuple[float, float]] = []  # where labels are: across from 0 to 1, down in pixels
    for row in sorted(rows, key=lambda row: -cast("float", row["error"])):
        across, down = cast("float", row["place"]), -HEIGHT * cast("float", row["error"]) / most
        row["side"] = "right" if across < 0.6 else "left"
        near = [y for x, y in placed if abs(x - across) < 0.35]
        free = (h for h, dy in HEIGHTS.items() if all(abs(down + dy - y) >= LINE for y in near))
        row["height"] = next(free, "above")
        placed.append((across, down + HEIGHTS[str(row["height"])]))
