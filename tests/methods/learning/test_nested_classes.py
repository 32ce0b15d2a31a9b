"""Classes that repeat each other are said once: the worlds they leave possible stay the same."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reissue.methods.learning.class_graph import ClassTable, leave_out_nested

Class = tuple[list[int], dict[int, int]]


def table_of(classes: list[Class]) -> ClassTable:
    return ClassTable(
        np.append(0, np.cumsum([len(members) for members, _ in classes])).astype(np.int64),
        np.append(0, np.cumsum([len(dealt) for _, dealt in classes])).astype(np.int64),
        np.array([count for _, dealt in classes for _, count in sorted(dealt.items())], dtype=np.int64),
        np.array([person for who, _ in classes for person in who], dtype=np.int64),
        np.array([value for _, dealt in classes for value in sorted(dealt)], dtype=np.int32),
    )


def list_classes(table: ClassTable) -> list[Class]:
    classes: list[Class] = []
    for i in range(len(table)):
        values = slice(table.value_start[i], table.value_start[i + 1])
        who = table.members[table.member_start[i] : table.member_start[i + 1]].tolist()
        classes.append((who, dict(zip(table.values[values].tolist(), table.counts[values].tolist(), strict=True))))
    return classes


def possible_worlds(classes: list[Class], people: int, values: int) -> set[tuple[int, ...]]:
    return {
        world
        for world in product(range(values), repeat=people)
        if all(
            all([world[p] for p in who].count(value) <= dealt.get(value, 0) for value in range(values))
            for who, dealt in classes
        )
    }


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Class], int]:
    """People come, leave and are put into classes anew or left where they are; some classes have rows of nobody."""
    people = 7
    truth = draw(st.lists(st.integers(0, 2), min_size=people, max_size=people))
    classes: list[Class] = []
    home = [draw(st.integers(0, 2)) for _ in range(people)]
    for _ in range(draw(st.integers(1, 3))):
        if draw(st.booleans()):
            home[draw(st.integers(0, people - 1))] = draw(st.integers(0, 3))
        if draw(st.booleans()):
            home = [0 if h == 1 else h for h in home]
        present = [draw(st.integers(0, 4)) > 0 for _ in range(people)]
        for number in sorted(set(home)):
            who = [p for p in range(people) if home[p] == number and present[p]]
            if who:
                dealt = {v: sum(truth[p] == v for p in who) for v in range(3)}
                if draw(st.integers(0, 3)) == 0:
                    dealt[draw(st.integers(0, 2))] += 1
                classes.append((who, {v: count for v, count in dealt.items() if count}))
    return classes, people


@given(histories())
def test_the_same_worlds_stay_possible(case: tuple[list[Class], int]) -> None:
    classes, people = case
    fewer = list_classes(leave_out_nested(table_of(classes)))
    assert possible_worlds(fewer, people, 3) == possible_worlds(classes, people, 3)
    assert sum(len(who) for who, _ in fewer) <= sum(len(who) for who, _ in classes)


def test_a_class_that_stands_is_told_once() -> None:
    one: Class = ([0, 1, 2], {0: 1, 1: 2})
    assert list_classes(leave_out_nested(table_of([one, one, one]))) == [one]


def test_a_class_that_keeps_its_values_while_people_leave_is_told_once() -> None:
    values = {0: 1, 1: 2}
    told = leave_out_nested(table_of([([0, 1, 2], values), ([0, 1], values), ([0], values)]))
    assert list_classes(told) == [([0, 1, 2], values)]


def test_of_a_class_that_was_cut_nothing_is_left() -> None:
    halves: list[Class] = [([0, 1], {0: 1, 1: 1}), ([2, 3], {1: 2})]
    assert list_classes(leave_out_nested(table_of([([0, 1, 2, 3], {0: 1, 1: 3}), *halves]))) == halves


def test_of_a_class_that_grew_the_newcomers_are_left() -> None:
    told = leave_out_nested(table_of([([0, 1], {0: 1, 1: 1}), ([0, 1, 2, 3], {0: 2, 1: 1, 2: 1})]))
    assert list_classes(told) == [([0, 1], {0: 1, 1: 1}), ([2, 3], {0: 1, 2: 1})]
