"""What the document tells of a series beside the outcomes of attacks: its timeline, and the classes that findings name.

`Here` works it out in this process; `audit.distributed` has workers do it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from reissue.arrays.types import Int32, Int64
from reissue.audit.timeline import Changes, Entry, Following, fits_of, follow, tally
from reissue.model.box_index import Points
from reissue.model.observed import Observed, ObservedRelease

VALUES = 8
"""The values of a class that are shown, at most."""

Place = tuple[int, int]
"""The number of a release, and of one of its classes."""


@dataclass(frozen=True, eq=False)
class Card:
    """One class: box int32[attributes, 2], rows, the commonest values with their counts, and how many values it has."""

    box: Int32
    rows: int
    values: Sequence[tuple[int, int]]
    kinds: int


def cards_of(release: ObservedRelease, numbers: Iterable[int]) -> dict[int, Card]:
    """The classes of these places in the release. O(rows) for the first."""
    found = {}
    for number in numbers:
        classes, values, counts = release.groups
        first, last = np.searchsorted(classes, [number, number + 1])
        order = first + np.argsort(-counts[first:last], kind="stable")
        shown = [(int(values[i]), int(counts[i])) for i in order[:VALUES]]
        found[number] = Card(release.boxes[number], int(release.sizes[number]), shown, int(last - first))
    return found


class Look(Protocol):
    """Where the timeline and the classes of a series come from."""

    @property
    def people(self) -> int | None:
        """How many different people are in the series; None where nobody is known."""
        ...

    @property
    def changed_value(self) -> int:
        """How many people ever had another value."""
        ...

    @property
    def timeline(self) -> Sequence[Entry]: ...

    def settle(self, places: Iterable[Place]) -> None:
        """The attacks are done, and these are the classes of their findings: the series may change from now on."""
        ...

    def cards(self, places: Iterable[Place]) -> Mapping[Place, Card]:
        """At least these classes, which `settle` was told of."""
        ...


class Here:
    """The releases in this process; the timeline is worked out when it is first asked for."""

    def __init__(self, observed: Observed) -> None:
        self._observed = observed

    @cached_property
    def _followed(self) -> tuple[list[Changes], Following] | None:
        releases = self._observed.releases
        known = all(release.members is not None for release in releases)
        return follow(releases, len(self._observed.domains)) if known else None

    @property
    def people(self) -> int | None:
        return None if self._followed is None else len(self._followed[1].subjects)

    @property
    def changed_value(self) -> int:
        return 0 if self._followed is None else self._followed[1].changed_value

    @cached_property
    def timeline(self) -> list[Entry]:
        changes, everybody = self._followed or (None, None)
        population = None if everybody is None else Points(everybody.codes)
        return [
            Entry(
                tally(release, self._observed.domains),
                None if changes is None else changes[position],
                fits_of(release, population),
            )
            for position, release in enumerate(self._observed.releases)
        ]

    def settle(self, places: Iterable[Place]) -> None:
        """Everything is here and stays."""

    def cards(self, places: Iterable[Place]) -> Mapping[Place, Card]:
        wanted = by_release(places)
        releases = {release.number: release for release in self._observed.releases}
        return {
            (number, one): card
            for number, classes in wanted.items()
            for one, card in cards_of(releases[number], classes.tolist()).items()
        }


def by_release(places: Iterable[Place]) -> dict[int, Int64]:
    """int64[classes] ascending, by the number of their release."""
    found: dict[int, set[int]] = {}
    for number, one in places:
        found.setdefault(number, set()).add(one)
    return {number: np.array(sorted(classes), dtype=np.int64) for number, classes in found.items()}
