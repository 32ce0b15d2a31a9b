"""After a kill: what was committed is revealed, what was not is discarded, what nobody refers to is swept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from reissue.errors import LedgerDamaged, SeriesError
from reissue.ledger.disk import explain_os_errors, make_private_folder, names_in, remove_tree, sync_folder
from reissue.ledger.faults import fault
from reissue.ledger.layout import Layout
from reissue.ledger.records import CatalogueState
from reissue.ledger.store import Store

if TYPE_CHECKING:
    from reissue.ledger.catalogue import Catalogue


def needs_recovery(layout: Layout, catalogue: Catalogue, store: Store, state: CatalogueState) -> bool:
    """Whether a killed run left something, or a publisher is at work right now."""
    leftovers = names_in(layout.staging) or _half_written(layout) or store.orphans(state.files.values())
    return bool(state.waiting or leftovers) or catalogue.needs_settling()


def recover(layout: Layout, catalogue: Catalogue, store: Store) -> CatalogueState:
    """Bring the series to a settled state; only under the lock. Doing it twice changes nothing."""
    catalogue.settle()
    with explain_os_errors("Settling the series"):
        layout.releases.mkdir(exist_ok=True)  # a backup may have dropped empty folders
        for folder in (layout.files, layout.staging):
            make_private_folder(folder)
        for path in _half_written(layout):
            path.unlink(missing_ok=True)
    state = catalogue.load()
    for number in state.waiting:
        reveal(layout, catalogue, number)
    if state.waiting:
        state = catalogue.load()
    with explain_os_errors("Discarding what an interrupted run left"):
        leftovers = names_in(layout.staging)
        for name in leftovers:
            remove_tree(layout.staging / name)
        if leftovers:
            sync_folder(layout.staging)
    store.sweep(state.files.values())
    return state


def _half_written(layout: Layout) -> list[Path]:
    return [layout.private / name for name in names_in(layout.private) if name.endswith(".new")]


FORGOTTEN = (
    "If it was published and private/ comes from an older backup, the ledger has forgotten what it told about whom: "
    "restore the latest private/ before you publish. Only if it was put there by hand, move it away."
)


def refuse_hidden(layout: Layout, number: int) -> None:
    """Refuse, before anything is made, a release that could be committed but not revealed."""
    place = layout.relative(layout.release(number))
    if layout.release(number).exists():
        raise SeriesError(f"{place} exists, but the ledger knows no such release. {FORGOTTEN}")
    with explain_os_errors(f"Looking at {layout.relative(layout.releases)}"):
        same_disk = layout.releases.stat().st_dev == layout.staging.stat().st_dev
    if not same_disk:
        raise SeriesError(
            f"{layout.relative(layout.releases)} is on another disk than the rest of the series, so {place} could not "
            "appear in one step. Keep it inside the series, and copy releases from there."
        )
    if not os.access(layout.releases, os.W_OK):
        raise SeriesError(f"{place} cannot be made: you may not write in {layout.relative(layout.releases)}.")


def reveal(layout: Layout, catalogue: Catalogue, number: int) -> None:
    """Make a committed release visible: one rename, then the mark that it is done."""
    staged, shown = layout.staged_public(number), layout.release(number)
    place = layout.relative(shown)
    if staged.exists():
        if shown.exists() and os.listdir(shown):
            raise LedgerDamaged(
                f"{place} exists already, but the ledger has not put it there. Release {number} is committed and waits "
                f"in {layout.relative(staged)}. Move the folder {place} away and open the series again."
            )
        with explain_os_errors(
            f"Revealing release {number} (it is committed; opening the series again will reveal it)"
        ):
            os.rename(staged, shown)
            fault("commit.renamed")
            sync_folder(layout.releases)
            sync_folder(staged.parent)
        fault("commit.synced-reveal")
    elif not shown.exists():
        raise LedgerDamaged(
            f"{place} is missing: release {number} is committed, but its public files are neither there nor in "
            f"{layout.relative(staged)}. Restore them from a backup of the series."
        )
    with catalogue.writing() as connection:
        catalogue.mark_revealed(connection, number)
    fault("commit.marked")
