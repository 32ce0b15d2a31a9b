"""Hierarchies that are extended between releases: earlier releases stay valid."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import reissue as ri
from reissue.errors import SchemaError
from tests.support.hospital import FIGURE_1, FIGURE_3, frame, hospital_schema
from tests.support.public import read_public


def test_extending_a_hierarchy_keeps_earlier_releases_valid(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2)) as series:
        series.publish(frame(FIGURE_1))
        before = read_public(series.releases[0].path, series.coding)
        series.extend("gender", ri.Hierarchy.from_nested({"Person": ["Male", "Female", "Other"]}))
        series.publish(frame([*FIGURE_3, ("Zed", 33, "Other", "Flu"), ("Zoe", 34, "Other", "Asthma")]))
        after = read_public(series.releases[0].path, series.coding)
        np.testing.assert_array_equal(before.boxes[:, 0], after.boxes[:, 0])
        assert after.boxes[:, 1, 1].max() == 2, "the root of gender now covers the new value too"
        assert series.verify(rebuild=True) == []
        assert series.membership(2).num_rows == 9


def test_extending_by_what_is_known_changes_nothing(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2)) as series:
        (tmp_path / "more.json").write_text('{"Person": ["Male", "Female", "Other"]}')
        for _ in range(2):  # before and after the first release
            assert "Extended gender" in series.extend_from_files([f"gender={tmp_path / 'more.json'}"])[0]
            assert "nothing new" in series.extend_from_files([f"gender={tmp_path / 'more.json'}"])[0]
            series.publish(frame(FIGURE_1))
            (tmp_path / "more.json").write_text('{"Person": ["Unknown"]}')
        assert series.verify(rebuild=True) == []


def test_extensions_are_all_made_or_none(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2)) as series:
        series.publish(frame(FIGURE_1))
        (tmp_path / "more.json").write_text('{"Person": ["Other"]}')
        before = series.coding
        with pytest.raises(SchemaError, match="no hierarchy to extend"):
            series.extend_from_files([f"gender={tmp_path / 'more.json'}", f"age={tmp_path / 'more.json'}"])
        assert series.coding == before
