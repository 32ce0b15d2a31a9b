"""The processes that are measured, and the environment of the peers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

HERE = Path(__file__).resolve().parent
PACKAGES = ("anjana", "pycanon", "anonypy", "anonypyx")


@dataclass(frozen=True)
class Cost:
    """Wall seconds, CPU seconds and peak resident memory (MB) of one process, start-up included.

    finished: False if it was stopped at the limit; problem: why it failed, if it did; said: its standard output
    """

    seconds: float
    cpu: float
    megabytes: float
    finished: bool
    problem: str | None
    said: str

    @property
    def good(self) -> bool:
        return self.finished and self.problem is None


def timed(command: Sequence[str], folder: Path, limit: float, env: Mapping[str, str] | None = None) -> Cost:
    """Run the command in a process of its own, for at most `limit` CPU seconds; `folder` for the note of its cost."""
    note = folder / "cost.json"
    launcher = [sys.executable, "-I", "-S", str(HERE / "timed.py"), str(limit), str(note), *command]
    done = subprocess.run(launcher, capture_output=True, text=True, env={**os.environ, **(env or {})}, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} could not be started:\n{done.stderr}")
    cost = json.loads(note.read_text())
    lines = done.stderr.strip().splitlines() or [f"exit code {cost['code']}"]
    problem = lines[-1] if cost["finished"] and cost["code"] != 0 else None
    return Cost(cost["seconds"], cost["cpu"], cost["megabytes"], cost["finished"], problem, done.stdout)


@dataclass(frozen=True)
class Peers:
    """The environment in which the peers live; arx: ARX's jar with all that it needs, if there is one."""

    python: Path
    arx: Path | None = None

    @staticmethod
    def install(folder: Path, arx: Path | None = None) -> Peers:
        """An environment in `folder` with the newest versions that fit together; one that is there is kept."""
        python = folder / "bin" / "python"
        if not (folder / "complete").exists():
            print(f"Installing {', '.join(PACKAGES)} into {folder} ...", flush=True)
            uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
            venv.create(folder, clear=True, with_pip=uv is None)
            uv_install = [str(uv), "pip", "install", "--compile-bytecode", "--python", str(python)]
            install = uv_install if uv else [str(python), "-m", "pip", "install"]  # pip always compiles
            done = subprocess.run([*install, *PACKAGES], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise SystemExit(f"The peers could not be installed:\n{done.stderr}")
            (folder / "complete").touch()
        if arx is not None:
            compiled = ["javac", "-nowarn", "-cp", str(arx), "-d", str(folder), str(HERE / "Arx.java")]
            subprocess.run(compiled, check=True)
        return Peers(python, arx)

    def run(self, task: Mapping[str, object], folder: Path, limit: float) -> Cost:
        """One task of worker.py."""
        asked = folder / "task.json"
        asked.write_text(json.dumps(task))
        return timed([str(self.python), str(HERE / "worker.py"), str(asked)], folder, limit)

    def run_arx(self, task: Mapping[str, object], folder: Path, limit: float) -> Cost:
        """One task of Arx.java."""
        assert self.arx is not None
        plain = {key: str(value) for key, value in task.items() if isinstance(value, str | int)}
        names, files = cast("list[str]", task["quasi_identifiers"]), cast("dict[str, str]", task["hierarchies"])
        plain |= {"quasi_identifiers": ",".join(names)} | {f"hierarchy.{name}": files[name] for name in names}
        asked = folder / "task.properties"
        asked.write_text("".join(f"{key}={value}\n" for key, value in plain.items()), encoding="utf-8")
        path = os.pathsep.join([str(self.arx), str(self.python.parents[1])])
        return timed(["java", "-cp", path, "Arx", str(asked)], folder, limit)

    def versions(self, folder: Path) -> dict[str, str]:
        found = self.run({"tool": "versions", "packages": [*PACKAGES, "pandas"]}, folder, 60.0)
        return dict(json.loads(found.said))
