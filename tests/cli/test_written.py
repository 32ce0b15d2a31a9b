"""Files that commands write where the steward says: as a whole or not at all, and over nothing else."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import reissue as ri
from reissue.cli import main
from reissue.compare import compare
from reissue.documents import write_bytes, write_json, write_text
from reissue.errors import InputError, SeriesError
from tests.report.documents import EXAMPLE
from tests.support.hospital import FIGURE_1, FIGURE_3, frame, hospital_schema, population, write_config


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A series `s` that an audit breaks, and the same audit as `audit.json`."""
    monkeypatch.chdir(tmp_path)
    with ri.Series.create("s", hospital_schema(), ri.Static(k=2), seed=1) as series:
        for number, table in enumerate((FIGURE_1, FIGURE_3), start=1):
            pa.csv.write_csv(frame(table), f"{number}.csv")
            series.publish(f"{number}.csv")
    shutil.copy(EXAMPLE, "audit.json")
    return tmp_path


def on_a_full_disk(*arguments: str) -> subprocess.CompletedProcess[str]:
    """No file may exceed 200 kB: enough for a ledger, too little for a page."""

    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    command = [sys.executable, "-m", "reissue", *arguments]
    return subprocess.run(command, capture_output=True, text=True, preexec_fn=small_files)


def ended(*arguments: str) -> object:
    with pytest.raises(SystemExit) as end:
        main.main(list(arguments))
    return end.value.code


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (("report", "audit.json", "-o", "page.html"), "people are at risk"),
        (("audit", "s", "--json", "--attack", "intersection", "--html", "page.html"), '"format": "reissue-audit/1"'),
    ],
)
def test_a_full_disk_keeps_the_old_page_and_tells_what_was_found(
    clinic: Path, arguments: tuple[str, ...], found: str
) -> None:
    Path("page.html").write_text("<!doctype html> of last month")
    done = on_a_full_disk(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: Writing page.html failed: File too large.")
    assert "choose another place. The file that is there is as it was." in done.stderr
    assert found in done.stdout, "the work is not lost"
    assert Path("page.html").read_text() == "<!doctype html> of last month"
    assert not [name for name in os.listdir() if name.endswith(".new")]


def test_an_interrupt_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.json"
    write_json({"month": 1}, file)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_json({"month": 2}, file)
    assert json.loads(file.read_text()) == {"month": 1}
    assert os.listdir(tmp_path) == ["a.json"]


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_links_permissions_and_pipes_stay_what_they_are(tmp_path: Path) -> None:
    kept, link = tmp_path / "kept.html", tmp_path / "latest.html"
    write_text("old", kept)
    kept.chmod(0o640)
    link.symlink_to(kept)
    write_text("new", link, public=True)
    assert link.is_symlink()
    assert kept.read_text() == "new"
    assert mode_of(kept) == 0o640
    write_text("newer", link)
    assert (kept.read_text(), mode_of(kept)) == ("newer", 0o600), "what is not public is its owner's"
    write_bytes(b"nothing to lose", "/dev/null")
    assert not Path("/dev/null").is_file()
    longest = tmp_path / ("x" * 250 + ".html")
    write_text("a name as long as names may be", longest)
    assert longest.exists()


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
@pytest.mark.parametrize("public", [False, True])
def test_reports_and_documents_are_for_their_owner_whatever_the_umask(clinic: Path, public: bool) -> None:
    more = ("--public",) if public else ()
    attack = ("--attack", "intersection")
    assert ended("report", "s", "-o", "report.html", *attack, *more) == 0
    assert ended("audit", "s", "--html", "audit.html", "--json", *attack, *more) in (0, 1)
    with ri.Series.open("s") as series:
        audit = series.audit(attacks=["intersection"])
    audit.to_json("written.json", public=public)
    audit.to_html("written.html", public=public)
    wanted = 0o644 if public else 0o600  # never one that others may write
    assert [mode_of(Path(name)) for name in ("report.html", "audit.html", "written.json", "written.html")] == [
        wanted
    ] * 4


@pytest.mark.usefixtures("open_umask")
def test_what_is_public_by_purpose_cannot_be_replaced_by_others(clinic: Path) -> None:
    towns = pa.array([["Bern", "Basel", "Lugano", "Thun", "Chur"][i % 5] for i in range(300)])
    pa.csv.write_csv(population(300).append_column("town", towns), "people.csv")
    proposed = ("--identifier", "name", "--sensitive", "diagnosis", "--yes")
    assert ended("init", "new", "--from", "people.csv", *proposed) == 0
    told = [Path("new.toml"), Path("new.hierarchies"), *Path("new.hierarchies").rglob("*")]
    assert {str(one) for one in told if mode_of(one) != (0o700 if one.is_dir() else 0o600)} == set()
    assert (mode_of(Path("new")), mode_of(Path("new/reissue.toml")), mode_of(Path("new/releases"))) == (
        0o700,
        0o600,
        0o755,
    )
    assert ended("publish", "new", "people.csv") == 0
    assert ended("pack", "new") == 0
    public = [Path("release.zip"), Path("new/releases"), *Path("new/releases").rglob("*")]
    assert {str(one) for one in public if mode_of(one) != (0o755 if one.is_dir() else 0o644)} == set()


@pytest.mark.usefixtures("open_umask")
def test_what_a_comparison_keeps_is_for_its_owner(clinic: Path) -> None:
    Path("kept").mkdir()
    config = str(write_config(clinic))
    assert ended("compare", "1.csv", "--config", config, "--strategy", "static", "--out", "kept", "--html", "page.html",
                 "--picture", "map.svg") == 0  # fmt: skip
    modes = {str(path): mode_of(path) for path in (Path("kept"), *Path("kept").rglob("*"))}
    assert {name for name, mode in modes.items() if mode not in (0o600, 0o700)} == set()
    assert {mode_of(Path(name)) for name in ("page.html", "map.svg")} == {0o600}


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"There is no such folder. Make it, or choose another place."):
        write_text("x", tmp_path / "none" / "a.json")
    with pytest.raises(InputError, match=r"Writing .* failed: Is a directory"):
        write_text("x", tmp_path)


def test_only_a_saved_audit_without_any_attack_is_told_to_have_checked_nothing(
    clinic: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(Path("audit.json").read_text(encoding="utf-8"))
    skipped = [one for one in document["attacks"] if one["status"] == "skipped"]
    assert 0 < len(skipped) < len(document["attacks"])
    assert ended("report", "audit.json", "-o", "page.html") == 0
    assert "Nothing was checked" not in capsys.readouterr().err
    Path("nothing.json").write_text(json.dumps({**document, "attacks": skipped}), encoding="utf-8")
    assert ended("report", "nothing.json", "-o", "page.html") == 2
    told = capsys.readouterr().err
    assert f"Nothing was checked, since none of the attacks could be run:\n- {skipped[0]['name']}: " in told
    assert skipped[0]["reason"] in told


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "s", "-o", "1.csv"),
        ("report", "audit.json", "-o", "audit.json"),
        ("audit", "s", "--html", "1.csv"),
        ("compare", "1.csv", "--config", "c.toml", "--html", "1.csv"),
        ("compare", "1.csv", "--config", "c.toml", "--picture", "1.svg"),
    ],
)
def test_nothing_else_is_written_over(
    clinic: Path, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy("1.csv", "1.svg")
    before = {name: Path(name).read_bytes() for name in ("1.csv", "1.svg", "audit.json")}
    assert ended(*arguments) == 2
    assert f"{arguments[-1]} is there already, and is nothing that this command writes" in capsys.readouterr().err
    assert before == {name: Path(name).read_bytes() for name in before}


@pytest.mark.parametrize(("place", "why"), [("releases/0001", "handed out"), ("private", "the ledger only")])
def test_no_report_lands_among_what_is_handed_out(
    clinic: Path, place: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended("report", "audit.json", "-o", f"s/{place}/report.html") == 2
    told = capsys.readouterr().err
    assert f"s/{place}/report.html lies in the {place.partition('/')[0]} of the series s, which" in told
    assert why in told
    assert not Path(f"s/{place}/report.html").exists()


def test_a_picture_of_another_kind_is_refused_before_the_work(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended("compare", "1.csv", "--config", "nowhere.toml", "--picture", "map.pdf") == 2
    assert "The picture is written as .svg or .png; received 'map.pdf'." in capsys.readouterr().err


def test_a_comparison_that_the_disk_stops_blames_no_strategy(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kept as "static cannot be used", it would be believed the next time, too."""

    def full(*_: object, **__: object) -> None:
        raise SeriesError("Committing release 1 failed: No space left on device.")

    with monkeypatch.context() as stopped:
        stopped.setattr("reissue.series.Series.publish", full)
        with pytest.raises(SeriesError, match="No space left"):
            compare(["1.csv"], hospital_schema(), strategies=["static"], out="kept")
    assert compare(["1.csv"], hospital_schema(), strategies=["static"], out="kept").runs[0].status == "done"


def test_a_comparison_is_kept_in_a_folder_of_its_own(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended("compare", "1.csv", "--config", "s/reissue.toml") == 2
    assert "this config is the reissue.toml of a series" in capsys.readouterr().err
    write_config(clinic)
    assert ended("compare", "1.csv", "--config", "c.toml", "--out", "s") == 2
    assert "s is not empty, and holds no comparison" in capsys.readouterr().err
    assert not Path("s/runs").exists()
    for name, said in (("9.csv", "9.csv does not exist"), ("s", "s is a folder")):
        assert ended("compare", name, "--config", "c.toml") == 2
        assert f"{said}; name the snapshots" in capsys.readouterr().err
