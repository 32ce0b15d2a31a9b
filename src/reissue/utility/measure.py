"""All measures of one release at once, and the map of risk against utility."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reissue.errors import SettingsError
from reissue.model.domain import Domain
from reissue.model.observed import ObservedRelease
from reissue.model.release import Coded, Facts
from reissue.utility.loss import (
    ail,
    average_class_size,
    class_sizes,
    discernibility,
    discernibility_share,
    gcp,
)
from reissue.utility.published import counterfeits, observed_domains, suppressed


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
