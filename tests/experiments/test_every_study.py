"""Every study of `experiments` runs from beginning to end, on a slice: its page and its figures come out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"
Study = Callable[[ModuleType, pytest.MonkeyPatch, Path, Path], None]


def estimate_adult(study: ModuleType, patch: pytest.MonkeyPatch, data: Path, page: Path) -> None:
    small = ["--rows", "400", "--queries", "5", "--releases", "1", "2"]
    patch.setattr(sys, "argv", ["", "--folder", str(data), *small])
    study.main()


def incremental_adult(study: ModuleType, patch: pytest.MonkeyPatch, data: Path, page: Path) -> None:
    for name, small in (("FIRST", 300), ("STEP", 150), ("RELEASES", 2), ("SMALL", 60)):
        patch.setattr(study, name, small)
    study.main(data, page)


def bayes_clinic(study: ModuleType, patch: pytest.MonkeyPatch, data: Path, page: Path) -> None:
    patch.setattr(study, "clinic", lambda make=study.clinic: make(months=2, patients=80))
    patch.setattr(study, "adult", lambda _: study.clinic())
    study.main(data, page)


def bcf_adult(study: ModuleType, patch: pytest.MonkeyPatch, data: Path, page: Path) -> None:
    patch.setattr(study, "KS", (200,))
    patch.setattr(study, "NEWCOMERS", dict.fromkeys(study.NEWCOMERS, 300))
    patch.setattr(study, "measure", lambda setting, old, k, new, run=study.measure: run(setting, old // 8, k, 300))
    patch.setattr(sys, "argv", ["", str(data), str(page)])
    study.main()


def cor_split_occ(study: ModuleType, patch: pytest.MonkeyPatch, data: Path, page: Path) -> None:
    patch.setattr(study, "QUICK", tuple(replace(one, live=1500, releases=3) for one in study.QUICK))
    patch.setattr(sys, "argv", ["", "--quick", "--output", str(page)])
    study.main()


def equivalence_occ(study: ModuleType, patch: pytest.MonkeyPatch, data: Path, page: Path) -> None:
    patch.setattr(study, "QUICK", study.Scale(2_500, 2, (0, 15), 1, 20))
    patch.setattr(sys, "argv", ["", "--quick", "--output", str(page)])
    study.main()


def known_algorithm(study: ModuleType, patch: pytest.MonkeyPatch, data: Path, page: Path) -> None:
    patch.setattr(study, "STRATEGIES", {name: made for name, made in study.STRATEGIES.items() if "standing" in name})
    patch.setattr(study, "ROUNDS", 4)
    study.main(data, page, 300)
    told = (page / "README.md").read_text(encoding="utf-8")
    assert "| standing" in told
    assert "{" not in told


def learning_adult(study: ModuleType, patch: pytest.MonkeyPatch, data: Path, page: Path) -> None:
    for name, small in (("LIVE", 400), ("BATCH", 80), ("RELEASES", 2), ("FIRST", 400)):
        patch.setattr(study, name, small)
    patch.setattr(study, "read_census", study.read_adult)
    study.main(data, page)


def learning_strategies(study: ModuleType, patch: pytest.MonkeyPatch, data: Path, page: Path) -> None:
    for name, small in (("LIVE", 250), ("RELEASES", 2), ("PATIENTS", 250)):
        patch.setattr(study, name, small)
    few = ("standing", "e-equivalence", "js-reduce", "bcf")
    patch.setattr(study, "STRATEGIES", {name: study.STRATEGIES[name] for name in few})
    study.main(data, page)
    assert "| bcf |" in (page / "README.md").read_text(encoding="utf-8")


def standing_study(study: ModuleType, patch: pytest.MonkeyPatch, data: Path, page: Path) -> None:
    """Two releases of a few people; of the three tables, Adult stands for the census."""
    for name, small in (("LIVE", 300), ("RELEASES", 2), ("PATIENTS", 200), ("SIMULATED", 300), ("CURVE", (1, 2))):
        patch.setattr(study, name, small)
    few = ("m-invariance, m=4", "checked-mondrian, k=8 c=.4", study.DEFAULT)
    patch.setattr(study, "STRATEGIES", {name: study.STRATEGIES[name] for name in few})
    for name in ("STANDING", "SPLIT"):
        patch.setattr(study, name, {key: made for key, made in getattr(study, name).items() if key in few})
    patch.setattr(import_module("known_algorithm"), "ROUNDS", 4)
    patch.setattr(study, "read_census", study.read_adult)
    study.main(data, page)


def pictures(study: ModuleType, patch: pytest.MonkeyPatch, data: Path, page: Path) -> None:
    study.main(page)
    drawn = {path.stem for path in page.rglob("*.svg")}
    assert len(drawn) == 19
    for path in page.rglob("*.svg"):
        assert path.stat().st_size < 20_000
        ElementTree.parse(path)


STUDIES: dict[str, tuple[Study, set[str]]] = {
    "bayes_clinic": (bayes_clinic, {"README.md", "clinic-9-gain.svg"}),
    "bcf_adult": (bcf_adult, {"README.md", "cost-arx.svg"}),
    "cor_split_occ": (cor_split_occ, {"README.md", "figure-2a.svg"}),
    "equivalence_occ": (equivalence_occ, {"README.md", "compromised.svg"}),
    "estimate_adult": (estimate_adult, set()),
    "incremental_adult": (incremental_adult, {"README.md", "vulnerable.svg"}),
    "known_algorithm": (known_algorithm, {"README.md"}),
    "learning_adult": (learning_adult, {"learning.svg", "known-algorithm.svg"}),
    "learning_strategies": (learning_strategies, {"README.md"}),
    "pictures": (pictures, {"choosing.svg", "attacks", "strategies"}),
    "standing_study": (standing_study, {"README.md", "measured.json", "risk.svg", "two.svg", "errors.svg"}),
}


def test_every_study_is_here() -> None:
    found = {path.stem for path in EXPERIMENTS.glob("*.py") if "__main__" in path.read_text(encoding="utf-8")}
    assert found == set(STUDIES)


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_runs_from_beginning_to_end(
    name: str, shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    study = import_module(name)
    if hasattr(study, "read_adult"):
        monkeypatch.setattr(study, "read_adult", cache_of(study.read_adult))
    pytest.importorskip("sklearn") if name in ("known_algorithm", "standing_study") else None
    run, files = STUDIES[name]
    run(study, monkeypatch, shared_data, tmp_path)
    assert files <= {path.name for path in tmp_path.iterdir()}
    assert files or capsys.readouterr().out.count("\n") > 2, "what has no page prints its measures"


@cache
def cache_of(read: Callable[[Path], object]) -> Callable[[Path], object]:
    """Adult is read once for all studies."""
    return cache(read)
