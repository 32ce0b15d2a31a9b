"""A fault in a kernel that strategy and attack share: both are deceived, and publish must notice all the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import reissue as ri
from reissue.errors import GuaranteeBroken
from reissue.methods.strategy import Strategy

SCHEMA = ri.Schema(
    identifier="person", quasi_identifiers={"age": ri.Numeric(), "weight": ri.Numeric()}, sensitive="illness"
)


@dataclass(frozen=True)
class Fault:
    """`name` of a module or class is `wrong` from now on; attack: the one that does not see it."""

    where: object
    name: str
    wrong: object
    attack: str


@dataclass(frozen=True)
class Insertions:
    """Snapshots of random people that only grow: `first` of them, and in each of the `count - 1` others `more` again.

    values: how many illnesses there are; span: how many ages and weights
    """

    seed: int
    first: int
    more: int
    values: int
    span: int
    count: int

    def tables(self) -> Iterator[pa.Table]:
        rng, total = np.random.default_rng(self.seed), self.first + self.more * (self.count - 1)
        age, weight, illness = (rng.integers(0, top, total) for top in (self.span, self.span, self.values))
        for rows in range(self.first, total + 1, self.more):
            columns = {"person": np.arange(rows), "age": age[:rows], "weight": weight[:rows]}
            yield pa.table({**columns, "illness": [f"illness {value}" for value in illness[:rows]]})


@dataclass(frozen=True)
class Case:
    """begun: the strategy of the first release, if it is another one."""

    strategy: Strategy
    people: Insertions
    begun: Strategy | None = None
    fragments: int = 1

    def publish(self, path: Path, most: int | None = None) -> int:
        """Publish the snapshots, or the first of them; how many there are."""
        create = ri.Series.create(path, SCHEMA, self.begun or self.strategy, seed=7, fragments=self.fragments)
        with create as series:
            return _publish_all(series, islice(self.people.tables(), most), self.strategy)


def _publish_all(series: ri.Series, tables: Iterable[pa.Table], strategy: Strategy) -> int:
    return [series.publish(table, strategy=strategy if series.releases else None).number for table in tables][-1]


def assert_noticed(fault: Fault, case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Publish refuses and commits nothing; without the second check the same release would be out, and be broken."""
    assert case.publish(folder / "right") == case.people.count, "without the fault all is well"
    with monkeypatch.context() as planted:
        planted.setattr(fault.where, fault.name, fault.wrong)
        with pytest.raises(GuaranteeBroken, match=rf"\({fault.attack}\), although the attack itself found nothing"):
            case.publish(folder / "wrong")
        with ri.Series.open(folder / "wrong") as series:
            kept = len(series.releases)
            assert len(list((folder / "wrong" / "releases").iterdir())) == kept, "what was refused is not there"
            assert series.verify() == []
        planted.setattr(type(case.strategy), "second_check", lambda *_: None)
        assert case.publish(folder / "deceived", kept + 1) == kept + 1
    with ri.Series.open(folder / "deceived") as series:
        breached = {finding.attack for finding in series.audit().breaches}
    assert fault.attack.replace(" ", "-") in breached, "the fault deceived strategy and attack alike"
