"""Caches in segments, whatever else is done to a series: extended, amended, upgraded, encrypted, on a server.

Of two series that are the same, one segment after the other is damaged in one: verify names that one and no other file,
`verify --rebuild` makes it again as it was, and both go on with the same release.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import reissue as ri
from reissue.ledger.records import PrivateFile
from tests.series.test_upgrading import FOLDER, KEY, ON_A_SERVER, unpack

PLACES = {"all": {f"region {r}": [f"place {r}{p}" for p in range(3)] for r in range(2)}}
MORE = {"all": {"region 2": ["place 20", "place 21"]}}
SCHEMA = ri.Schema(
    identifier="person",
    quasi_identifiers={"age": ri.Numeric(), "place": ri.Categorical(hierarchy=ri.Hierarchy.from_nested(PLACES))},
    sensitive="illness",
)
STRATEGIES = [ri.Standing(), ri.MInvariance(m=2)]


def months() -> list[pa.Table]:
    """Four: some arrive in each, some are gone, and some of those are back."""
    rng = np.random.default_rng(1)
    age, place = rng.integers(20, 80, 400), rng.integers(0, 6, 400)
    people = pa.table(
        {
            "person": [f"p{number}" for number in range(400)],
            "age": age,
            "place": [f"place {p // 3}{p % 3}" for p in place],
            "illness": [f"illness {i}" for i in rng.permutation(400) % 5],
        }
    )
    kept = [[(0, 250)], [(60, 320)], [(20, 90), (130, 360)], [(0, 400)]]
    return [pa.concat_tables([people[first:end] for first, end in parts]) for parts in kept]


def is_segment(name: str) -> bool:
    return re.search(r"/\d+\.\d+(-\d+)?$", name) is not None


def list_caches(series: ri.Series) -> dict[str, PrivateFile]:
    return {file.name: file for file in series._ledger._state.of_role("cache")}


def assert_mended(series: ri.Series, name: str, remove: bool) -> None:
    """The cache is damaged, named by verify as the only one, and made again."""
    file = list_caches(series)[name]
    stored = series.path / "private" / "files" / file.path
    stored.unlink() if remove else stored.write_bytes(b"nobody wrote this")
    assert [one.file for one in series.verify()] == [f"private/files/{file.path}"]
    named = re.sub(r"-\d{5}$", "", name)  # of the fragments, verify names the file
    assert [one.file for one in series.verify(rebuild=True)] == [f"cache {named}"]
    assert series.verify(rebuild=True) == []


def read_caches(series: ri.Series) -> dict[str, dict[str, list[object]]]:
    """By their files: of all fragments."""
    tables = {name: series._ledger.shelf.read(file) for name, file in list_caches(series).items()}
    return {name: table.to_pydict() for name, table in tables.items()}


def assert_each_is_mended(series: ri.Series) -> None:
    """One segment after the other."""
    right = read_caches(series)
    names = [name for name in right if is_segment(name)]
    assert names, "there is something to damage"
    for turn, name in enumerate(names):
        assert_mended(series, name, remove=turn % 2 == 0)
        assert read_caches(series) == right


def read_release(series: ri.Series) -> tuple[dict[str, bytes], dict[str, list[object]]]:
    """The last one: its public files, and who is in which class."""
    folder = series.releases[-1].path
    tables = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix == ".csv"}
    assert tables
    return tables, series.membership(len(series.releases)).to_pydict()


def assert_same_with_damage(
    tmp_path: Path,
    strategy: ri.Standing | ri.MInvariance,
    change: Callable[[ri.Series], object] = lambda _: None,
    key: bytes | None = None,
    catalogue: str | None = None,
) -> None:
    """Of two series one is damaged before and after `change`, and after the release that follows it."""
    *before, third, fourth = months()
    made = []
    for name in ("sound", "damaged"):
        with ri.Series.create(
            tmp_path / name, SCHEMA, strategy, seed=3, formats=["csv"], key=key, catalogue=catalogue
        ) as series:
            for table in before:
                series.publish(table)
            for step in (lambda: change(series), lambda: series.publish(third), lambda: series.publish(fourth)):
                if name == "damaged":
                    assert_each_is_mended(series)
                step()
            made.append(read_release(series))
    assert made[0] == made[1]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.name)
def test_where_a_hierarchy_is_extended(strategy: ri.Standing | ri.MInvariance, tmp_path: Path) -> None:
    more = ri.Hierarchy.from_nested(MORE)
    assert_same_with_damage(tmp_path, strategy, lambda series: series.extend("place", more))


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.name)
def test_where_a_schema_is_amended(strategy: ri.Standing | ri.MInvariance, tmp_path: Path) -> None:
    amended = ri.Schema(
        identifier="person",
        quasi_identifiers=SCHEMA.quasi_identifiers,
        sensitive="illness",
        missing="value",
    )
    assert_same_with_damage(tmp_path, strategy, lambda series: series.amend(amended))


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.name)
def test_where_everything_is_encrypted(strategy: ri.Standing | ri.MInvariance, tmp_path: Path) -> None:
    assert_same_with_damage(tmp_path, strategy, key=KEY)


@pytest.mark.xdist_group("postgresql")
@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "encrypted"])
def test_where_the_catalogue_is_in_postgresql(tmp_path: Path, postgresql_url: str, key: bytes | None) -> None:
    assert_same_with_damage(tmp_path, ri.Standing(), key=key, catalogue=postgresql_url)


OLDER = [
    ("standing", "standing/tokens"),
    ("standing", "standing/people"),
    ("m-invariance", "series/absent"),
    ("m-invariance-encrypted", "series/absent"),
    ("m-invariance-divided", "series/absent-00001"),
    ("e-equivalence", "series/absent"),
]


@pytest.mark.parametrize(("name", "cache"), OLDER)
def test_where_an_older_version_wrote_them_whole(name: str, cache: str, tmp_path: Path) -> None:
    """Damaged as they were written, before anything is upgraded, and again as the segments that follow."""
    made = []
    for place in ("sound", "damaged"):
        (tmp_path / place).mkdir()
        with unpack(FOLDER / f"{name}.tar.xz", tmp_path / place) as series:
            if place == "damaged":
                assert_mended(series, cache, remove=cache == "series/absent")
                assert_each_is_mended(series)
            series.publish(pyarrow.csv.read_csv(tmp_path / place / "next.csv"))
            if place == "damaged":
                assert_each_is_mended(series)
            made.append(series.membership(3).to_pydict())
    assert made[0] == made[1]


@pytest.mark.xdist_group("postgresql")
@pytest.mark.parametrize("archive", ON_A_SERVER[:2], ids=lambda path: path.name.removesuffix(".tar.xz"))
def test_where_an_older_version_wrote_them_beside_postgresql(
    archive: Path, tmp_path: Path, postgresql_url: str
) -> None:
    with unpack(archive, tmp_path, postgresql_url) as series:
        assert_mended(series, "series/absent", remove=True)
        series.publish(pyarrow.csv.read_csv(tmp_path / "next.csv"))
        assert_each_is_mended(series)
