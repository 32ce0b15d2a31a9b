"""The equivalence experiment in small: it runs, and what it says about safety holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from experiments.equivalence_occ_report import Results, write

from experiments import equivalence_occ as study
from experiments import occ
from reissue.methods.equivalence.strategy import EEquivalence
from reissue.methods.invariance.strategy import MInvariance

pytestmark = pytest.mark.skipif(not occ.DATA.exists(), reason="the census-like data is not on this machine")
SMALL = study.Scale(4000, 2, (15,), 2, 50)


def test_the_experiment_in_small(tmp_path: Path) -> None:
    data = study.people()
    split = occ.publish(MInvariance(m=5), study.random_updates(data, SMALL))
    safe = occ.publish(EEquivalence(m=5, e=study.E), study.random_updates(data, SMALL))
    compromised = {"split": study.compromised_by_pairs(split), "safe": study.compromised_in_buckets(safe)}
    assert compromised["split"][-1] > 0
    assert compromised["safe"] == [0, 0, 0]
    skewed = occ.publish(MInvariance(m=5), study.skewed_updates(data, SMALL, 15))
    answers = occ.errors({"split": split, "safe": safe}, SMALL.queries)
    assert all(np.isfinite(float(str(row["error"]))) for row in answers)
    counts = {"split": split.counterfeits, "safe": safe.counterfeits}
    slopes = [{"slope": 15, "strategy": "split", "mean": float(np.mean(skewed.counterfeits)), "most": 0}]
    seconds = [{"e": 1, "strategy": "split", "seconds": split.seconds[0]}]
    write(Results(SMALL.live, 5, study.E, compromised, counts, slopes, answers, seconds), tmp_path)  # type: ignore[arg-type]
    assert {path.name for path in tmp_path.glob("*.svg")} == {
        "compromised.svg",
        "counterfeits.svg",
        "errors.svg",
        "seconds.svg",
        "skewed.svg",
    }
    assert "| release | split | safe |" in (tmp_path / "README.md").read_text()


def test_skewed_batches_follow_the_line() -> None:
    data = study.people()
    _, after = list(study.skewed_updates(data, study.Scale(40_000, 0, (), 1, 0), 15))
    fresh = after.values[after.subjects >= 40_000]
    shares = np.sort(np.bincount(fresh, minlength=occ.VALUES))
    assert shares[-1] > 5 * max(int(shares[0]), 1)
