"""What changed between the last word published about each subject and the new snapshot, and whether it may."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from reissue.coding import Coding
from reissue.core.ascending import find
from reissue.core.domain import Bool, Int32, Int64
from reissue.core.snapshot import Facts, Table
from reissue.errors import ChangeError
from reissue.series.past import absent_codes
from reissue.strategies.base import Strategy

SHOWN = 5


@dataclass(frozen=True, eq=False)
class Compared:
    """The snapshot against the last word on each subject.

    numbers: int64[rows] the subject of each row, -1 for one never published
    back:    bool[rows] published before, but not in the last release
    moved:   bool[rows, attributes] quasi-identifiers that differ; updated: bool[rows] value that differs
    old_codes, old_values: the last word, where there is one
    gone:    int64[] subjects of the last release that the snapshot lacks
    """

    numbers: Int64
    back: Bool
    moved: Bool
    updated: Bool
    old_codes: Int32
    old_values: Int32
    gone: Int64


def compare(numbers: Int64, codes: Int32, values: Int32, last: Facts | None, absent: Table | None) -> Compared:
    """Look every row's subject up in the last release, then among the absent. O(n log n)."""
    rows, attributes = codes.shape
    if last is None:
        nothing = np.zeros(rows, dtype=np.bool_)
        unmoved = np.zeros((rows, attributes), dtype=np.bool_)
        gone = np.empty(0, dtype=np.int64)
        return Compared(np.full(rows, -1, dtype=np.int64), nothing, unmoved, nothing, codes, values, gone)
    found = np.zeros(rows, dtype=np.bool_)
    back = np.zeros(rows, dtype=np.bool_)
    old_codes, old_values = codes.copy(order="F"), values.copy()
    real = slice(int(np.searchsorted(last.subjects, 0)), None)  # counterfeits come first
    subjects = last.subjects[real]
    here, where = find(subjects, numbers)
    found |= here
    old_values[here] = last.values[real][where]
    for a in range(attributes):  # gathering rows of a Fortran array is slow
        old_codes[here, a] = last.codes[real, a][where]
    stayed = np.zeros(len(subjects), dtype=np.bool_)
    stayed[where] = True
    gone = subjects[~stayed]
    if absent is not None:
        back, where = find(absent["subject"], numbers)  # type: ignore[arg-type]
        back &= ~found
        found |= back
        old_codes[back] = absent_codes(absent, attributes)[where]
        old_values[back] = absent["value"][where]
    return Compared(
        numbers=np.where(found, numbers, -1),
        back=back,
        moved=old_codes != codes,
        updated=old_values != values,
        old_codes=old_codes,
        old_values=old_values,
        gone=gone,
    )


def permit(
    strategy: Strategy,
    compared: Compared,
    codes: Int32,
    values: Int32,
    coding: Coding,
    name_row: Callable[[int], str],
    name_subject: Callable[[int], str],
    on_change: str,
) -> tuple[Compared, str | None]:
    """Refuse what the strategy cannot protect, or make it new subjects where the user asked for that.

    Returns the comparison to go on with and, if rows became new subjects, a sentence for `release.steps`.
    """
    may = strategy.supports
    wrong_moved: Bool = np.asarray(compared.moved.any(axis=1) & (not may.quasi_identifiers))
    wrong_updated = compared.updated & (not may.sensitive)
    step = None
    if on_change == "new-subject" and may.gone and (wrong_moved.any() or wrong_updated.any()):
        renewed = wrong_moved | wrong_updated
        step = (
            f"{renewed.sum():,} rows changed in ways that {strategy.name} cannot protect; each counts as a new subject "
            'and its old one as gone (on_change = "new-subject").'
        )
        still_there = ~compared.back & renewed
        compared = replace(
            compared,
            numbers=np.where(renewed, -1, compared.numbers),
            back=compared.back & ~renewed,
            moved=compared.moved & ~renewed[:, None],
            updated=compared.updated & ~renewed,
            gone=np.sort(np.concatenate([compared.gone, compared.numbers[still_there]])),
        )
        wrong_moved = wrong_moved & ~renewed
        wrong_updated = wrong_updated & ~renewed
    problems = []
    if len(compared.gone) and not may.gone:
        problems.append(_gone_problem(compared, name_subject))
    if compared.back.any() and not may.back:
        problems.append(_back_problem(compared, name_row))
    if wrong_moved.any():
        problems.append(_moved_problem(compared, wrong_moved, codes, coding, name_row))
    if wrong_updated.any():
        problems.append(_updated_problem(compared, wrong_updated, values, coding, name_row))
    if problems:
        raise ChangeError(
            f"The snapshot changed in ways that the strategy '{strategy.name}' cannot protect; nothing was published.\n"
            + "\n".join(problems)
        )
    return compared, step


def _people(count: int, names: list[str]) -> str:
    more = f" and {count - len(names):,} more" if count > len(names) else ""
    return ", ".join(names) + more


def _gone_problem(compared: Compared, name_subject: Callable[[int], str]) -> str:
    gone = compared.gone
    names = _people(len(gone), [name_subject(int(number)) for number in gone[:SHOWN]])
    return (
        f"- {len(gone):,} subjects of the last release are not in the snapshot: {names}. Remedies: keep everyone who "
        "was ever published in the snapshot; or use a strategy for tables that people leave (m-invariance, "
        "e-equivalence, cor-split)."
    )


def _back_problem(compared: Compared, name_row: Callable[[int], str]) -> str:
    rows = np.flatnonzero(compared.back)
    names = _people(len(rows), [name_row(int(row)) for row in rows[:SHOWN]])
    return (
        f"- {len(rows):,} subjects return after an absence: {names}. Remedies: use a strategy for tables that people "
        "leave and rejoin (m-invariance, e-equivalence, cor-split)."
    )


def _moved_problem(
    compared: Compared, wrong: Bool, codes: Int32, coding: Coding, name_row: Callable[[int], str]
) -> str:
    rows = np.flatnonzero(wrong)
    columns = [coding.domains[a].name for a in np.flatnonzero(compared.moved[rows].any(axis=0))]
    shown = []
    for row in rows[:SHOWN]:
        a = int(np.flatnonzero(compared.moved[row])[0])
        old, new = (_label(coding, a, int(code)) for code in (compared.old_codes[row, a], codes[row, a]))
        shown.append(f"{name_row(int(row))} ({coding.domains[a].name} {old} -> {new})")
    return (
        f"- {len(rows):,} subjects changed in the quasi-identifiers {', '.join(columns)}: {_people(len(rows), shown)}. "
        "Remedies: publish a quasi-identifier that does not change (birth year instead of age); an identifier per "
        'episode instead of per person; on_change = "new-subject" where the strategy allows subjects to leave; or a '
        "strategy that protects such changes (m-invariance, e-equivalence, cor-split, bay-frame, js-reduce)."
    )


def _updated_problem(
    compared: Compared, wrong: Bool, values: Int32, coding: Coding, name_row: Callable[[int], str]
) -> str:
    rows = np.flatnonzero(wrong)
    shown = [
        f"{name_row(int(row))} ({coding.values[compared.old_values[row]]} -> {coding.values[values[row]]})"
        for row in rows[:SHOWN]
    ]
    sensitive = ", ".join(coding.schema.sensitive)
    return (
        f"- {len(rows):,} subjects changed in the sensitive column {sensitive}: {_people(len(rows), shown)}. Remedies: "
        'an identifier per episode instead of per person; on_change = "new-subject" where the strategy allows '
        "subjects to leave; or a strategy that protects changed values (bay-frame, js-reduce)."
    )


def _label(coding: Coding, attribute: int, code: int) -> str:
    one = np.array([code], dtype=np.int32)
    return str(coding.labels(attribute, one, one)[0])
