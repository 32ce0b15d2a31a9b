"""How coarse a release is: information loss, certainty penalty, discernibility, class size.

Published rows count as they are, counterfeits among them. A suppressed row counts as wholly lost, so that a release
cannot look better by leaving rows out. An anatomized release publishes its quasi-identifiers as they are and so loses
nothing in AIL, NCP and GCP; discernibility and class size, and the error of queries, say what it hides.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reissue.arrays.types import Float64, Int64
from reissue.errors import SettingsError
from reissue.model.boxes import losses
from reissue.model.domain import Domain
from reissue.model.observed import ObservedRelease
from reissue.model.release import Facts


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
