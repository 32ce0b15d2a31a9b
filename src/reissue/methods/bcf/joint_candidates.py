"""The exact number of candidates where classes of three and more releases cross, by integer programs over joint boxes.

Every record belongs to a kind of person: an arrival, and a class in every release since, with a point in common. How
many records of a value each kind has is unknown; the groups of the releases fix the sums. The most records that one
kind can have is what remains for such a person. Two releases make this a flow, nested classes a tree (`crossing`);
only a knot needs a program, and only the groups of the knot are in it.

Whoever is said to keep so many candidates keeps them by a witness: whole numbers that add up to all groups, checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue.arrays.sets import find_owners, find_starts, sum_rows
from reissue.arrays.types import Int32, Int64
from reissue.methods.bcf.candidates import ReleaseChain, Targets
from reissue.methods.bcf.crossing import APART, find_knots
from reissue.model.box_index import find_meeting

PROGRAMS = 20
"""A knot is tried if so many of its programs fit into the work allowed."""
BATCH = 4_000
"""Knots share a program up to this many entries in its sums: their answers do not touch, and a program has a fixed
cost."""
NODES = 200
"""Branches of one program at most; nearly all need none."""


class TooMuchWork(Exception):
    """The work allowed is done, or a knot is too large to be tried."""


@dataclass(eq=False)
class Work:
    """What programs may cost, in seconds of an ordinary processor: estimated from their size, never measured."""

    left: float

    def find_room(self) -> int:
        """The entries in the sums of the largest programs that are tried."""
        return int((max(0.0, self.left) / PROGRAMS / 3.6e-10) ** 0.5)

    def charge(self, entries: int, whole: bool) -> None:
        """Take the cost of a program with so many entries in its sums: fitted to HiGHS."""
        cost = 2e-3 + 1.5e-6 * entries + 3.6e-10 * entries**2
        self.left -= 4 * cost if whole else cost
        if self.left < 0:
            raise TooMuchWork


class Knot:
    """Groups of one value that cannot be unfolded, and the kinds of people their records may be.

    sums:    (int64[entries] groups, int64[entries] kinds), which kinds a group's records may be; counts: int64[groups]
    least:   int64[kinds] the most records of each kind in any witness so far
    settled: bool[kinds] that can have no more; given_up: bool[kinds] of which a program did not end
    """

    def __init__(self, chain: ReleaseChain, knots: Sequence[Int64], number: int, room: int) -> None:
        """knots: of each release of the chain the knot of each group. TooMuchWork beyond `room` entries."""
        groups = [np.flatnonzero(of_release == number) for of_release in knots]
        self._releases = [position for position, own in enumerate(groups) if len(own)]
        self._groups = [groups[position] for position in self._releases]
        of = [chain.releases[position] for position in self._releases]
        boxes = [one.boxes[one.classes[own]] for one, own in zip(of, self._groups, strict=True)]
        found = [_follow_boxes(boxes[arrival:], room) for arrival in range(len(boxes))]
        padded = [np.pad(path, ((0, 0), (arrival, 0)), constant_values=-1) for arrival, path in enumerate(found)]
        paths = np.concatenate(padded)  # kinds x releases of the knot: places of groups, -1 before the arrival
        self._numbers = {tuple(path): kind for kind, path in enumerate(paths.tolist())}
        self.counts = np.concatenate([one.counts[own] for one, own in zip(of, self._groups, strict=True)])
        kind, release = np.nonzero(paths >= 0)
        first = find_starts([len(own) for own in self._groups])
        self.sums = first[release] + paths[kind, release], kind.astype(np.int64)
        self.least = np.zeros(len(paths), dtype=np.int64)
        self.settled, self.given_up = np.zeros(len(paths), dtype=np.bool_), np.zeros(len(paths), dtype=np.bool_)

    def find(self, arrival: int, groups: Sequence[int]) -> int:
        """The number of a kind; groups: in each release of the chain from the arrival on."""
        places = [-1 if position < arrival else groups[position - arrival] for position in self._releases]
        at = (own.searchsorted(g) if g >= 0 else -1 for own, g in zip(self._groups, places, strict=True))
        return self._numbers[tuple(map(int, at))]

    def take_note(self, witness: Int64) -> bool:
        """Remember a witness, int64[kinds]; whether it is one."""
        group, kind = self.sums
        if (witness < 0).any() or not np.array_equal(np.bincount(group, witness[kind]), self.counts):
            return False
        np.maximum(self.least, witness, out=self.least)
        return True


def _follow_boxes(boxes: Sequence[Int32], room: int) -> Int64:
    """int64[paths, releases]: one box of each release, all with a point in common. TooMuchWork beyond `room` boxes."""
    at, paths = boxes[0], np.arange(len(boxes[0]))[:, None]
    for other in boxes[1:]:
        one, next_ = find_meeting(at, other)
        if len(one) * len(boxes) > room:
            raise TooMuchWork
        lo, hi = np.maximum(at[one, :, 0], other[next_, :, 0]), np.minimum(at[one, :, 1], other[next_, :, 1])
        at, paths = np.stack([lo, hi], axis=-1), np.column_stack([paths[one], next_])
    return paths.astype(np.int64)


Want = tuple[Knot, int, int]
"""(knot, kind, how many records of it are asked for)."""


def find_witnesses(wants: Sequence[Want], work: Work, *, most: bool, whole: bool = False) -> bool:
    """Whole numbers of records that add up to all groups, with many records of the kinds wanted; whether none has more.

    most:  count every record of a kind, else only as many as asked for: then one program helps many kinds
    whole: ask for whole numbers; else they are asked for where the answer turns out to have others, which is seldom
    wants: of knots that share one program
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    knots = [*dict.fromkeys(knot for knot, _, _ in wants)]
    begin = dict(zip(knots, np.cumsum([0, *(len(knot.least) for knot in knots)]).tolist(), strict=False))
    top = dict(zip(knots, np.cumsum([0, *(len(knot.counts) for knot in knots)]).tolist(), strict=False))
    counts, many, extra = np.concatenate([knot.counts for knot in knots]), len(wants), np.arange(len(wants))
    kinds = sum(len(knot.least) for knot in knots)
    # an unknown more for each kind wanted, its records as far as they count, and a row that says so
    rows = np.concatenate([*(top[knot] + knot.sums[0] for knot in knots), len(counts) + extra, len(counts) + extra])
    wanted = np.array([begin[knot] + kind for knot, kind, _ in wants])
    columns = np.concatenate([*(begin[knot] + knot.sums[1] for knot in knots), wanted, kinds + extra])
    signs = np.ones(len(rows))
    signs[len(rows) - 2 * many : len(rows) - many] = -1
    work.charge(len(rows), whole)
    least = np.concatenate([counts, np.full(many, -np.inf)])
    asked = [np.inf if most else float(cap) for _, _, cap in wants]
    solved = milp(
        np.repeat([0.0, -1.0], [kinds, many]),
        constraints=LinearConstraint(csr_array((signs, (rows, columns))), least, np.maximum(least, 0)),
        bounds=Bounds(0, np.concatenate([np.full(kinds, np.inf), asked])),
        integrality=np.repeat([int(whole), 0], [kinds, many]),
        options={"node_limit": NODES, "mip_rel_gap": 0.0 if most else 0.02},
    )
    if solved.x is None:
        return False
    found = np.rint(solved.x[:kinds]).astype(np.int64)
    broken = [knot for knot in knots if not knot.take_note(found[begin[knot] : begin[knot] + len(knot.least)])]
    again = [want for want in wants if want[0] in broken]
    if again and not whole:
        return find_witnesses(again, work, most=most, whole=True) and bool(solved.success)
    return bool(solved.success) and not broken


class JointCandidates:
    """Everybody's exact candidates in a chain, as far as the work allowed reaches."""

    def __init__(self, chain: ReleaseChain, work: Work) -> None:
        self.chain, self.work = chain, work
        self.knots = find_knots(chain) if len(chain) > 2 else []
        self._found: dict[int, Knot | None] = {}
        self._room = work.find_room()

    @property
    def crossing(self) -> bool:
        """Whether there is a knot at all; if not, the formula is exact for everybody."""
        return any((of_release != APART).any() for of_release in self.knots)

    def find_knot(self, number: int) -> Knot | None:
        """None if it is too large."""
        if number not in self._found:
            try:
                self._found[number] = Knot(self.chain, self.knots, number, self._room)
            except TooMuchWork:
                self._found[number] = None
        return self._found[number]

    def settle(self, targets: Targets, enough: int | None, known: Int64 | None = None) -> Targets:
        """The targets with their exact candidates; with some of them where there are enough, or no work is left.

        enough: who has so many needs no closer look; None: everybody is looked at
        known:  int64[targets] so many each target has in any case
        First come those of whom the formula leaves enough: the others have too few by any count.
        """
        rows = _KnottedTargets(self, targets, known)
        few = np.zeros(len(targets), dtype=np.bool_) if enough is None else targets.totals < enough
        try:
            for some in (np.flatnonzero(~few), np.flatnonzero(few)):
                self._spread(rows, some, enough)
                self._solve(rows, some, enough)
        except TooMuchWork:
            pass
        return rows.finish()

    def settle_fewest(self, targets: Targets) -> Targets:
        """The same, settled further: until nobody who is not settled can have the fewest candidates of all."""
        before = None
        while len(targets) and (fewest := int(targets.totals[targets.totals > 0].min(initial=1 << 40))) != before:
            targets, before = self.settle(targets, fewest, targets.least), fewest
        return targets

    def _spread(self, rows: _KnottedTargets, some: Int64, enough: int | None) -> None:
        """Look for as many as are asked for of many kinds at once, as long as that helps several of them."""
        before = 1 << 40
        while 1 < len(wants := rows.list_wants(some, enough)) < before - 1:
            before = len(wants)
            for batch in _divide(wants):
                find_witnesses(batch, self.work, most=False)

    def _solve(self, rows: _KnottedTargets, some: Int64, enough: int | None) -> None:
        """Find the most of one kind of each knot at a time, until everybody is settled or has enough."""
        while wants := rows.list_wants(some, enough):
            first = {knot: (knot, kind, cap) for knot, kind, cap in reversed(wants)}
            for batch in _divide([*first.values()]):
                ended = find_witnesses(batch, self.work, most=True)
                for knot, kind, _ in batch:
                    (knot.settled if ended else knot.given_up)[kind] = True


def _divide(wants: Sequence[Want]) -> Iterator[list[Want]]:
    """Parts of the list that share no knot, each small enough for one program."""
    by_knot: dict[Knot, list[Want]] = {}
    for want in wants:
        by_knot.setdefault(want[0], []).append(want)
    batch, size = list[Want](), 0
    for knot, own in by_knot.items():
        if batch and size + len(knot.sums[0]) > BATCH:
            yield batch
            batch, size = [], 0
        batch, size = batch + own, size + len(knot.sums[0])
    if batch:
        yield batch


class _KnottedTargets:
    """Targets whose amounts are bounds from above, being settled entry by entry."""

    def __init__(self, joint: JointCandidates, targets: Targets, known: Int64 | None) -> None:
        self._joint, self._targets = joint, targets
        self._known = np.zeros(len(targets), dtype=np.int64) if known is None else known
        self._row = find_owners(targets.start)
        self._groups = np.empty((len(self._row), targets.classes.shape[1]), dtype=np.int64)
        self._knot = np.full(len(self._row), APART, dtype=np.int64)
        for column in range(targets.classes.shape[1] if len(self._row) else 0):
            release = joint.chain.releases[targets.arrival + column]
            self._groups[:, column] = release.find(targets.classes[self._row, column], targets.values)
            own = joint.knots[targets.arrival + column][self._groups[:, column]]
            np.maximum(self._knot, own, out=self._knot)
        self._most = targets.amounts.copy()
        self._least = np.where(self._knot == APART, self._most, 0)
        self._kinds: dict[int, tuple[Knot, int]] = {}

    def list_wants(self, some: Int64, enough: int | None) -> list[Want]:
        """What to look for, that these rows be settled or have enough: of a row the largest entries first."""
        self._look()
        least = np.maximum(self._known, sum_rows(self._least, self._targets.start))
        open_ = self._least < self._most
        if enough is not None:
            open_ &= (least < enough)[self._row]
        chosen = np.zeros(len(self._known), dtype=np.bool_)
        chosen[some] = True
        entries = np.flatnonzero(open_ & chosen[self._row])
        entries = entries[np.lexsort((-self._most[entries], self._targets.totals[self._row[entries]]))]
        wants: dict[tuple[Knot, int], int] = {}
        for entry in entries.tolist():
            found = self._find_kind(entry)
            if found is not None and not found[0].given_up[found[1]]:
                asked = int(self._most[entry]) if enough is None else min(enough, int(self._most[entry]))
                if self._least[entry] < asked:
                    wants[found] = max(asked, wants.get(found, 0))
        return [(knot, kind, asked) for (knot, kind), asked in wants.items()]

    def _find_kind(self, entry: int) -> tuple[Knot, int] | None:
        if entry not in self._kinds:
            knot = self._joint.find_knot(int(self._knot[entry]))
            if knot is None:
                return None
            self._kinds[entry] = knot, knot.find(self._targets.arrival, self._groups[entry].tolist())
            self._look_at(entry)
        return self._kinds[entry]

    def _look(self) -> None:
        for entry in self._kinds:
            self._look_at(entry)

    def _look_at(self, entry: int) -> None:
        """What witnesses and programs say of an entry."""
        knot, kind = self._kinds[entry]
        if knot.settled[kind]:
            self._most[entry] = min(int(self._most[entry]), int(knot.least[kind]))
        self._least[entry] = min(int(self._most[entry]), int(knot.least[kind]))

    def finish(self) -> Targets:
        self._look()
        least = np.maximum(self._known, sum_rows(self._least, self._targets.start))
        return replace(self._targets, amounts=self._most, least=least)
