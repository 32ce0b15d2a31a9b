"""The schema and the config: roles, kinds of quasi-identifiers, and every mistake named at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue.errors import SchemaError, SnapshotError
from reissue.hierarchy import Hierarchy
from reissue.schema import Bins, Categorical, Numeric, Schema, read_config

CONFIG = """
[schema]
identifier = "patient"
sensitive = ["diagnosis", "income"]
insensitive = "ward"
missing = "value"
[schema.quasi_identifiers]
age = { type = "numeric", missing = "refuse" }
weight = { type = "float", decimals = 1 }
zip = { hierarchy = "maps/zip.csv" }
place = { hierarchy = { Europe = ["France", "Spain"], Asia = ["Japan"] } }
code = { prefix = [3, 1] }
street = { prefix = { step = 2 } }
pay = { intervals = [5, 10] }
rent = { intervals = { width = 0.5, factors = [2, 5], start = 1 } }
born = { type = "date", levels = ["month", "year"] }
seen = { type = "date" }
sex = { type = "categorical" }
[schema.bins]
income = [0, 20000, 50000]
[policy]
strategy = "m-invariance"
m = 4
[output]
formats = "csv"
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "maps").mkdir()
    (tmp_path / "maps" / "zip.csv").write_text("12043;120*;*\n12044;120*;*\n13000;130*;*\n")
    path = tmp_path / "clinic.toml"
    path.write_text(CONFIG)
    return path


def clinic(**changes: object) -> Schema:
    given: dict[str, object] = {
        "identifier": "patient",
        "quasi_identifiers": {"age": Numeric()},
        "sensitive": "diagnosis",
    }
    return Schema(**{**given, **changes})  # type: ignore[arg-type]


def test_a_config_is_read_relative_to_itself(config: Path) -> None:
    read = read_config(config)
    schema = read.schema
    assert read.policy == {"strategy": "m-invariance", "m": 4}
    assert read.output == {"formats": "csv"}
    assert read.ledger == read.audit == {}
    assert schema == Schema.from_toml(config)
    assert schema.columns[0] == "patient"
    assert schema.columns[-3:] == ("diagnosis", "income", "ward")
    kinds = schema.quasi_identifiers
    assert kinds["age"] == Numeric("numeric", missing="refuse")
    assert kinds["weight"] == Numeric("float", 1)
    assert kinds["seen"] == Numeric("date")
    assert kinds["place"] == Categorical({"Europe": ["France", "Spain"], "Asia": ["Japan"]})
    assert kinds["zip"] == Categorical(config.parent / "maps" / "zip.csv")
    assert kinds["code"] == Categorical(Hierarchy.prefix([1, 3]))
    assert kinds["street"] == Categorical(Hierarchy.prefix(step=2))
    assert kinds["pay"] == Categorical(Hierarchy.intervals(5, factors=[2]))
    assert kinds["rent"] == Categorical(Hierarchy.intervals(0.5, factors=[2, 5], start=1))
    assert kinds["born"] == Categorical(Hierarchy.dates())
    assert kinds["sex"] == Categorical()
    assert not schema.takes_missing("age")
    assert schema.takes_missing("zip")
    assert schema.takes_missing("diagnosis")


def test_a_stored_schema_needs_no_files(config: Path) -> None:
    schema = Schema.from_toml(config)
    stored = json.loads(json.dumps(schema.to_dict()))
    (config.parent / "maps" / "zip.csv").unlink()
    again = Schema.from_dict(stored)
    assert again == schema
    assert again.to_dict() == schema.to_dict()
    assert Schema.from_stored(stored) == schema
    assert list(again.quasi_identifiers) == list(schema.quasi_identifiers)


def test_python_takes_the_shape_of_the_config(config: Path) -> None:
    schema = Schema(
        identifier="patient",
        quasi_identifiers={
            "age": {"type": "numeric"},
            "zip": {"hierarchy": config.parent / "maps" / "zip.csv"},
            "place": {"hierarchy": Hierarchy.from_nested({"A": ["x"]})},
            "code": {"prefix": (3, 1), "missing": "value"},
        },
        sensitive=("a", "b"),
        bins={"a": {"width": 10}},
    )
    assert schema.quasi_identifiers["zip"] == Categorical(config.parent / "maps" / "zip.csv")
    assert schema.sensitive == ("a", "b")
    assert schema.bins == {"a": Bins(width=10)}
    assert Schema.from_dict(schema.to_dict()) == schema
    assert Schema.from_stored(schema.to_dict()) == schema
    assert schema != clinic()
    assert clinic(quasi_identifiers={"a": Numeric(), "b": Numeric()}) != clinic(
        quasi_identifiers={"b": Numeric(), "a": Numeric()}
    )


def test_the_order_of_values_grown_before_is_stored() -> None:
    schema = clinic(quasi_identifiers={"zip": Categorical(Hierarchy.prefix([3], values=["13000", "12000"]), "value")})
    assert Schema.from_dict(schema.to_dict()) == schema
    assert Schema.from_stored(schema.to_dict()) == schema
    assert schema.to_dict()["quasi_identifiers"] == {
        "zip": {"prefix": {"lengths": [3]}, "values": ["12000", "13000"], "missing": "value"}
    }


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
    ("spec", "parts"),
    [
        ('"numeric"', ["received 'numeric'", '{ type = "numeric" }']),
        ("{}", ["nothing says how it is coded", "hierarchy, intervals, prefix"]),
        ('{ type = "nummeric" }', ["received 'nummeric'", "Did you mean 'numeric'?", '"categorical"']),
        ('{ type = "float", decimals = 7 }', ["decimals is 7", "0 to 6"]),
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
        ("", "schema: missing"),
        ('schema = "x"', "schema: received 'x'. Write a section"),
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


# --- bins of sensitive columns --------------------------------------------------------------------------------


def test_bins_between_edges() -> None:
    bins = Bins.of([0, 20000, 50000.5])
    assert bins.labels(np.array([-1.0, 0, 19999.99, 20000, 50000.5, 1e9])) == [
        "below 0",
        "0 to under 20000",
        "0 to under 20000",
        "20000 to under 50000.5",
        "50000.5 and over",
        "50000.5 and over",
    ]


@given(st.integers(-1000, 1000), st.sampled_from([0.1, 0.3, 1, 7, 2.5]), st.sampled_from([0, 0.1, -3]))
def test_a_value_lies_in_the_bin_its_label_says(hundredths: int, width: float, start: float) -> None:
    value = hundredths / 100
    [label] = Bins(width=width, start=start).labels(np.array([value]))
    low, high = map(float, label.split(" to under "))
    slack = 1e-9  # a value that is an edge up to rounding may be on either side
    assert low - slack <= value < high + slack
    assert high - low == pytest.approx(width)


@pytest.mark.parametrize(
    "given", [[], [1, 1], [2, 1], ["a"], {"width": 0}, {"width": 5, "edges": [1]}, {"with": 5}, 5, {}]
)
def test_wrong_bins_are_refused(given: object) -> None:
    with pytest.raises(SchemaError, match="bins"):
        Bins.of(given)


def test_decimal_sensitive_values_need_bins() -> None:
    schema = clinic(sensitive=("diagnosis", "income"), bins={"income": [0]})
    schema.check_sensitive("income", "float")
    schema.check_sensitive("diagnosis", "int")
    schema.check_sensitive("diagnosis", "text")
    with pytest.raises(SnapshotError, match=r"diagnosis: a sensitive column of decimal numbers needs bins"):
        schema.check_sensitive("diagnosis", "float")
    with pytest.raises(SnapshotError, match="income: has bins but is not numeric"):
        schema.check_sensitive("income", "text")


def test_pydantic_is_loaded_only_for_configs() -> None:
    code = (
        "import sys, reissue.schema, reissue.coding\n"
        "reissue.schema.Schema(identifier='p', quasi_identifiers={'a': reissue.schema.Numeric()}, sensitive='s')\n"
        "assert not {'pydantic', 'polars', 'scipy', 'numba'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("section", "part"),
    [
        ("[ledger]\nky = 'file:x'", "ledger.ky: unknown key. Did you mean 'key'?"),
        ("[ledger]\nkey = 5", "ledger.key: received 5"),
        ("[output]\nformat = 'csv'", "output.format: unknown key. Did you mean 'formats'?"),
        ("[output]\nformats = 5", 'output.formats: received 5. It should be "parquet", "csv", or a list'),
        ("[output]\nformats = []", "output.formats: received []"),
        ("[output]\nformats = ['xls']", "output.formats: received ['xls']"),
    ],
)
def test_no_key_of_any_section_is_skipped(config: Path, section: str, part: str) -> None:
    """A misspelt key of the ledger would leave it unencrypted without a word."""
    config.write_text(config.read_text().partition("[output]")[0] + section)
    with pytest.raises(SchemaError) as error:
        read_config(config)
    assert part in str(error.value)
