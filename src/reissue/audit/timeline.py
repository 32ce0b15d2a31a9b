"""The releases one after the other: sizes, changes, utility, and ARX's three risks of re-identification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue.core.domain import Domain, Int32, Int64
from reissue.core.meets import Points
from reissue.core.observed import Release
from reissue.core.sets import union
from reissue.utility.loss import ail, average_class_size, discernibility_share, gcp

BANDS = 12
"""Bars of the histogram of class sizes, at most."""


@dataclass(frozen=True, eq=False)
class Changes:
    """Against the last word on each person: counts for one release."""

    new: int
    gone: int
    back: int
    changed_quasi_identifiers: int
    changed_value: int


@dataclass(frozen=True, eq=False)
class People:
    """Everybody in a series: subjects int64[n] ascending, the last known codes, how many ever had another value."""

    subjects: Int64
    codes: Int32
    changed_value: int


def follow(releases: Sequence[Release], attributes: int) -> tuple[list[Changes], People]:
    """Who came, went and changed, release by release. O(people * releases). Needs the members of every release."""
    everyone = union(*(_members(r).subjects for r in releases))
    codes = np.zeros((len(everyone), attributes), dtype=np.int32)
    values = np.zeros(len(everyone), dtype=np.int32)
    last = np.zeros(len(everyone), dtype=np.int64)  # position of the last release with this person, from 1
    ever = np.zeros(len(everyone), dtype=np.bool_)
    changes = []
    for position, release in enumerate(releases, start=1):
        members = _members(release)
        at = np.searchsorted(everyone, members.subjects)
        known = last[at] > 0
        moved = known & (codes[at] != members.codes).any(axis=1)
        updated = known & (values[at] != members.values)
        gone = int((last == position - 1).sum() - (last[at] == position - 1).sum()) if position > 1 else 0
        back = int((known & (last[at] < position - 1)).sum())
        changes.append(Changes(int((~known).sum()), gone, back, int(moved.sum()), int(updated.sum())))
        ever[at] |= updated
        codes[at], values[at], last[at] = members.codes, members.values, position
    return changes, People(everyone, codes, int(ever.sum()))


def _members(release: Release):  # type: ignore[no-untyped-def]
    assert release.members is not None
    return release.members


def sizes(release: Release) -> dict[str, object]:
    """Class sizes in numbers, and a histogram over bands that widen with the sizes."""
    found = release.sizes[release.sizes > 0]
    if len(found) == 0:
        return {"smallest": 0, "median": 0.0, "mean": 0.0, "largest": 0, "histogram": []}
    distinct = np.unique(found)
    edges = (
        distinct
        if len(distinct) <= BANDS
        else np.unique(np.geomspace(found.min(), found.max() + 1, BANDS + 1).astype(int))
    )
    band = np.searchsorted(edges, found, side="right") - 1
    histogram = []
    for i in np.unique(band).tolist():
        its = found[band == i]
        histogram.append({"from": int(its.min()), "to": int(its.max()), "classes": len(its), "rows": int(its.sum())})
    return {
        "smallest": int(found.min()),
        "median": float(np.median(found)),
        "mean": float(found.mean()),
        "largest": int(found.max()),
        "histogram": histogram,
    }


def utility(release: Release, domains: Sequence[Domain], suppressed: int) -> dict[str, float]:
    """What the release still tells; suppressed rows count as wholly lost."""
    rows = len(release.classes) + suppressed
    return {
        "ail": ail(release, domains, suppressed=suppressed),
        "gcp": gcp(release, domains, suppressed=suppressed) / max(1, rows),
        "discernibility": discernibility_share(release, suppressed=suppressed),
        "class_size": average_class_size(release),
    }


def risk(release: Release, population: People | None, threshold: float) -> dict[str, object]:
    """Prosecutor, journalist and marketer risk, as ARX names them.

    Prosecutor: the target is known to be in the release, so its risk is 1 / rows of its class. Journalist: the target
    is somebody of the population, so 1 / people of the population whose quasi-identifiers fit the class. Marketer: the
    share of rows that would be re-identified on average. The population is everybody in the given snapshots, as last
    seen; without snapshots, the release itself.
    """
    sample, fitting = _fitting(release, population)
    rows = int(sample.sum())
    if rows == 0:
        none = {"highest": 0.0, "average": 0.0, "records_at_risk": 0.0}
        return {"threshold": threshold, "prosecutor": none, "journalist": none, "marketer": {"success_rate": 0.0}}
    right = float((sample / fitting).sum() / rows)
    return {
        "threshold": threshold,
        "prosecutor": _three(1.0 / sample, sample, len(sample) / rows, threshold),
        "journalist": _three(1.0 / fitting, sample, max(len(sample) / float(fitting.sum()), right), threshold),
        "marketer": {"success_rate": right},
    }


def _fitting(release: Release, population: People | None) -> tuple[Int64, Int64]:
    """(rows of each class, people of the population who fit it). An anatomized release shows exact rows: its classes
    are here the rows with the same quasi-identifiers, where they are known."""
    if release.anatomized and release.members is not None:
        exact, sample = np.unique(release.members.codes, axis=0, return_counts=True)
        boxes = np.stack([exact, exact], axis=2)
    else:
        filled = np.flatnonzero(release.sizes > 0)
        boxes, sample = release.boxes[filled], release.sizes[filled]
    if population is None:
        return sample, sample
    return sample, np.maximum(sample, Points(population.codes).inside(boxes))


def _three(chance: np.ndarray, rows: Int64, average: float, threshold: float) -> dict[str, float]:
    return {
        "highest": float(chance.max()),
        "average": average,
        "records_at_risk": float(rows[chance > threshold].sum() / rows.sum()),
    }
