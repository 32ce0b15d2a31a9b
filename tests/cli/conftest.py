"""What tests of commands begin with."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

from tests.cli.support import reissue
from tests.support.hospital import FIGURE_1, FIGURE_3, frame, write_config


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """A folder with a config, a hierarchy, two snapshots and an empty series."""
    write_config(tmp_path)
    pa.csv.write_csv(frame(FIGURE_1), tmp_path / "1.csv")
    pa.csv.write_csv(frame(FIGURE_3), tmp_path / "2.csv")
    done = reissue("init", "s", "--config", "c.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path
