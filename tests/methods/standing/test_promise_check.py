"""A fault planted in any part of a release is found by the check that did not make it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from reissue.methods.standing.strategy import Standing
from reissue.model.release import Facts, History
from reissue.model.standing_classes import StandingClasses, Tokens
from tests.support.standing_series import Publisher, Town, standing_of

Fault = Callable[[Facts, StandingClasses], "Facts | StandingClasses"]


def third_release(strategy: Standing) -> tuple[Facts, History]:
    """The third release of a series with returners, newcomers and changed values, and what was known before it."""
    town, publisher = Town(np.random.default_rng(21)), Publisher(strategy)
    town.arrive(200)
    publisher.publish(town.snapshot())
    away = set(sorted(town.here)[:30])
    town.here -= away
    town.arrive(40)
    publisher.publish(town.snapshot())
    town.here |= away
    town.arrive(60)
    town.change(0.1)
    history = publisher.history
    return publisher.publish(town.snapshot()), history


def with_tokens(kept: StandingClasses, change: Callable[[dict[str, np.ndarray]], None]) -> StandingClasses:
    columns = {name: np.array(column) for name, column in kept.tokens.table().items()}
    change(columns)
    return replace(kept, tokens=Tokens.read(columns))


def newest(kept: StandingClasses) -> np.ndarray:
    """Rows of the class formed last."""
    return np.flatnonzero(kept.standing == kept.standing.max())


def a_box_of_too_few_rows(facts: Facts, kept: StandingClasses) -> Facts:
    classes = facts.classes.copy()
    rows = np.flatnonzero(classes == 0)
    classes[rows[1:]] = 1
    return replace(facts, classes=classes)


def a_box_with_one_dealt_value(facts: Facts, kept: StandingClasses) -> Facts:
    """Of two boxes, both large enough."""
    classes = np.ones_like(facts.classes)
    classes[np.flatnonzero(kept.dealt == 0)[:6]] = 0
    return replace(facts, classes=classes, boxes=facts.boxes[:2])


def _moved(kept: StandingClasses, row: np.intp) -> StandingClasses:
    """Somebody of an old class in another old one."""
    standing = kept.standing.copy()
    standing[row] = 1 - min(standing[row], 1)
    return replace(kept, standing=standing)


def another_class_for_somebody_present_before(facts: Facts, kept: StandingClasses) -> StandingClasses:
    return _moved(kept, np.flatnonzero((facts.subjects >= 30) & (kept.standing == 0))[0])


def another_dealt_value_for_somebody_present_before(facts: Facts, kept: StandingClasses) -> StandingClasses:
    dealt, mates = kept.dealt.copy(), np.flatnonzero(kept.standing == kept.standing[100])
    one, other = next((i, j) for i in mates for j in mates if dealt[i] != dealt[j])
    dealt[one], dealt[other] = dealt[other], dealt[one]
    return replace(kept, dealt=dealt)


def another_class_for_a_returner(facts: Facts, kept: StandingClasses) -> StandingClasses:
    return _moved(kept, np.flatnonzero((facts.subjects < 30) & (kept.standing < 10))[0])


def an_old_class_for_a_newcomer(facts: Facts, kept: StandingClasses) -> StandingClasses:
    standing = kept.standing.copy()
    standing[-1] = 0
    return replace(kept, standing=standing)


def tokens_of_an_old_class_changed(facts: Facts, kept: StandingClasses) -> StandingClasses:
    def change(columns: dict[str, np.ndarray]) -> None:
        columns["count"][0] += 1

    return with_tokens(kept, change)


def tokens_of_a_new_class_that_are_nobodys(facts: Facts, kept: StandingClasses) -> StandingClasses:
    def change(columns: dict[str, np.ndarray]) -> None:
        own = np.flatnonzero(columns["standing"] == columns["standing"][-1])
        columns["count"][own[columns["count"][own].argmin()]] += 1  # a rare one, so that c is kept

    return with_tokens(kept, change)


def a_class_told_that_has_nobody(facts: Facts, kept: StandingClasses) -> StandingClasses:
    def change(columns: dict[str, np.ndarray]) -> None:
        for name, entry in {"standing": columns["standing"][-1] + 1, "value": 0, "count": 9, "made_up": 9}.items():
            columns[name] = np.append(columns[name], np.int32(entry))

    return with_tokens(kept, change)


def a_token_dealt_twice(facts: Facts, kept: StandingClasses) -> StandingClasses:
    dealt, rows = kept.dealt.copy(), newest(kept)
    values, counts = np.unique(dealt[rows], return_counts=True)
    dealt[rows] = values[counts.argmin()]
    return replace(kept, dealt=dealt)


def a_dealt_value_that_is_no_token(facts: Facts, kept: StandingClasses) -> StandingClasses:
    dealt, rows = kept.dealt.copy(), newest(kept)
    dealt[rows[0]] = 77
    return replace(kept, dealt=dealt)


def true_totals(facts: Facts, kept: StandingClasses) -> StandingClasses:
    return replace(kept, totals=np.bincount(facts.values, minlength=len(kept.totals)))  # type: ignore[arg-type]


def no_totals(facts: Facts, kept: StandingClasses) -> StandingClasses:
    return replace(kept, totals=None, noise=None)


def no_standing_classes(facts: Facts, kept: StandingClasses) -> Facts:
    return replace(facts, extras={})


def somebody_without_a_standing_class(facts: Facts, kept: StandingClasses) -> StandingClasses:
    return replace(kept, standing=kept.standing[:-1])


def somebody_without_a_dealt_value(facts: Facts, kept: StandingClasses) -> StandingClasses:
    return replace(kept, dealt=kept.dealt[:-1])


def two_boxes_shared_with_other_fragments(facts: Facts, kept: StandingClasses) -> StandingClasses:
    return replace(kept, shared=np.arange(facts.class_count) < 2)


def shared_boxes_of_another_release(facts: Facts, kept: StandingClasses) -> StandingClasses:
    return replace(kept, shared=np.zeros(facts.class_count + 1, dtype=np.bool_))


def expected_totals_of_more_people(facts: Facts, kept: StandingClasses) -> StandingClasses:
    assert kept.expected is not None
    return replace(kept, expected=kept.expected + (np.arange(len(kept.expected)) == 0))


def expected_totals_that_nobody_can_have(facts: Facts, kept: StandingClasses) -> StandingClasses:
    """As many people, but all of them with the first value."""
    assert kept.expected is not None
    return replace(kept, expected=np.where(np.arange(len(kept.expected)) == 0, kept.expected.sum(), 0))


FAULTS: dict[Fault, str] = {
    no_standing_classes: "it has no standing classes",
    somebody_without_a_standing_class: "somebody has no standing class or no dealt value",
    somebody_without_a_dealt_value: "somebody has no standing class or no dealt value",
    two_boxes_shared_with_other_fragments: "it is not said which box other fragments share, or more than one is",
    shared_boxes_of_another_release: "it is not said which box other fragments share, or more than one is",
    expected_totals_of_more_people: "the expected totals are not those of the people present, whatever tokens",
    expected_totals_that_nobody_can_have: "the expected totals are not those of the people present, whatever tokens",
    a_box_of_too_few_rows: "a box has only 1 rows, where row_k is 5",
    a_box_with_one_dealt_value: "a box shows only 1 different values, where row_l is 2",
    another_class_for_somebody_present_before: "somebody would change class although the value did not change, {value:",
    another_dealt_value_for_somebody_present_before: "somebody would show another dealt value than before: {value:",
    another_class_for_a_returner: "somebody would change class although the value did not change, {value:",
    an_old_class_for_a_newcomer: "the tokens of a new class are not the values of its people: 2 of {value:",
    tokens_of_an_old_class_changed: "the tokens of a class would change: ",
    tokens_of_a_new_class_that_are_nobodys: "the tokens of a new class are not the values of its people: ",
    a_class_told_that_has_nobody: "one value has a share above c = 0.4: {value:0}",
    a_token_dealt_twice: "a token was dealt to two people: {value:",
    a_dealt_value_that_is_no_token: "somebody was dealt a value that is no token of the class: {value:77}",
    true_totals: "the totals are no mixture of those expected and those of the people present with the noise on record",
    no_totals: "true totals are published although they were not asked for, or the other way round",
}


@pytest.mark.parametrize(("plant", "sentence"), FAULTS.items(), ids=[fault.__name__ for fault in FAULTS])
def test_a_planted_fault_is_found(plant: Fault, sentence: str) -> None:
    strategy = Standing(totals=0.5)
    facts, history = third_release(strategy)
    assert strategy.check(facts, history) is None
    wrong = plant(facts, standing_of(facts))
    if isinstance(wrong, StandingClasses):
        wrong = replace(facts, extras=wrong.table())
    found = strategy.check(wrong, history)
    assert found is not None
    assert sentence in found


def an_old_class_for_a_newcomer_whose_value_fits(facts: Facts, kept: StandingClasses) -> StandingClasses:
    def change(columns: dict[str, np.ndarray]) -> None:
        columns["count"][(columns["standing"] == kept.standing[-1]) & (columns["value"] == facts.values[-1])] -= 1

    standing = kept.standing.copy()
    standing[-1] = 0
    return with_tokens(replace(kept, standing=standing), change)


@pytest.mark.parametrize(
    ("plant", "sentence"),
    [
        (an_old_class_for_a_newcomer_whose_value_fits, "somebody who was never published has an old class"),
        (a_class_told_that_has_nobody, "the classes with tokens are not the classes of the people present"),
    ],
)
def test_a_fault_is_found_where_any_class_would_do(plant: Fault, sentence: str) -> None:
    """Where settings forbid nothing, the guards of sizes and shares do not find it first."""
    lax = Standing(k=1, l=1, c=1.0, row_k=1, row_l=1)
    facts, history = third_release(Standing())
    wrong = plant(facts, standing_of(facts))
    assert isinstance(wrong, StandingClasses)
    assert lax.check(facts, history) is None
    assert lax.check(replace(facts, extras=wrong.table()), history) == sentence


def test_one_shared_box_is_not_held_to_the_size_of_boxes_of_its_own() -> None:
    strategy = Standing(row_k=5)
    facts, history = third_release(strategy)
    small = a_box_of_too_few_rows(facts, standing_of(facts))
    shared = replace(standing_of(facts), shared=np.arange(small.class_count) == 0)
    assert strategy.check(replace(small, extras=shared.table()), history) is None
    wrong = replace(shared, shared=np.arange(small.class_count) == 1)
    found = strategy.check(replace(small, extras=wrong.table()), history)
    assert found == "a box has only 1 rows, where row_k is 5"


@pytest.mark.parametrize(
    ("lax", "strict", "sentence"),
    [
        (Standing(k=8), Standing(k=60), "where k is 60"),
        (Standing(c=0.6), Standing(c=0.3), "one value has a share above c = 0.3"),
        (Standing(l=2), Standing(l=6), "fewer than l = 6 values"),
        (Standing(c=0.5), Standing(c=0.5, known=7), "one value has a share above c = 0.5"),
        (Standing(row_k=5), Standing(row_k=12), "where row_k is 12"),
        (Standing(row_l=1), Standing(row_l=4), "where row_l is 4"),
    ],
)
def test_classes_that_were_formed_under_weaker_settings_are_refused(
    lax: Standing, strict: Standing, sentence: str
) -> None:
    facts, history = third_release(lax)
    found = strict.check(facts, history)
    assert found is not None
    assert sentence in found


def test_somebody_whose_value_changed_must_be_in_a_new_class() -> None:
    facts, history = third_release(Standing())
    before, last = history.caches, history.releases[-1]
    changed = next(
        row
        for row, subject in enumerate(facts.subjects.tolist())
        if subject in last.subjects and last.values[np.searchsorted(last.subjects, subject)] != facts.values[row]
    )
    kept = standing_of(facts)
    standing = kept.standing.copy()
    standing[changed] = standing_of(last).standing[np.searchsorted(last.subjects, facts.subjects[changed])]
    wrong = replace(facts, extras=replace(kept, standing=standing).table())
    assert Standing().check(wrong, replace(history, caches=before)) is not None
    # also where the tokens would fit
    class_of = standing[changed]
    tokens = {name: np.array(column) for name, column in kept.tokens.table().items()}
    old = (tokens["standing"] == kept.standing[changed]) & (tokens["value"] == facts.values[changed])
    tokens["count"][old] -= 1
    assert class_of < kept.standing[changed]
    fitting = replace(kept, standing=standing, tokens=Tokens.read(tokens))
    assert Standing(k=1, l=1, c=1.0).check(replace(facts, extras=fitting.table()), history) is not None
