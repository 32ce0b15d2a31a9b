"""The publisher's private memory of a series: transactional, checked by hashes, for its owner only."""

from __future__ import annotations

from reissue.ledger.disk import FAULT_POINTS
from reissue.ledger.events import Event, read_events
from reissue.ledger.forgetting import Marks, Receipt
from reissue.ledger.keys import read_key
from reissue.ledger.ledger import Ledger
from reissue.ledger.records import Damage, Document, PublicFile, ReleaseRecord, find_user
from reissue.ledger.shelf import Shelf, count_erased, part_name
from reissue.ledger.stage import PartWriter, Stage
from reissue.ledger.store import REBUILD

__all__ = [
    "FAULT_POINTS",
    "REBUILD",
    "Damage",
    "Document",
    "Event",
    "Ledger",
    "Marks",
    "PartWriter",
    "PublicFile",
    "Receipt",
    "ReleaseRecord",
    "Shelf",
    "Stage",
    "count_erased",
    "find_user",
    "part_name",
    "read_events",
    "read_key",
]
