"""What everybody's place is: a class for life, the value it was entered with, the token that was dealt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np

from reissue.arrays.sets import lookup
from reissue.arrays.types import Bool, Int32, Int64
from reissue.model.release import Coded, Facts, Table
from reissue.model.standing_classes import StandingClasses, Tokens

PEOPLE = "standing/people"
TOKENS = "standing/tokens"
STATE = "standing/state"


@dataclass(frozen=True, eq=False)
class Places:
    """The last place of everybody who ever had one.

    subject: int64[people] ascending; standing, value, dealt: int32[people]
    tokens:  of every class there ever was; draw: int32[] what is drawn already for those who wait
    noise:   int64[values] all noise of the totals so far
    """

    subject: Int64
    standing: Int32
    value: Int32
    dealt: Int32
    tokens: Tokens
    draw: Int32
    noise: Int64

    @property
    def next_class(self) -> int:
        """A number that no class has had."""
        return int(self.tokens.standing[-1]) + 1 if len(self.tokens) else 0

    def find(self, snapshot: Coded) -> tuple[Int32, Int32]:
        """(int32[rows] class, -1 for newcomers; int32[rows] dealt token). A changed value makes a newcomer."""
        at, known = lookup(self.subject, snapshot.subjects)
        standing, dealt = (np.full(len(snapshot), -1, dtype=np.int32) for _ in range(2))
        if known.any():
            stays: Bool = known & (self.value[at] == snapshot.values)
            standing[stays], dealt[stays] = self.standing[at[stays]], self.dealt[at[stays]]
        return standing, dealt


def recall(caches: Mapping[str, Table]) -> Places:
    """The places that `remember` kept."""
    none: Table = {name: np.empty(0, dtype=np.int32) for name in ("standing", "value", "dealt", "draw")}
    none = {**none, "subject": np.empty(0, dtype=np.int64), "noise": np.empty(0, dtype=np.int64)}
    people, state = caches.get(PEOPLE, none), caches.get(STATE, none)
    return Places(
        subject=cast("Int64", people["subject"]),
        standing=cast("Int32", people["standing"]),
        value=cast("Int32", people["value"]),
        dealt=cast("Int32", people["dealt"]),
        tokens=Tokens.read(caches[TOKENS]) if TOKENS in caches else Tokens.none(),
        draw=cast("Int32", state["draw"]),
        noise=cast("Int64", state["noise"]),
    )


def remember(caches: Mapping[str, Table], release: Facts) -> Mapping[str, Table]:
    """Everybody's last place and every class's tokens after the release. O(people ever)."""
    facts = StandingClasses.read(release.extras)
    if facts is None:  # made by another strategy: nobody got a place
        return caches
    before, real = recall(caches), release.real
    subject = release.subjects[real]
    now = {"standing": facts.standing[real], "value": release.values[real], "dealt": facts.dealt[real]}
    left = ~lookup(subject, before.subject)[1]
    both = np.concatenate([before.subject[left], subject])
    order = np.argsort(both, kind="stable")
    people: dict[str, np.ndarray] = {"subject": both[order]}
    for name, column in now.items():
        people[name] = np.concatenate([getattr(before, name)[left], column])[order]
    tokens = before.tokens.followed_by(facts.tokens.part(facts.tokens.standing >= before.next_class))
    state: Table = {"draw": facts.draw, "noise": before.noise if facts.noise is None else facts.noise}
    return {**caches, PEOPLE: people, TOKENS: tokens.table(), STATE: state}
