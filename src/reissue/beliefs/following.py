"""The belief cycle over a series as an attacker sees it: any series, whoever published it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from reissue.beliefs.claims import Claims
from reissue.beliefs.cycle import Applied, Beliefs, Reasoning, Rows, claims_for
from reissue.beliefs.estimate import MoveCounts
from reissue.beliefs.knowledge import Given, Knowledge, moves_of, shares_of
from reissue.beliefs.measures import gains
from reissue.core.ascending import seek
from reissue.core.domain import Bool, Float64, Int32, Int64
from reissue.core.observed import Members, Observed, Release
from reissue.errors import InputError


@dataclass(frozen=True, eq=False)
class Learned:
    """What one release taught about its members.

    subjects: int64[people] ascending; classes, values: int32[people] their class and true value
    belief:   float64[people] posterior of the true value; share: its share in the class, what the class alone tells
    gain:     float64[people] gain of knowledge (equation 8); claimed: bool[people] who is held to be known
    """

    number: int
    subjects: Int64
    classes: Int32
    values: Int32
    belief: Float64
    share: Float64
    gain: Float64
    claimed: Bool

    @property
    def exposure(self) -> Float64:
        """float64[people]: the gain where the attacker is led to the truth, 0 where away from it."""
        return np.where(self.belief > self.share, self.gain, 0.0)


def follow(
    series: Observed, knowledge: Knowledge, given: Given, how: Reasoning, claims: Claims, seed: int = 0
) -> Iterator[Learned]:
    """Release by release; one without known members is passed over. O(releases * people * values^2).

    What is not given is estimated from the members' true values up to the release: the worst case.
    """
    beliefs, last = Beliefs.none(), None
    counts, earlier = MoveCounts.none(0), np.empty(0, dtype=np.int32)
    for position in range(len(series)):
        release = series.releases[position]
        members = release.members
        if members is None:
            continue
        counts, earlier = _counted(counts, last, earlier, members, series.value_count)
        applied = _applied(beliefs, counts, members, series, knowledge, given, how, claims, release.number, seed)
        beliefs = beliefs.settled(how, applied).seen(rows_of(release, members), release.number, how, applied)
        yield _learned(beliefs, release, members, how, claims, seed + release.number)
        last = members


def rows_of(release: Release, members: Members) -> Rows:
    """All published rows; in every class its members are put to rows in any order, since nobody knows it."""
    size = np.bincount(release.classes, minlength=release.class_count)
    inside = np.bincount(members.classes, minlength=release.class_count)
    if (inside > size).any():
        full = int(np.argmax(inside - size))
        raise InputError(
            f"Class {full} of release {release.number} has {size[full]} rows but {inside[full]} members. Give the "
            "snapshot that the release was made from."
        )
    rows, people = np.argsort(release.classes, kind="stable"), np.argsort(members.classes, kind="stable")
    classes = members.classes[people]
    rank = np.arange(len(people)) - np.searchsorted(classes, classes)
    at = rows[np.searchsorted(release.classes[rows], classes) + rank]
    behind = np.full(len(rows), -1, dtype=np.int64)
    behind[at] = members.subjects[people]
    return Rows(behind, behind, release.classes, release.values, np.full(len(rows), -1, dtype=np.int32))


def _counted(
    counts: MoveCounts, last: Members | None, earlier: Int32, members: Members, values: int
) -> tuple[MoveCounts, Int32]:
    """(counts with the moves into this release, int32[members] the true value one release before or -1)."""
    had = np.full(len(members.subjects), -1, dtype=np.int32)
    if last is None:
        return MoveCounts.none(values), had
    at, there = seek(last.subjects, members.subjects)
    had[there] = last.values[at[there]]
    return counts.plus(earlier[at[there]], had[there], members.values[there], values), had


def _applied(
    beliefs: Beliefs,
    counts: MoveCounts,
    members: Members,
    series: Observed,
    knowledge: Knowledge,
    given: Given,
    how: Reasoning,
    claims: Claims,
    number: int,
    seed: int,
) -> Applied:
    values = series.value_count
    category, shares = shares_of(knowledge, given, members.codes, members.values, series.domains, values)
    table = np.bincount(members.values, minlength=values) + knowledge.smoothing / max(1, values)
    moves = moves_of(knowledge, given, counts, table / table.sum(), how.steps, values)
    new = ~np.isin(members.subjects, beliefs.people)
    used = claims_for(claims, beliefs.number, number, how.cascading)
    return Applied(moves, members.subjects[new], category[new], shares, used, seed=seed + beliefs.number)


def _learned(
    beliefs: Beliefs, release: Release, members: Members, how: Reasoning, claims: Claims, seed: int
) -> Learned:
    person, after = beliefs.posterior(how, claims, seed)
    order = np.argsort(beliefs.people[person])
    after = after[order]
    size = np.bincount(release.classes, minlength=release.class_count)
    width = after.shape[1]
    key, number = np.unique(release.classes.astype(np.int64) * width + release.values, return_counts=True)
    at, there = seek(key, members.classes.astype(np.int64) * width + members.values)
    share = np.where(there, number[at], 0) / np.maximum(1, size[members.classes])
    shown = replace(members, values=np.where(there, members.values, release_value(release, members)))
    gain = gains(after, members.classes, shown.values, release.classes, release.values)
    return Learned(
        number=release.number,
        subjects=members.subjects,
        classes=members.classes,
        values=members.values,
        belief=after[np.arange(len(after)), members.values],
        share=share,
        gain=np.where(there, gain, 0.0),  # the value was altered: nothing can be learned about the true one
        claimed=np.isin(members.subjects, claims.at(release.number).subjects),
    )


def release_value(release: Release, members: Members) -> Int32:
    """int32[members]: some value that is published in each member's class."""
    first = np.zeros(release.class_count, dtype=np.int32)
    first[release.classes] = release.values
    return first[members.classes]


def simulated(series: Observed, sigma: float, confidence: float, seed: int) -> Claims:
    """Each release's members compromised with probability sigma, their true values claimed with the confidence."""
    parts = []
    for position in range(len(series)):
        release = series.releases[position]
        if release.members is None:
            continue
        rng = np.random.default_rng([seed, release.number])
        drawn = np.flatnonzero(rng.random(len(release.members.subjects)) < sigma)
        numbers = np.full(len(drawn), release.number, dtype=np.int32)
        members = release.members
        parts.append(Claims(members.subjects[drawn], members.values[drawn], numbers, np.full(len(drawn), confidence)))
    return joined(parts)


def joined(parts: list[Claims]) -> Claims:
    """All claims together."""
    if not parts:
        return Claims.none()
    return Claims(
        np.concatenate([part.subjects for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.releases for part in parts]),
        np.concatenate([part.confidences for part in parts]),
    )
