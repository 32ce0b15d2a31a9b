"""How coarse a release is: loss, certainty penalty, discernibility, class size; and the map of risk against utility.

A release comes from the ledger (Facts) or from outside (ObservedRelease): every measure takes both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue.arrays.types import Float64, Int32, Int64
from reissue.errors import InputError, SettingsError
from reissue.model.boxes import losses
from reissue.model.domain import Domain
from reissue.model.observed import ObservedRelease
from reissue.model.release import Coded, Facts


@dataclass(frozen=True, eq=False)
class SnapshotPeople:
    """The people behind a release: subjects int64[people], classes int32[people], codes int32[people, attributes]."""

    subjects: Int64
    classes: Int32
    codes: Int32


def as_release(release: Facts | ObservedRelease) -> ObservedRelease:
    """The release as outsiders see it."""
    return ObservedRelease.of(release) if isinstance(release, Facts) else release


def people_in(release: Facts | ObservedRelease) -> SnapshotPeople:
    """Who is in which class, without counterfeits; an InputError where nobody knows."""
    members = as_release(release).members
    if members is None:
        raise InputError(
            f"Release {release.number} comes without its members, and this measure compares it with the people behind "
            "it. Give the snapshot it was made from as well."
        )
    return SnapshotPeople(members.subjects, members.classes, members.codes)


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
    if np.array_equal(snapshot.subjects, members.subjects):
        return 0
    return int((~np.isin(snapshot.subjects, members.subjects)).sum())


def observed_domains(snapshot: Coded) -> tuple[Domain, ...]:
    """The domains narrowed to the codes that occur in this snapshot: the ranges by which GCP normalizes."""
    if len(snapshot) == 0:
        return snapshot.domains
    lo, hi = snapshot.codes.min(axis=0), snapshot.codes.max(axis=0)
    return tuple(
        replace(domain, lo=int(low), hi=int(high)) for domain, low, high in zip(snapshot.domains, lo, hi, strict=True)
    )


def clip_boxes(boxes: Int32, domains: Sequence[Domain]) -> Int32:
    """Boxes cut to the domains: "anything" may be published wider than what anybody has."""
    low = np.array([domain.lo for domain in domains], dtype=np.int32)
    high = np.array([domain.hi for domain in domains], dtype=np.int32)
    return np.stack([np.clip(boxes[:, :, 0], low, high), np.clip(boxes[:, :, 1], low, high)], axis=2)


def class_sizes(release: Facts | ObservedRelease) -> Int64:
    """int64[classes]: published rows of each class."""
    return np.bincount(release.classes, minlength=release.class_count).astype(np.int64)


def _measure_loss(release: Facts | ObservedRelease, domains: Sequence[Domain]) -> Float64:
    """float64[classes, attributes]: the share of each domain that a class's published QI spans."""
    if release.anatomized:
        return np.zeros((release.class_count, len(domains)))
    return losses(release.boxes, domains)


def ail(release: Facts | ObservedRelease, domains: Sequence[Domain], *, suppressed: int = 0) -> float:
    """Average information loss (INCREMENTAL, definition 4): sum over classes of |e| * sum_j |G_j| / |D_j|, over |T|.

    Averages over rows. 0 (exact) to the number of attributes. |G_j| is the length of the published interval.
    """
    rows = len(release.classes) + suppressed
    if rows == 0:
        return 0.0
    total = class_sizes(release) @ _measure_loss(release, domains).sum(axis=1) + suppressed * len(domains)
    return float(total / rows)


def ncp(
    release: Facts | ObservedRelease, domains: Sequence[Domain], *, weights: Sequence[float] | None = None
) -> Float64:
    """float64[classes]: normalized certainty penalty of each class, 0 (exact) to 1 (anything). No average.

    The weighted sum of the attributes' penalties (BAYES, section 6.2); weights must sum to 1 and are equal by default.
    """
    if weights is None:
        weights = [1.0 / len(domains)] * len(domains)
    if len(weights) != len(domains) or min(weights) < 0 or not np.isclose(sum(weights), 1.0):
        raise SettingsError(
            f"weights are {list(weights)}; give {len(domains)} numbers of at least 0 that sum to 1, one per attribute."
        )
    return np.clip(_measure_loss(release, domains) @ np.asarray(weights, dtype=np.float64), 0.0, 1.0)


def gcp(
    release: Facts | ObservedRelease,
    domains: Sequence[Domain],
    *,
    suppressed: int = 0,
    weights: Sequence[float] | None = None,
) -> float:
    """Global certainty penalty (BAYES): the sum, not the average, of NCP over rows; 0 to the number of rows.

    The paper normalizes by the range of the snapshot: pass `observed_domains(snapshot)` for that.
    """
    return float(class_sizes(release) @ ncp(release, domains, weights=weights)) + suppressed


def discernibility(release: Facts | ObservedRelease, *, suppressed: int = 0) -> int:
    """Sum over classes of the squared class size; a suppressed row costs as much as the table has rows. No average."""
    sizes = class_sizes(release)
    return int(sizes @ sizes) + suppressed * (int(sizes.sum()) + suppressed)


def discernibility_share(release: Facts | ObservedRelease, *, suppressed: int = 0) -> float:
    """Discernibility over the squared number of rows (BCF, section 6.2): 0 is the best, 1 the worst.

    That is the chance that two rows drawn at random share a class: it averages over rows.
    """
    rows = len(release.classes) + suppressed
    return discernibility(release, suppressed=suppressed) / rows**2 if rows else 0.0


def average_class_size(release: Facts | ObservedRelease, *, k: int = 1) -> float:
    """Published rows per class, divided by k (C_avg; 1 is the best that k-anonymity allows). Averages over classes."""
    if k < 1:
        raise SettingsError(f"k is {k}; a class has at least 1 row.")
    filled = int((class_sizes(release) > 0).sum())
    return len(release.classes) / filled / k if filled else 0.0


@dataclass(frozen=True, kw_only=True)
class Utility:
    """What one release costs its readers.

    rows:     published rows, counterfeits among them; classes: those with rows
    ail:      average information loss, over rows; 0 to the number of attributes
    gcp:      sum of NCP over rows, ranges as in the snapshot; gcp_share: the same over the number of rows, 0 to 1
    discernibility, discernibility_share: sum of squared class sizes; the same over rows squared
    class_size: rows per class, an average over classes
    counterfeits: None where nobody knows
    """

    rows: int
    classes: int
    suppressed: int
    counterfeits: int | None
    ail: float
    gcp: float
    gcp_share: float
    discernibility: int
    discernibility_share: float
    class_size: float


def measure(release: Facts | ObservedRelease, snapshot: Coded, observed: Sequence[Domain] | None = None) -> Utility:
    """Every measure but query errors and record linkage; suppressed rows count as wholly lost. O(rows).

    observed: the ranges by which GCP normalizes, if the snapshot is only a part of what was seen.
    """
    missing = suppressed(release, snapshot)
    rows = len(release.classes)
    penalty = gcp(release, observed or observed_domains(snapshot), suppressed=missing)
    return Utility(
        rows=rows,
        classes=int((class_sizes(release) > 0).sum()),
        suppressed=missing,
        counterfeits=counterfeits(release),
        ail=ail(release, snapshot.domains, suppressed=missing),
        gcp=penalty,
        gcp_share=penalty / max(1, rows + missing),
        discernibility=discernibility(release, suppressed=missing),
        discernibility_share=discernibility_share(release, suppressed=missing),
        class_size=average_class_size(release),
    )


def sum_measures(parts: Sequence[Utility], classes: int | None = None, squares: int | None = None) -> Utility:
    """The measures of a release from those of its fragments, which were measured with the same `observed` ranges.

    classes, squares: how many classes there are, and the sum of their squared sizes, where fragments share them.
    """
    if len(parts) == 1:
        return parts[0]
    rows, missing = sum(part.rows for part in parts), sum(part.suppressed for part in parts)
    penalty = sum(part.gcp for part in parts)
    if classes is None or squares is None:
        classes = sum(part.classes for part in parts)
        squares = sum(part.discernibility - part.suppressed * (part.rows + part.suppressed) for part in parts)
    total = squares + missing * (rows + missing)
    fakes = [part.counterfeits for part in parts if part.counterfeits is not None]
    return Utility(
        rows=rows,
        classes=classes,
        suppressed=missing,
        counterfeits=sum(fakes) if len(fakes) == len(parts) else None,
        ail=sum(part.ail * (part.rows + part.suppressed) for part in parts) / max(1, rows + missing),
        gcp=penalty,
        gcp_share=penalty / max(1, rows + missing),
        discernibility=total,
        discernibility_share=total / max(1, rows + missing) ** 2,
        class_size=rows / max(1, classes),
    )


@dataclass(frozen=True, kw_only=True)
class Point:
    """One policy on the map: its risk and its loss of utility, each in one unit for all points; smaller is better."""

    label: str
    risk: float
    loss: float


@dataclass(frozen=True)
class RiskUtility:
    """The points by rising risk; `frontier` are those that no other point beats in one and equals in the other."""

    points: tuple[Point, ...]
    frontier: tuple[Point, ...]


def risk_utility(points: Iterable[Point]) -> RiskUtility:
    """The risk-utility (R-U) confidentiality map."""
    ordered = tuple(sorted(points, key=lambda point: (point.risk, point.loss, point.label)))
    frontier: list[Point] = []
    for point in ordered:
        if not (point.risk == point.risk and point.loss == point.loss):
            raise SettingsError(f"'{point.label}' has risk {point.risk} and loss {point.loss}; both must be numbers.")
        twin = bool(frontier) and (point.risk, point.loss) == (frontier[-1].risk, frontier[-1].loss)
        if not frontier or twin or point.loss < frontier[-1].loss:
            frontier.append(point)
    return RiskUtility(ordered, tuple(frontier))
