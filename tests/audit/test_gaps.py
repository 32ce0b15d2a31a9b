"""Numbers of releases may have gaps, where one was withdrawn: every attack then finds the same, under these numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from reissue.methods.attack import Finding, Outcome
from reissue.methods.registry import ATTACKS, find_attack
from reissue.model.observed import Observed
from tests.support.plain_series import Words, tiny_series

NUMBERS = {1: 1, 2: 3, 3: 6, 4: 7}
"""By place: releases 2, 4 and 5 were withdrawn."""
PLACES = {number: place for place, number in NUMBERS.items()}
SETTINGS: dict[str, dict[str, object]] = {
    "equivalence": {"e": 3, "exact": True},
    "historical-correlation": {"n": 3, "p": 0.3, "h": 0.01, "trials": 2},
    "learning": {"c": 0.2},
}


class GappedWords(Words):
    """Releases are called by their places, so that sentences can be compared."""

    def release(self, number: int) -> str:
        return f"release {PLACES[number]}"


def withdraw_some(series: Observed) -> Observed:
    releases = [replace(one, number=NUMBERS[one.number]) for one in series.releases]
    return replace(series, releases=releases, words=GappedWords())


def state_finding(finding: Finding, number: Callable[[int], int]) -> tuple[object, ...]:
    classes = [(number(release), called) for release, called in finding.classes]
    return (*map(number, finding.releases), finding.sentence, finding.level, finding.subjects, *classes)


def state(outcome: Outcome, number: Callable[[int], int]) -> tuple[object, ...]:
    """All that an attack tells of releases, by the numbers that these have here."""
    at_risk = {number(release): people.tolist() for release, people in outcome.at_risk.items()}
    measures = {
        re.sub(r"(?<=[( _])\d+", lambda found: str(number(int(found[0]))), name): value
        for name, value in outcome.measures.items()
    }
    return outcome.total, [state_finding(one, number) for one in outcome.findings], at_risk, measures


@pytest.mark.parametrize("name", sorted(set(ATTACKS) - {"known-algorithm"}))  # it is judged by learning's code
def test_gaps_in_the_numbers_change_no_finding(name: str) -> None:
    attack = find_attack(name)(**SETTINGS.get(name, {}))
    found = 0
    for seed in range(12):
        series = tiny_series(np.random.default_rng(seed), people=9, grows=bool(seed % 2) or name == "correspondence")
        plain, gapped = attack.run(series), attack.run(withdraw_some(series))
        assert state(gapped, PLACES.__getitem__) == state(plain, int), seed
        found += plain.total
    assert found, "the attack must find something, or nothing is compared"
