"""Attacks on parts or steps of a series, cut and put together in this process: what workers do on Spark.

What goes to a worker is an attack's settings and plain arrays: classes, values, members by number; to one of record
tracing also exact quasi-identifiers, as codes. Names and labels stay here, exact quasi-identifiers otherwise, too; what
comes back has marks for them (`audit.spark.names`), and the names are put in here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue.arrays.sorting import sort_by_bucket
from reissue.arrays.types import Int32
from reissue.audit.spark.names import TokenWords, name_outcome
from reissue.audit.spark.regrouped import deal_parts, find_links
from reissue.methods.attack import Attack, Outcome, WorkDivision, merge
from reissue.methods.attack_parts import Step, join_steps, list_steps
from reissue.model.observed import Members, Observed, ObservedRelease, Words


@dataclass(frozen=True, eq=False)
class AttackTask:
    """An attack on one part or step of a series; it can be pickled, and holds nobody's name."""

    attack: Attack
    part: Observed
    involving: int | None = None

    def run(self) -> Outcome:
        return self.attack.run(self.part, involving=self.involving)


Run = Callable[[Sequence[AttackTask]], Sequence[Outcome]]
"""Runs tasks, anywhere and in any order, and gives their outcomes in the order of the tasks."""


def divided(observed: Observed, parts: int, involving: int | None = None) -> list[Observed]:
    """The parts of a series, each ready to be sent: without names, labels and exact quasi-identifiers. O(rows log).

    With `involving` each part has members in that release, so that an attack has something to say of each.
    """
    people = [_people(release) * (involving in (None, release.number)) for release in observed.releases]
    return [
        anonymous(part) for part in split_series(observed, deal_parts(find_links(observed.releases), people, parts))
    ]


def anonymous(part: Observed) -> Observed:
    """The part as a worker sees it; a separable attack reads nothing else."""
    return replace(part, words=TokenWords(), releases=[_light(release) for release in part.releases])


def run_parts(
    attack: Attack, parts: Sequence[Observed], words: Words, run: Run, *, involving: int | None = None
) -> Outcome:
    """The outcome of a separable attack on the series that these are the parts of, named by `words`."""
    return name_outcome(merge(attack, run([AttackTask(attack, part, involving) for part in parts])), words)


def in_parts(parts: int, run: Run) -> Callable[[Attack, Observed], Outcome]:
    """How attacks run in parts, or in steps; a series is divided once for all of them."""
    known: list[tuple[Observed, list[Observed]]] = []

    def runner(attack: Attack, observed: Observed) -> Outcome:
        steps = list_steps(len(observed), parts) if attack.divides(WorkDivision.STEPS) else []
        if attack.divides(WorkDivision.PARTS):
            if not known or known[0][0] is not observed:
                known[:] = [(observed, divided(observed, parts))]
            if len(steps) < 2 or not _one_has_most(known[0][1]):
                return run_parts(attack, known[0][1], observed.words, run)
        if attack.divides(WorkDivision.STEPS) and len(steps) > 1:
            return run_steps(attack, observed, steps, run)
        return attack.run(observed)

    return runner


def run_steps(attack: Attack, observed: Observed, steps: Sequence[Step], run: Run) -> Outcome:
    """The outcome of `attack.run(observed)`, worked out in steps."""
    sent = replace(observed, words=TokenWords()) if not attack.divides(WorkDivision.PARTS) else anonymous(observed)
    tasks = [AttackTask(attack, replace(sent, releases=[sent.releases[i] for i in step]), len(step)) for step in steps]
    return name_outcome(join_steps(attack, steps, run(tasks)), observed.words)


def _one_has_most(parts: Sequence[Observed]) -> bool:
    """Whether one part has more than half of all rows."""
    rows = [sum(len(release.classes) for release in part.releases) for part in parts]
    return 2 * max(rows, default=0) > sum(rows)


def _light(release: ObservedRelease) -> ObservedRelease:
    def light(some: Members | None) -> Members | None:
        return None if some is None else replace(some, codes=np.empty((len(some.subjects), 0), dtype=np.int32))

    return replace(release, members=light(release.members), counterfeits=light(release.counterfeits))


def _people(release: ObservedRelease) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """int64[classes]: the known members of each class."""
    classes = np.empty(0, dtype=np.int32) if release.members is None else release.members.classes
    return np.bincount(classes, minlength=release.class_count).astype(np.int64)


# -- the parts of a series


def split_series(observed: Observed, bins: Sequence[Int32]) -> list[Observed]:
    """The sub-series of each part: every release with the classes of that part, and who is in them. O(rows).

    bins: int32[classes] for each release, as `deal_parts` gives them; as many parts as releases name, or more.
    """
    parts = 1 + max((int(of.max(initial=0)) for of in bins), default=0)
    pieces = [_pieces(release, of, parts) for release, of in zip(observed.releases, bins, strict=True)]
    return [replace(observed, releases=[its[part] for its in pieces]) for part in range(parts)]


def _pieces(release: ObservedRelease, bins: Int32, parts: int) -> list[ObservedRelease]:
    start, order = sort_by_bucket(bins, parts)
    place = np.full(len(bins), -1, dtype=np.int32)
    place[order] = np.arange(len(order)) - np.repeat(start[:-1], np.diff(start))
    row_start, rows = sort_by_bucket(bins[release.classes], parts)
    members, fakes = (_shared(some, bins, place, parts) for some in (release.members, release.counterfeits))
    found = []
    for part in range(parts):
        own, its = order[start[part] : start[part + 1]], rows[row_start[part] : row_start[part + 1]]
        numbers = own.astype(np.int32) if release.numbers is None else release.numbers[own]
        found.append(
            replace(
                release,
                boxes=release.boxes[own],
                classes=place[release.classes[its]],
                values=release.values[its],
                members=None if members is None else members[part],
                counterfeits=None if fakes is None else fakes[part],
                numbers=numbers,
            )
        )
    return found


def _shared(some: Members | None, bins: Int32, place: Int32, parts: int) -> list[Members] | None:
    """The members of each part, still ascending."""
    if some is None:
        return None
    start, order = sort_by_bucket(bins[some.classes], parts)
    found = []
    for part in range(parts):
        own = order[start[part] : start[part + 1]]
        codes = np.empty((len(own), some.codes.shape[1]), dtype=np.int32, order="F")
        for a in range(codes.shape[1]):  # column by column: gathering rows of a Fortran array is slow
            codes[:, a] = some.codes[own, a]
        found.append(Members(some.subjects[own], place[some.classes[own]], codes, some.values[own]))
    return found
