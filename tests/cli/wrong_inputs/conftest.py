"""Whatever is refused leaves the series as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.wrong_inputs.support import CONFIG, ROWS, ZIP, run, text


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A series with one release, its config and its tables."""
    folder = tmp_path_factory.mktemp("clinic")
    (folder / "c.toml").write_text(CONFIG)
    (folder / "weak.toml").write_text(CONFIG.replace("k = 2", "k = 0"))
    (folder / "zip.csv").write_text(ZIP)
    (folder / "list.json").write_text("[]")
    (folder / "good.csv").write_text(text(ROWS))
    assert run(folder, "init", "s", "--config", "c.toml", "--seed", "1").exit_code == 0
    assert run(folder, "publish", "s", "good.csv").exit_code == 0
    return folder


@pytest.fixture(autouse=True)
def unchanged(clinic: Path):
    """Whatever is refused, the series has what it had: nothing is lost, nothing published."""
    before = sorted((str(path), path.stat().st_mtime_ns) for path in (clinic / "s" / "releases").rglob("*"))
    yield
    after = sorted((str(path), path.stat().st_mtime_ns) for path in (clinic / "s" / "releases").rglob("*"))
    assert before == after
