"""The background knowledge experiment, on a small clinic: its parts run and its report says what was measured."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    for name in ("bayes_clinic", "bayes_clinic_report"):
        sys.modules.pop(name, None)


def test_figures_of_a_small_clinic(tmp_path: Path) -> None:
    import bayes_clinic as experiment
    import bayes_clinic_report as report

    snapshots = experiment.clinic(months=3, patients=300)
    setting = experiment.Setting("clinic", snapshots, experiment.ESTIMATED, experiment.MOVES)
    figures = experiment.figures(setting)
    for run in (run for runs in figures.values() for run in runs):
        assert len(run.gain) == 3
        assert all(0 <= gain <= 1 for gain in run.gain)
        assert all(0 <= point.gcp <= 320 for point in run.points)
    report.write({"clinic": figures}, tmp_path)
    page = (tmp_path / "README.md").read_text()
    assert f"{np.mean(figures['9'][0].gain):.4f}" in page
    assert (tmp_path / "clinic-9-gain.svg").read_text().startswith("<svg")


def test_compromised_records_are_drawn_with_the_asked_share() -> None:
    import bayes_clinic as experiment

    snapshots = experiment.clinic(months=2, patients=1000)
    claims = experiment.compromised(snapshots, 0.1)
    assert len(claims) == pytest.approx(0.1 * sum(len(s) for s in snapshots), rel=0.3)
    first = claims.at(1)
    true = dict(zip(snapshots[0].subjects.tolist(), snapshots[0].values.tolist(), strict=True))
    assert [true[v] for v in first.subjects.tolist()] == first.values.tolist()
