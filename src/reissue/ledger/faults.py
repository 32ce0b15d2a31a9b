"""Named points at which a test can have the process killed, to prove that no kill loses or reveals anything."""

from __future__ import annotations

import os
import signal

_CHANGES = ("coding", "caches", "forget")
_CHANGE_STEPS = ("written", "moved", "transaction", "committed", "swept")

FAULT_POINTS: tuple[str, ...] = (
    "create.begun",
    "create.pointer",
    "create.files",
    "create.transaction",
    "create.catalogue",
    "create.config",
    "create.renamed",
    "stage.begun",
    "stage.facts",
    "stage.caches",
    "stage.identities",
    "stage.coding",
    "commit.begun",
    "commit.synced",
    "commit.moving",
    "commit.moved",
    "commit.transaction",
    "commit.committed",
    "commit.renamed",
    "commit.synced-reveal",
    "commit.marked",
    "commit.swept",
    "catalogue.opened",
    "catalogue.sealed",
    *(f"{change}.{step}" for change in _CHANGES for step in _CHANGE_STEPS),
)
"""Every point over the whole sequence, in order: creation, staging, commit, and the changes made alone."""


def fault(name: str) -> None:
    """Do nothing, unless the environment variable REISSUE_FAULT names this point: then die as by `kill -9`."""
    if os.environ.get("REISSUE_FAULT") == name:
        os.kill(os.getpid(), signal.SIGKILL)
