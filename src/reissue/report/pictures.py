"""A small picture of the classes of a finding: boxes over two attributes, and a bar for each further attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

WIDTH, HEIGHT = 300, 180
"""Of the plane, in the picture's own units."""
CLASSES = 6
BARS = 4
WHOLE = 0.999
"""An interval this wide covers the whole scale."""


@dataclass(frozen=True)
class Box:
    """A rectangle with its class's place in the list, 0, 1, ..."""

    place: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Axis:
    """An attribute with the labels of its ends."""

    name: str
    lowest: str
    highest: str


@dataclass(frozen=True)
class Bars:
    """One attribute's intervals, one under the other."""

    axis: Axis
    boxes: Sequence[Box]
    height: float


@dataclass(frozen=True)
class Picture:
    """across, up: the attributes of the plane; None if there is none. words: the same for whoever cannot see it."""

    across: Axis | None
    up: Axis | None
    boxes: Sequence[Box]
    bars: Sequence[Bars]
    words: str


def draw(classes: Sequence[Mapping[str, object]], attributes: Sequence[Mapping[str, object]]) -> Picture | None:
    """The picture of the first classes of a finding; None if there is nothing to draw.

    The plane shows the two attributes that the classes differ in or narrow down most; bars the next ones.
    """
    shown = classes[:CLASSES]
    spans = [_read_spans(one) for one in shown]
    if not shown or not attributes or any(len(own) != len(attributes) for own in spans):
        return None
    telling = sorted(range(len(attributes)), key=lambda a: -_measure_telling([own[a] for own in spans]))
    narrow = [a for a in telling if any(hi - lo < WHOLE for lo, hi in (own[a] for own in spans))]
    axes = [_make_axis(attribute) for attribute in attributes]
    words = "; ".join(f"release {one['release']}, class {one['class']}: {one['box']}" for one in shown)
    if len(attributes) < 2:
        return Picture(None, None, [], [_make_bars(axes[0], [own[0] for own in spans])], words)
    plane = sorted((narrow + [a for a in telling if a not in narrow])[:2])
    rest = [a for a in narrow if a not in plane][:BARS]
    boxes = [_make_box(place, own[plane[0]], own[plane[1]]) for place, own in enumerate(spans)]
    return Picture(
        across=axes[plane[0]],
        up=axes[plane[1]],
        boxes=sorted(boxes, key=lambda box: -box.width * box.height),  # small ones on top
        bars=[_make_bars(axes[a], [own[a] for own in spans]) for a in rest],
        words=words,
    )


def _read_spans(one: Mapping[str, object]) -> list[tuple[float, float]]:
    intervals = one["intervals"]
    assert isinstance(intervals, Sequence)
    return [(_clip(interval["lo"]), _clip(interval["hi"])) for interval in intervals]


def _clip(value: object) -> float:
    return min(1.0, max(0.0, float(str(value))))


def _measure_telling(spans: Sequence[tuple[float, float]]) -> float:
    """How much an attribute has to show: what its intervals leave out, and how they differ."""
    left_out = sum(1 - (hi - lo) for lo, hi in spans) / len(spans)
    moves = sum(abs(a[0] - b[0]) + abs(a[1] - b[1]) for a, b in pairwise(spans))
    return left_out + moves


def _make_axis(attribute: Mapping[str, object]) -> Axis:
    return Axis(str(attribute["name"]), str(attribute["lowest"]), str(attribute["highest"]))


def _make_box(place: int, across: tuple[float, float], up: tuple[float, float]) -> Box:
    # boxes of the same place would hide each other exactly: each is drawn a little smaller than the one before
    inset = 1.5 * place
    width = max(3.0, (across[1] - across[0]) * WIDTH - 2 * inset)
    height = max(3.0, (up[1] - up[0]) * HEIGHT - 2 * inset)
    x = min(WIDTH - width, across[0] * WIDTH + inset)
    y = min(HEIGHT - height, (1 - up[1]) * HEIGHT + inset)
    return Box(place, round(x, 1), round(y, 1), round(width, 1), round(height, 1))


def _make_bars(axis: Axis, spans: Sequence[tuple[float, float]]) -> Bars:
    boxes = [
        Box(place, round(lo * WIDTH, 1), 12.0 * place, round(max(3.0, (hi - lo) * WIDTH), 1), 8.0)
        for place, (lo, hi) in enumerate(spans)
    ]
    return Bars(axis, boxes, 12.0 * len(spans))
