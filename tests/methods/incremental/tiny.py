"""Tiny series for tests of attacks, and what an attacker infers from them by plain enumeration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product

import numpy as np

from reissue.model.boxes import bounding_boxes
from reissue.model.domain import Domain
from reissue.model.observed import Members, Observed, ObservedRelease
from tests.support.words import PlainWords


def series_of(
    codes: Mapping[int, Sequence[int]],
    values: Mapping[int, int],
    releases: Sequence[Sequence[Sequence[int]]],
    *,
    boxes: Sequence[Sequence[Sequence[tuple[int, int]]]] | None = None,
    words: PlainWords | None = None,
) -> Observed:
    """Releases given as lists of classes, a class as the list of its subjects; boxes are hulls unless given."""
    attributes = len(next(iter(codes.values())))
    made = []
    for number, classes in enumerate(releases, start=1):
        pairs = sorted((subject, i) for i, members in enumerate(classes) for subject in members)
        subjects = np.array([s for s, _ in pairs], dtype=np.int64)
        own = np.array([i for _, i in pairs], dtype=np.int32)
        code = np.array([codes[s] for s, _ in pairs], dtype=np.int32).reshape(len(pairs), attributes)
        value = np.array([values[s] for s, _ in pairs], dtype=np.int32)
        box = bounding_boxes(code, own, len(classes)) if boxes is None else np.array(boxes[number - 1], dtype=np.int32)
        members_ = Members(subjects, own, code, value)
        made.append(ObservedRelease(number, box, own, value, members_))
    every = np.array(list(codes.values()))
    domains = tuple(Domain(f"a{i}", int(every[:, i].min()), int(every[:, i].max())) for i in range(attributes))
    return Observed(made, domains, max(values.values()) + 1, words or PlainWords())


def random_series(
    rng: np.random.Generator, *, releases: int, k: int, c: Fraction, grow: int = 4, tries: int = 60
) -> Observed | None:
    """An insert-only series of random (k,c)-anonymous releases; None if none was found."""
    start = int(rng.integers(2 * k, 11))
    arrivals = [start, *(int(rng.integers(0, grow + 1)) for _ in range(releases - 1))]
    total = sum(arrivals)
    kinds = int(rng.integers(3, 7))
    codes = {s: tuple(rng.integers(0, 5, 2).tolist()) for s in range(total)}
    values = {s: int(rng.integers(0, kinds)) for s in range(total)}
    made = []
    for present in np.cumsum(arrivals).tolist():
        for _ in range(tries):
            parts = int(rng.integers(max(1, present // (2 * k)), present // k + 1))
            label = rng.integers(0, parts, present) if rng.random() < 0.5 else _strips(rng, codes, present, parts)
            classes = [[s for s in range(present) if label[s] == i] for i in range(parts)]
            classes = [members for members in classes if members]
            if all(anonymous([values[s] for s in members], k, c) for members in classes):
                made.append(classes)
                break
        else:
            return None
    return series_of(codes, values, made)


def _strips(rng: np.random.Generator, codes: Mapping[int, Sequence[int]], present: int, parts: int) -> np.ndarray:
    order = sorted(range(present), key=lambda s: (codes[s], s))
    cuts = np.sort(rng.integers(0, present + 1, parts - 1))
    label = np.empty(present, dtype=np.int64)
    label[order] = np.searchsorted(cuts, np.arange(present), side="right")
    return label


def anonymous(values: Sequence[int], k: int, c: Fraction) -> bool:
    return len(values) >= k and max(Counter(values).values()) <= c * len(values)


def classes_of(release: ObservedRelease) -> dict[int, set[int]]:
    assert release.members is not None
    found: dict[int, set[int]] = {}
    for subject, own in zip(release.members.subjects.tolist(), release.members.classes.tolist(), strict=True):
        found.setdefault(own, set()).add(subject)
    return found


def value_of(release: ObservedRelease) -> dict[int, int]:
    assert release.members is not None
    return dict(zip(release.members.subjects.tolist(), release.members.values.tolist(), strict=True))


def differences(left: ObservedRelease, right: ObservedRelease) -> list[tuple[frozenset[int], frozenset[int]]]:
    """(E, D) for every set E of left classes whose members are all in the right release."""
    inside, around, own = classes_of(left), classes_of(right), {}
    for number, members in around.items():
        own.update(dict.fromkeys(members, number))
    counted = [number for number, members in inside.items() if members <= own.keys()]
    found = []
    for size in range(1, len(counted) + 1):
        for chosen in combinations(counted, size):
            people = set().union(*(inside[e] for e in chosen))
            cover = set().union(*(around[own[s]] for s in people))
            found.append((frozenset(chosen), frozenset(cover - people)))
    return found


def intersections(releases: Sequence[ObservedRelease]) -> dict[int, Counter[int]]:
    """What the classes of each member of the last release, over all releases, have in common."""
    common: dict[int, list[Counter[int]]] = {}
    for release in releases:
        value = value_of(release)
        for members in classes_of(release).values():
            counts = Counter(value[s] for s in members)
            for subject in members:
                common.setdefault(subject, []).append(counts)
    last = value_of(releases[-1])
    result = {}
    for subject in last:
        if len(common[subject]) > 1:
            counts = common[subject][0]
            for more in common[subject][1:]:
                counts = counts & more
            result[subject] = counts
    return result


def traced(older: ObservedRelease, newer: ObservedRelease, k: int) -> set[tuple[int, frozenset[int]]] | None:
    """(value, people who fit) of every row traced to fewer than k people, from all placements of all rows.

    None if there is none. As Byun et al. have it (section 4.5, example 3): the box of a row, cut with the union of the
    boxes it can be in. Rows of a class are gone, of whatever value, if their people left or moved out of a box.
    """
    assert older.members is not None
    found, people, codes = set(), older.members.subjects, older.members.codes

    def note(value: int, one: np.ndarray, others: Sequence[np.ndarray]) -> None:
        fits = _inside(codes, one) & np.any([_inside(codes, other) for other in others], axis=0)
        if fits.sum() < k:
            found.add((value, frozenset(people[fits].tolist())))

    for value, edges, flows in _worlds(older, newer):
        if not flows:
            return None
        possible = [e for e, (_, v) in enumerate(edges) if v is not None and any(flow[e] for flow in flows)]
        for e, (u, v) in enumerate(edges):
            if v is not None and min(flow[e] for flow in flows) > 0:
                note(value, older.boxes[u], [newer.boxes[v]])
        for u in {u for u, _ in edges}:
            may_go = any(flow[e] for e, edge in enumerate(edges) if edge == (u, None) for flow in flows)
            if not may_go:
                note(value, older.boxes[u], [newer.boxes[edges[e][1]] for e in possible if edges[e][0] == u])
        for v in {edges[e][1] for e in possible}:
            into = [e for e in possible if edges[e][1] == v]
            if min(sum(flow[e] for e in into) for flow in flows) > 0:
                note(value, newer.boxes[v], [older.boxes[edges[e][0]] for e in into])
    return found


def break_the_papers_definition(older: ObservedRelease, newer: ObservedRelease, k: int) -> bool:
    """Whether a row's box, cut with the union of all compatible boxes, holds fewer than k people (Byun et al., 4.5).

    The paper's own simplest form, before any edge is removed: no flow and no placement in it.
    """
    assert older.members is not None
    codes = older.members.codes
    for own, value in set(zip(older.classes.tolist(), older.values.tolist(), strict=True)):
        there = set(newer.classes[newer.values == value].tolist())
        fits = np.any(
            [_inside(codes, newer.boxes[v]) for v in there if _meet(older.boxes[own], newer.boxes[v])], axis=0
        )
        if (fits & _inside(codes, older.boxes[own])).sum() < k:
            return True
    return False


Edges = list[tuple[int, int | None]]


def _worlds(older: ObservedRelease, newer: ObservedRelease) -> list[tuple[int, Edges, list[tuple[int, ...]]]]:
    """Of each value the ways its rows can go, (class, class) or (class, None) if they are gone; and how many go which.

    From a class as many rows are gone, over all values, as people of it; or more, if rows of it are nobody's.
    """
    left, nobody = _gone(older, newer)
    ways: list[tuple[int, Edges, list[tuple[int, ...]]]] = []
    for value in sorted(set(older.values.tolist())):
        supply = Counter(older.classes[older.values == value].tolist())
        demand = Counter(newer.classes[newer.values == value].tolist())
        edges: Edges = [(u, v) for u in supply for v in demand if _meet(older.boxes[u], newer.boxes[v])]
        edges += [(u, None) for u in supply]
        keyed = [(u, v if v is not None else -1 - u) for u, v in edges]
        room = {**demand, **{-1 - u: min(n, left[u] + nobody[u]) for u, n in supply.items()}}
        ways.append((value, edges, _placements(supply, room, keyed)))
    gone = [
        [tuple(sum(flow[e] for e, x in enumerate(edges) if x == (u, None)) for u in sorted(left)) for flow in flows]
        for _, edges, flows in ways
    ]
    kept = []
    low, high = [left[u] for u in sorted(left)], [left[u] + nobody[u] for u in sorted(left)]
    for i, (value, edges, flows) in enumerate(ways):
        rest = {(0,) * len(left)}
        for j, vectors in enumerate(gone):
            if j != i:
                rest = {tuple(map(sum, zip(x, y, strict=True))) for x in rest for y in set(vectors)}

        def holds(own: tuple[int, ...], rest: set[tuple[int, ...]] = rest) -> bool:
            sums = (tuple(map(sum, zip(own, other, strict=True))) for other in rest)
            return any(all(a <= x <= b for a, x, b in zip(low, one, high, strict=True)) for one in sums)

        kept.append((value, edges, [flow for flow, own in zip(flows, gone[i], strict=True) if holds(own)]))
    return kept


def _gone(older: ObservedRelease, newer: ObservedRelease) -> tuple[dict[int, int], dict[int, int]]:
    """(class -> people who left or moved out of a box, class -> rows that are nobody's)."""
    assert older.members is not None
    assert newer.members is not None
    there = dict(zip(newer.members.subjects.tolist(), newer.members.classes.tolist(), strict=True))
    left, rows = dict.fromkeys(range(older.class_count), 0), Counter(older.classes.tolist())
    for subject, own, code in zip(
        older.members.subjects.tolist(), older.members.classes.tolist(), older.members.codes, strict=True
    ):
        rows[own] -= 1
        stays = subject in there and _inside(code[None], older.boxes[own])[0]
        left[own] += not (stays and _inside(code[None], newer.boxes[there[subject]])[0])
    return left, rows


def _placements(
    supply: Mapping[int, int], demand: Mapping[int, int], edges: Sequence[tuple[int, int]]
) -> list[tuple[int, ...]]:
    """Every way to place all rows of the left groups in right groups along the edges: units per edge."""
    placed = [((0,) * len(edges), tuple(sorted(demand.items())))]
    for u, n in supply.items():
        own = [e for e, edge in enumerate(edges) if edge[0] == u]
        further = []
        for flow, left in placed:
            room = dict(left)
            for units in product(*(range(min(n, room[edges[e][1]]) + 1) for e in own)):
                if sum(units) == n:
                    more, rest = list(flow), dict(room)
                    for e, x in zip(own, units, strict=True):
                        more[e] = x
                        rest[edges[e][1]] -= x
                    further.append((tuple(more), tuple(sorted(rest.items()))))
        placed = further
    return [flow for flow, _ in placed]


def _inside(codes: np.ndarray, box: np.ndarray) -> np.ndarray:
    return np.asarray(((codes >= box[:, 0]) & (codes <= box[:, 1])).all(axis=1))


def _meet(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(((one[:, 0] <= other[:, 1]) & (other[:, 0] <= one[:, 1])).all())
