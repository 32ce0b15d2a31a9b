"""Standing keeps its promises on generated histories, counted by hand from what is published."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from reissue.errors import InfeasiblePolicy, SettingsError
from reissue.methods.standing.strategy import Standing
from reissue.model.release import Coded, Facts
from tests.support.standing_histories import HISTORIES, newcomers_of_one_value, values_that_change_and_change_back
from tests.support.standing_series import Publisher, Town, standing_of

STRATEGIES = {
    "default": Standing(),
    "told": Standing(form="told"),
    "waiting": Standing(on_ineligible="wait"),
    "known": Standing(known=2, c=0.5, l=2),
    "totals": Standing(totals=0.5, k=4, l=3, c=0.5),
}
each_history = pytest.mark.parametrize("history", HISTORIES, ids=lambda history: history.__name__)
each_strategy = pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES)


def class_tokens(facts: Facts) -> dict[int, Counter[int]]:
    tokens = standing_of(facts).tokens
    found: dict[int, Counter[int]] = defaultdict(Counter)
    for standing, value, count in zip(tokens.standing, tokens.value, tokens.count, strict=True):
        found[int(standing)][int(value)] += int(count)
    return found


def made_up_tokens(facts: Facts) -> Counter[int]:
    tokens = standing_of(facts).tokens
    found: Counter[int] = Counter()
    for standing, count in zip(tokens.standing, tokens.made_up, strict=True):
        found[int(standing)] += int(count)
    return found


@each_strategy
@each_history
def test_every_promise_holds_on_every_history(history: Callable[[Town], Iterator[Coded]], strategy: Standing) -> None:
    town = Town(np.random.default_rng(3))
    releases = Publisher(strategy, seed=1).publish_all(history(town))
    told: dict[int, Counter[int]] = {}  # class -> its tokens, when they were first told
    place: dict[int, tuple[int, int, int]] = {}  # person -> class, dealt value, true value
    for facts in releases:
        kept, fakes = standing_of(facts), made_up_tokens(facts)
        for standing, tokens in class_tokens(facts).items():
            assert told.setdefault(standing, tokens) == tokens, "a class tells something else than before"
            size = tokens.total()
            assert size >= strategy.k
            assert max(tokens.values()) <= strategy.c * (size - strategy.known) + 1e-9
            assert len(tokens) >= strategy.l
        members: dict[int, list[int]] = defaultdict(list)
        for row, subject in enumerate(facts.subjects.tolist()):
            here = (int(kept.standing[row]), int(kept.dealt[row]), int(facts.values[row]))
            before = place.get(subject)
            if before is not None and before[2] == here[2]:
                assert before == here, "somebody changed class or dealt value without a changed value"
            elif before is not None:
                assert here[0] not in {standing for standing, _, _ in place.values()}, "an old class was entered"
            members[here[0]].append(row)
        fresh = {standing for standing in members if standing not in {s for s, _, _ in place.values()}}
        for standing, rows in members.items():
            dealt = Counter(kept.dealt[rows].tolist())
            assert dealt <= told[standing], "a token was dealt twice"
            true = Counter(facts.values[rows].tolist())
            assert true <= told[standing], "somebody's value is no token of the class"
            if standing in fresh and not fakes[standing]:
                assert dealt == true == told[standing]
            if fakes[standing]:
                assert fakes[standing] >= strategy.k
        for row, subject in enumerate(facts.subjects.tolist()):
            place[subject] = (int(kept.standing[row]), int(kept.dealt[row]), int(facts.values[row]))
        for number, box in enumerate(facts.boxes):
            rows = np.flatnonzero(facts.classes == number)
            assert len(rows) >= strategy.row_k
            assert strategy.form == "told" or len(set(kept.dealt[rows].tolist())) >= strategy.row_l
            inside = (facts.codes[rows] >= box[:, 0]) & (facts.codes[rows] <= box[:, 1])
            assert inside.all(), "a row lies outside its box"


@each_history
def test_everybody_is_published_or_counted_as_waiting(history: Callable[[Town], Iterator[Coded]]) -> None:
    publisher, waited = Publisher(Standing()), 0
    for snapshot in history(Town(np.random.default_rng(4))):
        facts = publisher.publish(snapshot)
        waiting = standing_of(facts).waiting
        assert sorted([*facts.subjects.tolist(), *waiting.tolist()]) == sorted(snapshot.subjects.tolist())
        waited += len(waiting)
    assert waited > 0 or history is not newcomers_of_one_value


def test_a_changed_value_makes_one_more_class_and_a_value_that_changes_back_a_third() -> None:
    publisher = Publisher(Standing())
    publisher.publish_all(values_that_change_and_change_back(Town(np.random.default_rng(5))))
    classes: dict[int, list[int]] = defaultdict(list)
    values: dict[int, list[int]] = defaultdict(list)
    for facts in publisher.releases[:3]:
        for row, subject in enumerate(facts.subjects.tolist()):
            classes[subject].append(int(standing_of(facts).standing[row]))
            values[subject].append(int(facts.values[row]))
    changed = [person for person, own in values.items() if len(own) == 3 and own[0] != own[1] and own[0] == own[2]]
    assert len(changed) > 10
    for person in changed:
        assert len(set(classes[person])) == 3


def test_a_returner_has_the_class_and_the_dealt_value_of_before() -> None:
    town, publisher = Town(np.random.default_rng(6)), Publisher(Standing())
    town.arrive(100)
    first = publisher.publish(town.snapshot())
    away = set(sorted(town.here)[:40])
    town.here -= away
    publisher.publish(town.snapshot())
    town.here |= away
    town.move(1.0)
    third = publisher.publish(town.snapshot())
    assert np.array_equal(first.subjects, third.subjects)
    assert np.array_equal(standing_of(first).standing, standing_of(third).standing)
    assert np.array_equal(standing_of(first).dealt, standing_of(third).dealt)


def test_classes_are_the_same_whatever_the_values_are_called() -> None:
    town = Town(np.random.default_rng(7))
    town.arrive(300)
    snapshot = town.snapshot()
    names = np.array([4, 2, 5, 1, 0, 3], dtype=np.int32)
    one = Publisher(Standing()).publish(snapshot)
    other = Publisher(Standing()).publish(replace(snapshot, values=names[snapshot.values]))
    assert np.array_equal(standing_of(other).standing, standing_of(one).standing)
    renamed = {
        own: Counter({int(names[value]): n for value, n in told.items()}) for own, told in class_tokens(one).items()
    }
    assert class_tokens(other) == renamed


def test_who_of_a_class_has_which_value_changes_nothing_that_is_published() -> None:
    """The theorem's heart: with the same multisets and seed, everything is the same, release after release."""
    strategy = Standing(c=0.95, l=1)  # cuts are refused by sizes alone
    town, rng = Town(np.random.default_rng(17)), np.random.default_rng(3)
    one, other = Publisher(strategy), Publisher(strategy)
    swapped: dict[int, int] = {}
    for arrivals in (300, 60, 9):
        town.here -= set(sorted(town.here)[::7])
        town.arrive(arrivals)
        snapshot = town.snapshot()
        facts = one.publish(snapshot)
        fresh = np.flatnonzero([int(subject) not in swapped for subject in facts.subjects])
        for own in np.unique(standing_of(facts).standing[fresh]):
            mates = fresh[standing_of(facts).standing[fresh] == own]
            swapped |= zip(facts.subjects[mates].tolist(), rng.permutation(facts.values[mates]).tolist(), strict=True)
        values = np.array([swapped[int(subject)] for subject in snapshot.subjects], dtype=np.int32)
        again = other.publish(replace(snapshot, values=values))
        assert (again.values != facts.values).mean() > 0.3
        assert np.array_equal(again.classes, facts.classes)
        assert np.array_equal(again.boxes, facts.boxes)
        assert np.array_equal(standing_of(again).standing, standing_of(facts).standing)
        assert np.array_equal(standing_of(again).dealt, standing_of(facts).dealt)
        assert class_tokens(again) == class_tokens(facts)


def test_boxes_of_rows_never_look_at_true_values() -> None:
    town = Town(np.random.default_rng(7))
    town.arrive(300)
    snapshot = town.snapshot()
    shuffled = replace(snapshot, values=np.random.default_rng(0).permutation(snapshot.values))
    one, other = (Publisher(Standing(form="told")).publish(each) for each in (snapshot, shuffled))
    assert not np.array_equal(standing_of(other).standing, standing_of(one).standing)
    assert np.array_equal(other.boxes, one.boxes)
    assert np.array_equal(other.classes, one.classes)


def test_dealt_values_are_independent_of_the_true_ones_within_a_class() -> None:
    """Over many seeds a person is dealt each token of its class as often as the class has it, whatever its own is."""
    town = Town(np.random.default_rng(11))
    town.arrive(60)
    snapshot = town.snapshot()
    agree = expected = 0.0
    for seed in range(300):
        facts = Publisher(Standing(), seed=seed).publish(snapshot)
        kept, tokens = standing_of(facts), class_tokens(facts)
        agree += float((kept.dealt == facts.values).sum())
        for standing, value in zip(kept.standing.tolist(), facts.values.tolist(), strict=True):
            expected += tokens[standing][value] / tokens[standing].total()
    assert agree == pytest.approx(expected, rel=0.05)


def test_waiting_people_keep_what_was_drawn_for_them() -> None:
    town, publisher = Town(np.random.default_rng(9)), Publisher(Standing())
    town.arrive(200)
    publisher.publish(town.snapshot())
    town.arrive(30, value=5)
    second = standing_of(publisher.publish(town.snapshot()))
    assert len(second.waiting) == 30
    assert len(second.draw) == 30
    town.arrive(2, value=5)
    third = standing_of(publisher.publish(town.snapshot()))
    assert len(third.waiting) == 32
    assert np.array_equal(third.draw[:30], second.draw)


def test_blending_adds_as_many_tokens_as_people_and_at_least_k() -> None:
    blended = 0
    for seed in range(10):
        town, publisher = Town(np.random.default_rng(seed)), Publisher(Standing(), seed=seed)
        town.arrive(200)
        publisher.publish(town.snapshot())
        town.arrive(5)
        fakes = made_up_tokens(publisher.publish(town.snapshot()))
        assert set(fakes.values()) <= {0, 8}
        blended += 8 in fakes.values()
    assert blended > 3


@pytest.mark.parametrize(
    ("strategy", "values", "expected"),
    [
        (
            Standing(),
            [0] * 50 + [1, 2, 3, 4, 5] * 10,
            r"\{value:0\} is 50.0% of the 100 new rows.*smallest feasible c is 0.5",
        ),
        (Standing(), [0, 1, 2] * 30, "only 3 different values. The largest feasible l is 3"),
        (Standing(on_ineligible="wait"), [0, 1, 2, 3], "k = 8 cannot hold: there are only 4 new rows"),
        (Standing(), [0, 1, 2, 3], "row_k = 5 cannot hold: there are only 4 rows to publish. Lower row_k to 4"),
        (
            Standing(known=3, on_ineligible="wait"),
            [0, 0, 1, 1, 1, 2, 3, 4],
            r"\{value:1\} is 60.0% of the 8 new rows once 3 others are known",
        ),
        (Standing(), [], "there are only 0"),
    ],
)
def test_where_no_safe_release_exists_the_refusal_says_why_and_what_would(
    strategy: Standing, values: list[int], expected: str
) -> None:
    town = Town(np.random.default_rng(1))
    for value in values:
        town.arrive(1, value)
    with pytest.raises(InfeasiblePolicy, match=expected):
        Publisher(strategy).publish(town.snapshot())


def test_a_table_that_shrinks_below_row_k_is_refused() -> None:
    town, publisher = Town(np.random.default_rng(1)), Publisher(Standing())
    town.arrive(100)
    publisher.publish(town.snapshot())
    town.here = set(sorted(town.here)[:3])
    with pytest.raises(InfeasiblePolicy, match="row_k = 5 cannot hold: there are only 3 rows to publish"):
        publisher.publish(town.snapshot())


def test_the_same_seed_makes_the_same_release_whatever_the_order_of_the_rows() -> None:
    town = Town(np.random.default_rng(2))
    town.arrive(200)
    snapshot = town.snapshot()
    order = np.argsort(snapshot.subjects)
    one = Publisher(Standing(totals=1.0)).publish(snapshot)
    same = Publisher(Standing(totals=1.0)).publish(snapshot)
    other = Publisher(Standing(totals=1.0), seed=9).publish(snapshot)
    for name, column in one.extras.items():
        assert np.array_equal(column, same.extras[name]), name
    assert not np.array_equal(standing_of(one).dealt, standing_of(other).dealt)
    assert np.array_equal(one.subjects, snapshot.subjects[order])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 0}, "k is 0"),
        ({"c": 1.5}, "c is 1.5"),
        ({"l": 0}, "l is 0"),
        ({"row_k": 0}, "row_k is 0"),
        ({"row_l": 0}, "row_l is 0"),
        ({"form": "round"}, "form is 'round'"),
        ({"on_ineligible": "drop"}, "on_ineligible is 'drop'"),
        ({"totals": 0.0}, "totals is 0.0"),
        ({"known": 8}, "known is 8"),
        ({"known": -1}, "known is -1"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Standing(**settings)  # type: ignore[arg-type]
