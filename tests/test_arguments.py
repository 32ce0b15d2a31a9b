"""Public functions given things of a wrong type: always a sentence that names the argument, never an AttributeError."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import reissue as ri
from reissue.arguments import check_arguments, check_methods
from reissue.errors import ReissueError, SeriesError, SettingsError
from tests.support.hospital import FIGURE_1, frame, hospital_schema

WRONG = {
    "number": 5,
    "fraction": 1.5,
    "nothing": None,
    "text": "x",
    "path": Path("nowhere"),
    "bytes": b"x",
    "yes": True,
    "list": ["x"],
    "numbers": [1],
    "set": {"x"},
    "dictionary": {"a": 1},
    "column": pd.Series(["x"]),
    "frame": pd.DataFrame({"q": [1]}),
    "array": np.array([1.0]),
    "thing": object(),
    "class": ri.Standing,
}
ROLES: dict[str, Any] = {"identifier": "i", "sensitive": "s", "quasi_identifiers": {"x": ri.Numeric()}}


class Desk:
    """A series of two releases, its audit, and a folder for whatever is made."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.schema, self.strategy, self.made = folder, hospital_schema(), ri.Static(k=2), 0
        self.series = ri.Series.create(folder / "s", self.schema, self.strategy, seed=1)
        self.release = self.series.publish(frame(FIGURE_1), label="first")
        self.series.publish(frame(FIGURE_1), label="second", allow="same-snapshot")
        self.audit = self.series.audit(attacks=["association"])
        self.public = [self.release.path]

    @property
    def new(self) -> Path:
        self.made += 1
        return self.folder / f"new-{self.made}"

    def attack(self, **given: Any) -> object:
        return ri.audit(**{"releases": self.public, "schema": self.schema, "attacks": ["association"], **given})

    def adopt(self, path: object = None, **given: Any) -> object:
        usual = {"releases": self.public, "snapshots": [frame(FIGURE_1)], "schema": self.schema}
        return ri.adopt(self.new if path is None else path, **{**usual, "strategy": self.strategy, **given})


CALLS: dict[str, Callable[[Desk, Any], object]] = {
    "create path": lambda d, v: ri.Series.create(v, d.schema, d.strategy),
    "create schema": lambda d, v: ri.Series.create(d.new, v, d.strategy),
    "create strategy": lambda d, v: ri.Series.create(d.new, d.schema, v),
    **{
        f"create {name}": lambda d, v, name=name: ri.Series.create(d.new, d.schema, d.strategy, **{name: v})
        for name in ("seed", "catalogue", "key", "formats", "on_change", "engine", "fragments", "audit", "gates")
    },
    "from_config": lambda d, v: ri.Series.from_config(d.new, v),
    "open": lambda d, v: ri.Series.open(v),
    "open key": lambda d, v: ri.Series.open(d.folder / "s", key=v),
    "publish": lambda d, v: d.series.publish(v),
    **{
        f"preview {name}": lambda d, v, name=name: d.series.preview(frame(FIGURE_1), audit=False, **{name: v})
        for name in ("strategy", "on_change", "allow", "label")
    },
    "preview attacks": lambda d, v: d.series.preview(frame(FIGURE_1), attacks=v if v is not None else 5),
    "membership": lambda d, v: d.series.membership(v),
    "pack number": lambda d, v: d.series.pack(v, d.new),
    "pack file": lambda d, v: d.series.pack(1, v) if not isinstance(v, str | Path) else None,
    "forget": lambda d, v: d.series.forget(v),
    "forget file": lambda d, v: d.series.forget("nobody", file=v),
    "withdraw": lambda d, v: d.series.withdraw(v),
    "extend": lambda d, v: d.series.extend(v, ri.Hierarchy.from_nested({"a": ["b"]})),
    "extend hierarchy": lambda d, v: d.series.extend("gender", v),
    "extend_from_files": lambda d, v: d.series.extend_from_files(v),
    "amend": lambda d, v: d.series.amend(v),
    "changed_strategy": lambda d, v: d.series.changed_strategy(v, []),
    "changed_strategy settings": lambda d, v: d.series.changed_strategy("static", v),
    **{
        f"audit {name}": lambda d, v, name=name: d.series.audit(**{"attacks": ["difference"], name: v})
        for name in ("attacks", "engine", "k", "nonsense")
    },
    **{
        f"ri.audit {name}": lambda d, v, name=name: d.attack(**{name: v})
        for name in ("releases", "schema", "snapshots", "match", "strategy", "risk_threshold", "rates")
    },
    "ri.audit release": lambda d, v: d.attack(releases=[v]),
    "ri.audit snapshot": lambda d, v: d.attack(snapshots=[v]),
    "ri.adopt path": lambda d, v: d.adopt(v if v is not None else 5),
    **{
        f"ri.adopt {name}": lambda d, v, name=name: d.adopt(**{name: v})
        for name in ("releases", "snapshots", "schema", "strategy")
    },
    "ri.estimate": lambda d, v: ri.estimate(v, "diagnosis=Flu"),
    "ri.estimate query": lambda d, v: ri.estimate(d.release, v),
    "ri.weights": lambda d, v: ri.weights(v),
    "Schema": lambda d, v: ri.Schema(**{**ROLES, "identifier": v, "missing": v}),
    "Schema sensitive": lambda d, v: ri.Schema(**{**ROLES, "sensitive": v}),
    "Schema quasi_identifiers": lambda d, v: ri.Schema(**{**ROLES, "quasi_identifiers": v}),
    "Schema attribute": lambda d, v: ri.Schema(**{**ROLES, "quasi_identifiers": {"x": v}}),
    "Schema insensitive": lambda d, v: ri.Schema(**{**ROLES, "insensitive": v}),
    "Schema bins": lambda d, v: ri.Schema(**{**ROLES, "bins": v}),
    "Schema spelling": lambda d, v: ri.Schema(**{**ROLES, "spelling": v}),
    "Schema.from_toml": lambda d, v: ri.Schema.from_toml(v),
    "Schema.from_dict": lambda d, v: ri.Schema.from_dict(v),
    "Schema.suggest": lambda d, v: ri.Schema.suggest(v),
    "Hierarchy.from_file": lambda d, v: ri.Hierarchy.from_file(v),
    "Hierarchy.from_nested": lambda d, v: ri.Hierarchy.from_nested(v),
    "Audit.to_dict": lambda d, v: d.audit.to_dict(findings=v),
    "Audit.to_html": lambda d, v: d.audit.to_html(v) if not isinstance(v, str | Path) else None,
    "Audit.look_up": lambda d, v: d.audit.look_up(v),
    "Release.to_arrow": lambda d, v: d.release.to_arrow(v),
    "clinic_months": lambda d, v: ri.clinic.clinic_months(months=v),
    "settings of a strategy": lambda d, v: ri.Standing(k=v, form=v),
    "settings of an attack": lambda d, v: ri.attacks.Difference(k=v),
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some wrong things are paths that a series can be made at."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(tmp_path_factory.mktemp("desk"))


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_type_is_told_in_a_sentence(name: str, desk: Desk) -> None:
    told = {}
    for kind, value in WRONG.items():
        try:
            CALLS[name](desk, value)
        except ReissueError as error:
            told[kind] = str(error)
    assert all(0 < len(sentence) < 1_000 for sentence in told.values()), told
    assert len(desk.series.releases) == 2, "nothing was published or lost"


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda d: ri.Series.open(5), "path is 5; it must be text or a path."),
        (lambda d: d.series.publish(frame(FIGURE_1), strategy=ri.Standing), r"Standing\(\)\. Write Standing\(\.\.\.\)"),
        (lambda d: d.series.membership("first"), "number is 'first'; it must be a whole number."),
        (lambda d: d.series.amend("c.toml"), r"schema is 'c.toml'; it must be a Schema, for example Schema.from_toml"),
        (lambda d: d.attack(releases=pd.DataFrame({"q": [1]})), "releases is of type DataFrame; it must be a list of"),
        (lambda d: d.series.audit(attacks=[1]), r"attacks is \[1\]; it must be a list of texts."),
        (lambda d: d.series.publish(pd.Series(["x"])), "is no table: give a data frame"),
    ],
)
def test_the_sentence_says_what_was_given_and_what_to_give(
    call: Callable[[Desk], object], sentence: str, desk: Desk
) -> None:
    with pytest.raises(ReissueError, match=sentence):
        call(desk)


@pytest.mark.parametrize(
    "people",
    [["Tom", "Mike"], ("Tom", "Mike"), {"Tom", "Mike"}, pd.Series(["Tom", "Mike"]), np.array(["Tom", " Mike "]),
     pa.array(["Tom", "Mike"])],
)  # fmt: skip
def test_people_are_forgotten_one_by_one_or_in_any_list(people: Any, tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2)) as series:
        series.publish(frame(FIGURE_1))
        for wrong in (1.5, None, ["Eve", None], pd.DataFrame({"name": ["Eve"]}), {"name": "Eve"}, b"Eve", "", True):
            with pytest.raises(SettingsError, match="Nobody was forgotten"):
                series.forget("Bob", wrong)
        with pytest.raises(SeriesError, match="Nobody was named"):
            series.forget([])
        assert series.forget(people, "Bob").people == 3
        assert series.forget("Bob").people == 0


def test_whole_numbers_are_identifiers_as_in_a_table(tmp_path: Path) -> None:
    table = pd.DataFrame({"name": [1, 2, 3, 4], "age": 30, "gender": "Male", "diagnosis": ["Flu", "Cancer"] * 2})
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2)) as series:
        series.publish(table)
        assert "1 is known to be in 1 of 1 releases" in series.audit(attacks=["association"]).look_up(1).sentence
        assert series.forget(1, table["name"][1:3]).people == 3


def test_a_text_will_do_for_a_list_of_it() -> None:
    @check_arguments
    def take(names: Sequence[str], more: Sequence[str] | None = None) -> object:
        return names, more

    assert take("a") == (("a",), None)
    assert take(np.array(["a", "b"]), more=["c"]) == (("a", "b"), ("c",))
    with pytest.raises(TypeError):
        take()  # type: ignore[call-arg]


def test_methods_of_our_own_are_not_held_to_what_callers_are() -> None:
    """What calls these are we; a check costs time, and turns a list of ours into a tuple."""

    @check_methods
    class Shop:
        def __init__(self, names: Sequence[str]) -> None:
            self.names = names

        def _take(self, names: Sequence[str]) -> object:
            return names

        def take(self, names: Sequence[str]) -> object:
            return names

        @staticmethod
        def give(names: Sequence[str]) -> object:
            return names

        @classmethod
        def make(cls, names: Sequence[str]) -> object:
            return names

    shop = Shop("a")
    assert (shop.names, shop._take("a")) == ("a", "a")
    assert shop.take("a") == shop.give("a") == Shop.make("a") == ("a",)
