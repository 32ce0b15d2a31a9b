"""One view of a release for all measures, whether it comes from the ledger (Facts) or from outside (Release)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Int32, Int64
from reissue.errors import InputError
from reissue.model.domain import Domain
from reissue.model.observed import ObservedRelease
from reissue.model.release import Coded, Facts


@dataclass(frozen=True, eq=False)
class People:
    """The people behind a release: subjects int64[people], classes int32[people], codes int32[people, attributes]."""

    subjects: Int64
    classes: Int32
    codes: Int32


def as_release(release: Facts | ObservedRelease) -> ObservedRelease:
    """The release as outsiders see it."""
    return ObservedRelease.of(release) if isinstance(release, Facts) else release


def people_in(release: Facts | ObservedRelease) -> People:
    """Who is in which class, without counterfeits; an InputError where nobody knows."""
    members = as_release(release).members
    if members is None:
        raise InputError(
            f"Release {release.number} comes without its members, and this measure compares it with the people behind "
            "it. Give the snapshot it was made from as well."
        )
    return People(members.subjects, members.classes, members.codes)


def exact_rows(release: Facts | ObservedRelease) -> tuple[Int32, Int32]:
    """(codes int32[rows, attributes], classes int32[rows]): the exact QI rows that an anatomized release publishes.

    Facts know the rows of counterfeits too; a Release knows only those of its members.
    """
    if isinstance(release, Facts):
        return release.codes, release.classes
    people = people_in(release)
    return people.codes, people.classes


def counterfeits(release: Facts | ObservedRelease) -> int | None:
    """Rows that stand for nobody; None where that is not known."""
    if isinstance(release, Facts):
        return int((~release.real).sum())
    return None if release.members is None else len(release.classes) - len(release.members.subjects)


def suppressed(release: Facts | ObservedRelease, snapshot: Coded) -> int:
    """Rows of the snapshot that were not published. Without known members: the difference in rows, at least 0."""
    members = as_release(release).members
    if members is None:
        return max(0, len(snapshot) - len(release.classes))
    return int((~np.isin(snapshot.subjects, members.subjects)).sum())


def observed_domains(snapshot: Coded) -> tuple[Domain, ...]:
    """The domains narrowed to the codes that occur in this snapshot: the ranges by which GCP normalizes."""
    if len(snapshot) == 0:
        return snapshot.domains
    lo, hi = snapshot.codes.min(axis=0), snapshot.codes.max(axis=0)
    return tuple(
        Domain(domain.name, int(low), int(high), domain.tree)
        for domain, low, high in zip(snapshot.domains, lo, hi, strict=True)
    )


def clip_boxes(boxes: Int32, domains: Sequence[Domain]) -> Int32:
    """Boxes cut to the domains: "anything" may be published wider than what anybody has."""
    low = np.array([domain.lo for domain in domains], dtype=np.int32)
    high = np.array([domain.hi for domain in domains], dtype=np.int32)
    return np.stack([np.clip(boxes[:, :, 0], low, high), np.clip(boxes[:, :, 1], low, high)], axis=2)
