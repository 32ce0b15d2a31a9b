"""Private: who was in which class, with names."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from reissue.coding import Coding
from reissue.ledger import Ledger
from reissue.model.standing_classes import StandingClasses


def membership_table(ledger: Ledger, number: int, coding: Coding) -> pa.Table:
    """Columns subject, number, class, value, counterfeit of one release; subject is null where nobody is named.

    Where classes stand for life, class is that one, beside the box that the row shows and the value dealt to it.
    """
    facts = ledger.facts(number)
    identifiers, known = ledger.identities()
    order = np.argsort(known, kind="stable")
    where = order[np.minimum(np.searchsorted(known[order], facts.subjects), max(len(order) - 1, 0))]
    named = known[where] == facts.subjects if len(known) else np.zeros(len(facts.subjects), dtype=np.bool_)
    subject = (
        pa.array(identifiers).take(pa.array(where, mask=~named)) if len(known) else pa.nulls(len(named), pa.string())
    )
    values = pa.array(coding.values, pa.string()).take(pa.array(facts.values))
    kept = StandingClasses.read(facts.extras)
    columns = {
        "subject": subject,
        "number": facts.subjects,
        "class": facts.classes if kept is None else kept.standing,
        "value": values,
        "counterfeit": ~facts.real,
    }
    if kept is not None:
        columns |= {"box": facts.classes, "dealt": pa.array(coding.values, pa.string()).take(pa.array(kept.dealt))}
    return pa.table(columns)
