"""A preview: the whole release, its check and the audit with it, in memory; the series stays as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

import reissue as ri
from reissue.errors import ChangeError, InfeasiblePolicy
from reissue.series.preview import Preview
from tests.support.hospital import FIGURE_1, FIGURE_3, frame, hospital_schema, population


def contents(folder: Path) -> dict[Path, tuple[bytes, int]]:
    """Every file below with its bytes and the time of its last change, and every folder."""
    return {path: (path.read_bytes() if path.is_file() else b"", path.stat().st_mtime_ns) for path in folder.rglob("*")}


def test_a_preview_is_the_release_that_publish_then_makes(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.MInvariance(m=2), seed=3) as series:
        series.publish(population(140).slice(0, 120))
        preview = series.preview(population(140), audit=False)
        release = series.publish(population(140))
    for name in ("number", "strategy", "settings", "counts", "utility", "steps"):
        assert getattr(preview.release, name) == getattr(release, name), name


@pytest.mark.parametrize("strategy", [ri.Static(k=2, c=0.5), ri.Standing(k=2, l=2, row_k=2, row_l=2)])
def test_a_preview_leaves_every_byte_of_the_series_as_it_is(tmp_path: Path, strategy: ri.Static | ri.Standing) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), strategy) as series:
        before = contents(tmp_path)
        first = series.preview(population(60), attacks=["intersection"])
        assert contents(tmp_path) == before, "of the first release"
        assert (first.last, first.before) == (None, None)
        series.publish(population(60))
        before = contents(tmp_path)
        series.preview(population(70), attacks=["intersection"])
        assert contents(tmp_path) == before
        assert [release.number for release in series.releases] == [1]


def test_the_audit_of_a_preview_is_that_of_the_series_once_it_is_published(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2, c=0.5)) as series:
        series.publish(frame(FIGURE_1))
        preview = series.preview(frame(FIGURE_3), attacks=["intersection", "difference"])
        series.publish(frame(FIGURE_3))
        after = series.audit(attacks=["intersection", "difference"])
    assert preview.audit is not None
    assert [finding.sentence for finding in preview.audit.findings] == [one.sentence for one in after.findings]
    assert preview.newly_exposed == len(after.at_risk) > 0, "as in figures 2 and 4, somebody's value comes out"
    assert preview.exposed_names[0] in preview.describe()
    assert "No gate stops it." in preview.describe()
    assert preview.last is not None
    lost, before = preview.release.utility["gcp"], preview.last.utility["gcp"]
    assert f"It costs {lost:.1%} of the detail (release 1: {before:.1%})." in preview.describe()


def test_a_preview_is_shown_before_the_attacks_begin(tmp_path: Path) -> None:
    seen: list[object] = []
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2, c=0.5)) as series:
        series.publish(frame(FIGURE_1))
        whole = series.preview(frame(FIGURE_3), attacks=["intersection"], early=seen.append, progress=seen.append)
    place = next(place for place, one in enumerate(seen) if isinstance(one, Preview))
    early = seen[place]
    assert isinstance(early, Preview)
    assert not any("intersection" in str(stage) for stage in seen[:place])
    assert any("intersection" in str(stage) for stage in seen[place + 1 :])
    assert (early.audit, early.newly_exposed) == (None, None)
    assert (early.release, early.last, early.stops) == (whole.release, whole.last, whole.stops)


def test_who_was_exposed_before_is_not_newly_exposed(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2, c=0.5)) as series:
        series.publish(frame(FIGURE_1))
        series.publish(frame(FIGURE_3))
        exposed = len(series.audit(attacks=["intersection"]).at_risk)
        preview = series.preview(frame(FIGURE_3), attacks=["intersection"])
    assert exposed
    assert preview.audit is not None
    assert preview.newly_exposed == len(preview.audit.at_risk) - exposed


def test_a_preview_of_fragments_joins_them(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=4), fragments=2, seed=1) as series:
        preview = series.preview(population(200), attacks=["intersection"])
        release = series.publish(population(200))
        assert preview.audit is not None
        assert preview.audit.subjects == 200
        assert preview.release.counts == release.counts


def test_what_cannot_be_published_is_refused_as_by_publish(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.MInvariance(m=2)) as series:
        with pytest.raises(InfeasiblePolicy):
            series.preview(frame(FIGURE_1[:1]))
        series.publish(frame(FIGURE_1))
        changed = [(*FIGURE_1[0][:3], "Gout"), *FIGURE_1[1:]]
        with pytest.raises(ChangeError):
            series.preview(frame(changed))
