"""What is put into the ledger comes back exactly, from either database."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from reissue.errors import SeriesError
from reissue.ledger import Ledger, ReleaseRecord, parquet
from reissue.model.release import Facts
from tests.ledger.support import (
    CODING,
    CONFIG,
    META,
    SEED,
    assert_is_whole,
    assert_same_facts,
    create,
    in_child,
    publish,
    some_caches,
    some_facts,
)

DTYPES = st.sampled_from(["i1", "u2", "i4", "i8", "f4", "f8", "?", "U3", "S2", "M8[ns]"])


def test_a_series_comes_back_as_it_was(tmp_path: Path, catalogue_url: str | None) -> None:
    path = tmp_path / "s"
    with create(path, catalogue_url) as ledger:
        assert_is_whole(ledger, 0)
        for number in (1, 2, 3):
            record = publish(ledger, number)
            assert record == ledger.releases[-1]
            assert record.created.endswith("+00:00")
    with Ledger.open(path) as ledger:
        assert_is_whole(ledger, 3)
        assert (ledger.meta, ledger.seed) == (META, SEED)
        assert (path / "reissue.toml").read_text() == CONFIG
        assert ledger.coding_versions == [1, 2, 3, 4]
        assert ledger.coding(1) == CODING
        assert ledger.coding() == CODING | {"release": 3}
        assert ledger.releases[1].seed == 2**90 + 2
        assert ledger.releases[1].steps == ("Divided the rows.", "Balanced «2» buckets.")
        assert ledger.releases[1].settings == {"m": 2}


def test_coding_and_caches_change_alone(tmp_path: Path, catalogue_url: str | None) -> None:
    with create(tmp_path / "s", catalogue_url) as ledger:
        publish(ledger, 1)
        ledger.add_coding(3, {"new": [1, "é", None]})
        with pytest.raises(ValueError, match="next version of the coding is 4"):
            ledger.add_coding(3, {"again": True})
        ledger.replace_caches({"only": {"x": np.arange(3)}})
    with Ledger.open(tmp_path / "s") as ledger:
        assert ledger.coding() == {"new": [1, "é", None]}
        assert {name: table["x"].tolist() for name, table in ledger.caches().items()} == {"only": [0, 1, 2]}
        assert ledger.verify() == []
        ledger.replace_caches(some_caches(1))
        assert_is_whole(ledger, 1)


def test_a_document_that_a_caller_changes_stays_as_kept(ledger: Ledger) -> None:
    ledger.meta["schema"] = "spoiled"
    assert ledger.meta == META


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
        DTYPES.flatmap(lambda dtype: hnp.arrays(np.dtype(dtype), hnp.array_shapes(min_dims=0, min_side=0, max_side=4))),
        max_size=4,
    ),
    st.booleans(),
)
def test_any_table_is_packed_and_unpacked_exactly(table: dict[str, np.ndarray], fortran: bool) -> None:
    if fortran:
        table = {name: np.asfortranarray(array) for name, array in table.items()}
    found = parquet.unpack(parquet.pack(table))
    assert list(found) == list(table)
    for name, array in table.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes()  # bytes: a NaN is not equal to itself
        assert found[name].flags.f_contiguous or not array.flags.f_contiguous
        assert found[name].flags.writeable


def test_an_array_larger_than_a_cell_is_kept_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_CHUNK", 10)
    table = {"a": np.arange(7, dtype=np.int64), "b": np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3))}
    packed = parquet.pack(table)
    assert packed.num_rows == 6 + 2
    assert all(np.array_equal(parquet.unpack(packed)[name], table[name]) for name in table)


def test_objects_are_refused() -> None:
    with pytest.raises(TypeError, match="cannot keep 'x': its dtype is object"):
        parquet.pack({"x": np.array([None, "a"], dtype=object)})


@pytest.mark.parametrize(("rows", "attributes"), [(0, 3), (5, 0), (0, 0), (70_000, 2)])
def test_facts_of_any_size_come_back(tmp_path: Path, rows: int, attributes: int) -> None:
    facts = Facts(
        number=1,
        boxes=np.zeros((0, attributes, 2), dtype=np.int32),
        subjects=np.arange(rows, dtype=np.int64),
        classes=np.zeros(rows, dtype=np.int32),
        values=np.full(rows, 2**31 - 1, dtype=np.int32),
        codes=np.asfortranarray(np.full((rows, attributes), -(2**31), dtype=np.int32)),
    )
    for name, table in (("rows", parquet.rows_of(facts)), ("shape", parquet.shape_of(facts))):
        parquet.write_table(tmp_path / name, table)
    rows_read, shape_read = (parquet.read_table((tmp_path / name).read_bytes()) for name in ("rows", "shape"))
    assert_same_facts(facts, parquet.read_facts(1, rows_read, shape_read))


def test_facts_are_read_when_asked_for_and_can_be_written_to(ledger: Ledger) -> None:
    facts = ledger.facts(1)
    assert ledger.facts(1) is facts
    assert facts.codes.flags.writeable
    assert facts.subjects.flags.writeable
    with pytest.raises(SeriesError, match="no release 2; the series has 1"):
        ledger.facts(2)


def test_what_does_not_fit_is_refused_before_anything_happens(series: Path) -> None:
    ledger = Ledger.open(series)
    with pytest.raises(RuntimeError, match="publisher"):
        ledger.stage(2)
    record = ReleaseRecord(number=2, strategy="x", settings={}, seed=1, coding_version=2, counts={})
    with ledger.publisher():
        with pytest.raises(SeriesError, match="next release is 2, not 3"):
            ledger.stage(3)
        stage = ledger.stage(2)
        with pytest.raises(ValueError, match="facts are of release 1"):
            stage.facts(some_facts(1))
        with pytest.raises(ValueError, match="needs its facts"):
            stage.commit(record)
        with pytest.raises(ValueError, match="numbers of their own, from 10 on"):
            stage.identities(pa.array(["a"]), np.array([9]))
        with pytest.raises(ValueError, match="numbers of their own"):
            stage.identities(pa.array(["a", "b"]), np.array([10, 10]))
        with pytest.raises(ValueError, match="numbers of their own"):
            stage.number_subjects(np.array([13, 10, 12, 10]))
        with pytest.raises(ValueError, match="numbers of their own, from 10 on"):
            stage.number_subjects(np.array([12, 9, 13]))
        stage.number_subjects(np.array([12, 14, 10, 13]))  # in any order: the next numbers are above all of them
        with pytest.raises(ValueError, match="numbers of their own, from 15 on"):
            stage.number_subjects(np.array([14]))
        with pytest.raises(ValueError, match="next version of the coding is 3"):
            stage.coding(5, {})
        stage.facts(some_facts(2))
        with pytest.raises(ValueError, match="coding version 9, which is not kept"):
            stage.commit(ReleaseRecord(number=2, strategy="x", settings={}, seed=1, coding_version=9, counts={}))
    assert_is_whole(Ledger.open(series), 1)


def test_a_stage_that_is_not_committed_is_discarded(series: Path) -> None:
    ledger = Ledger.open(series)

    def fail() -> None:
        with ledger.publisher():
            ledger.stage(2).facts(some_facts(2))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert_is_whole(ledger, 1)
    publish(ledger, 2)
    assert_is_whole(ledger, 2)


def test_a_foreign_folder_in_the_way_is_not_overwritten(series: Path) -> None:
    (series / "releases" / "0002").mkdir()
    (series / "releases" / "0002" / "theirs.txt").write_text("keep me")
    with pytest.raises(SeriesError, match="releases/0002 exists"):
        publish(Ledger.open(series), 2)
    assert (series / "releases" / "0002" / "theirs.txt").read_text() == "keep me"


def test_a_releases_folder_on_another_disk_is_refused_before_the_commit(series: Path, tmp_path: Path) -> None:
    """Showing a release must be one rename; on another disk it could be committed but never appear."""
    elsewhere = Path(tempfile.mkdtemp(dir="/tmp"))
    if elsewhere.stat().st_dev == tmp_path.stat().st_dev:
        elsewhere.rmdir()
        pytest.skip("there is only one disk here")
    (series / "releases").rename(tmp_path / "before")
    (series / "releases").symlink_to(elsewhere)
    with pytest.raises(SeriesError, match="releases is on another disk"):
        publish(Ledger.open(series), 2)
    (series / "releases").unlink()
    (tmp_path / "before").rename(series / "releases")
    elsewhere.rmdir()
    assert_is_whole(Ledger.open(series), 1)


def test_reading_and_writing_leave_pandas_alone(series: Path) -> None:
    """Where pandas is installed, importing it would cost every command a second."""
    code = f"""
import sys
from reissue.ledger import Ledger
ledger = Ledger.open({str(series)!r})
ledger.facts(1), ledger.caches(), ledger.identities(), ledger.coding(), ledger.meta, ledger.verify()
ledger.replace_caches(ledger.caches())
ledger.forget(["patient-001-02-é"])
print("pandas" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_private_files_are_for_their_owner_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "s"

    def work() -> None:
        os.umask(umask)
        with create(path) as ledger:
            publish(ledger, 1)
            ledger.forget(["patient-001-03-é"])

    assert in_child(work) == 0
    private = [path / "private", *(path / "private").rglob("*")]
    modes = {str(one): stat.S_IMODE(one.stat().st_mode) for one in private}
    assert set(modes.values()) == {0o600, 0o700}
    assert all((mode == 0o700) == Path(one).is_dir() for one, mode in modes.items())
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE((path / "reissue.toml").stat().st_mode)) == (0o700, 0o600)
    public = [path / "releases", *(path / "releases").rglob("*")]
    assert len(public) > 2
    for one in public:  # to be read, never to be replaced by others
        assert stat.S_IMODE(one.stat().st_mode) == (0o755 if one.is_dir() else 0o644) & ~umask


@pytest.mark.parametrize("name", ["", "releases", "releases/0001"])
def test_verify_names_folders_in_which_others_may_replace_a_release(tmp_path: Path, name: str) -> None:
    with create(tmp_path / "s") as ledger:
        publish(ledger, 1)
        assert ledger.verify() == []
        (tmp_path / "s" / name).chmod(0o775)
        [damage] = ledger.verify()
    assert (damage.file, "mode 0775" in damage.reason) == (name or ".", True)
    assert damage.remedy == f"Run: chmod go-w '{tmp_path / 's' / name}'"


def test_a_backup_without_empty_folders_opens(tmp_path: Path) -> None:
    create(tmp_path / "s").close()
    (tmp_path / "s" / "private" / "staging").rmdir()
    (tmp_path / "s" / "releases").rmdir()
    with Ledger.open(tmp_path / "s") as ledger:
        publish(ledger, 1)
        assert_is_whole(ledger, 1)


def test_importing_the_ledger_leaves_the_database_library_alone() -> None:
    code = "import sys, reissue.ledger; print([n for n in ('polars', 'psycopg') if n in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
