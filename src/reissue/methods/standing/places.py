"""What everybody's place is: a class for life, the value it was entered with, the token that was dealt.

Who is in the last release has the place that it says. The places and tokens of all others are kept in segments, each
of those who entered a class in some releases; they are read only if somebody is back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np

from reissue.arrays.sets import lookup
from reissue.arrays.types import Int32, Int64
from reissue.model.release import (
    Coded,
    Facts,
    History,
    Table,
    add_segment,
    find_newest,
    join_by_subject,
    join_rows,
    read_segments,
)
from reissue.model.standing_classes import StandingClasses, Tokens

PEOPLE = "standing/people"
TOKENS = "standing/tokens"
STATE = "standing/state"


@dataclass(frozen=True, eq=False)
class Places:
    """The last place of everybody who ever had one.

    last:       the release before, if it has standing classes; caches: those of the places of all others
    first_new:  subjects from this number on have no place
    next_class: a number that no class has had; draw: int32[] what is drawn already for those who wait
    noise:      int64[values] all noise of the totals so far
    """

    last: Facts | None
    caches: Mapping[str, Table]
    first_new: int | None
    next_class: int
    draw: Int32
    noise: Int64

    def find(self, snapshot: Coded) -> tuple[Int32, Int32]:
        """(int32[rows] class, -1 for newcomers; int32[rows] dealt token). A changed value makes a newcomer."""
        standing, dealt = (np.full(len(snapshot), -1, dtype=np.int32) for _ in range(2))
        back = snapshot.subjects >= 0
        if self.last is not None and self.last.standing is not None and len(self.last.subjects):
            at, here = lookup(self.last.subjects, snapshot.subjects)
            stays = here & (self.last.values[at] == snapshot.values)
            standing[stays], dealt[stays] = (
                column[at[stays]] for column in (self.last.standing.standing, self.last.standing.dealt)
            )
            back &= ~here
        if self.first_new is not None:
            back &= snapshot.subjects < self.first_new
        rows = np.flatnonzero(back)
        known, then = find_newest(
            read_segments(self.caches, PEOPLE), snapshot.subjects[rows], ("standing", "value", "dealt")
        )
        same = known & (then["value"] == snapshot.values[rows])
        standing[rows[same]], dealt[rows[same]] = then["standing"][same], then["dealt"][same]
        return standing, dealt

    def tokens_of(self, classes: Int32) -> Tokens:
        """Those of classes that were formed before. classes: int32[] ascending."""
        wanted = np.zeros(self.next_class, dtype=np.bool_)
        wanted[classes] = True
        found = Tokens.none()
        if self.last is not None and self.last.standing is not None:
            told = self.last.standing.tokens
            found = told.part(wanted[told.standing])
            wanted[told.standing] = False
        if not wanted.any():
            return found
        for table in read_segments(self.caches, TOKENS):
            tokens = Tokens.read(table)
            found = found.followed_by(tokens.part(wanted[tokens.standing]))
        return found.part(np.argsort(found.standing, kind="stable").astype(np.int64))


def recall(history: History) -> Places:
    """The places after the last release."""
    last = history.releases[-1] if len(history) and STATE in history.caches else None
    state = _read_state(history.caches)
    return Places(
        last=last,
        caches=history.caches,
        first_new=history.first_new,
        next_class=_next_class(history.caches),
        draw=cast("Int32", state["draw"]),
        noise=cast("Int64", state["noise"]),
    )


def remember(caches: Mapping[str, Table], release: Facts) -> Mapping[str, Table]:
    """The places of those who entered a class in the release, and the tokens of the classes. O(rows)."""
    facts = StandingClasses.read(release.extras)
    if facts is None:  # made by another strategy: nobody got a place
        return caches
    first, noise = _next_class(caches), facts.noise
    entered = release.real & (facts.standing >= first)
    people: Table = {
        "subject": release.subjects[entered],
        "standing": facts.standing[entered],
        "value": release.values[entered],
        "dealt": facts.dealt[entered],
    }
    fresh = facts.tokens.part(facts.tokens.standing >= first)
    following = max(first, int(facts.tokens.standing.max(initial=-1)) + 1)
    kept = _read_state(caches)["noise"] if noise is None else noise
    state: Table = {"draw": facts.draw, "noise": kept, "next": np.array([following])}
    caches = add_segment(caches, PEOPLE, people, join_by_subject)
    return {**add_segment(caches, TOKENS, fresh.table(), join_rows), STATE: state}


def _read_state(caches: Mapping[str, Table]) -> Table:
    none: Table = {"draw": np.empty(0, dtype=np.int32), "noise": np.empty(0, dtype=np.int64)}
    return caches.get(STATE, none)


def _next_class(caches: Mapping[str, Table]) -> int:
    """A number that no class has had. An earlier version did not keep it."""
    state = _read_state(caches)
    if "next" in state:
        return int(state["next"][0])
    return 1 + max((int(table["standing"].max(initial=-1)) for table in read_segments(caches, TOKENS)), default=-1)
