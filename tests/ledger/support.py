"""A small series to publish, and processes that may be killed."""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

import reissue.ledger.postgresql
import reissue.ledger.sqlite  # noqa: F401  a forked child imports nothing new
from reissue.ledger import Ledger, ReleaseRecord
from reissue.model.release import Facts

CONFIG = '[schema]\nidentifier = "patient"\n'
META = {"schema": {"sensitive": "diagnosis"}, "policy": {"strategy": "m-invariance", "m": 2}}
CODING = {"diagnosis": ["flu", "gastritis-präfix"]}
SEED = 2**100 + 7
PER_RELEASE = 10  # new subjects in every release


def create(path: Path, catalogue_url: str | None = None, key: bytes | None = None) -> Ledger:
    return Ledger.create(path, config=CONFIG, meta=META, coding=CODING, seed=SEED, catalogue_url=catalogue_url, key=key)


def some_facts(number: int, rows: int = 40) -> Facts:
    rng = np.random.default_rng(number)
    return Facts(
        number=number,
        boxes=rng.integers(0, 99, (6, 3, 2)).astype(np.int32),
        subjects=np.arange(-2, rows - 2, dtype=np.int64),
        classes=rng.integers(0, 6, rows).astype(np.int32),
        values=rng.integers(0, 2, rows).astype(np.int32),
        codes=np.asfortranarray(rng.integers(0, 99, (rows, 3)).astype(np.int32)),
        anatomized=bool(number % 2),
        extras={"cut": rng.random((2, 3)), "nothing": np.empty((0, 2), dtype=bool)},
    )


def some_caches(number: int) -> dict[str, dict[str, np.ndarray]]:
    return {
        "signatures": {"subject": np.arange(number * 5), "signature": np.arange(number * 5, dtype=np.int32)},
        "beliefs": {"prior": np.random.default_rng(number).random(number)},
    }


def identifiers(number: int) -> list[str]:
    """The identifiers that are new in a release."""
    return [f"patient-{number:03d}-{row:02d}-é" for row in range(PER_RELEASE)]


def publish(ledger: Ledger, number: int, rows: int = 40, new_coding: bool = True) -> ReleaseRecord:
    """One release with everything a release can bring."""
    with ledger.publisher():
        stage = ledger.stage(number)
        (stage.public / "data.csv").write_text(f"age,diagnosis\n{number},flu\n")
        (stage.public / "more").mkdir()
        (stage.public / "more" / "about.json").write_text("{}")
        stage.facts(some_facts(number, rows))
        stage.caches(some_caches(number))
        first = ledger.next_subject
        stage.identities(pa.array(identifiers(number)), np.arange(first, first + PER_RELEASE))
        version = ledger.coding_versions[-1]
        if new_coding:
            version += 1
            stage.coding(version, CODING | {"release": number})
        return stage.commit(
            ReleaseRecord(
                number=number,
                strategy="m-invariance",
                settings={"m": 2},
                seed=2**90 + number,
                coding_version=version,
                counts={"rows": rows},
                steps=["Divided the rows.", "Balanced «2» buckets."],
            )
        )


def assert_same_facts(one: Facts, other: Facts) -> None:
    assert (one.number, one.anatomized, set(one.extras)) == (other.number, other.anatomized, set(other.extras))
    pairs = [(getattr(one, name), getattr(other, name)) for name in ("boxes", "subjects", "classes", "values", "codes")]
    for a, b in pairs + [(one.extras[name], other.extras[name]) for name in one.extras]:
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert np.array_equal(a, b)
    assert other.codes.flags.f_contiguous


def assert_is_whole(ledger: Ledger, releases: int) -> None:
    """The series has exactly these releases, every part of them, and nothing else lies around."""
    assert ledger.verify() == []
    assert [record.number for record in ledger.releases] == list(range(1, releases + 1))
    assert sorted(os.listdir(ledger.path / "releases")) == [f"{number:04d}" for number in range(1, releases + 1)]
    for record in ledger.releases:
        assert_same_facts(some_facts(record.number, record.counts["rows"]), ledger.facts(record.number))
        assert {file.name for file in record.files} == {"data.csv", "more/about.json"}
        assert ledger.coding(record.coding_version)
    found = ledger.caches()
    expected = some_caches(releases) if releases else {}
    assert set(found) == set(expected)
    for name, table in expected.items():
        assert all(np.array_equal(table[column], found[name][column]) for column in table)
    assert ledger.next_subject == releases * PER_RELEASE
    names, numbers = ledger.identities()
    assert names.to_pylist() == [name for number in range(1, releases + 1) for name in identifiers(number)]
    assert numbers.tolist() == list(range(releases * PER_RELEASE))
    assert os.listdir(ledger.path / "private" / "staging") == []
    seal = ledger.path / "private" / "catalogue.sha256"
    assert not seal.exists() or len(seal.read_text()) == 65  # closed: it covers every byte of the catalogue
    referred = {file.path for file in ledger._state.files.values()}
    assert set(os.listdir(ledger.path / "private" / "files")) == referred
    assert sorted(os.listdir(ledger.path)) == ["private", "reissue.toml", "releases"]


def make_older(path: Path) -> None:
    """As the version before wrote it: format 1, and nothing of what format 2 adds."""
    ledger = Ledger.open(path)
    pointer = json.dumps({**json.loads(ledger._state.pointer), "format": 1}, indent=2) + "\n"
    with ledger._catalogue.writing() as connection:
        ledger._catalogue.put_format(connection, 1, pointer)
    (path / "private" / "series.json").write_text(pointer)


def in_child(work: Callable[[], object], fault: str = "") -> int:
    """Run `work` in a forked process; its exit code, or minus the signal that killed it."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            os.environ["REISSUE_FAULT"] = fault
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


KILLED = -signal.SIGKILL


def flip(path: Path, position: int, bit: int = 0) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1 << bit
    path.write_bytes(content)
