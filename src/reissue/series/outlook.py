"""What one more release would add to releases that are out: tried on the last table again, before anybody relies on it.

Nothing that is published later lowers what is out. A strategy is worth recommending only if it adds nobody, or fewer
people than the policy would.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reissue.audit import Audit, audit_series
from reissue.audit.attacks import resolve_request
from reissue.errors import ReissueError
from reissue.methods.attack import count_people
from reissue.methods.registry import find_strategy
from reissue.methods.strategy import Strategy
from reissue.model.standing_view import EPISODE
from reissue.publish.embedded import Embedded
from reissue.publish.gates import NAMES
from reissue.series.release import Attempt, begin_reading
from reissue.series.series import Series

if TYPE_CHECKING:
    from reissue.engine.read import Source

RECOMMENDED = "standing"
FRESH_START = (
    "A fresh start needs other people, none of whom is in these releases; or a pause until the values that are out "
    "are true of nobody any more. The same people under other names would be found again by what is out."
)


@dataclass(frozen=True)
class Outlook:
    """What the last table, published once more with a strategy, would come to.

    newly_exposed: people whom an attack then puts at risk and did not before; None where it is refused
    refusal: why the strategy does not publish it
    """

    strategy: str
    newly_exposed: int | None
    refusal: str | None = None

    def describe(self) -> str:
        if self.refusal is not None:
            return f"{self.strategy} refuses it: {self.refusal}"
        if not self.newly_exposed:
            return f"{self.strategy} would put nobody else at risk."
        return f"{self.strategy} would put {count_people(self.newly_exposed).replace(' ', ' more ', 1)} at risk."


def look_ahead(series: Series, snapshot: Source, before: Audit, say: Callable[[str], None]) -> list[Outlook]:
    """The policy and the recommended strategy on the last table again, in memory, against the policy's limits.

    O(one publish and one audit for each)
    """
    policy = series.strategy
    others = [] if policy.name == RECOMMENDED else [find_strategy(RECOMMENDED)()]
    return [_try_strategy(series, snapshot, before, strategy, say) for strategy in (policy, *others)]


def _try_strategy(
    series: Series, snapshot: Source, before: Audit, strategy: Strategy, say: Callable[[str], None]
) -> Outlook:
    ledger, limits = series._ledger, series.strategy.thresholds()
    chosen, settings = resolve_request(dict(limits), None, {})
    executor = Embedded(ledger, begin_reading(snapshot, series.schema))
    try:
        attempt = Attempt(allow=NAMES, progress=say).prepare(ledger, series.coding, strategy, snapshot, executor)
        draft = attempt.draft(snapshot)
        after = audit_series(
            ledger, draft.job.coding, strategy, {"name": "embedded"}, attacks=chosen, names=False, progress=say,
            unseen=executor.show_unseen(draft.record), **settings,  # type: ignore[arg-type]
        )  # fmt: skip
    except ReissueError as error:
        return Outlook(strategy.name, None, _shorten(str(error)))
    people = np.unique(after.at_risk % EPISODE)  # who had several values counts once
    return Outlook(strategy.name, len(np.setdiff1d(people, before.at_risk % EPISODE)))


def _shorten(refusal: str) -> str:
    """Its first sentence, without the person it names as an example."""
    return re.split(r", for example |(?<=\.) |\n", refusal, maxsplit=1)[0].rstrip(".") + "."


def advise(outlooks: Sequence[Outlook], before: Audit) -> list[str]:
    """What is out, what one more release would add, and what to do: in sentences, nothing softened."""
    if not outlooks:
        return []
    people, exposed = before.subjects or 0, len(before.at_risk)
    words = [
        f"{exposed:,} of {people:,} people {'is' if exposed == 1 else 'are'} at risk from what is out. "
        "Nothing can undo that. One more release, tried with the last table:",
        *(f"- {one.describe()}" for one in outlooks),
    ]
    return [*words, recommend(outlooks)]


def recommend(outlooks: Sequence[Outlook]) -> str:
    """What adds nobody, or at least fewer people than the policy, which is the first; else that nothing helps."""
    policy = outlooks[0].strategy
    added = {one.strategy: one.newly_exposed for one in outlooks if one.newly_exposed is not None}
    best = min(added, key=lambda name: (added[name], name != policy), default=None)
    if best is None or (added[best] and (best == policy or added[best] >= added.get(policy, 0) > 0)):
        return f"Nothing that was tried helps: stop publishing about these people. {FRESH_START}"
    change = "" if best == policy else f" (`reissue publish --strategy {best}`)"
    if added[best] == 0:
        return f"Use {best}{change}: it added nobody. Preview each release before you publish it."
    fewer = f"fewer people than {policy}, but not none" if policy in added else count_people(added[best])
    return f"If you must go on, do it with {best}{change}: it would add {fewer}. {FRESH_START}"
