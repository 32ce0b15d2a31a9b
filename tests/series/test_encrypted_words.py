"""With a key no private byte of a series shows an identifier or a sensitive value, whatever was done to it."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

import reissue as ri
from reissue.errors import ReissueError
from reissue.ledger.disk import FAULT_POINTS
from reissue.methods.registry import STRATEGIES, find_strategy
from tests.support.hospital import hospital_schema
from tests.support.private import read_private

KEY = bytes(range(32))
VALUES = [f"ILLNESS-{letter}" for letter in "ABCDEFGH"]
SETTINGS: dict[str, dict[str, object]] = {
    "standing": {"k": 4, "c": 0.6, "l": 2, "row_k": 2, "row_l": 1},
    "static": {"k": 3},
    "merge": {"k": 3},
    "checked-mondrian": {"k": 3},
    "checked-incognito": {"k": 3},
    "bcf": {"k": 3},
    "m-invariance": {"m": 3, "on_ineligible": "counterfeit"},
    "e-equivalence": {"m": 2, "e": 2, "on_ineligible": "counterfeit"},
    "cor-split": {"m": 3, "n": 2, "on_ineligible": "counterfeit"},
    "bay-frame": {"k": 3, "J": 1.0, "beta": 5.0},
    "js-reduce": {"k": 3, "t": 0.9, "J": 1.0},
}


def people(count: int, values: list[str] = VALUES) -> pa.Table:
    return pa.table(
        {
            "name": [f"PERSON-{i:04d}" for i in range(count)],
            "age": [20 + i % 60 for i in range(count)],
            "gender": [("Male", "Female")[i // 3 % 2] for i in range(count)],
            "diagnosis": [values[i % len(values)] for i in range(count)],
        }
    )


def assert_silent(path: Path) -> None:
    """Public files that wait in the staging folder are what will be handed out; all else must not speak."""
    kept = read_private(path)
    for word in (b"PERSON-", b"ILLNESS-", b"Division:", *(name.encode() for name in STRATEGIES if "-" in name)):
        at = kept.find(word)
        assert at < 0, kept[max(at - 80, 0) : at + 80]


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_no_private_byte_names_anybody_or_anything(name: str, tmp_path: Path) -> None:
    strategy = find_strategy(name)(**SETTINGS[name])
    words = hospital_schema()
    with ri.Series.create(tmp_path / "s", words, strategy, key=KEY, seed=3) as series:
        series.publish(people(48))
        assert_silent(tmp_path / "s")
        refused = 0
        for wrong in (people(60, ["ILLNESS-A"]), people(40).slice(0, 1), people(60).drop_columns(["age"])):
            try:
                series.publish(wrong)
            except ReissueError:
                refused += 1
        assert refused, "something was refused"
        series.publish(people(72)) if strategy.supports.gone or len(series.releases) == 1 else None
        series.forget("PERSON-0003")
        series.audit(attacks=["association"])
        assert series.verify() == []
        assert series.releases[0].strategy == name
        assert series.releases[0].steps
        assert series.releases[0].counts["published"] > 0
    assert_silent(tmp_path / "s")


@pytest.mark.parametrize(
    "point", [point for point in FAULT_POINTS if point.startswith(("stage.", "commit.", "catalogue."))]
)
def test_nor_does_what_a_kill_leaves(point: str, tmp_path: Path) -> None:
    path = tmp_path / "s"
    ri.Series.create(path, hospital_schema(), ri.MInvariance(m=3), key=KEY, seed=3).close()
    child = os.fork()
    if child == 0:
        os.environ["REISSUE_FAULT"] = point
        with ri.Series.open(path, key=KEY) as series:
            series.publish(people(48))
        os._exit(0)
    os.waitpid(child, 0)
    for waiting in (path / "private" / "staging").glob("*/public/*"):
        waiting.unlink()
    assert_silent(path)


def test_in_the_clear_the_words_are_there(tmp_path: Path) -> None:
    """The search finds what there is."""
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.MInvariance(m=3)) as series:
        series.publish(people(48))
    kept = read_private(tmp_path / "s")
    assert b"PERSON-0003" in kept
    assert b"ILLNESS-C" in kept
    assert b"m-invariance" in kept
