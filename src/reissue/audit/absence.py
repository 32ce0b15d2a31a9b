"""What not being in a release reveals: the values of the people who were left out of it, taken together.

It is no attack: nobody but the publisher, or who has the snapshots, knows whose rows are missing and why. But whoever
knows that somebody should be there, and how often each value occurs in all, can do the subtraction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from reissue.audit.description import ReleaseNotes
from reissue.coding import Coding
from reissue.ledger import ReleaseRecord


@dataclass(frozen=True)
class Absence:
    """People who were left out of a release, and the commonest value among them with its share.

    reveals: whether that share is above the limit that classes have
    """

    release: int
    people: int
    value: str
    share: float
    reveals: bool
    sentence: str

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


def read_left_out(record: ReleaseRecord) -> dict[int, int]:
    """By value, the people of the snapshot who are not in the release."""
    kept = record.counts.get("left_out", {})
    assert isinstance(kept, Mapping)
    return {int(code): int(rows) for code, rows in kept.items()}


def find_absences(
    notes: Sequence[ReleaseNotes], called: Sequence[tuple[int, str]], coding: Coding, limit: float
) -> list[Absence]:
    """Of every release that left somebody out, as far as that is known. called: its number, and what people call it."""
    found = []
    for one, (number, name) in zip(notes, called, strict=True):
        if not one.left_out:
            continue
        people = sum(one.left_out.values())
        top = max(one.left_out, key=lambda code: (one.left_out[code], -code))
        share, value = one.left_out[top] / people, coding.values[top]
        who = "1 person was" if people == 1 else f"{people:,} people were"
        sentence = f"{who} left out of {name}: {100 * share:.0f}% of them have {value} (limit: {100 * limit:.0f}%)."
        if share > limit:
            sentence += " Whoever knows who is missing learns that about them. Ask for less, so that they fit a class."
        found.append(Absence(number, people, value, share, share > limit, sentence))
    return found
