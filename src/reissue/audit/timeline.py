"""The releases one after the other: sizes, changes, utility, and ARX's three risks of re-identification.

Everything comes from whole numbers that add up over parts of a series which share nobody (`ReleaseTally`,
`TimelineEntry.fits`), so the numbers are the same wherever and in how many parts they were counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Int32, Int64
from reissue.model.domain import Domain
from reissue.model.observed import ObservedRelease
from reissue.model.overlap import Turnover

BANDS = 12
"""Bars of the histogram of class sizes, at most."""
RISK_LINES = {"ema": 0.09, "arx": 0.2}
"""Highest chances of re-identification: the European Medicines Agency's for clinical reports, and ARX's default."""


# -- Counts that add up


@dataclass(frozen=True, eq=False)
class ReleaseTally:
    """One release, or a part of it, in whole numbers.

    classes: how many, empty ones too; members: people, None where nobody is known
    sizes: int64[kinds, 2] (rows of a class, how many classes have so many), ascending, without empty classes
    lost:  int64[attributes] the codes that published intervals span beyond the first, summed over rows
    hull:  int32[attributes, 2] of the boxes of classes with rows; None if there are none
    """

    number: int
    anatomized: bool
    rows: int
    classes: int
    members: int | None
    sizes: Int64
    lost: Int64
    hull: Int32 | None


def count_release(release: ObservedRelease, domains: Sequence[Domain]) -> ReleaseTally:
    """O(rows)."""
    filled = np.flatnonzero(release.sizes > 0)
    boxes, sizes = release.boxes[filled], release.sizes[filled]
    lost = np.zeros(len(domains), dtype=np.int64)
    for a, domain in enumerate(domains if not release.anatomized else ()):
        lo, hi = np.maximum(boxes[:, a, 0], domain.lo), np.minimum(boxes[:, a, 1], domain.hi)
        lost[a] = sizes @ np.maximum(hi.astype(np.int64) - lo, 0)
    return ReleaseTally(
        number=release.number,
        anatomized=release.anatomized,
        rows=len(release.classes),
        classes=release.class_count,
        members=None if release.members is None else len(release.members.subjects),
        sizes=count_kinds(sizes[:, None], np.ones(len(sizes), dtype=np.int64)),
        lost=lost,
        hull=np.stack([boxes[:, :, 0].min(axis=0), boxes[:, :, 1].max(axis=0)], axis=1) if len(filled) else None,
    )


def count_kinds(keys: Int32 | Int64, counts: Int64) -> Int64:
    """int64[kinds, columns + 1]: the different rows of `keys`, ascending, each with the sum of its counts."""
    order = np.lexsort(keys.T[::-1])
    kinds = keys[order]
    first = np.flatnonzero(np.append(True, (kinds[1:] != kinds[:-1]).any(axis=1))[: len(kinds)])
    totals = np.add.reduceat(counts[order], first) if len(first) else counts
    return np.column_stack([kinds[first], totals]).astype(np.int64)


def add_tallies(parts: Sequence[ReleaseTally]) -> ReleaseTally:
    """One release from its parts; nobody asks for the hull of the whole."""
    sizes = np.concatenate([part.sizes for part in parts])
    members = [part.members for part in parts if part.members is not None]
    return ReleaseTally(
        number=parts[0].number,
        anatomized=parts[0].anatomized,
        rows=sum(part.rows for part in parts),
        classes=sum(part.classes for part in parts),
        members=sum(members) if len(members) == len(parts) else None,
        sizes=count_kinds(sizes[:, :1], sizes[:, 1]),
        lost=np.sum([part.lost for part in parts], axis=0),
        hull=None,
    )


@dataclass(frozen=True, eq=False)
class TimelineEntry:
    """One release of the timeline.

    fits: int64[kinds, 3] (people of a class, people of the population who fit it, how many classes are such), ascending
    """

    tally: ReleaseTally
    turnover: Turnover | None
    fits: Int64


# -- What the counts tell


def describe_sizes(entry: ReleaseTally) -> dict[str, object]:
    """Class sizes in numbers, and a histogram over bands that widen with the sizes."""
    distinct, classes = entry.sizes[:, 0], entry.sizes[:, 1]
    if len(distinct) == 0:
        return {"smallest": 0, "median": 0.0, "mean": 0.0, "largest": 0, "histogram": []}
    edges = (
        distinct
        if len(distinct) <= BANDS
        else np.unique(np.geomspace(distinct[0], distinct[-1] + 1, BANDS + 1).astype(int))
    )
    band = np.searchsorted(edges, distinct, side="right") - 1
    histogram = []
    for i in np.unique(band).tolist():
        its, many = distinct[band == i], classes[band == i]
        bar = {"from": int(its[0]), "to": int(its[-1]), "classes": int(many.sum()), "rows": int(its @ many)}
        histogram.append(bar)
    total, upto = int(classes.sum()), np.cumsum(classes)
    middle = [int(distinct[np.searchsorted(upto, place, side="right")]) for place in ((total - 1) // 2, total // 2)]
    return {
        "smallest": int(distinct[0]),
        "median": sum(middle) / 2,
        "mean": entry.rows / total,
        "largest": int(distinct[-1]),
        "histogram": histogram,
    }


def measure_utility(entry: ReleaseTally, domains: Sequence[Domain], suppressed: int) -> dict[str, float]:
    """What the release still tells; suppressed rows count as wholly lost. As `utility.loss` measures it."""
    rows, attributes = entry.rows + suppressed, len(domains)
    spans = sum(int(lost) / domain.span for lost, domain in zip(entry.lost, domains, strict=True))
    size, classes = entry.sizes[:, 0], entry.sizes[:, 1]
    squares = int((size * size) @ classes) + suppressed * rows
    return {
        "ail": (spans + suppressed * attributes) / rows if rows else 0.0,
        "gcp": (spans / attributes + suppressed) / max(1, rows),
        "discernibility": squares / rows**2 if rows else 0.0,
        "class_size": entry.rows / int(classes.sum()) if len(classes) else 0.0,
    }


def measure_risks(fits: Int64, threshold: float) -> dict[str, object]:
    """Prosecutor, journalist and marketer risk, as ARX names them; `fits` as in an entry of the timeline.

    Prosecutor: the target is known to be in the release, so its risk is 1 / people of its class. Journalist: the target
    is somebody of the population, so 1 / people of the population whose quasi-identifiers fit the class. Marketer: the
    share of rows that would be re-identified on average. The population is everybody in the given snapshots, as last
    seen; without snapshots, the release itself.
    """
    sample, fitting, classes = fits.T
    rows = int(sample @ classes)
    if rows == 0:
        none = {"highest": 0.0, "average": 0.0, "records_at_risk": 0.0, "records_above": dict.fromkeys(RISK_LINES, 0.0)}
        return {"threshold": threshold, "prosecutor": none, "journalist": none, "marketer": {"success_rate": 0.0}}
    right = float((sample / fitting) @ classes / rows)
    count, of_class = int(classes.sum()), sample * classes
    return {
        "threshold": threshold,
        "prosecutor": _describe_risk(1.0 / sample, of_class, count / rows, threshold),
        "journalist": _describe_risk(1.0 / fitting, of_class, max(count / float(fitting @ classes), right), threshold),
        "marketer": {"success_rate": right},
    }


def _describe_risk(chance: np.ndarray, rows: Int64, average: float, threshold: float) -> dict[str, object]:
    """records_at_risk, records_above: the share of rows above the threshold, and above each of the named ones."""
    above = {name: float(rows[chance > limit].sum() / rows.sum()) for name, limit in RISK_LINES.items()}
    return {
        "highest": float(chance.max()),
        "average": average,
        "records_at_risk": float(rows[chance > threshold].sum() / rows.sum()),
        "records_above": above,
    }


def shows_exactly(release: ObservedRelease) -> bool:
    """Whether rows with the same quasi-identifiers stand for classes: an anatomized release shows them as they are."""
    return release.anatomized and release.members is not None


def count_same(codes: Int32) -> tuple[Int32, Int64]:
    """(int32[kinds, attributes], int64[kinds]): different quasi-identifiers, ascending, and how many have them."""
    found = count_kinds(codes, np.ones(len(codes), dtype=np.int64))
    return found[:, :-1].astype(np.int32), found[:, -1]
