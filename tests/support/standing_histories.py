"""How a town may change: every way that standing classes promise to get through."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from reissue.model.release import Coded
from tests.support.standing_series import Town


def arrivals(town: Town) -> Iterator[Coded]:
    for _ in range(6):
        town.arrive(60)
        yield town.snapshot()


def turnover(town: Town) -> Iterator[Coded]:
    town.arrive(200)
    yield town.snapshot()
    for _ in range(8):
        town.leave(0.15)
        town.arrive(25)
        town.come_back(0.1)
        town.move(0.1)
        town.change(0.02)
        yield town.snapshot()


def bursts(town: Town) -> Iterator[Coded]:
    town.arrive(60)
    yield town.snapshot()
    for burst in (3, 400, 0, 1, 0, 5):
        town.leave(0.05)
        town.arrive(burst)
        yield town.snapshot()


def no_newcomers(town: Town) -> Iterator[Coded]:
    town.arrive(150)
    for _ in range(5):
        yield town.snapshot()
        town.leave(0.1)
        town.come_back(0.3)


def everybody_replaced(town: Town) -> Iterator[Coded]:
    for _ in range(4):
        town.here = set()
        town.arrive(120)
        yield town.snapshot()


def shrinking_to_a_tenth(town: Town) -> Iterator[Coded]:
    town.arrive(300)
    yield town.snapshot()
    for _ in range(8):
        town.leave(0.25)
        yield town.snapshot()


def five_newcomers(town: Town) -> Iterator[Coded]:
    town.arrive(100)
    yield town.snapshot()
    for _ in range(6):
        town.arrive(5)
        yield town.snapshot()


def newcomers_of_one_value(town: Town) -> Iterator[Coded]:
    town.arrive(150)
    yield town.snapshot()
    for value in (0, 5, 2):
        town.arrive(30, value)
        yield town.snapshot()


def values_that_change_and_change_back(town: Town) -> Iterator[Coded]:
    town.arrive(200)
    first = dict(town.value)
    yield town.snapshot()
    for _ in range(2):
        town.change(0.2)
        yield town.snapshot()
        town.value = dict(first)
        yield town.snapshot()


HISTORIES: list[Callable[[Town], Iterator[Coded]]] = [
    arrivals,
    turnover,
    bursts,
    no_newcomers,
    everybody_replaced,
    shrinking_to_a_tenth,
    five_newcomers,
    newcomers_of_one_value,
    values_that_change_and_change_back,
]
