"""Which strategies leak by how they choose classes: simulate the strategy, and learn from it.

python experiments/known_algorithm.py [folder of the Adult data] [folder for the page]      (needs scikit-learn)

An attacker who knows the algorithm publishes a table of his own, of people whose values he knows, and learns from it
what a person's place in a class tells about the value: how far from the centre, where along each attribute, whether
some other class with the value would have been nearer. Two models are trained on it and tried on a second table: one
with the statistics, the class's values and what dealing them gives, the other with the place, too. What the second
knows more is what the choice of classes tells. To see what chance does, the values of both tables are dealt anew inside
their classes, as the statistics say: then the place can tell nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from learning_people import count_others, read_adult
from reissue.arrays.permanent import Deals, deal
from reissue.arrays.types import Float64, Int32, Int64
from reissue.methods.bcf.strategy import BCF
from reissue.methods.beliefs.bay_frame import BayFrame
from reissue.methods.beliefs.js_reduce import JSReduce
from reissue.methods.equivalence.strategy import EEquivalence
from reissue.methods.incremental.checked_incognito import CheckedIncognito
from reissue.methods.incremental.checked_mondrian import CheckedMondrian
from reissue.methods.invariance.strategy import MInvariance
from reissue.methods.learning.statistics import FittedStatistics
from reissue.methods.standing.strategy import Standing
from reissue.methods.strategy import Strategy
from reissue.model.observed import Groups
from reissue.model.release import Coded, History
from reissue.model.standing_classes import StandingClasses

ROOT = Path(__file__).resolve().parents[1]
ROWS, SEED, ROUNDS = 6_000, 1, 100
STRATEGIES: dict[str, Strategy] = {
    "standing, k=8, c=.4, l=4": Standing(),
    "static, merge, checked Mondrian, k=8, c=.4": CheckedMondrian(k=8, c=0.4),
    "checked Incognito, k=8, c=.4": CheckedIncognito(k=8, c=0.4),
    "bcf, k=40": BCF(k=40),
    "bay-frame, k=8, J=.6, beta=5": BayFrame(k=8, J=0.6, beta=5.0, most_suppressed=1.0),
    "js-reduce, k=8, t=.5, J=.6": JSReduce(k=8, t=0.5, J=0.6, most_suppressed=1.0),
    "m-invariance, cor-split, m=4": MInvariance(m=4),
    "e-equivalence, m=4, e=3": EEquivalence(m=4, e=3),
}
Score = tuple[float, float, float]
"""Mean belief in the truth, share of right guesses, mean logarithm of the belief in the truth."""


@dataclass(frozen=True, eq=False)
class Published:
    """One release, its rows by class. codes: int32[rows, attributes]; classes, values: int32[rows]"""

    codes: Int32
    classes: Int32
    values: Int32
    class_count: int

    @property
    def groups(self) -> Groups:
        return Groups.of(self.classes, self.values, self.class_count, int(self.values.max()) + 1)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Every row with every value of its class: row, value: int64[n]; dealt: float64[n] what dealing the class says."""

    row: Int64
    value: Int64
    dealt: Float64
    features: Float64


def publish_once(strategy: Strategy, table: Coded) -> Published:
    """The first release; of standing classes the classes for life."""
    facts = strategy.publish(table, History([], {}, SEED)).facts(1, table)
    kept, real = StandingClasses.read(facts.extras), facts.real
    home = facts.classes[real] if kept is None else kept.standing[real]
    _, classes = np.unique(home, return_inverse=True)
    order = np.argsort(classes, kind="stable")
    return Published(
        np.ascontiguousarray(facts.codes[real][order]),
        classes[order].astype(np.int32),
        facts.values[real][order],
        int(classes.max()) + 1,
    )


FEW = 6
"""So many of the nearest classes with a value are looked at."""


def list_candidates(release: Published, statistics: FittedStatistics, table: Coded) -> Candidates:
    """Rows x values of their class, with what statistics and the class's values tell, and with the place."""
    groups = release.groups
    sizes = np.bincount(release.classes, minlength=release.class_count)
    deals = Deals(np.append(0, np.cumsum(sizes)).astype(np.int64), groups.start, groups.count)
    width = np.diff(groups.start)[release.classes]
    row = np.repeat(np.arange(len(release.classes)), width)
    within = np.arange(len(row)) - np.repeat(np.cumsum(width) - width, width)
    group = groups.start[release.classes[row]] + within
    value = groups.value[group].astype(np.int64)
    known = statistics.priors(release.codes, table.domains, table.value_count)
    prior = known[row, value]
    dealt = deal(prior, deals)[0]
    best = np.maximum.reduceat(dealt, np.cumsum(width) - width)
    base = np.stack(
        [
            np.log(prior + 1e-9),
            np.log(dealt + 1e-9),
            dealt / best[row],
            groups.count[group] / sizes[release.classes[row]],
            sizes[release.classes[row]],
            width[row],
        ],
        axis=1,
    )
    place = _find_places(release, table, Candidates(row, value, dealt, base), group)
    return Candidates(row, value, dealt, np.concatenate([base, place], axis=1))


BASE = 6
"""How many of the features are not about the place."""


def _find_places(release: Published, table: Coded, candidates: Candidates, group: Int64) -> Float64:
    """float64[candidates, n]: where the row stands in its class, and whether another class with the value is nearer.

    group: int64[candidates], the class and value among the release's groups.
    """
    row = candidates.row
    spans = np.array([domain.span for domain in table.domains], dtype=np.float64)
    points = release.codes / spans
    start = np.append(0, np.cumsum(np.bincount(release.classes, minlength=release.class_count)))[:-1]
    low, high = (reduce.reduceat(points, start, axis=0) for reduce in (np.minimum, np.maximum))
    sizes = np.bincount(release.classes, minlength=release.class_count)
    centre = np.add.reduceat(points, start, axis=0) / sizes[:, None]
    own = centre[release.classes]
    distance = np.abs(points - own).sum(axis=1)
    faces = ((points == low[release.classes]) | (points == high[release.classes])).sum(axis=1)
    order = np.lexsort((distance, release.classes))
    rank = np.empty(len(order))
    rank[order] = (np.arange(len(order)) - start[release.classes[order]]) / sizes[release.classes[order]]
    extent = np.maximum(high - low, 1e-9)[release.classes]
    along = (points - low[release.classes]) / extent
    elsewhere = _compare_elsewhere(release, points, centre, distance, candidates, group)
    steps = _compare_ranks(release, points, centre, candidates)
    return np.column_stack([distance[row], faces[row], rank[row], along[row], (points - own)[row], elsewhere, steps])


def _compare_ranks(release: Published, points: Float64, centre: Float64, candidates: Candidates) -> Float64:
    """float64[candidates, attributes + 1]: where the row comes among all who seem to have the value in classes with the
    same values, less where its class comes among these classes; and the sum. Lists of values that are cut alike put
    a row about where its class is."""
    groups, row = release.groups, candidates.row
    sets = [" ".join(map(str, groups.value[i:j].tolist())) for i, j in pairwise(groups.start.tolist())]
    bucket = np.unique(sets, return_inverse=True)[1]
    list_of = bucket[release.classes[row]] * (int(groups.value.max()) + 1) + candidates.value
    found = np.zeros((len(row), points.shape[1] + 1))
    for a in range(points.shape[1]):
        own = _rank_within(list_of, points[row, a], candidates.dealt)
        of_class = _rank_within(bucket, centre[:, a], np.ones(len(centre)))
        found[:, a] = own - of_class[release.classes[row]]
    found[:, -1] = np.abs(found[:, :-1]).sum(axis=1)
    return found


def _rank_within(group: Int64, place: Float64, weight: Float64) -> Float64:
    """float64[n]: the share of its group's weight that comes before each one, counting half of its own."""
    order = np.lexsort((place, group))
    total = np.cumsum(weight[order])
    first = np.flatnonzero(np.diff(group[order], prepend=-1))
    before = np.repeat(total[first] - weight[order][first], np.diff(np.append(first, len(order))))
    whole = np.bincount(group, weight)
    rank = np.empty(len(order))
    rank[order] = (total - before - weight[order] / 2) / np.maximum(whole[group[order]], 1e-12)
    return rank


def _compare_elsewhere(
    release: Published, points: Float64, centre: Float64, distance: Float64, candidates: Candidates, group: Int64
) -> Float64:
    """float64[candidates, 4]: of the nearest classes with the value, how much nearer one is than the own, how many are;
    and by how much exchanging the row with whoever seems to have the value there would shorten both ways, most and on
    average. A strategy that picks rows by value does not leave such exchanges undone."""
    from scipy.spatial import cKDTree

    groups, row, found = release.groups, candidates.row, np.zeros((len(group), 4))
    weight = np.bincount(group, candidates.dealt)
    holder = np.stack([np.bincount(group, candidates.dealt * column) for column in points[row].T], axis=1)
    holder /= np.maximum(weight, 1e-9)[:, None]
    for one in np.unique(candidates.value).tolist():
        of_value = np.flatnonzero(groups.value == one)
        classes, mine = groups.classes[of_value], np.flatnonzero(candidates.value == one)
        own, few = release.classes[row[mine]], min(FEW, len(classes))
        apart, which = cKDTree(centre[classes]).query(points[row[mine]], k=few, p=1)
        apart, which = np.reshape(apart, (len(mine), few)), np.reshape(which, (len(mine), few))
        other = classes[which] != own[:, None]
        gap = np.where(other, distance[row[mine]][:, None] - apart, -9.0)
        there = holder[of_value[which]]
        back = np.abs(there - centre[own][:, None]).sum(axis=2) - np.abs(there - centre[classes[which]]).sum(axis=2)
        gain = np.where(other, gap - back, 0.0)
        found[mine] = np.column_stack(
            [
                gap.max(axis=1),
                (gap > 0).sum(axis=1),
                gain.max(axis=1),
                gain.sum(axis=1) / np.maximum(other.sum(axis=1), 1),
            ]
        )
    return found


def judge(candidates: Candidates, likely: Float64, values: Int32) -> Score:
    """Beliefs are made to add up to 1 over each row's candidates."""
    total = np.bincount(candidates.row, likely)
    belief = likely / np.maximum(total[candidates.row], 1e-12)
    start = np.flatnonzero(np.diff(candidates.row, prepend=-1))
    best = np.maximum.reduceat(belief, start)
    true = candidates.value == values[candidates.row]
    right = (belief[true] >= best[candidates.row[true]] - 1e-12).mean()
    return float(belief[true].mean()), float(right), float(np.log(np.maximum(belief[true], 1e-6)).mean())


def train(candidates: Candidates, values: Int32, columns: slice) -> Callable[[Candidates], Float64]:
    """A model of which candidate is the true one."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(max_iter=ROUNDS, learning_rate=0.1, max_leaf_nodes=31, random_state=0)
    model.fit(candidates.features[:, columns], candidates.value == values[candidates.row])
    return lambda others: np.asarray(model.predict_proba(others.features[:, columns])[:, 1], dtype=np.float64)


def deal_anew(release: Published, candidates: Candidates, seed: int) -> Published:
    """The same release with the values of each class dealt anew, as likely as the statistics say, one by one."""
    rng = np.random.default_rng(seed)
    values = release.values.copy()
    start = np.flatnonzero(np.diff(candidates.row, prepend=-1))
    ends = np.append(start[1:], len(candidates.row))
    prior = np.exp(candidates.features[:, 0])
    for first, last in _class_bounds(release.classes):
        counts = np.bincount(release.values[first:last])
        table = np.zeros((last - first, len(counts)))
        for i in range(first, last):
            table[i - first, candidates.value[start[i] : ends[i]]] = prior[start[i] : ends[i]]
        values[first:last] = _draw_dealing(table, counts, rng)
    return replace(release, values=values)


def _class_bounds(classes: Int32) -> list[tuple[int, int]]:
    start = np.flatnonzero(np.diff(classes, prepend=-1))
    return list(zip(start.tolist(), np.append(start[1:], len(classes)).tolist(), strict=True))


def _draw_dealing(prior: Float64, counts: Int64, rng: np.random.Generator, sweeps: int = 30) -> Int32:
    """A dealing drawn by exchanges of two rows' values, each kept as often as it is likelier (Metropolis)."""
    rows = len(prior)
    values = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    logs = np.log(prior + 1e-12)
    for i, j, chance in zip(
        rng.integers(0, rows, sweeps * rows),
        rng.integers(0, rows, sweeps * rows),
        np.log(rng.random(sweeps * rows)),
        strict=True,
    ):
        a, b = values[i], values[j]
        if chance < logs[i, b] + logs[j, a] - logs[i, a] - logs[j, b]:
            values[i], values[j] = b, a
    return values.astype(np.int32)


@dataclass(frozen=True)
class Leak:
    """One strategy: rows per class, and the scores without the place, with it; the same with values dealt anew."""

    name: str
    size: float
    without: Score
    place: Score
    null_without: Score
    null_place: Score


def measure(name: str, strategy: Strategy, mine: Coded, theirs: Coded, statistics: FittedStatistics) -> Leak:
    """mine: the attacker's own table, to simulate and to learn; theirs: the one that is attacked."""
    tables = [publish_once(strategy, table) for table in (mine, theirs)]
    size = len(tables[1].classes) / tables[1].class_count
    scores = _compare_models(tables, statistics, mine)
    candidates = [list_candidates(one, statistics, mine) for one in tables]
    shuffled = [deal_anew(one, own, seed) for seed, (one, own) in enumerate(zip(tables, candidates, strict=True))]
    return Leak(name, size, *scores, *_compare_models(shuffled, statistics, mine))


def _compare_models(tables: list[Published], statistics: FittedStatistics, table: Coded) -> tuple[Score, Score]:
    own, other = (list_candidates(one, statistics, table) for one in tables)
    found = []
    for columns in (slice(0, BASE), slice(None)):
        model = train(own, tables[0].values, columns)
        found.append(judge(other, model(other), tables[1].values))
    return found[0], found[1]


def write_page(leaks: list[Leak], folder: Path, rows: int) -> None:
    lines = [
        "| strategy | rows per class | statistics and class | and the place | gain: right, log score | by chance |",
        "|---|---|---|---|---|---|",
    ]
    for leak in leaks:
        plain, place = (f"{score[0]:.3f}/{score[1]:.3f}" for score in (leak.without, leak.place))
        gain, chance = (
            f"{after[1] - before[1]:+.3f}, {after[2] - before[2]:+.3f}"
            for before, after in ((leak.without, leak.place), (leak.null_without, leak.null_place))
        )
        lines.append(f"| {leak.name} | {leak.size:.0f} | {plain} | {place} | {gain} | {chance} |")
    page = (Path(__file__).parent / "known_algorithm.md").read_text(encoding="utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    text = page.replace("{rows}", f"{rows:,}").replace("{table}", "\n".join(lines))
    (folder / "README.md").write_text(text, encoding="utf-8")


def main(data: Path, folder: Path, rows: int = ROWS) -> None:
    table = read_adult(data)
    mine, theirs = table.part(np.arange(rows)), table.part(np.arange(rows, 2 * rows))
    statistics = count_others(table, np.arange(2 * rows, len(table)))
    leaks = []
    for name, strategy in STRATEGIES.items():
        leaks.append(measure(name, strategy, mine, theirs, statistics))
        print(leaks[-1], flush=True)
    write_page(leaks, folder, rows)


if __name__ == "__main__":
    main(
        Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared" / "data",
        Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs" / "experiments" / "known-algorithm",
    )
