"""What is done to a series between releases: new values for its hierarchies, and caches proved right or mended."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from reissue.coding import Coding
from reissue.errors import SchemaError
from reissue.hierarchy import Hierarchy
from reissue.history.past_releases import PastReleases, compare_caches, rebuild_caches
from reissue.ledger import Damage, Ledger, part_name
from reissue.methods.strategy import Strategy
from reissue.model.release import Table


def read_assignments(assignments: Sequence[str]) -> list[tuple[str, str, Hierarchy]]:
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


def mend_caches(ledger: Ledger, strategy: Strategy, coding: Coding) -> list[Damage]:
    """Rebuild every cache from the facts, and put it in the place of one that differs. Needs the publisher's lock."""
    wrong: list[str] = []
    right: dict[str, Table] = {}
    for fragment in ledger.shelf.fragments:
        own = rebuild_caches(strategy, PastReleases(ledger.shelf, coding, fragment))
        wrong += compare_caches(own, ledger.caches(fragment))
        right |= {part_name(name, fragment): table for name, table in own.items()}
    if wrong:
        ledger.replace_caches(right)
    reason, remedy = "it did not follow from the facts.", "It has been rebuilt; nothing is left to do."
    return [Damage(file=f"cache {name}", reason=reason, remedy=remedy) for name in wrong]
