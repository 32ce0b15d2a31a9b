"""`reissue publish` with standing classes, release after release, against `static` on the same rows."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from benchmarks.bench_m_invariance import QUASI_IDENTIFIERS, snapshots
from benchmarks.harness import Run, fresh, reissue, report

POLICIES = {
    "static": 'strategy = "static"\nk = 8\nc = 0.4\nl = 4',
    "standing": 'strategy = "standing"',
}
HUGE, LARGE, LIVE, RELEASES = 10_000_000, 1_000_000, 200_000, 20


def write_config(folder: Path, policy: str) -> Path:
    columns = [f'{name} = {{ type = "int" }}' for name in QUASI_IDENTIFIERS]
    lines = ["[schema]", 'identifier = "person"', 'sensitive = "occupation"', "[schema.quasi_identifiers]", *columns]
    path = folder / f"{policy}.toml"
    path.write_text("\n".join([*lines, "[policy]", POLICIES[policy]]))
    return path


def publish_in_turn(folder: Path, live: int, releases: int) -> list[dict[str, Run]]:
    """Every release of both series, one after the other, each by a process of its own."""
    for policy in POLICIES:
        shutil.rmtree(folder / policy, ignore_errors=True)
        fresh(reissue("init", str(folder / policy), "--config", str(write_config(folder, policy))))
    taken = []
    file = folder / "snapshot.parquet"
    for frame in snapshots(live, releases):
        frame.write_parquet(file)
        command = {
            policy: reissue("publish", str(folder / policy), str(file), "--format", "parquet") for policy in POLICIES
        }
        taken.append({policy: fresh(command[policy]) for policy in POLICIES})
    return taken


def measure(folder: Path, live: int, releases: int) -> list[list[object]]:
    taken = publish_in_turn(folder, live, releases)
    rows: list[list[object]] = []
    for number in sorted({1, 2, releases}):
        static, standing = taken[number - 1]["static"], taken[number - 1]["standing"]
        since = standing.cpu / taken[1]["standing"].cpu
        rows.append([live, number, static.cpu, standing.cpu, standing.cpu / static.cpu, since, standing.megabytes])
    return rows


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # bytecode is compiled once, as after an installation
        os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
        measure(folder, 2_000, 2)  # compile and cache the kernels
        rows = [*measure(folder, LARGE, 2), *measure(folder, LIVE, RELEASES), *measure(folder, HUGE, 2)]
    report(
        "standing",
        "Standing classes, release after release",
        "Census-like people, 4 quasi-identifiers, 50 occupations; a tenth of the people is replaced each time. "
        "Yardstick: `static` with the same k, c and l on the same rows, published in turn. Both are fresh processes "
        "with kernels cached, ledger and self-check included; processor seconds. The goals are 1.5 times static for a "
        "first release, 1.3 times for a later one, 1.1 times release 2 at release 20, and 4 GB for 10,000,000 rows.",
        ["live rows", "release", "static s", "standing s", "against static", "against release 2", "peak MB"],
        rows,
    )


if __name__ == "__main__":
    main()
