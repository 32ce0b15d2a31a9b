"""Settings are refused by name where their kind is wrong, wherever they come from."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from pathlib import Path
from typing import Literal, get_args, get_type_hints

import numpy as np
import pytest

import reissue as ri
from reissue.arguments import check_engine
from reissue.errors import SettingsError
from reissue.methods.registry import (
    ATTACKS,
    STRATEGIES,
    find_attack,
    find_strategy,
    make_attack,
    make_strategy,
    write_policy,
)
from reissue.model.settings import (
    LARGEST,
    Chance,
    PeopleCount,
    RowCount,
    Share,
    SignatureSize,
    Spare,
    ValueCount,
    Within,
)
from reissue.series.creating import check_fragments, parse_settings, read_formats
from reissue.series.release import check_formats, check_on_change, choose_label
from tests.support.hospital import hospital_schema

NUMBERS = (int, float, int | None, float | None, Literal[1, 2])

RIGHT: dict[str, dict[str, object]] = {
    "standing": {"k": 8},
    "static": {"k": 5},
    "merge": {"k": 5},
    "bcf": {"k": 5},
    "m-invariance": {"m": 3},
    "e-equivalence": {"m": 3, "e": 2},
    "cor-split": {"m": 3, "n": 2, "L": 4},
    "bay-frame": {"k": 5, "J": 0.3, "beta": 5},
    "js-reduce": {"k": 5, "t": 0.4, "J": 0.3},
    "checked-mondrian": {"k": 5},
    "checked-incognito": {"k": 5},
}


def _numbers(kind: type) -> list[str]:
    """Fields that take numbers and nothing else."""
    hints = get_type_hints(kind)
    return [field.name for field in fields(kind) if hints[field.name] in NUMBERS]


OF_STRATEGIES = [(name, key) for name in STRATEGIES for key in _numbers(find_strategy(name))]
OF_ATTACKS = [(name, key) for name in ATTACKS for key in _numbers(find_attack(name))]


def test_every_strategy_and_many_settings_are_looked_at() -> None:
    assert set(RIGHT) == set(STRATEGIES) == {name for name, _ in OF_STRATEGIES}
    assert set(ATTACKS) == {name for name, _ in OF_ATTACKS}
    for name, settings in RIGHT.items():
        assert make_strategy({"strategy": name, **settings}) == find_strategy(name)(**settings)


UNSET: dict[str, dict[str, float]] = {
    "standing": {"k": 8, "c": 0.4, "l": 4, "row_k": 5, "row_l": 2, "known": 0},
    "static": {"c": 1, "suppress": 0},
    "merge": {"c": 1},
    "bcf": {"suppress": 0},
    "bay-frame": {"steps": 1, "most_suppressed": 0.25},
    "js-reduce": {"steps": 1, "most_suppressed": 0.25},
    "checked-mondrian": {"c": 1},
    "checked-incognito": {"c": 1, "suppress": 0},
    "intersection": {"c": 0.5},
    "difference": {"k": 2, "c": 0.5},
    "record-tracing": {"k": 2},
    "correspondence": {"k": 2, "seconds": 10},
    "association": {"m": 2},
    "equivalence": {"e": 2, "nodes": 2000},
    "historical-correlation": {"n": 2, "trials": 10, "seed": 0},
    "background-knowledge": {"threshold": 0.5, "steps": 1, "sigma": 0, "confidence": 0.9, "seed": 0},
    "possible-worlds": {"c": 0.5, "m": 2, "seconds": 5},
    "learning": {"c": 0.5},
    "known-algorithm": {"c": 0.5},
}
"""Numbers that hold where nothing is said; of attacks also a limit of 100 findings."""


def test_numbers_that_nobody_sets_are_those_that_are_written_down() -> None:
    for name, kind in {name: find_strategy(name) for name in STRATEGIES}.items() | {
        name: find_attack(name) for name in ATTACKS
    }.items():
        found = {one.name: one.default for one in fields(kind) if type(one.default) in (int, float)}
        assert found == {**UNSET.get(name, {}), **({"limit": 100} if name in ATTACKS else {})}, name


@pytest.mark.parametrize(("name", "key"), OF_STRATEGIES)
@pytest.mark.parametrize("value", [True, False])
def test_a_strategys_number_is_not_true_or_false(name: str, key: str, value: bool) -> None:
    settings = {**RIGHT[name], key: value}
    with pytest.raises(SettingsError, match=rf"^{key} is {str(value).lower()}; give a number"):
        make_strategy({"strategy": name, **settings})
    with pytest.raises(SettingsError, match=rf"^{key} is {str(value).lower()}; give a number"):
        find_strategy(name)(**settings)


@pytest.mark.parametrize("value", [10**20, -(10**400)], ids=["large", "longer than a float"])
def test_no_number_is_larger_than_kernels_take(value: int) -> None:
    for name, key in OF_STRATEGIES:
        with pytest.raises(SettingsError, match=rf"^{key} is "):
            find_strategy(name)(**{**RIGHT[name], key: value})
    with pytest.raises(SettingsError, match=r"^k is beyond 9,007,199,254,740,992, the most"):
        make_strategy({"strategy": "bcf", "k": value})
    for name, key in OF_ATTACKS:
        if key != "seed":
            with pytest.raises(SettingsError, match=rf"^{key} is "):
                make_attack(name, {key: value})


@pytest.mark.parametrize(("name", "key"), OF_ATTACKS)
def test_an_attacks_number_is_a_number(name: str, key: str) -> None:
    with pytest.raises(SettingsError, match=rf"^{key} is true; give a number"):
        make_attack(name, {key: True})
    with pytest.raises(SettingsError, match=rf"^{key} is 'many'"):
        make_attack(name, {key: "many"})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("policy", "wrong"),
    [
        ({"strategy": "bcf", "k": 5, "recursive": [True, 3]}, "recursive is true"),
        (
            {"strategy": "js-reduce", "k": 5, "t": 0.4, "J": 0.3, "knowledge": {"smoothing": True}},
            "knowledge.smoothing",
        ),
    ],
)
def test_true_is_refused_inside_lists_and_tables(policy: dict[str, object], wrong: str) -> None:
    with pytest.raises(SettingsError, match=wrong):
        make_strategy(policy)


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ({"strategy": "static"}, "^'static' needs the setting 'k'.$"),
        ({"strategy": "static", "k": "many"}, "^k is 'many'; it must be a whole number.$"),
        ({"strategy": "static", "k": 2.5}, "^k is 2.5; it must be a whole number.$"),
        ({"strategy": "static", "k": 3, "t": [1]}, r"^t is \[1\]; it must be a number.$"),
        ({"strategy": "static", "k": 0}, "^k is 0; it must be a whole number of rows: at least 1.$"),
        ({"strategy": "m-invariance", "m": 3, "publishing": "x"}, "^publishing is 'x'; choose 'generalized' or"),
        ({"strategy": "checked-mondrian", "k": 3, "hold_back": "perhaps"}, "'perhaps'; it must be true or false.$"),
        ({"strategy": "checked-mondrian", "k": 3, "hold_back": 2}, "hold_back is 2; it must be true or false.$"),
        (
            {"strategy": "js-reduce", "k": 5, "t": 0.4, "J": 0.3, "knowledge": {"value": "a.csv"}},
            "knowledge has no setting 'value'. Its settings are: values, ",
        ),
    ],
)
def test_a_policy_is_corrected_in_plain_words(policy: dict[str, object], told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        make_strategy(policy)


@pytest.mark.parametrize(
    ("kind", "held", "refused"),
    [
        (RowCount, (1, LARGEST), (0, -1)),
        (PeopleCount, (1, 2), (0, -1)),
        (Share, (1e-9, 0.5, 1.0), (0.0, -0.5, 1.01, math.inf, math.nan)),
        (ValueCount, (1.0, 1.5, 1e9), (0.99, math.inf, math.nan)),
        (SignatureSize, (2, 50), (1, 0)),
        (Chance, (0.0, 0.5, 1.0), (-0.01, 1.01, math.nan)),
        (Spare, (0.0, 0.2), (-0.01, 0.21, math.nan)),
    ],
)
def test_what_lies_within_is_held_up_to_the_bound(
    kind: object, held: tuple[float, ...], refused: tuple[float, ...]
) -> None:
    _, within = get_args(kind)
    assert [value for value in held if not within.holds(value)] == []
    assert [value for value in refused if within.holds(value)] == []


def test_what_may_be_true_or_whole_stays_allowed() -> None:
    assert make_strategy({"strategy": "bcf", "k": 5, "start_new_chain": True}).start_new_chain is True  # type: ignore[attr-defined]
    assert make_strategy({"strategy": "static", "k": 5, "t": 0.2, "ordered": True}).ordered is True  # type: ignore[attr-defined]
    counted = find_strategy("m-invariance")(m=np.int64(4))  # type: ignore[call-arg]
    assert json.loads(json.dumps(write_policy(counted)))["m"] == 4, "as a ledger keeps it"
    assert make_attack("association", {"m": 3.0, "invariant": 1.0}).m == 3  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "settings", "wrong"),
    [
        ("difference", {"limit": 2.5}, "limit is 2.5; it must be a whole number"),
        ("association", {"m": 2.7}, "m is 2.7; it must be a whole number"),
        ("equivalence", {"e": float("inf")}, "e is inf; it must be a whole number"),
        ("equivalence", {"exact": "no"}, "exact is 'no'; it must be true or false"),
    ],
)
def test_an_attacks_settings_are_of_their_kind(name: str, settings: dict[str, float], wrong: str) -> None:
    with pytest.raises(SettingsError, match=wrong):
        make_attack(name, settings)


def _ranges(declared: object) -> list[Within]:
    """What is said about a declared type, or about one of its alternatives."""
    found = [one for one in getattr(declared, "__metadata__", ()) if isinstance(one, Within)]
    return found or [one for part in get_args(declared) for one in _ranges(part)]


def _outside(kind: type) -> list[tuple[str, float]]:
    """(setting, a number just outside its range), at both ends."""
    found = []
    for name, declared in get_type_hints(kind, include_extras=True).items():
        for within in _ranges(declared) if name != "recursive" else ():
            beyond = [within.least - 1, within.above, within.most + 1]
            found += [(name, number) for number in beyond if math.isfinite(number) and number < LARGEST]
    return found


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategys_numbers_lie_within_what_is_declared(name: str) -> None:
    outside = _outside(find_strategy(name))
    assert outside
    for key, number in outside:
        with pytest.raises(SettingsError, match=rf"(^|\. ){key} is {number}; it must be .*: (at least|above|at most) "):
            find_strategy(name)(**{**RIGHT[name], key: number})


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attacks_numbers_lie_within_what_is_declared(name: str) -> None:
    outside = _outside(find_attack(name))
    assert outside
    for key, number in outside:
        with pytest.raises(SettingsError, match=rf"^{key} is {number}; it must be .*: (at least|above|at most) "):
            make_attack(name, {key: number})


def test_everything_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(SettingsError) as caught:
        make_strategy({"strategy": "static", "k": 0, "c": 7, "algorithm": "x", "ordered": "no"})
    assert str(caught.value) == (
        "k is 0; it must be a whole number of rows: at least 1. "
        "c is 7.0; it must be the largest share of one value: above 0, at most 1. "
        "algorithm is 'x'; choose 'mondrian' or 'incognito'. "
        "ordered is 'no'; it must be true or false."
    )


@pytest.mark.parametrize(("name", "key"), [(name, key) for name, key in OF_ATTACKS if key in ("k", "m", "limit")])
def test_an_attacks_whole_number_is_whole(name: str, key: str) -> None:
    with pytest.raises(SettingsError, match=rf"^{key} is 2\.5; it must be a whole number"):
        make_attack(name, {key: 2.5})


@pytest.mark.parametrize("fragments", [True, False, 0, -1])
def test_fragments_are_a_number_of_at_least_one(fragments: int, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=f"^fragments is {fragments}; it must be a whole number"):
        ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2), fragments=fragments)
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("label", ["", "  ", "x" * 81, "tab\there", "two\nlines", "\u202e"])
def test_a_label_that_nobody_could_read_is_refused(label: str) -> None:
    with pytest.raises(SettingsError, match="is empty, longer than 80 characters, or not printable"):
        choose_label(label, "2.csv", [])


def test_a_label_is_what_was_asked_for_or_the_name_of_the_file() -> None:
    assert choose_label(" May ", "2.csv", ["2"]) == "May"
    assert choose_label("x" * 80, "2.csv", []) == "x" * 80
    with pytest.raises(SettingsError, match="The label 'May' is that of an earlier release"):
        choose_label(" May ", "2.csv", ["April", "May"])
    assert choose_label(None, Path("data/2024-01.csv.gz"), []) == "2024-01"
    assert choose_label(None, "data/2024-01.csv", ["2024-01"]) is None, "used already"
    for nameless in ("data/.csv", "table:people", "postgresql://host/people", "s3a://bucket/people.parquet", object()):
        assert choose_label(None, nameless, []) is None


def test_fragments_are_a_whole_number_of_at_least_one() -> None:
    assert [check_fragments(number) for number in (None, 1, 7)] == [0, 1, 7]
    for wrong in (0, -1, True, False):
        with pytest.raises(SettingsError, match=f"fragments is {wrong}; it must be a whole number"):
            check_fragments(wrong)


def test_formats_engines_and_changes_are_known_by_name() -> None:
    assert check_formats("csv") == ["csv"]
    assert check_formats(("csv", "parquet", "csv")) == ["parquet", "csv"]
    for formats in ((), ("csv", "xlsx")):
        with pytest.raises(SettingsError, match="parquet, csv or both"):
            check_formats(formats)
    assert list(read_formats({"formats": "csv"})) == ["csv"]
    assert check_formats(read_formats({})) == ["parquet", "csv"]
    assert check_engine("embedded") == {"name": "embedded"}
    assert check_engine({"name": "spark", "master": "local[2]", "settings": {}}) == {
        "name": "spark",
        "master": "local[2]",
    }
    for engine, said in (("dask", "is 'dask'"), ({"name": "spark", "memory": 4}, "unknown setting 'memory'")):
        with pytest.raises(SettingsError, match=f"engine .*{said}"):
            check_engine(engine)
    assert check_on_change("new-subject") == "new-subject"
    with pytest.raises(SettingsError, match="on_change is 'guess'; it must be one of"):
        check_on_change("guess")


def test_settings_on_the_command_line_are_values_of_toml_or_words() -> None:
    found = parse_settings(["k=5", "c=0.5", "algorithm=incognito", "names=[1, 2]", "text=a=b"])
    assert found == {"k": 5, "c": 0.5, "algorithm": "incognito", "names": [1, 2], "text": "a=b"}
    with pytest.raises(SettingsError, match="'k' is not KEY=VALUE"):
        parse_settings(["k"])
