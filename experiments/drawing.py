"""Small pictures as SVG: dark on a light card of their own, so that they can be read on light and dark pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

INK, FAINT, LINE = "#1b2733", "#5a6875", "#c3ccd4"
BLUE, ORANGE, GREEN, RED, PURPLE, GREY = "#1f5fa8", "#b4520b", "#1d7446", "#b3261e", "#6b3fa0", "#5a6875"
BROWN = "#7a5b00"
PALE = {BLUE: "#dceaf7", ORANGE: "#fde8d3", GREEN: "#dcf1e4", RED: "#fbdedb", PURPLE: "#eae1f5", GREY: "#eceff2"}


TIP = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    f'<path d="M0 0L8 4L0 8z" fill="{FAINT}"/></marker></defs>'
)


@dataclass
class Picture:
    """Shapes one after the other. title: what a reader hears who does not see it."""

    width: int
    height: int
    title: str
    shapes: list[str] = field(default_factory=list)

    def add(self, kind: str, words: str = "", **attributes: object) -> None:
        """An element; numbers in few digits, names with - for _."""
        shown = (f"{value:g}" if isinstance(value, float | int) else value for value in attributes.values())
        names = (name.replace("_", "-") for name in attributes)
        inside = " ".join(f'{name}="{value}"' for name, value in zip(names, shown, strict=True))
        self.shapes.append(
            f"<{kind} {inside}>{escape(words, quote=False)}</{kind}>" if words else f"<{kind} {inside}/>"
        )

    def text(
        self,
        x: float,
        y: float,
        words: str,
        size: int = 13,
        color: str = INK,
        anchor: str = "start",
        bold: bool = False,
    ) -> None:
        more = {"text_anchor": anchor} if anchor != "start" else {}
        more |= {"font_weight": "bold"} if bold else {}
        self.add("text", words, x=x, y=y, font_size=size, fill=color, **more)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        lines: Sequence[str] = (),
        color: str = BLUE,
        bold: int = -1,
    ) -> None:
        """A rounded box with centred lines; line number `bold` stands out."""
        self.add("rect", x=x, y=y, width=width, height=height, rx=6, fill=PALE[color], stroke=color)
        top = y + height / 2 - 8 * (len(lines) - 1) + 4.5
        for i, words in enumerate(lines):
            self.text(x + width / 2, top + 16 * i, words, anchor="middle", bold=i == bold)

    def line(
        self, points: Sequence[tuple[float, float]], color: str = FAINT, wide: float = 1.5, dashed: bool = False
    ) -> None:
        at = " ".join(f"{x:g},{y:g}" for x, y in points)
        more = {"stroke_dasharray": "5 4"} if dashed else {}
        self.add("polyline", points=at, fill="none", stroke=color, stroke_width=wide, **more)

    def arrow(self, x: float, y: float, to_x: float, to_y: float) -> None:
        self.add("line", x1=x, y1=y, x2=to_x, y2=to_y, stroke=FAINT, stroke_width=1.5, marker_end="url(#tip)")

    def dot(self, x: float, y: float, color: str) -> None:
        self.add("circle", cx=x, cy=y, r=4, fill=color)

    def write(self, path: Path) -> None:
        body, size = "\n".join(self.shapes), f'width="{self.width}" height="{self.height}"'
        path.parent.mkdir(parents=True, exist_ok=True)
        card = Picture(0, 0, "")
        card.add("rect", x=0.5, y=0.5, width=self.width - 1, height=self.height - 1, rx=8, fill="#ffffff", stroke=LINE)
        path.write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" {size} '
            f'font-family="system-ui, sans-serif" role="img">\n<title>{escape(self.title)}</title>'
            f"{TIP if 'url(#tip)' in body else ''}\n{card.shapes[0]}\n{body}\n</svg>\n",
            encoding="utf-8",
        )


def draw_lines(
    path: Path,
    title: str,
    curves: Mapping[str, tuple[str, Sequence[tuple[float, float]]]],
    across: str,
    *,
    ticks: Sequence[float],
    top: float = 1.0,
    width: int = 640,
    gutter: int = 190,
) -> None:
    """Shares over something. curves: by label, which stands at the end, colour and points; a grey one is dashed."""
    picture = Picture(width, 320, title)
    left, right, up, down = 52.0, width - gutter, 46.0, 268.0
    last = max(ticks)
    picture.text(16, 26, title, size=14, bold=True)

    def place(x: float, y: float) -> tuple[float, float]:
        return round(left + (right - left) * x / last, 1), round(down - (down - up) * y / top, 1)

    for i in range(5):
        share = top * i / 4
        picture.line([(left, place(0, share)[1]), (right, place(0, share)[1])], color=LINE, wide=1)
        picture.text(left - 8, place(0, share)[1] + 4, f"{share:.0%}", size=12, color=FAINT, anchor="end")
    for tick in ticks:
        picture.text(place(tick, 0)[0], down + 20, f"{tick:g}", size=12, color=FAINT, anchor="middle")
    picture.text((left + right) / 2, down + 40, across, size=12, color=FAINT, anchor="middle")
    labels = _spread({label: place(*points[-1])[1] for label, (_, points) in curves.items()}, 16, up, down)
    for label, (color, points) in curves.items():
        picture.line([place(*point) for point in points], color=color, wide=2.5, dashed=color == GREY)
        picture.dot(*place(*points[-1]), color)
        picture.text(right + 12, labels[label] + 4, label, color=color, bold=color != GREY)
    picture.write(path)


def _spread(heights: Mapping[str, float], apart: float, up: float, down: float) -> dict[str, float]:
    """The same heights, moved so that labels do not overlap."""
    order = sorted(heights, key=lambda label: heights[label])
    found: dict[str, float] = {}
    at = up - apart
    for label in order:
        at = max(heights[label], at + apart)
        found[label] = at
    over = max(0.0, max(found.values()) - down)
    return {label: height - over for label, height in found.items()} if over else found


def draw_bars(
    path: Path, title: str, bars: Sequence[tuple[str, float, str]], note: str = "", *, unit: str = "%", label: int = 230
) -> None:
    """Bars side by side from 0 to the largest. bars: label, number, colour. unit: "%" for shares, "" for counts."""
    picture = Picture(640, 54 + 30 * len(bars) + (26 if note else 6), title)
    picture.text(16, 26, title, size=14, bold=True)
    most = max(max(number for _, number, _ in bars), 1e-9)
    for i, (words, number, color) in enumerate(bars):
        y = 46 + 30 * i
        picture.text(label, y + 15, words, anchor="end")
        width = (640 - label - 100) * number / most
        picture.add("rect", x=label + 10, y=y, width=max(width, 0.5), height=20, fill=color)
        shown = f"{number:.0%}" if unit == "%" else f"{number:,.0f}"
        picture.text(label + 18 + width, y + 15, shown, color=color, bold=True)
    if note:
        picture.text(16, 54 + 30 * len(bars) + 8, note, size=12, color=FAINT)
    picture.write(path)
