"""How every strategy groups two months of the made-up clinic, and how one person fares in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import wrap

import numpy as np

import reissue as ri
from drawing import FAINT, INK, LINE, PALE, RED, Picture
from learning_strategies import grows, read_clinic
from reissue.arrays.types import Int64
from reissue.clinic import EXAMS
from reissue.methods.strategy import Strategy
from reissue.model.release import Coded, Facts, History, Table

SMALL: dict[str, Strategy] = {
    "baselines": ri.Static(k=4, c=0.5),
    "bay-frame": ri.BayFrame(k=4, J=0.9, beta=20.0, most_suppressed=1.0),
    "bcf": ri.BCF(k=4),
    "cor-split": ri.CorSplit(m=3, n=2, on_ineligible="counterfeit"),
    "e-equivalence": ri.EEquivalence(m=3, e=2, on_ineligible="counterfeit"),
    "incremental": ri.CheckedMondrian(k=4, c=0.5),
    "js-reduce": ri.JSReduce(k=4, J=0.9, t=0.9, most_suppressed=1.0),
    "m-invariance": ri.MInvariance(m=3, on_ineligible="counterfeit"),
    "standing": ri.Standing(),
}  # fmt: skip


LEFT, PANEL, HIGH = 16, 296, 220


def draw_groups(strategy: Strategy, path: Path) -> None:
    """Two months side by side: everybody's place, all boxes, and the class of one person."""
    months = [_two_columns(one) for one in read_clinic(5, grows(strategy), 2, 70)]
    releases: list[Facts] = []
    caches: Mapping[str, Table] = {}
    for number, month in enumerate(months, start=1):
        facts = strategy.publish(month, History(list(releases), caches, number)).facts(number, month)
        caches = strategy.remember(caches, facts)
        releases.append(facts)
    person = choose_person(releases)
    picture = Picture(640, 356, f"Two releases by {strategy.name}: the class of one person in each")
    picture.text(LEFT, 26, f"{strategy.name}: two releases of the same clinic, one person followed", size=14, bold=True)
    shown = []
    for i, facts in enumerate(releases):
        shown.append(_draw_release(picture, facts, LEFT + i * (PANEL + 16), person))
        picture.text(LEFT + i * (PANEL + 16), HIGH + 66, f"release {i + 1}: {_count_values(shown[-1])}", size=12)
    both = sorted(set(shown[0]) & set(shown[1]))
    names = ", ".join(EXAMS[value] for value in both)
    left = f"Both show {len(both)} of {len(set(shown[0]) | set(shown[1]))} values: {names}."
    for i, line in enumerate(wrap(left, 96)[:2]):
        picture.text(LEFT, HIGH + 90 + 17 * i, line, size=12, color=RED if len(both) < 2 else INK, bold=True)
    key = "Dots: people by birth and weight. Red: one person, ringed, and the class. Boxes: what rows show."
    picture.text(LEFT, 344, key, size=11, color=FAINT)
    picture.write(path)


def _two_columns(month: Coded) -> Coded:
    return replace(month, codes=np.asfortranarray(month.codes[:, 1:]), domains=month.domains[1:])


def _home(facts: Facts) -> Int64:
    """int64[rows]: the class of each row; of standing classes the class for life."""
    return (facts.classes if facts.standing is None else facts.standing.standing).astype(np.int64)


def list_values(facts: Facts, person: int) -> list[int]:
    """What the person's class shows."""
    home = _home(facts)
    own = int(home[np.flatnonzero(facts.subjects == person)[0]])
    if facts.standing is None:
        return [int(value) for value in facts.values[home == own]]
    tokens = facts.standing.tokens
    some = tokens.standing == own
    return [int(value) for value in np.repeat(tokens.value[some], tokens.count[some])]


def choose_person(releases: Sequence[Facts]) -> int:
    """Of those in both releases, whose classes have the fewest values in common: the worst case."""
    both = np.intersect1d(*(facts.subjects[facts.real] for facts in releases))

    def rate(person: int) -> tuple[int, int]:
        sets = [set(list_values(facts, person)) for facts in releases]
        return len(sets[0] & sets[1]), person

    return min(map(int, both), key=rate)


def _count_values(values: Sequence[int]) -> str:
    return f"a class of {len(values)} rows, {len(set(values))} values"


def _draw_release(picture: Picture, facts: Facts, left: int, person: int) -> list[int]:
    """One panel; returns the values of the person's class."""
    top, low, high = 42, (1920, 400), (2010, 1150)

    def place(birth: float, weight: float) -> tuple[float, float]:
        x = left + PANEL * min(max((birth - low[0]) / (high[0] - low[0]), 0.01), 0.99)
        y = top + HIGH * (1 - min(max((weight - low[1]) / (high[1] - low[1]), 0.01), 0.99))
        return round(x, 1), round(y, 1)

    picture.add("rect", x=left, y=top, width=PANEL, height=HIGH, fill="#ffffff", stroke=LINE)
    home = _home(facts)
    row = int(np.flatnonzero(facts.subjects == person)[0])
    mates = np.flatnonzero(home == home[row])
    if not facts.anatomized:
        order = [number for number in range(facts.class_count) if number != facts.classes[row]] + [
            int(facts.classes[row])
        ]
        for number in order:
            (x1, y1), (x2, y2) = (place(*facts.boxes[number, :, end] + (end * 0.8)) for end in (0, 1))
            own = number == facts.classes[row]
            stroke, fill = (RED, PALE[RED]) if own else ("#9aa7b3", "none")
            picture.add("rect", x=x1 - 2, y=y2 - 2, width=x2 - x1 + 4, height=y1 - y2 + 4, fill=fill, stroke=stroke)
    for i in range(len(facts.subjects)):
        if facts.subjects[i] >= 0:
            x, y = place(*facts.codes[i])
            mine = i in mates
            picture.add("circle", cx=x, cy=y, r=3.5 if mine else 2, fill=RED if mine else "#7d8a96")
    x, y = place(*facts.codes[row])
    picture.add("circle", cx=x, cy=y, r=7, fill="none", stroke=RED, stroke_width=2)
    return list_values(facts, person)
