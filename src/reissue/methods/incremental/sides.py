"""Releases prepared to be laid side by side: what the attacks of this room have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from reissue.model.box_index import Points
from reissue.model.observed import Members, Observed, ObservedRelease, require_members
from reissue.model.overlap import Groups, Overlap


@dataclass(frozen=True, eq=False)
class Side:
    """One release with its members, and the counts of its groups."""

    release: ObservedRelease
    value_count: int

    @property
    def number(self) -> int:
        return self.release.number

    @cached_property
    def members(self) -> Members:
        return require_members(self.release)

    @property
    def groups(self) -> Groups:
        return self.release.counted

    @cached_property
    def people(self) -> Points:
        """Where the members lie in code space."""
        return Points(self.members.codes)

    def overlap_with(self, other: Side) -> Overlap:
        return Overlap.of(
            self.members.subjects,
            self.members.classes,
            other.members.subjects,
            other.members.classes,
            self.release.class_count,
            other.release.class_count,
        )


def prepare_sides(series: Observed, involving: int | None) -> list[Side]:
    """The releases an attack looks at: all, or those up to the one being made."""
    last = len(series) if involving is None else involving
    return [Side(release, series.value_count) for release in series.releases[:last]]


def list_side_pairs(series: Observed, involving: int | None) -> Iterator[tuple[Side, Side]]:
    """Every (older, newer), or only those with the release at this place as the newer one.

    Of these, no side is kept beside the newer one and its partner: releases that are read when they are asked for are
    in memory two at a time.
    """
    if involving is None:
        sides = prepare_sides(series, involving)
        for place, newer in enumerate(sides):
            yield from ((older, newer) for older in sides[:place])
    elif involving:
        newer = Side(series.releases[involving - 1], series.value_count)
        for place in range(involving - 1):
            yield Side(series.releases[place], series.value_count), newer
