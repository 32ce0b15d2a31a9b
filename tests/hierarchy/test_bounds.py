"""Configs, hierarchies, knowledge files and keys are read with bounds: a wrong path is a sentence."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from reissue.engine.csv_file import BLOCK
from reissue.errors import InputError, KeyMissing, SchemaError
from reissue.hierarchy import Hierarchy
from reissue.hierarchy.files import DEEPEST
from reissue.ledger import read_key
from reissue.methods.beliefs.knowledge_files import read_lines
from reissue.methods.correlation.inference import read_prior_sets
from reissue.model import small_files
from reissue.model.observed import Names
from reissue.model.small_files import LONGEST, read_small
from reissue.schema import read_config

READERS: dict[str, Callable[[Path], object]] = {
    "config": read_config,
    "hierarchy as ARX has it": Hierarchy.from_arx_csv,
    "hierarchy in JSON": Hierarchy.from_json,
    "hierarchy in TOML": Hierarchy.from_toml,
    "knowledge": read_lines,
    "prior sets": lambda path: read_prior_sets(str(path), cast(Names, None)),  # it does not come to names
}
each_reader = pytest.mark.parametrize("read", READERS.values(), ids=READERS)


@each_reader
def test_only_files_are_read(read: Callable[[Path], object], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (Path("/dev/zero"), tmp_path / "pipe"):
        with pytest.raises(InputError, match=r"cannot be read.*it is a pipe or device, not a file"):
            read(path)
    with pytest.raises(InputError, match="Is a directory"):
        read(tmp_path)


@each_reader
def test_a_file_that_is_too_large_is_not_read(
    read: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "large"
    with file.open("wb") as opened:
        opened.truncate(small_files.MANY + 1)  # holes: it takes no space
    monkeypatch.setattr(read_small, "__defaults__", (1 << 20,))
    for module in ("beliefs.knowledge_files", "correlation.inference"):
        monkeypatch.setattr(f"reissue.methods.{module}.MANY", 1 << 20)
    with pytest.raises(InputError, match="it is larger than 1 MB"):
        read(file)


def test_the_bounds_are_those_that_the_docs_name() -> None:
    page = (Path(__file__).parents[2] / "docs" / "input.md").read_text(encoding="utf-8")
    assert f"may have up to {BLOCK >> 20} MB" in page
    assert f"of at most {small_files.MOST >> 20} MB ({small_files.MANY >> 30} GB for knowledge about people)" in page
    assert f"at most {LONGEST:,} characters, nested tables at most {DEEPEST} levels" in page


def test_a_file_of_just_the_size_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 1000)
    assert read_small(tmp_path / "file", 1000) == b"x" * 1000
    with pytest.raises(OSError, match="larger"):
        read_small(tmp_path / "file", 999)


LONG = "x" * 100_000
DEEP = "[" * 200 + '"a"' + "]" * 200


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("key.toml", f'[schema]\nidentifier = "a"\n{LONG} = 1\n'),
        ("value.toml", f'[schema]\nidentifier = "{LONG}"\n'),
        ("section.toml", f"[{LONG}]\na = 1\n"),
        ("no-value.toml", f"{LONG}\n"),
        ("deep.toml", f"a = {DEEP}\n"),
        ("deeper.toml", ".".join("a" * 50_000) + " = 1\n"),
        ("quoted.toml", ".".join(['"a"'] * 50_000) + " = 1\n"),
        ("inline.toml", "x = {" + ".".join("a" * 50_000) + " = 1}\n"),
        ("header.toml", "[" + " . ".join("a" * 50_000) + "]\n"),
        ("deepest.toml", "a = " + "[" * 100_000),
        ("key.json", f'{{"{LONG}": ["a"]}}'),
        ("value.json", f'{{"all": ["{LONG}"]}}'),
        ("deep.json", DEEP),
        ("deepest.json", "[" * 100_000),
        ("value.csv", f"a;{LONG};*\n"),
        ("longer.csv", f"a;{LONG}{LONG};*\n"),
    ],
)
def test_long_names_and_deep_nesting_are_a_sentence(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    readers = [Hierarchy.from_file, read_config] if name.endswith(".toml") else [Hierarchy.from_file]
    for read in readers:
        with pytest.raises(SchemaError, match=name) as refused:
            read(tmp_path / name)
        assert len(str(refused.value)) < 600 + len(str(tmp_path))


def test_labels_as_long_as_labels_may_be_are_read(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text(f"{'x' * LONGEST};group;*\nb;group;*\n")
    assert len(Hierarchy.from_file(tmp_path / "h.csv").leaves) == 2


def test_a_key_is_no_endless_file(tmp_path: Path) -> None:
    with pytest.raises(KeyMissing, match=r"\(4096 bytes or more\) is not a key"):
        read_key("file:/dev/zero")
    (tmp_path / "key").write_bytes(b"0" * 100_000)
    with pytest.raises(KeyMissing, match="is not a key"):
        read_key(f"file:{tmp_path / 'key'}")
