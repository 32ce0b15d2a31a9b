"""Same seed, same release, and the same said of it: small series of every strategy against what is kept of them here.

A change that is meant to change releases, findings or figures says so in the CHANGELOG and writes these files anew:
`REISSUE_KEEP=1 python -m pytest tests/kept`; the difference then shows what changed.
"""

from __future__ import annotations

import pytest

import reissue as ri
from tests.kept.published import Kept, describe_audit, describe_estimates, describe_outsiders, describe_releases, keep

SERIES = {
    "static": Kept(ri.Static(k=5)),
    "static-incognito": Kept(ri.Static(k=5, l=2, algorithm="incognito", suppress=0.05)),
    "static-beta": Kept(ri.Static(k=4, beta=3.0, t=0.5), fragments=2),
    "static-mixed": Kept(ri.Static(k=4, l=3, diversity="entropy"), mixed=True),
    "merge": Kept(ri.Merge(k=4, c=0.6)),
    "checked-mondrian": Kept(ri.CheckedMondrian(k=4, c=0.6)),
    "checked-incognito": Kept(ri.CheckedIncognito(k=4, c=0.6, suppress=0.03)),
    "bcf": Kept(ri.BCF(k=4)),
    "bcf-diverse": Kept(ri.BCF(k=3, confidence=0.6), rows=150),
    "standing": Kept(ri.Standing(), rows=300),
    "standing-told": Kept(ri.Standing(k=6, form="told", totals=1.0, on_ineligible="wait"), rows=300, fragments=2),
    "standing-mixed": Kept(ri.Standing(k=5, l=3, row_k=4), rows=300, mixed=True),
    "m-invariance": Kept(ri.MInvariance(m=3, on_ineligible="counterfeit")),
    "m-invariance-anatomized": Kept(
        ri.MInvariance(m=4, publishing="anatomized", on_ineligible="counterfeit"), fragments=2
    ),
    "e-equivalence": Kept(ri.EEquivalence(m=3, e=2, on_ineligible="counterfeit")),
    "cor-split": Kept(ri.CorSplit(m=4, n=2, on_ineligible="counterfeit")),
    "cor-split-lifetime": Kept(ri.CorSplit(m=3, n=2, p=0.2, L=3, h=0.6, on_ineligible="counterfeit"), rows=120),
    "bay-frame": Kept(ri.BayFrame(k=3, J=0.6, beta=5.0, order="nearest")),
    "js-reduce": Kept(ri.JSReduce(k=3, J=0.6, t=0.6)),
}


@pytest.fixture(scope="module", params=SERIES)
def series(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ri.Series:
    with pytest.MonkeyPatch.context() as patch:  # what is kept is tiny, and repeats itself
        patch.setattr("reissue.publish.gates.GATES", ())
        made: ri.Series = SERIES[request.param].publish(tmp_path_factory.mktemp("kept") / request.param)
    return made


def test_releases_are_as_they_were(series: ri.Series) -> None:
    keep(series.path.name, describe_releases(series), "releases")


def test_audits_say_what_they_said(series: ri.Series) -> None:
    keep(series.path.name, describe_audit(series.audit()), "audit")


def test_readers_compute_what_they_computed(series: ri.Series) -> None:
    keep(series.path.name, describe_estimates(series), "estimates")


def test_outsiders_find_what_they_found(series: ri.Series) -> None:
    keep(series.path.name, describe_outsiders(series, SERIES[series.path.name].snapshots), "outsiders")
