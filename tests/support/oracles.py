"""Slow, obvious forms of what the kernels do, for comparison on small tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import exp, inf, log, log2

import numpy as np

from reissue.arrays.types import Int32
from reissue.model.domain import Domain
from reissue.model.requirement import Requirement


def rational(limit: float) -> Fraction:
    """What a person meant by a decimal or by p/q in binary."""
    return Fraction(limit).limit_denominator(1_000_000)


def class_meets(requirement: Requirement, values: list[int], table: list[int], value_count: int) -> bool:
    """Whether a class with these values meets the requirement, straight from the definitions."""
    n, counts = len(values), Counter(values)
    if n < requirement.k or n == 0:
        return False
    if any(Fraction(count, n - requirement.known) > rational(requirement.c) for count in counts.values()):
        return False
    most_first = sorted(counts.values(), reverse=True)
    if requirement.l is not None:
        if requirement.diversity == "distinct" and len(counts) < requirement.l:
            return False
        if requirement.diversity == "entropy":
            entropy = -sum(count / n * log(count / n) for count in counts.values())
            if exp(entropy) < requirement.l * (1 - 1e-9):
                return False
        if requirement.diversity == "recursive":
            tail = sum(most_first[int(requirement.l) - 1 :])
            assert requirement.recursive_c is not None
            if not most_first[0] < rational(requirement.recursive_c) * tail:
                return False
    whole, total = Counter(table), len(table)
    p = [Fraction(counts[v], n) for v in range(value_count)]
    q = [Fraction(whole[v], total) for v in range(value_count)]
    return _close(requirement, p, q)


def _close(requirement: Requirement, p: list[Fraction], q: list[Fraction]) -> bool:
    if requirement.t is not None:
        if requirement.ordered:
            carried = [sum(p[: i + 1], Fraction(0)) - sum(q[: i + 1], Fraction(0)) for i in range(len(p))]
            distance = sum(map(abs, carried), Fraction(0)) / max(1, len(p) - 1)
        else:
            distance = sum((abs(a - b) for a, b in zip(p, q, strict=True)), Fraction(0)) / 2
        if distance > rational(requirement.t):
            return False
    if requirement.beta is not None:
        for a, b in zip(p, q, strict=True):
            cap = -log(b) if requirement.likeness == "enhanced" and b else inf
            if a > b and (b == 0 or float((a - b) / b) > min(requirement.beta, cap) + 1e-9):
                return False
    return True


def jsd(priors: list[list[float]]) -> float:
    """Equation 6 with equal weights, in bits."""

    def entropy(p: list[float]) -> float:
        return -sum(x * log2(x) for x in p if x > 0)

    mixture = [sum(column) / len(priors) for column in zip(*priors, strict=True)]
    return entropy(mixture) - sum(entropy(p) for p in priors) / len(priors)


def children(domain: Domain, lo: int, hi: int) -> list[tuple[int, int]]:
    """The intervals of the children of the smallest node that covers lo..hi; none at a leaf."""
    tree = domain.tree
    assert tree is not None
    nodes = [i for i in range(len(tree.lo)) if tree.lo[i] <= lo and hi <= tree.hi[i]]
    node = max(nodes)  # parents come first: the last one is the deepest
    return [(int(tree.lo[i]), int(tree.hi[i])) for i in range(len(tree.lo)) if tree.parent[i] == node]


def cover(domain: Domain, lo: int, hi: int) -> tuple[int, int]:
    """The interval published for lo..hi: itself, or the smallest node around it."""
    tree = domain.tree
    if tree is None:
        return lo, hi
    node = max(i for i in range(len(tree.lo)) if tree.lo[i] <= lo and hi <= tree.hi[i])
    return int(tree.lo[node]), int(tree.hi[node])


def mondrian_classes(
    codes: Int32,
    values: Int32,
    domains: tuple[Domain, ...],
    requirement: Requirement,
    favours: Sequence[float] | None = None,
) -> list[list[int]]:
    """Mondrian by lists of row numbers: the classes in the order of the cuts, the most gainful of them first.

    favours: numbers are rather cut at round ones, which are worth so many times more (hierarchies at every cut).
    """
    value_count = int(values.max()) + 1
    table = values.tolist()

    def legal(part: list[int]) -> bool:
        return class_meets(requirement, [table[i] for i in part], table, value_count)

    def enough(parts: list[list[int]]) -> bool:
        return all(len(own) >= max(1, requirement.k) for own in parts)

    def halves(part: list[int], a: int, last: int) -> list[list[int]]:
        return [[i for i in part if codes[i, a] <= last], [i for i in part if codes[i, a] > last]]

    def favoured(part: list[int], a: int) -> list[int]:
        """The ends of the round ranges beside the median, where enough rows are on both sides of one."""
        domain, column = domains[a], sorted(codes[part, a].tolist())
        step, middle = domain.step, column[(len(column) - 1) // 2]
        if favours is None or max(column[0], domain.lo - 1) // step == column[-1] // step:
            return []
        ends = (middle // step * step - 1, middle // step * step + step - 1)
        return [last for last in ends if enough(halves(part, a, last))]

    def proposals(part: list[int], a: int) -> list[list[list[int]]]:
        column, domain = codes[:, a], domains[a]
        if domain.tree is None:
            middle = sorted(column[part].tolist())[(len(part) - 1) // 2]
            return [halves(part, a, last) for last in favoured(part, a) or (middle, middle - 1)]
        kids = children(domain, int(column[part].min()), int(column[part].max()))
        parts = [own for x, y in kids if (own := [i for i in part if x <= column[i] <= y])]
        if len(parts) < 2:
            return []
        largest = max(parts, key=len)
        return [parts, [largest, [i for i in part if i not in largest]]]

    def worth(part: list[int], parts: list[list[int]], a: int) -> float:
        """Detail won over the root of how evenly rows are divided, squared."""
        domain, column = domains[a], codes[:, a]
        wide = cover(domain, int(column[part].min()), int(column[part].max()))
        gain = 0.0
        for own in parts:
            lo, hi = int(column[own].min()), int(column[own].max())
            if domain.tree is None:
                median = sorted(column[part].tolist())[(len(part) - 1) // 2]
                lasts = favoured(part, a) or [median, median - 1]
                last = next(last for last in lasts if max(column[parts[0]]) <= last < min(column[parts[1]]))
                lo, hi = (wide[0], last) if own is parts[0] else (last + 1, wide[1])
            else:
                inside = [(x, y) for x, y in children(domain, *wide) if x <= lo and hi <= y]
                lo, hi = inside[0] if inside else wide
            gain += len(own) * float((wide[1] - wide[0]) - (hi - lo))
        gain *= domain.weight / domain.span
        if favours is not None and (domain.tree is not None or favoured(part, a)):
            gain *= favours[a]
        return gain * gain / (float(len(part)) ** 2 - sum(float(len(own)) ** 2 for own in parts))

    def cuts(part: list[int]) -> list[list[list[int]]]:
        ranked = []
        for a in range(len(domains)):
            if codes[part, a].min() < codes[part, a].max():
                for parts in proposals(part, a):
                    if enough(parts):
                        ranked.append((worth(part, parts, a), parts))
        return [parts for _, parts in sorted(ranked, key=lambda one: -one[0])]

    def split(part: list[int]) -> list[list[int]]:
        for parts in cuts(part):
            if len(parts) > 1 and all(legal(p) for p in parts):
                return [done for p in parts for done in split(p)]
        return [part]

    return split(np.arange(len(values)).tolist())
