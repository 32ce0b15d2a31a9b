"""What attackers are taken to see of standing classes: cohorts and tokens; no fault is hidden by that."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from reissue.methods.learning.attack import Learning
from reissue.methods.registry import make_attack
from reissue.methods.standing.strategy import Standing
from reissue.model.observed import Observed
from reissue.model.release import Facts
from reissue.model.standing_classes import Tokens
from reissue.model.standing_view import EPISODE, EpisodeWords, observe_classes
from tests.support.standing_series import DOMAINS, VALUES, Publisher, Town, standing_of
from tests.support.words import PlainWords


def series(seed: int = 1) -> list[Facts]:
    """People leave, return, move and change their values; most stay."""
    town, publisher = Town(np.random.default_rng(seed)), Publisher(Standing(), seed=seed)
    town.arrive(200)
    for _ in range(4):
        publisher.publish(town.snapshot())
        town.leave(0.1)
        town.come_back(0.3)
        town.change(0.03)
        town.arrive(30)
    return publisher.releases


def observed(releases: list[Facts]) -> Observed:
    seen = list(observe_classes(releases, DOMAINS))
    return Observed(seen, DOMAINS, VALUES, EpisodeWords(PlainWords()), standing=True)


def test_a_class_is_shown_with_everybody_it_was_formed_of_and_all_its_tokens() -> None:
    releases = series()
    formed: dict[int, set[tuple[int, int]]] = {}  # class -> people and values
    for facts, release in zip(releases, observe_classes(releases, DOMAINS), strict=True):
        kept = standing_of(facts)
        for standing in np.unique(kept.standing).tolist():
            rows = kept.standing == standing
            here = set(zip(facts.subjects[rows].tolist(), facts.values[rows].tolist(), strict=True))
            formed.setdefault(standing, here)
        live = np.unique(kept.tokens.standing).tolist()
        members = release.members
        assert members is not None
        for number, standing in enumerate(live):
            inside = members.classes == number
            people = set(
                zip((members.subjects[inside] % EPISODE).tolist(), members.values[inside].tolist(), strict=True)
            )
            assert people == formed[standing]
            tokens = Counter(release.values[release.classes == number].tolist())
            assert tokens >= Counter(value for _, value in people)
        assert len(set(members.subjects.tolist())) == len(members.subjects)


def test_a_class_repeats_itself_for_life() -> None:
    seen = list(observe_classes(series(), DOMAINS))
    assert not seen[0].repeated.any()  # type: ignore[union-attr]
    for facts, release in zip(series(), seen, strict=True):
        assert release.repeated is not None
        live = np.unique(standing_of(facts).tokens.standing)
        new = {int(one) for one in live[~release.repeated]}
        assert all(one > max([-1, *(int(s) for s in live[release.repeated])]) for one in new)


def regrouped(releases: list[Facts]) -> list[Facts]:
    """The same people, but in every release the classes are new ones: neighbours by number, eight at a time."""
    wrong = []
    for number, facts in enumerate(releases):
        order = np.random.default_rng(number).permutation(len(facts.subjects))
        standing = np.empty(len(order), dtype=np.int32)
        standing[order] = 10_000 * number + np.arange(len(order)) // 8
        tokens = Tokens.of(standing, facts.values, np.zeros(len(order), dtype=np.bool_))
        wrong.append(replace(facts, extras=replace(standing_of(facts), standing=standing, tokens=tokens).table()))
    return wrong


@pytest.mark.parametrize("attack", ["intersection", "possible-worlds", "background-knowledge"])
def test_people_who_are_regrouped_are_exposed(attack: str) -> None:
    """The view knows people by their values, not by their classes: it would hide nothing of a broken promise."""
    right, wrong = observed(series()), observed(regrouped(series()))
    settings = {"c": 0.4} if attack != "background-knowledge" else {}
    assert not make_attack(attack, settings).run(right).breaches
    assert make_attack(attack, settings).run(wrong).breaches


def test_an_attacker_who_learns_gets_from_the_series_what_one_release_gives() -> None:
    right, wrong = (Learning(c=0.4).run(observed(each)) for each in (series(), regrouped(series())))
    assert not right.breaches
    assert right.measures["belief"] == pytest.approx(right.measures["belief_of_one_release"], abs=0.01)
    assert wrong.measures["belief"] > right.measures["belief"] + 0.1


def test_words_call_a_person_the_same_in_every_place() -> None:
    words = EpisodeWords(PlainWords())
    assert words.subject(7) == words.subject(7 + 3 * EPISODE)
    assert words.value(1) == PlainWords().value(1)
    assert words.release(2) == PlainWords().release(2)
