"""Standing classes that begin in a series with other releases: whether what is out already leaves the promise whole."""

from __future__ import annotations

from collections.abc import Sequence

from reissue.errors import InfeasiblePolicy
from reissue.ledger import ReleaseRecord
from reissue.methods.registry import ADOPTED, attack_from, strategy_class
from reissue.methods.strategy import Strategy
from reissue.model.observed import Observed, Words
from reissue.model.release import Coded, Facts, History
from reissue.model.standing_view import EpisodeWords, observe_classes

LOOKED_AT = ("intersection", "difference")
"""Attacks that lay a person's classes side by side; measured against c, whatever the number of people left."""


def check_joint_series(
    strategy: Strategy,
    records: Sequence[ReleaseRecord],
    facts: Facts,
    history: History,
    snapshot: Coded,
    words: Words,
) -> list[str]:
    """Attack the whole series, if it has releases without standing classes; raises InfeasiblePolicy where c is lost.

    records: of the earlier releases, which are read only if some of them are of another kind.
    """
    others = [one for one in records if one.strategy == ADOPTED or not strategy_class(one.strategy).stands]
    if not strategy.stands or not others:
        return []
    past = [history.releases[position] for position in range(len(history))]
    releases = [*observe_classes([*past, facts], snapshot.domains)]
    observed = Observed(releases, snapshot.domains, snapshot.value_count, EpisodeWords(words), history.first_new)
    c = strategy.thresholds()["c"]
    for name in LOOKED_AT:
        outcome = attack_from(name, {"c": c, "k": 1.0}).run(observed, involving=facts.number)
        if outcome.breaches:
            people = max((len(ids) for ids in outcome.at_risk.values()), default=0)
            raise InfeasiblePolicy(
                f"Earlier releases of this series were not made by '{strategy.name}', and beside them c = {c:g} is "
                f"lost for good: the {name} attack succeeds against {people:,} people. "
                f"{outcome.breaches[0].sentence} Raise c, or begin a new series with people who were not published "
                "before."
            )
    return list(LOOKED_AT)
