"""On Windows, as far as it can be imitated here, everything works as elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_steward_on_windows_can_publish_and_audit(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONIOENCODING": "cp1252", "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-X", "warn_default_encoding", "-m", "tests.support.windows", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, env=environment, cwd=ROOT)
    told = done.stdout.decode("cp1252") + done.stderr.decode("cp1252")
    assert done.returncode == 0, told
    codes = json.loads((tmp_path / "codes.json").read_text())
    assert codes.pop("busy") == 2, told
    assert "is at work in this series" in told
    assert set(codes.values()) == {0}, told
    assert "x succeeds, ok does not" in told, "signs that cp1252 lacks are written in letters"
    assert (tmp_path / "s" / "releases" / "0002" / "release.csv").exists()
