"""The config as people write it: every kind of quasi-identifier is read, and a schema survives being stored."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from reissue.errors import SchemaError
from reissue.hierarchy import Hierarchy
from reissue.schema import Bins, Categorical, Numeric, Schema, read_config
from tests.schema.clinics import clinic

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


def test_knowledge_files_are_found_from_the_config_wherever_one_publishes_from(config: Path) -> None:
    config.write_text(
        CONFIG
        + '[policy.knowledge]\nvalues = "estimate"\ntransitions = "facts/moves.csv"\nsmoothing = 5\n'
        + f'[audit.knowledge]\ncompromised = "{config.parent / "who.csv"}"\nvalues = "uniform"\n'
    )
    read = read_config(config)
    moves = str(config.parent / "facts" / "moves.csv")
    assert read.policy["knowledge"] == {"values": "estimate", "transitions": moves, "smoothing": 5}
    assert read.audit["knowledge"] == {"compromised": str(config.parent / "who.csv"), "values": "uniform"}


def test_the_file_of_a_key_is_found_from_the_config(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(
        '[schema]\nidentifier = "p"\nsensitive = "s"\n[schema.quasi_identifiers]\nage = { type = "int" }\n'
        '[ledger]\nkey = "file:keys/own.key"\n'
    )
    assert read_config(path).ledger == {"key": f"file:{tmp_path / 'keys' / 'own.key'}"}
