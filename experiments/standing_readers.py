"""What readers still get of releases of standing classes and of others: counts, rates, detail.

Query error: median relative error of counts of people with a value in a region, over the eight commonest values. Wide:
age and education at 40% of the people each; narrow: a decade of age and a sex (the clinic: birth and weight; a decade
of birth and a sex). A reader of the told form knows the shares of every class; raked, adjusts them to the totals;
learned, shares them out inside classes as all classes together suggest, which is what `reissue estimate` does; of the
flat form, counts dealt values. A reader of another strategy spreads the rows of a class evenly over its box.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from reissue.model.boxes import losses
from reissue.model.domain import Domain
from reissue.model.release import Coded, Facts
from reissue.model.standing_classes import StandingClasses, Tokens
from reissue.utility.learned_shares import learn_shares
from reissue.utility.rates import rate_errors


def churn(
    table: Coded,
    rows: int,
    releases: int,
    turnover: float,
    leaving: Mapping[int, float] | None = None,
    growth: float = 0.0,
) -> Iterator[Coded]:
    """Snapshots; at each, a share of the people leaves for good, and that share and `growth` more come.

    leaving: how many times as often people with a value leave. Who runs out is drawn anew, as somebody else.
    """
    rng = np.random.default_rng(1)
    people = rng.permutation(len(table))
    origin, subjects, taken = np.sort(people[:rows]), np.arange(rows), rows  # row of the table; number of the person
    for number in range(releases):
        if number:
            weight = np.ones(len(origin))
            for value, times in (leaving or {}).items():
                weight[table.values[origin] == value] = times
            count, come = len(origin), round(max(0.0, turnover + growth) * len(origin))
            gone = rng.choice(count, round(turnover * count), replace=False, p=weight / weight.sum())
            fresh = np.arange(taken, taken + come)
            origin = np.concatenate([np.delete(origin, gone), people[fresh % len(people)]])
            subjects = np.concatenate([np.delete(subjects, gone), fresh])
            taken += come
        yield Coded(
            subjects, np.asfortranarray(table.codes[origin]), table.values[origin], table.domains, table.value_count
        )


def shares(tokens: Tokens, standing: np.ndarray, values: int) -> np.ndarray:
    """float64[rows, values]: the share of each value in everybody's class."""
    label, home = np.unique(tokens.standing, return_inverse=True)
    table = np.zeros((len(label), values))
    table[home, tokens.value] = tokens.count
    return (table / table.sum(axis=1, keepdims=True))[np.searchsorted(label, standing)]


def rake(weights: np.ndarray, totals: np.ndarray, rounds: int = 30) -> np.ndarray:
    """The same with every row a person (rows add up to 1) and every value as often as the totals say."""
    wanted = np.maximum(totals, 0.5)
    for _ in range(rounds):
        weights = weights * (wanted / np.maximum(weights.sum(axis=0), 1e-9))
        weights = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
    return weights


def inside_share(facts: Facts, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """float64[rows]: the part of each row's box that lies in the query, people spread evenly over the box."""
    if facts.anatomized:
        return ((facts.codes >= low) & (facts.codes <= high)).all(axis=1).astype(np.float64)
    part = np.ones(len(facts.subjects))
    for a in range(facts.codes.shape[1]):
        box = facts.boxes[facts.classes, a]
        width = box[:, 1] - box[:, 0] + 1
        both = np.minimum(box[:, 1], high[a]) - np.maximum(box[:, 0], low[a]) + 1
        part *= np.maximum(both, 0) / width
    return part


def find_axes(snapshot: Coded) -> tuple[int, int, int, int]:
    """(age or birth, education or weight, sex; the lowest of five decades that are asked for)."""
    names = [domain.name for domain in snapshot.domains]
    if "age" in names:
        return names.index("age"), names.index("education"), names.index("sex"), 20
    return names.index("birth_year"), names.index("weight"), names.index("sex"), 1940


def queries(
    snapshot: Coded, wide: bool, count: int, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Regions: two attributes at 40% of the people each, or a decade and one sex."""
    age, other, sex, decade = find_axes(snapshot)
    low = np.array([domain.lo for domain in snapshot.domains])
    high = np.array([domain.hi for domain in snapshot.domains])
    for _ in range(count):
        first, last = low.copy(), high.copy()
        if wide:
            for a in (age, other):
                column = np.sort(snapshot.codes[:, a])
                start = int(rng.integers(0, round(0.6 * len(column))))
                first[a], last[a] = column[start], column[start + round(0.4 * len(column)) - 1]
        else:
            first[age] = decade + 10 * int(rng.integers(0, 5))
            last[age] = first[age] + 9
            first[sex] = last[sex] = int(rng.integers(0, 2))
        yield first, last


def list_readers(facts: Facts, values: int) -> dict[str, np.ndarray]:
    """By reader, float64[rows, values]: how much of each value every row counts for."""
    kept, row = StandingClasses.read(facts.extras), np.arange(len(facts.subjects))
    shown = np.zeros((len(row), values))
    if kept is None:
        shown[row, facts.values] = 1.0
        if facts.anatomized:  # values are told by class
            sizes = np.bincount(facts.classes, minlength=facts.class_count)[:, None]
            table = np.zeros((facts.class_count, values))
            np.add.at(table, (facts.classes, facts.values), 1.0)
            shown = (table / np.maximum(sizes, 1))[facts.classes]
        return {"told": shown}
    told = shares(kept.tokens, kept.standing, values)
    totals = kept.totals if kept.totals is not None else np.bincount(facts.values, minlength=values)
    shown[row, kept.dealt] = 1.0
    raked = rake(told, totals)
    return {"told": told, "raked": raked, "learned": learn(facts, kept.standing, raked), "flat": shown}


def learn(facts: Facts, standing: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The same weights shared out inside classes, from the boxes of the rows. weights: equal inside a class."""
    _, first, home = np.unique(standing, return_index=True, return_inverse=True)
    shares = learn_shares(facts.boxes[facts.classes], home.astype(np.int32), weights[first])
    found = np.zeros_like(weights)
    found[shares.row, shares.value] = shares.weight
    return found


def query_errors(facts: Facts, snapshot: Coded, wide: bool, count: int = 100) -> dict[str, float]:
    """Median relative error of counts by reader."""
    readers = list_readers(facts, snapshot.value_count)
    common = np.argsort(-np.bincount(snapshot.values, minlength=snapshot.value_count))[:8]
    found: dict[str, list[float]] = {name: [] for name in readers}
    for low, high in queries(snapshot, wide, count, np.random.default_rng(7)):
        rows = ((snapshot.codes >= low) & (snapshot.codes <= high)).all(axis=1)
        true = np.bincount(snapshot.values[rows], minlength=snapshot.value_count)[common]
        part = inside_share(facts, low, high)
        for name, weights in readers.items():
            guess = part @ weights[:, common]
            found[name] += list((np.abs(guess - true) / np.maximum(true, 1))[true >= 10])
    return {name: float(np.median(errors)) if errors else float("nan") for name, errors in found.items()}


def in_ranges(table: Coded) -> Coded:
    """The same people without hierarchies: every range of codes is a group."""
    return replace(table, domains=tuple(Domain(domain.name, domain.lo, domain.hi) for domain in table.domains))


def detail_lost(facts: Facts, snapshot: Coded) -> float:
    """Mean over rows and attributes of the share of the domain that a row's box spans."""
    if facts.anatomized:
        return 0.0
    return float(losses(facts.boxes, snapshot.domains).mean(axis=1)[facts.classes].mean())


def measure_reading(facts: Facts, snapshot: Coded) -> dict[str, float]:
    """Query errors by width and reader, the error of rates by age and sex as published, and the detail lost."""
    found = {
        f"{width} {reader}": error
        for width in ("wide", "narrow")
        for reader, error in query_errors(facts, snapshot, wide=width == "wide").items()
    }
    age, _, sex, _ = find_axes(snapshot)
    rates = rate_errors(facts, snapshot, (age, sex)).median
    return found | {"rates": rates, "detail lost": detail_lost(facts, snapshot)}
