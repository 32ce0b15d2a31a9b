"""What follows when some people are compromised: possible values restricted to a fixed point.

Two rules (definitions 2 and 4 of Riboni & Bettini 2009), applied until nothing changes:
  ct-pvr  all c rows with value v of a class are known to be others': nobody else of the class has v.
  hc-pvr  classes Q1 and Q2 of two releases share people. Those only in Q1 have at most as many v as those only in Q2
          who can still have v, plus what Q1 shows more of v than Q2. If that is none, none of them has v.
With equal multisets this is the paper's hc-pvr; the surplus makes it valid for all classes. Somebody whose value was
derived counts as compromised. Both rules only remove values that no world consistent with the releases allows.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reissue.arrays.sets import find_owners, find_starts, lookup
from reissue.arrays.types import NO_CODES, NO_NUMBERS, Bool, Int32, Int64
from reissue.errors import InputError
from reissue.methods.correlation.correlations import follow_rows
from reissue.methods.correlation.inference_kernel import CT, GIVEN, HC, restrict, shown_everywhere
from reissue.model.observed import Names, ObservedRelease
from reissue.model.small_files import MANY, read_small

__all__ = ["CT", "GIVEN", "HC", "Restricted", "World", "build_world", "infer"]


@dataclass(frozen=True, eq=False)
class World:
    """All releases laid side by side. Classes of all releases are numbered through, people by position in subjects.

    subjects:    int64[people] ascending; counterfeits that can be followed count as people (negative numbers)
    truth:       int32[people] the value of each
    number, inside: int32[classes] the release of a class and its number there
    class_start: int64[classes + 1], members: int32[] people of each class
    trail_start: int64[people + 1], trail: int32[] classes of each person, in the order of releases
    value_start: int64[classes + 1], values: int32[] ascending, counts: int32[] the values each class shows
    unknown:     int32[classes] rows of nobody who can be followed
    entry_start: int64[people + 1], entries: int32[] the values that all classes of a person show
    """

    subjects: Int64
    truth: Int32
    number: Int32
    inside: Int32
    class_start: Int64
    members: Int32
    trail_start: Int64
    trail: Int32
    value_start: Int64
    values: Int32
    counts: Int32
    unknown: Int32
    entry_start: Int64
    entries: Int32

    def people(self, subjects: Int64) -> Int64:
        """int64[n]: positions of subjects, which must be there."""
        at, there = lookup(self.subjects, subjects)
        if not there.all():
            raise KeyError(int(subjects[~there][0]))
        return at


def build_world(releases: Sequence[ObservedRelease]) -> World:
    """Lay the releases side by side. O(rows of all releases log rows)."""
    rows = [follow_rows(release) for release in releases]
    offset = find_starts([release.class_count for release in releases])
    subject = np.concatenate([NO_NUMBERS, *(r.subjects for r in rows)])
    cls = np.concatenate([NO_NUMBERS, *(r.classes + offset[i] for i, r in enumerate(rows))])
    value = np.concatenate([NO_CODES, *(r.values for r in rows)])
    subjects, first, person = np.unique(subject, return_index=True, return_inverse=True)
    total = int(offset[-1])
    by_class, by_person = np.argsort(cls, kind="stable"), np.argsort(person, kind="stable")
    class_start = _find_starts(cls[by_class], total)
    values = [_list_values(release) for release in releases]
    sizes = np.concatenate([NO_NUMBERS, *(release.sizes for release in releases)])
    kinds = np.concatenate([NO_NUMBERS, *(v[0] for v in values)])
    value_start = find_starts(kinds)
    shown = np.concatenate([NO_CODES, *(v[1] for v in values)])
    trail_start, trail = _find_starts(person[by_person], len(subjects)), cls[by_person].astype(np.int32)
    keep = shown_everywhere(trail_start, trail, value_start, shown)
    entry_start, entries = keep
    return World(
        subjects,
        value[first],
        np.repeat([r.number for r in releases], np.diff(offset)).astype(np.int32),
        (np.arange(total) - np.repeat(offset[:-1], np.diff(offset))).astype(np.int32),
        class_start,
        person[by_class].astype(np.int32),
        trail_start,
        trail,
        value_start,
        shown,
        np.concatenate([NO_CODES, *(v[2] for v in values)]),
        (sizes - np.diff(class_start)).astype(np.int32),
        entry_start,
        entries,
    )


def _find_starts(sorted_owner: Int64, count: int) -> Int64:
    return np.searchsorted(sorted_owner, np.arange(count + 1)).astype(np.int64)


def _list_values(release: ObservedRelease) -> tuple[Int64, Int32, Int32]:
    """(int64[classes] different values of each class, int32[] the values, int32[] their counts)."""
    classes, values, counts = release.groups
    return np.bincount(classes, minlength=release.class_count), values, counts.astype(np.int32)


@dataclass(frozen=True, eq=False)
class Restricted:
    """What remains possible.

    possible: bool[entries of the world]; left: int32[people] how many values
    rule:     int8[entries] why a value was ruled out: GIVEN (beforehand), CT, HC; 0 where it was not
    first, second: int32[entries] the class where ct-pvr applied; the pair Q1, Q2 of hc-pvr
    at:       int32[entries] in which order they were ruled out
    compromised: int64[] positions of the people it started from
    contradiction: whether somebody is left without any value: the values cannot have persisted
    """

    possible: Bool
    left: Int32
    rule: np.ndarray[tuple[int], np.dtype[np.int8]]
    first: Int32
    second: Int32
    at: Int32
    compromised: Int64
    contradiction: bool


def infer(
    world: World,
    compromised: Int64,
    *,
    prior: PriorSets | None = None,
    rules: int = CT | HC,
    cascade: bool = True,
) -> Restricted:
    """Restrict everybody's values, given that the values of these people (positions) are known.

    prior: what was possible for single people beforehand. rules: which rules apply; cascade=False applies them once, to
    what is known beforehand only. Every value is ruled out at most once. When v is ruled out for somebody, O(L |Q| L)
    per class of that person finds the classes that hold everybody who can still have v.
    """
    known = np.asarray(compromised, dtype=np.int64)
    owner = find_owners(world.entry_start)
    sure = np.zeros(len(world.subjects), dtype=np.bool_)
    sure[known] = True
    wrong = sure[owner] & (world.entries != world.truth[owner])
    if prior is not None:
        wrong |= prior.excludes(world.subjects[owner], world.entries) & ~sure[owner]
    possible, left, rule, first, second, at, contradiction = restrict(
        np.flatnonzero(wrong),
        owner,
        world.class_start,
        world.members,
        world.trail_start,
        world.trail,
        world.value_start,
        world.values,
        world.counts,
        world.unknown,
        world.entry_start,
        world.entries,
        rules,
        cascade,
    )
    return Restricted(possible, left, rule, first, second, at, known, bool(contradiction))


@dataclass(frozen=True, eq=False)
class PriorSets:
    """subjects: int64[n], values: int32[n]: what is possible for whom; unmatched: how many people are unknown."""

    subjects: Int64
    values: Int32
    unmatched: int = 0

    def excludes(self, subjects: Int64, values: Int32) -> Bool:
        """bool[n]: whether a person's set is known and lacks the value."""
        width = 1 + int(max(self.values.max(initial=0), values.max(initial=0)))
        allowed = np.isin(subjects * width + values, self.subjects * width + self.values)
        return np.asarray(np.isin(subjects, self.subjects) & ~allowed, dtype=np.bool_)


def read_prior_sets(path: str, names: Names) -> PriorSets:
    """A CSV with the columns subject and value, a line for each value that is possible for a person."""
    try:
        text = read_small(Path(path), MANY).decode("utf-8-sig")
        lines = list(csv.DictReader(io.StringIO(text, newline="")))
    except (OSError, ValueError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"The file {path} cannot be read: {reason}. Check its path and form.") from error
    for column in ("subject", "value"):
        if lines and column not in lines[0]:
            raise InputError(f"{Path(path).name} has no column '{column}'; it needs subject and value.")
    code = {label: i for i, label in enumerate(names.values)}
    wrong = next((line["value"] for line in lines if line["value"] not in code), None)
    if wrong is not None:
        raise InputError(f"{Path(path).name}: the series knows no value {wrong!r}. Correct the label.")
    subjects = np.asarray(names.numbers([line["subject"] for line in lines]), dtype=np.int64)
    values = np.array([code[line["value"]] for line in lines], dtype=np.int32)
    known = subjects >= 0
    return PriorSets(
        subjects[known], values[known], len({line["subject"] for line in lines}) - len(set(subjects[known]))
    )
