"""Where the classes of three and more releases cross each other, so that the formula of `candidates` may say too much.

The formula is exact wherever the groups of one value can be *unfolded*: a release that has a single group among groups
that hang together, one that meets all the others, says nothing but how many records there are; it is set aside, and
what is left falls into pieces, each to be unfolded by itself, until no piece has more than two releases. Classes that
nest (of any two one contains the other, or they are apart) always unfold: the largest class of a piece is the whole
of it. The proof is in docs/attacks/correspondence.md. What cannot be unfolded is a *knot*.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reissue.arrays.sets import connected_components, find_starts
from reissue.arrays.types import NO_NUMBERS, Int64
from reissue.methods.bcf.candidates import ReleaseChain, Targets

APART = -1
"""In place of a knot's number, for what is in none."""


def find_knots(chain: ReleaseChain) -> list[Int64]:
    """Of each release int64[groups]: the knot that each group is in, or APART. O(comparable groups x releases).

    Classes are unfolded first, whatever the values: where they unfold, so do the groups, which are fewer.
    """
    pairs = [(i, j, chain.pair(i, j)) for i in range(len(chain)) for j in range(i + 1, len(chain))]
    met = [(i, pair.left_class.astype(np.int64), j, pair.right_class.astype(np.int64)) for i, j, pair in pairs]
    classes = _unfold([len(release.boxes) for release in chain.releases], met)
    tied = [knot[release.classes] != APART for knot, release in zip(classes, chain.releases, strict=True)]
    if not any(groups.any() for groups in tied):
        return [np.full(len(groups), APART, dtype=np.int64) for groups in tied]
    met = []
    for i, j, pair in pairs:
        both = tied[i][pair.edge_left] & tied[j][pair.edge_right]
        met.append((i, pair.edge_left[both], j, pair.edge_right[both]))
    return _unfold([len(release.values) for release in chain.releases], met)


def _unfold(sizes: Sequence[int], met: Sequence[tuple[int, Int64, int, Int64]]) -> list[Int64]:
    """Of each release int64[nodes]: the knot of each node, or APART.

    sizes: nodes of each release; met: of each pair of releases the nodes that meet: (release, nodes, release, nodes)
    """
    first, releases, none = find_starts(sizes), len(sizes), NO_NUMBERS
    left = np.concatenate([none, *(one + first[i] for i, one, _, _ in met)])
    right = np.concatenate([none, *(other + first[j] for _, _, j, other in met)])
    of, nodes, made = np.repeat(np.arange(releases), sizes), int(first[-1]), 0
    knot, folded = np.full(nodes, APART, dtype=np.int64), np.ones(nodes, dtype=np.bool_)
    while folded.any():  # every round sets releases aside, or ends with a piece
        kept = folded[left] & folded[right]
        left, right = left[kept], right[kept]
        piece = connected_components(left, right, nodes)
        pieces, here = int(piece.max()) + 1, np.flatnonzero(folded)
        own = np.bincount(piece[here] * releases + of[here], minlength=pieces * releases).reshape(pieces, releases)
        folded &= ((own > 0).sum(axis=1) > 2)[piece]
        meets = np.bincount(left, minlength=nodes) + np.bincount(right, minlength=nodes)
        whole = folded & (own[piece, of] == 1) & (meets == own.sum(axis=1)[piece] - 1)
        loosened = (np.bincount(piece[whole], minlength=pieces) > 0)[piece]
        stuck = folded & ~loosened
        knot[stuck], made = piece[stuck] + made, made + pieces
        folded &= loosened & ~whole
    return np.split(knot, first[1:-1])


def count_exchangeable(chain: ReleaseChain, found: Sequence[Targets], people: Sequence[int]) -> list[Int64] | None:
    """Of each arrival int64[targets]: candidates that all have, as values can be exchanged; None if they cannot.

    If every class has each of its values equally often, and the values of anybody's classes never change, any two of
    them can change places in all classes that have both: the releases stay as they are, and all may have had either.

    found: by arrival, everybody there is; people: of each release, how many people it has, all of whose rows these are
    """
    sets: dict[bytes, int] = {}
    number, size = [], []
    for release, many in zip(chain.releases, people, strict=True):
        begin, end = release.start[:-1], release.start[1:]
        if release.total != many or (end == begin).any():
            return None
        if (np.maximum.reduceat(release.counts, begin) != np.minimum.reduceat(release.counts, begin)).any():
            return None
        parts = np.split(release.values, begin[1:])
        number.append(np.array([sets.setdefault(part.tobytes(), len(sets)) for part in parts]))
        size.append((end - begin).astype(np.int64))
    least = []
    for targets in found:
        since = [number[targets.arrival + c][targets.classes[:, c]] for c in range(targets.classes.shape[1])]
        if any((later != since[0]).any() for later in since):
            return None
        least.append(size[targets.arrival][targets.classes[:, 0]])
    return least
