"""What the reader of an audit must know beside the outcomes of attacks."""

from __future__ import annotations

from pathlib import Path

from reissue.audit.row_linkage import find_public_table
from reissue.ledger import Ledger, count_erased
from reissue.ledger.records import Layout
from reissue.methods.registry import find_strategy
from reissue.methods.wording import list_names
from reissue.schema import Schema


def find_folders(ledger: Ledger) -> list[Path]:
    """Where the releases were published, in order."""
    return [Layout(ledger.path).release(one.number) for one in ledger.releases]


def note_missing_files(ledger: Ledger, schema: Schema) -> list[str]:
    """What is not known because public files are gone: the ledger keeps no insensitive columns."""
    places = zip(ledger.releases, find_folders(ledger), strict=True) if schema.insensitive else ()
    gone = [str(one.number) for one, folder in places if find_public_table(folder) is None]
    if not gone:
        return []
    many = f"releases {', '.join(gone)}" if len(gone) > 1 else f"release {gone[0]}"
    return [
        f"The published files of {many} are missing, so that no row could be traced by its insensitive columns "
        "there. Restore them from a backup of the series."
    ]


def note_erased(ledger: Ledger) -> list[str]:
    """Whom the ledger would not know again: for them alone a promise for life may be broken unseen."""
    erased = count_erased(ledger.shelf)
    if not erased:
        return []
    people = "1 person was erased" if erased == 1 else f"{erased:,} people were erased"
    return [
        f"{people}: neither identifier nor mark is left. Whoever of them came back since, or does, counts as somebody "
        "new, and what is found here about people who stay under one number does not cover both of theirs."
    ]


def name_with_remedy(attack: str) -> str:
    """The attack, with the strategies that promise to stop it."""
    from reissue.methods.registry import STRATEGIES

    kinds = {name: find_strategy(name) for name in STRATEGIES}
    made_for = [name for name, kind in kinds.items() if attack in kind.stops]
    return f"{attack} ({list_names(made_for)} {'does' if len(made_for) == 1 else 'do'})" if made_for else attack
