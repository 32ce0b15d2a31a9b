"""Objects in notebooks: a short line, a small table in which data cannot become markup, frames of any library."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import reissue as ri
from reissue.compare import Comparison
from reissue.errors import MissingExtra, SeriesError
from tests.support.hospital import hospital_schema, population


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[ri.Series, ri.Release, ri.Audit]:
    folder = tmp_path_factory.mktemp("shown") / "clinic.reissue"
    series = ri.Series.create(folder, hospital_schema(), ri.Static(k=3), seed=1)
    series.publish(population(60).slice(0, 40), label="January")
    release = series.publish(population(60).slice(10), label="February")
    return series, release, series.audit(attacks=["intersection", "difference"], c=0.4)


def test_objects_show_themselves_in_a_line_and_in_a_table(shown: tuple[ri.Series, ri.Release, ri.Audit]) -> None:
    series, release, audit = shown
    comparison = Comparison([], {"k": 5}, ["a.csv"], None, [])
    for one in (series, release, audit, audit.findings[0], comparison):
        assert "\n" not in repr(one)
        assert len(repr(one)) < 800, "no arrays"
        assert repr(one).startswith(f"<{type(one).__name__} ")
        page = one._repr_html_()
        assert page.startswith("<table>")
        assert page.endswith("</table>")
    assert "strategy: static, releases: 2" in repr(series)
    assert "February" in repr(release)
    assert audit.verdict in repr(audit)


def test_what_a_notebook_shows_is_escaped(shown: tuple[ri.Series, ri.Release, ri.Audit]) -> None:
    hostile = "<script>alert(1)</script>"
    for one in (replace(shown[1], label=hostile), replace(shown[2].findings[0], sentence=hostile)):
        assert hostile in repr(one)
        assert hostile not in one._repr_html_()


def test_a_release_is_a_frame_of_any_library(shown: tuple[ri.Series, ri.Release, ri.Audit], tmp_path: Path) -> None:
    release = shown[1]
    table, frame, pandas = release.to_arrow(), release.to_polars(), release.to_pandas()
    assert isinstance(table, pa.Table)
    assert frame.to_arrow().equals(pa.Table.from_pandas(pandas, schema=frame.to_arrow().schema, preserve_index=False))  # type: ignore[arg-type]
    assert len(table) == release.counts["published"] == len(frame)
    assert "name" not in table.column_names, "the identifier is never published"
    with pytest.raises(SeriesError, match="no table 'other'"):
        release.to_arrow("other")
    with pytest.raises(SeriesError, match="holds no table"):
        replace(release, path=tmp_path).to_polars()


def test_a_library_that_is_missing_is_named(
    shown: tuple[ri.Series, ri.Release, ri.Audit], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("polars", "pandas"):
        monkeypatch.setitem(sys.modules, name, None)  # type: ignore[arg-type]
        with pytest.raises(MissingExtra, match=f"pip install {name}"):
            getattr(shown[1], f"to_{name}")()


def test_both_tables_of_a_release_can_be_had(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Standing(form="told"), seed=1) as series:
        release = series.publish(population(200))
    assert len(release.to_arrow()) == release.counts["published"]
    assert sum(release.to_arrow("values").column("count").to_pylist()) >= len(release.to_arrow())


def test_findings_are_a_frame(shown: tuple[ri.Series, ri.Release, ri.Audit]) -> None:
    audit = shown[2]
    frame = audit.findings_frame()
    assert frame["sentence"].to_pylist() == [finding.sentence for finding in audit.findings]
    assert sum(frame["breach"].to_pylist()) == len(audit.breaches) > 0
    assert frame["subjects"].to_pylist() == [list(finding.subjects) for finding in audit.findings]
    assert len(pl.DataFrame(frame)) == len(frame.to_pandas()) == len(frame)
    assert replace(audit, checked=[]).findings_frame().schema == frame.schema


def test_help_of_audit_is_its_own() -> None:
    assert ri.audit.__doc__ is not None
    assert ri.audit.__doc__.startswith("Attack releases made with any tool.")


@pytest.mark.gates
def test_the_tutorial_runs_cell_by_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Jupyter does it: one namespace, in order, each cell's last expression shown."""
    book = json.loads((Path(__file__).parents[1] / "docs" / "tutorial.ipynb").read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], "it is kept without outputs"
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    audit, found = names["audit"], names["found"]
    assert isinstance(audit, ri.Audit)
    assert isinstance(found, ri.Audit)
    assert audit.verdict.startswith("Your promise holds")
    assert len(found.at_risk) > len(audit.at_risk) == 0
    assert (tmp_path / "careless.html").exists()
