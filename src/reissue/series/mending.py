"""Proves the caches of a ledger right, and mends those that are not."""

from __future__ import annotations

from reissue.coding import Coding
from reissue.history.past_releases import PastReleases, compare_caches, rebuild_caches
from reissue.ledger import Damage, Ledger, part_name
from reissue.methods.strategy import Strategy
from reissue.model.release import Table


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
