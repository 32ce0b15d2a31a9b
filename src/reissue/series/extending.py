"""New values for the hierarchies of a series."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from reissue.coding import Coding
from reissue.errors import SchemaError
from reissue.hierarchy import Hierarchy
from reissue.ledger import Ledger


def assigned(assignments: Sequence[str]) -> list[tuple[str, str, Hierarchy]]:
    """(column, file, its hierarchy) of `COLUMN=FILE` arguments."""
    read = []
    for assignment in assignments:
        column, equals, file = assignment.partition("=")
        if not equals:
            raise SchemaError(f"'{assignment}' is not COLUMN=FILE, for example zip=zip2.csv.")
        read.append((column, file, Hierarchy.from_file(file)))
    return read


def extend(ledger: Ledger, coding: Coding, additions: Sequence[tuple[str, Hierarchy]]) -> list[bool]:
    """Whether each addition held anything new. All are checked before any is kept. Needs the publisher's lock."""
    codings = [coding]
    for column, hierarchy in additions:
        codings.append(codings[-1].extend(column, hierarchy))
    grown = [after is not before for before, after in pairwise(codings)]
    for after, new in zip(codings[1:], grown, strict=True):
        if new:
            ledger.add_coding(after.version, after.to_dict())
    return grown
