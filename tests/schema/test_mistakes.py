"""Mistakes in a schema or a config: each is named with its place, and all at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from reissue.errors import SchemaError
from reissue.schema import Categorical, Numeric, read_config
from tests.schema.clinics import clinic


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"identifier": "age"}, ["'age' has several roles: identifier, quasi_identifiers"]),
        ({"sensitive": ("x", "x")}, ["'x' has several roles: sensitive, sensitive"]),
        ({"insensitive": "diagnosis"}, ["'diagnosis' has several roles: sensitive, insensitive"]),
        ({"sensitive": ()}, ["sensitive is empty"]),
        ({"quasi_identifiers": {}}, ["quasi_identifiers is empty"]),
        ({"identifier": ""}, ["identifier is empty"]),
        ({"sensitive": ("diagnosis", "")}, ["sensitive: a column without a name is given"]),
        ({"quasi_identifiers": {"age": Numeric(), "": Numeric()}}, ["quasi_identifiers: a column without a name"]),
        ({"missing": "drop"}, ["missing is 'drop'", "refuse, value"]),
        ({"bins": {"age": [1, 2]}}, ["bins.age: is not a sensitive column", "diagnosis"]),
        ({"bins": {"diagnosis": [2, 1]}}, ["bins.diagnosis", "must rise"]),
        ({"quasi_identifiers": {"age": {"typ": "int"}}}, ["quasi_identifiers.age.typ: unknown key", "'type'"]),
    ],
)
def test_wrong_roles_are_named(change: dict[str, object], parts: list[str]) -> None:
    with pytest.raises(SchemaError) as caught:
        clinic(**change)
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Numeric(type="number"), "type is 'number'. Allowed: numeric, int, float, date."),
        (lambda: Numeric(missing="drop"), "missing is 'drop'. Allowed: refuse, value."),
        (lambda: Categorical(labels="rows"), "labels is 'rows'. Allowed: groups, ranges."),
        (lambda: Categorical(missing=""), "missing is ''. Allowed: refuse, value."),
        (lambda: Numeric(weight=0.0009), "weight is 0.0009. Give a number from 0.001 to 1,000, such as 3."),
        (lambda: Numeric(weight=True), "weight is True. Give a number from 0.001 to 1,000, such as 3."),
    ],
)
def test_what_python_is_given_is_checked_as_a_config_is(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(SchemaError) as caught:
        make()
    assert str(caught.value) == sentence
    assert (Numeric(weight=0.001).weight, Numeric(weight=1000).weight) == (0.001, 1000)


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        ('"numeric"', ["received 'numeric'", '{ type = "numeric" }']),
        ("{}", ["nothing says how it is coded", "hierarchy, intervals, prefix"]),
        ('{ type = "nummeric" }', ["received 'nummeric'", "Did you mean 'numeric'?", '"categorical"']),
        ('{ type = "float", decimals = 7 }', ["decimals is 7", "0 to 6"]),
        ('{ type = "int", missing = "drop" }', ["missing: received 'drop'", 'Allowed: "refuse" or "value"']),
        ('{ type = "int", weight = 0 }', ["weight is 0", "0.001 to 1,000"]),
        ('{ type = "int", weight = 1000.5 }', ["weight is 1000.5", "0.001 to 1,000"]),
        ('{ hierarchy = ["a"], labels = "rows" }', ["labels: received 'rows'", 'Allowed: "groups" or "ranges"']),
        ('{ type = "int", labels = "ranges" }', ["labels are for attributes with a hierarchy"]),
        ('{ type = "int", decimals = 2 }', ["decimals is 2", 'type = "float"']),
        ('{ type = "float", decimals = "2" }', ["decimals: received '2'", "integer"]),
        ('{ type = "categorical", decimals = 2 }', ["decimals are for numeric"]),
        ('{ type = "int", hierarchy = ["a"] }', ['hierarchy and type = "int" are given']),
        ("{ prefix = [1], intervals = [5] }", ["intervals and prefix are given"]),
        ('{ type = "int", levels = ["year"] }', ["levels are for dates only"]),
        ('{ type = "date", levels = ["week"] }', ["received ['week']", "day, month, quarter, year, decade"]),
        ('{ type = "int", values = ["a"] }', ["values are for attributes with a hierarchy"]),
        ("{ hierarchy = 5 }", ["hierarchy is 5"]),
        ("{ hierarchy = { A = [] } }", ["the group 'A' has no values"]),
        ('{ hierarchy = "absent.csv" }', ["absent.csv: cannot be read (No such file"]),
        ("{ prefix = 3 }", ["prefix: received 3", "[3, 1]"]),
        ("{ prefix = [0] }", ["lengths are [0]"]),
        ("{ prefix = { steps = 1 } }", ["prefix.steps: unknown key", "'step'"]),
        ('{ intervals = { width = "5" } }', ["intervals.width: received '5'. It should be a number."]),
        ('{ intervals = "5" }', ["intervals: received '5'"]),
        ("{ intervals = [5, 12] }", ["width 12 does not nest over width 5"]),
        ("{ intervals = { width = 5, widths = [5] } }", ["give either width"]),
        ("{ intervals = { width = -5 } }", ["must be above 0"]),
        ("{ intervals = { with = 5 } }", ["intervals.with: unknown key", "'width'"]),
        ('{ type = "numeric", missing = "values" }', ["missing: received 'values'", "Did you mean 'value'?"]),
    ],
)
def test_a_wrong_quasi_identifier_is_named(tmp_path: Path, spec: str, parts: list[str]) -> None:
    path = tmp_path / "c.toml"
    path.write_text(f'[schema]\nidentifier = "p"\nsensitive = "s"\n[schema.quasi_identifiers]\nage = {spec}\n')
    with pytest.raises(SchemaError) as caught:
        read_config(path)
    for part in [str(path), "schema.quasi_identifiers.age", *parts]:
        assert part in str(caught.value)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(
        '[schema]\nidentifer = "p"\nsensitive = 5\nmissing = "drop"\n[schema.quasi_identifiers]\n'
        'age = { type = "nummeric" }\nzip = { hierarchy = "zip.csv" }\n[polcy]\nm = 4\n'
    )
    with pytest.raises(SchemaError) as caught:
        read_config(path)
    text = str(caught.value)
    assert "has 7 problems" in text
    for part in (
        "polcy: unknown section. Did you mean 'policy'?",
        "schema.identifer: unknown key. Did you mean 'identifier'?",
        "schema.identifier: missing. Name the column that identifies a person.",
        "schema.sensitive: received 5. It should be a column name or a list of column names.",
        "schema.missing: received 'drop'.",
        "schema.quasi_identifiers.age.type: received 'nummeric'.",
        "schema.quasi_identifiers.zip: ",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[schema", "Correct the file's TOML"),
        ("[schema]\nidentifier = “patient”", 'Write straight quotes ("), not curly ones: identifier = “patient”'),
        ('[schema]\nzip = "C:\\Users\\zip.csv"', "Write / instead of \\ in paths: zip ="),
        ("[schema]\nidentifier = patient", 'Put text into quotes ("..."): identifier = patient'),
        ("", "schema: missing"),
        ('schema = "x"', "schema: received 'x'. Write a section"),
        (
            'labels = "x"\n[schema]\nidentifier="p"\nsensitive="s"\nquasi_identifiers={a={type="int"}}',
            "labels: received 'x'. Write a section [labels] with lines such as unknown = \"*\".",
        ),
        (
            'policy = 5\n[schema]\nidentifier="p"\nsensitive="s"\nquasi_identifiers={a={type="int"}}',
            "policy: received 5",
        ),
        ('[schema]\nidentifier="p"\nsensitive="s"\nquasi_identifiers=["a"]', "with a line for each column"),
        pytest.param("x = " + "[" * 5_000, "nested too deeply", id="deep"),
        (
            '[schema]\nidentifier="p"\nsensitive="s"\nquasi_identifiers={a={type="int"}}\nbins={s="x"}',
            "bins.s: bins: received",
        ),
        ('[schema]\nidentifier="p"\nsensitive="p"\nquasi_identifiers={a={type="int"}}', "several roles"),
    ],
)
def test_broken_configs_are_named(tmp_path: Path, text: str, part: str) -> None:
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(SchemaError, match=r"c\.toml") as caught:
        read_config(tmp_path / "c.toml")
    assert part in str(caught.value)
    with pytest.raises(SchemaError, match="cannot be read"):
        read_config(tmp_path / "absent.toml")
