"""Published rates against true ones: of one series, or of the strategies that were compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from reissue.report.charts import COLOURS, PICKED, Rows, finish, import_altair, picks, with_legend
from reissue.report.render import Spec


def draw_series_rates(audit: Mapping[str, object]) -> dict[str, Spec]:
    """By chart id: a picture for each pair of attributes, of the last release."""
    charts = {}
    for place, one in enumerate(cast("Sequence[Mapping[str, object]]", audit.get("rates") or ())):
        points = cast("Sequence[Sequence[float]]", one["points"])
        rows: Rows = [{"label": one["pair"], "true": true, "published": told} for true, told in points]
        if rows:
            charts[f"rates-{place}"] = draw_points(rows, [str(one["pair"])], "")
    return charts


def draw_points(rows: Rows, names: Sequence[str], first: str) -> Spec:
    """A point for each rate, `true` and `published`, in the colour of its `label`; where they are the same a line.

    first: the label that is brought out. Only where there are several names they have a legend.
    """
    alt = import_altair()
    most = max(max(cast("float", row["true"]), cast("float", row["published"])) for row in rows)
    axis, scale = alt.Axis(format="%", tickCount=5), alt.Scale(domain=[0, most])
    colours = [COLOURS[i % len(COLOURS)] for i in range(len(names))]
    points = (
        alt.Chart(alt.Data(values=rows))
        .mark_point(filled=True, size=50)
        .encode(
            x=alt.X("true:Q", title="true rate", axis=axis, scale=scale),
            y=alt.Y("published:Q", title="published rate", axis=axis, scale=scale),
            color=alt.Color("label:N", legend=None, scale=alt.Scale(domain=names, range=colours)),
            opacity=alt.condition(picks("label"), alt.value(0.8 if len(names) > 1 else 0.6), alt.value(0.04)),
            tooltip=["label:N", alt.Tooltip("true:Q", format=".1%"), alt.Tooltip("published:Q", format=".1%")],
        )
        .add_params(alt.param(name=PICKED, value=first))
    )
    ends = alt.Data(values=[{"true": 0, "published": 0}, {"true": most, "published": most}])
    line = alt.Chart(ends).mark_line(color="var(--soft)", strokeDash=[4, 3]).encode(x="true:Q", y="published:Q")
    chart = finish(alt.layer(line, points), 300)
    return with_legend(chart, names, colours) if len(names) > 1 else chart
