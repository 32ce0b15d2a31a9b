"""The demo: careless and careful publishing, attacked in the same way, with a report for each."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from reissue import demo
from reissue.errors import InputError

README = Path(__file__).resolve().parents[2] / "README.md"


@pytest.fixture(scope="module")
def stages() -> list[str]:
    """What the demo told while it was at work."""
    return []


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory, stages: list[str]) -> tuple[str, Path]:
    """What the demo says, and the folder it leaves."""
    said: list[str] = []
    folder = tmp_path_factory.mktemp("shown") / "demo"
    demo.run(str(folder), 6, said.append, stages.append)
    return "\n".join(said), folder


def rows_of(text: str) -> dict[str, str]:
    return {line.split()[0]: line for line in text.splitlines() if line.strip()}


def test_every_attack_on_the_naive_series_is_stopped_on_the_protected_one(shown: tuple[str, Path]) -> None:
    rows = rows_of(shown[0])
    for attack in ("intersection", "difference", "record-tracing", "association", "equivalence", "possible-worlds"):
        naive, protected = rows[attack].removeprefix(attack).rstrip().rsplit(maxsplit=1)
        assert "✗" in naive, f"{attack} must succeed on the naive series"
        assert protected == "✓", f"{attack} must not succeed on the protected one"
    assert rows["people"].split()[-1] == "0"


@pytest.mark.usefixtures("shown")
def test_every_release_and_every_attack_is_told_while_it_is_made(stages: list[str]) -> None:
    for place, kind in ((1, demo.NAIVE), (2, demo.PROTECTED)):
        told = [stage.removeprefix(f"{place} of 2, {kind}: ") for stage in stages if stage.startswith(f"{place} of 2")]
        releases = [one for one in told if one.startswith("release ") and one.count(":") == 0]
        assert releases == [f"release {number} of 6" for number in range(1, 7)]
        attacks = [re.match(r"(\d+) of (\d+), [a-z-]+$", one) for one in told]
        counted = [(int(one[1]), int(one[2])) for one in attacks if one]
        assert counted == [(number, len(counted)) for number in range(1, len(counted) + 1)] != []


def test_a_cell_of_the_matrix_counts_everybody_once() -> None:
    def cell(*people: list[int], breaches: int = 1) -> str:
        at_risk = {number: np.array(some) for number, some in enumerate(people, start=1)}
        outcome = SimpleNamespace(breaches=range(breaches), at_risk=at_risk)
        audit = SimpleNamespace(outcomes={"x": outcome}, checked=[SimpleNamespace(name="x", status="partly")])
        return demo._tell_cell(audit, "x")

    assert cell([1, 2], [2, 3, 4]) == "✗ 4"
    assert cell() == "✗ 0"
    assert cell([1], breaches=0) == "?"


def test_the_demo_begins_anew_in_its_own_folder_and_deletes_no_other(shown: tuple[str, Path], tmp_path: Path) -> None:
    own = shutil.copytree(shown[1], tmp_path / "own")
    demo._clear(own)
    assert [file.name for file in own.iterdir()] == [demo.MARKER], "and begins anew once more"
    demo._clear(own)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("three years of work")
    with pytest.raises(InputError, match="was not made by the demo; choose another directory"):
        demo._clear(tmp_path / "other")
    assert (tmp_path / "other" / "thesis.txt").exists()


def test_both_reports_are_written_and_show_people_by_number(shown: tuple[str, Path]) -> None:
    for kind in ("naive", "protected"):
        page = (shown[1] / f"{kind}-report.html").read_text(encoding="utf-8")
        assert "P000" not in page, "people appear by number"
    assert "subject " in (shown[1] / "naive-report.html").read_text(encoding="utf-8")
    assert (shown[1] / "protected.reissue" / "releases" / "0002").is_dir()
    protected = (shown[1] / "protected-report.html").read_text(encoding="utf-8")
    assert "Your promise holds" in protected, "by its own limits: what it is shown for does not end half green"
    assert "checked only in part" not in protected


def test_the_readme_shows_what_the_demo_finds(shown: tuple[str, Path]) -> None:
    rows = rows_of(shown[0])
    table = re.compile(r"^\| ([a-z-]+): [^|]*\| ([\d,]+) \| (\d+) \|$", flags=re.MULTILINE)
    told = table.findall(README.read_text(encoding="utf-8"))
    assert len(told) >= 9
    for attack, naive, protected in told:
        line = rows[attack].replace("✗", "").replace("✓", "0").replace("~", "0").split()
        assert line[-2:] == [naive, protected], f"README's table says {naive} and {protected} of {attack}"
