"""The belief cycle over a series as an attacker sees it: any series, whoever published it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace

import numpy as np

from reissue.arrays.sets import hash_numbers, lookup, sorted_unique, union
from reissue.arrays.types import NO_CODES, NO_NUMBERS, Bool, Float64, Int32, Int64
from reissue.errors import InputError
from reissue.methods.beliefs.cycle import Applied, BeliefState, BelievedRows, Reasoning, select_claims
from reissue.methods.beliefs.knowledge import (
    Knowledge,
    ReadKnowledge,
    check_placed,
    count_cells,
    count_fragment,
    find_categories,
    find_moves,
    find_shares,
)
from reissue.methods.beliefs.posterior import find_small
from reissue.methods.beliefs.revision import Claims, MoveCounts
from reissue.model.fragment_counts import Counts, FragmentCounts, TableCounts
from reissue.model.observed import Members, Observed, ObservedRelease, leave_out_repeats
from reissue.model.release import Coded, take_rows


@dataclass(frozen=True, eq=False)
class Learned:
    """What one release taught about its members.

    subjects: int64[people] ascending; classes: int32[people] as the release calls them; values: int32[people] true
    belief:   float64[people] posterior of the true value; share: its share in the class, what the class alone tells
    gain:     float64[people] gain of knowledge (equation 8); claimed: bool[people] who is held to be known
    nearly:   bool[people] whose class was too large for an exact posterior
    """

    number: int
    subjects: Int64
    classes: Int32
    values: Int32
    belief: Float64
    share: Float64
    gain: Float64
    claimed: Bool
    nearly: Bool

    @property
    def exposure(self) -> Float64:
        """float64[people]: the gain where the attacker is led to the truth, 0 where away from it."""
        return np.where(self.belief > self.share, self.gain, 0.0)

    def take(self, rows: Int64) -> Learned:
        """About some of the people."""
        return Learned(self.number, *(getattr(self, one.name)[rows] for one in fields(self)[1:]))


@dataclass(frozen=True, eq=False)
class Attacker:
    """What she knows, and how she reasons."""

    knowledge: Knowledge
    given: ReadKnowledge
    how: Reasoning


UNPLACED = "unplaced"
EVERYWHERE = ("values", "moves", "second", UNPLACED)
"""What fragments count for all others: see `Tally.everywhere`. UNPLACED: rows in no category of a given table."""


@dataclass(frozen=True, eq=False)
class FragmentSurvey:
    """What a fragment of a release counts for the others. asked: int64[n] the keys it will need to be told about."""

    number: int
    tally: FragmentCounts
    asked: Int64


def survey(series: Observed, attacker: Attacker) -> Iterator[FragmentSurvey]:
    """Release by release of a fragment, all that `follow` must be told of the other fragments. O(rows log rows)."""
    knowledge, boxes = attacker.knowledge, attacker.given.boxes
    people = NO_NUMBERS
    for release, members, counts in _follow_moves(series):
        coded = Coded(members.subjects, members.codes, members.values, series.domains, series.value_count)
        tally = count_fragment(knowledge, coded, counts, attacker.how.steps)
        if boxes is not None:
            outside = (find_categories(boxes, members.codes, series.domains) < 0).sum(keepdims=True)
            tally = replace(tally, everywhere={**tally.everywhere, UNPLACED: Counts.of_values(outside)})
        fresh = np.flatnonzero(~np.isin(members.subjects, people))  # only newcomers are put into categories
        asked = tally.nearby.key
        if len(asked) and len(fresh) < len(members.subjects):
            asked = count_cells(take_rows(members.codes, fresh), members.values[fresh], series.domains).key
        yield FragmentSurvey(release.number, tally, sorted_unique(asked))
        people = union(people, members.subjects)


def follow(
    series: Observed, attacker: Attacker, claims: Claims, told: Mapping[int, TableCounts] | None = None
) -> Iterator[Learned]:
    """Release by release; one without known members is passed over. O(releases * people * values^2).

    What is not given is estimated from the members' true values up to the release: the worst case. Where the series is
    a fragment, `told` has by release number what all fragments counted: then all is as in the whole series. A class
    that only says again what it said is read once: to weigh it twice would count the same evidence twice.
    """
    beliefs, how = BeliefState.none(), attacker.how
    for release, members, counts in _follow_moves(series, told):
        whole = None if told is None else told[release.number]
        applied = _apply_knowledge(beliefs, counts, members, series, attacker, claims, release.number, whole)
        new = leave_out_repeats(release)
        members = new.members or members
        beliefs = beliefs.settle(how, applied).see(match_rows(new, members), release.number, how, applied)
        yield _measure_learned(beliefs, new, members, how, claims)


def match_rows(release: ObservedRelease, members: Members) -> BelievedRows:
    """All published rows; in every class its members are put to rows in any order, since nobody knows it."""
    size = np.bincount(release.classes, minlength=release.class_count)
    inside = np.bincount(members.classes, minlength=release.class_count)
    if (inside > size).any():
        full = int(np.argmax(inside - size))
        raise InputError(
            f"Class {release.called(full)} of release {release.number} has {size[full]} rows but {inside[full]} "
            "members. Give the snapshot that the release was made from."
        )
    rows, people = np.argsort(release.classes, kind="stable"), np.argsort(members.classes, kind="stable")
    classes = members.classes[people]
    rank = np.arange(len(people)) - np.searchsorted(classes, classes)
    at = rows[np.searchsorted(release.classes[rows], classes) + rank]
    behind = np.full(len(rows), -1, dtype=np.int64)
    behind[at] = members.subjects[people]
    earlier = np.full(len(rows), -1, dtype=np.int32)
    return BelievedRows(behind, behind, release.classes, release.values, earlier)


def _follow_moves(
    series: Observed, told: Mapping[int, TableCounts] | None = None
) -> Iterator[tuple[ObservedRelease, Members, MoveCounts]]:
    """The releases with known members, and how values have moved up to each: in this series, or as `told`."""
    last: Members | None = None
    counts, earlier = MoveCounts.none(0), NO_CODES
    for position in range(len(series)):
        release = series.releases[position]
        members = release.members
        if members is None:
            continue
        if told is None:
            counts, earlier = _count_moves(counts, last, earlier, members, series.value_count)
        else:
            counts = MoveCounts.sum(told[release.number].everywhere, series.value_count)
        yield release, members, counts
        last = members


def _count_moves(
    counts: MoveCounts, last: Members | None, earlier: Int32, members: Members, values: int
) -> tuple[MoveCounts, Int32]:
    """(counts with the moves into this release, int32[members] the true value one release before or -1)."""
    had = np.full(len(members.subjects), -1, dtype=np.int32)
    if last is None:
        return MoveCounts.none(values), had
    at, there = lookup(last.subjects, members.subjects)
    had[there] = last.values[at[there]]
    return counts.plus(earlier[at[there]], had[there], members.values[there], values), had


def _apply_knowledge(
    beliefs: BeliefState,
    counts: MoveCounts,
    members: Members,
    series: Observed,
    attacker: Attacker,
    claims: Claims,
    number: int,
    whole: TableCounts | None,
) -> Applied:
    knowledge, given, how, values = attacker.knowledge, attacker.given, attacker.how, series.value_count
    new = np.flatnonzero(~np.isin(members.subjects, beliefs.people))
    if whole is None:
        category, shares = find_shares(knowledge, given, members.codes, members.values, series.domains, values)
        category, size = category[new], np.bincount(members.values, minlength=values)
    else:  # the others of this fragment were counted, too; what is told says it all
        check_placed(int(whole.everywhere.get(UNPLACED, Counts.none()).count.sum()))
        codes, own = take_rows(members.codes, new), members.values[new]
        category, shares = find_shares(knowledge, given, codes, own, series.domains, values, whole)
        size = whole.values(values)
    table = size + knowledge.smoothing / max(1, values)
    moves = find_moves(knowledge, given, counts, table / table.sum(), how.steps, values)
    used = select_claims(claims, beliefs.number, number, how.cascading)
    return Applied(moves, members.subjects[new], category, shares, used)


def _measure_learned(
    beliefs: BeliefState, release: ObservedRelease, members: Members, how: Reasoning, claims: Claims
) -> Learned:
    person, after = beliefs.posterior(how, claims)
    order = np.argsort(beliefs.people[person])
    after = after[order]
    size = np.bincount(release.classes, minlength=release.class_count)
    width = after.shape[1]
    key, number = np.unique(release.classes.astype(np.int64) * width + release.values, return_counts=True)
    at, there = lookup(key, members.classes.astype(np.int64) * width + members.values)
    share = np.where(there, number[at], 0) / np.maximum(1, size[members.classes])
    shown = replace(members, values=np.where(there, members.values, find_some_value(release, members)))
    gain = compute_gains(after, members.classes, shown.values, release.classes, release.values)
    return Learned(
        number=release.number,
        subjects=members.subjects,
        classes=members.classes if release.numbers is None else release.numbers[members.classes],
        values=members.values,
        belief=after[np.arange(len(after)), members.values],
        share=share,
        gain=np.where(there, gain, 0.0),  # the value was altered: nothing can be learned about the true one
        claimed=np.isin(members.subjects, claims.at(release.number).subjects),
        nearly=_find_nearly(release, members, how),
    )


def compute_gains(
    after: Float64, member_classes: Int32, member_values: Int32, row_classes: Int32, row_values: Int32
) -> Float64:
    """float64[people]: gain of knowledge about each one's true value (equation 8).

    |P - f| / (1 - f), where f is the value's share in the class: what the class alone tells; |1 - P| if f is 1.
    """
    width = after.shape[1]
    count = int(max(row_classes.max(initial=-1), member_classes.max(initial=-1))) + 1
    size = np.bincount(row_classes, minlength=count)
    key, number = np.unique(row_classes.astype(np.int64) * width + row_values, return_counts=True)
    at = np.searchsorted(key, member_classes.astype(np.int64) * width + member_values)
    share = number[at] / size[member_classes]
    belief = after[np.arange(len(after)), member_values]
    alone = share >= 1.0
    return np.where(alone, np.abs(1.0 - belief), np.abs(belief - share) / np.where(alone, 1.0, 1.0 - share))


def _find_nearly(release: ObservedRelease, members: Members, how: Reasoning) -> Bool:
    """bool[members]: whose class `exact` cannot read exactly; nobody's for the other estimators."""
    if how.estimator != "exact":
        return np.zeros(len(members.classes), dtype=np.bool_)
    return ~find_small(release.classes, release.values, release.class_count)[members.classes]


def find_some_value(release: ObservedRelease, members: Members) -> Int32:
    """int32[members]: some value that is published in each member's class."""
    first = np.zeros(release.class_count, dtype=np.int32)
    first[release.classes] = release.values
    return first[members.classes]


def simulate_claims(series: Observed, sigma: float, confidence: float, seed: int) -> Claims:
    """Each release's members compromised with probability sigma, their true values claimed with the confidence.

    Everybody's lot is cast by the seed, the release and the person alone, so that it falls the same in a fragment.
    """
    parts = []
    for position in range(len(series)):
        release = series.releases[position]
        if release.members is None:
            continue
        own = int(np.random.SeedSequence([seed, release.number]).generate_state(1, np.uint64)[0])
        lots = hash_numbers(release.members.subjects.astype(np.uint64), own) >> np.uint64(11)  # 53 bits: a float's
        drawn = np.flatnonzero(lots * 2.0**-53 < sigma)
        numbers = np.full(len(drawn), release.number, dtype=np.int32)
        members = release.members
        parts.append(Claims(members.subjects[drawn], members.values[drawn], numbers, np.full(len(drawn), confidence)))
    return join_claims(parts)


def join_claims(parts: list[Claims]) -> Claims:
    """All claims together."""
    if not parts:
        return Claims.none()
    return Claims(
        np.concatenate([part.subjects for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.releases for part in parts]),
        np.concatenate([part.confidences for part in parts]),
    )


RISEN = 3.0
"""How many times the odds must have grown since a person's first class for the series to be to blame."""


class FirstBeliefs:
    """What was believed of everybody after the first class they were in."""

    def __init__(self) -> None:
        self._subjects, self._odds = NO_NUMBERS, np.empty(0, dtype=np.float64)

    def find_risen(self, learned: Learned) -> Bool:
        """bool[people]: whose odds have risen since; those who are new are remembered. O(people log people)."""
        odds = learned.belief / np.maximum(1.0 - learned.belief, 1e-12)
        at, known = lookup(self._subjects, learned.subjects)
        risen = known.copy()
        risen[known] = odds[known] >= RISEN * self._odds[at[known]]
        both = np.concatenate([self._subjects, learned.subjects[~known]])
        order = np.argsort(both, kind="stable")
        self._subjects, self._odds = both[order], np.concatenate([self._odds, odds[~known]])[order]
        return risen
