"""Whether any release can meet a requirement, and if not, why and what is the nearest that can.

Every condition survives merging classes, so some partition meets the requirement exactly when the whole table, taken as
one class, does.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, exp, floor

import numpy as np

from reissue.arrays.types import Int64
from reissue.errors import InfeasiblePolicy
from reissue.model.requirement import Requirement, distribution
from reissue.model.requirement_check import violations
from reissue.model.settings import as_fraction


def refuse_infeasible(requirement: Requirement, counts: Int64, rows: str = "rows", table: Int64 | None = None) -> None:
    """Raise InfeasiblePolicy unless the rows with these value counts, taken as one class, meet the requirement.

    counts: int64[value_count]; rows: what the rows are called in the message ("new rows"). Values appear in the
    message as {value:CODE}. table: int64[value_count] of the whole table, if the rows are a fragment of it; otherwise
    t and beta need no check, since the whole table is at distance 0 from itself.
    """
    total = int(counts.sum())
    if total < requirement.k:
        remedy = f"Lower k to {total} or wait for more rows." if total else "Wait for rows."
        raise InfeasiblePolicy(f"k = {requirement.k} cannot hold: there are only {total:,} {rows}. {remedy}")
    top = int(counts.argmax())
    most, left = int(counts[top]), total - requirement.known
    if as_fraction(requirement.c) * left < most:
        known = f" once {requirement.known} others are known" if requirement.known else ""
        remedy = (
            f"The smallest feasible c is {_round_up(most / left)}; raise c or group values."
            if most <= left
            else ("No c is feasible; lower known or group values.")
        )
        raise InfeasiblePolicy(
            f"c = {requirement.c:.4g} cannot hold: {{value:{top}}} is {100 * min(1.0, most / left):.1f}% of the "
            f"{total:,} {rows}{known} ({most:,} of them). {remedy}"
        )
    if requirement.l is not None:
        _refuse_undiverse(requirement, counts, rows)
    if table is not None and requirement.needs_table:
        _refuse_unlike(requirement, counts, rows, table)


def _refuse_unlike(requirement: Requirement, counts: Int64, rows: str, table: Int64) -> None:
    values = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    one_class = np.zeros(len(values), dtype=np.int32)
    close = replace(requirement, k=1, c=1.0, l=None, diversity="distinct", recursive_c=None)
    for broken in violations(close, one_class, values, len(counts), distribution(table)):
        which = "" if broken.value is None else f" for {{value:{broken.value}}}"
        raise InfeasiblePolicy(
            f"{broken.condition} = {broken.limit:.4g} cannot hold{which}: the {len(values):,} {rows}, taken as one "
            f"class, have {_round_up(broken.measured):g} against the whole table. Raise {broken.condition} to that, or "
            "group values."
        )


def _refuse_undiverse(requirement: Requirement, counts: Int64, rows: str) -> None:
    total, some = int(counts.sum()), np.sort(counts[counts > 0])[::-1]
    asked = requirement.l or 1.0
    if requirement.diversity == "entropy":
        share = some / total
        effective = exp(float(-(share * np.log(share)).sum()))
        if effective < asked * (1 - 1e-9):
            raise InfeasiblePolicy(
                f"entropy l = {asked:g} cannot hold: the {total:,} {rows} are as diverse as {effective:.2f} equally "
                f"frequent values. The largest feasible l is {floor(effective * 100) / 100:g}."
            )
        return
    if len(some) < asked:
        raise InfeasiblePolicy(
            f"l = {asked:g} cannot hold: the {total:,} {rows} have only {len(some)} different values. "
            f"The largest feasible l is {len(some)}."
        )
    if requirement.recursive_c is not None:
        most, tail = int(some[0]), int(some[int(asked) - 1 :].sum())
        if as_fraction(requirement.recursive_c) * tail <= most:
            raise InfeasiblePolicy(
                f"recursive_c = {requirement.recursive_c:g} with l = {asked:g} cannot hold: "
                f"{{value:{counts.argmax()}}} has {most:,} of the {total:,} {rows}, and the values "
                f"from the {asked:g}th most frequent on have {tail:,}. "
                f"recursive_c must be above {most / tail:.4g}; raise it or lower l."
            )


def _round_up(share: float) -> float:
    """Rounded up to four digits, so that the advice itself is feasible."""
    return ceil(share * 10_000 - 1e-9) / 10_000
