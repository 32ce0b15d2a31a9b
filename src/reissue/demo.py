"""`reissue demo`: some months of a made-up clinic, published without and with memory, and attacked."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reissue import clinic
from reissue.compare.running import say_inside
from reissue.errors import InputError, MissingExtra
from reissue.series import Release, Series

if TYPE_CHECKING:
    from reissue.audit import Audit

MARKER = ".reissue-demo"
NAIVE, PROTECTED = "naive", "protected"
POLICIES: Mapping[str, tuple[str, dict[str, object]]] = {
    NAIVE: ("static", {"k": 4, "c": 0.5, "l": 4}),
    PROTECTED: ("standing", {}),
}
THRESHOLDS = {"k": 4, "c": 0.5, "m": 2}
"""Against these the naive series is measured: at least 4 people, 2 values, and no value above one half. The protected
one is measured against what it promises, which is more."""


def write_data(directory: str) -> str:
    """Write the clinic's 24 monthly snapshots and config; a sentence that says what is there now."""
    _refuse_foreign(Path(directory))
    clinic.write(Path(directory), format="both")
    return (
        f"Wrote 24 monthly snapshots of a made-up clinic to {directory}, with clinic.toml. Try:\n"
        f"  reissue init clinic.reissue --config {directory}/clinic.toml\n"
        f"  reissue publish clinic.reissue {directory}/2024-01.csv"
    )


def _refuse_foreign(directory: Path) -> None:
    """A steward may have a 2024-01.csv, too: nothing is written over that the demo has not written itself."""
    made = directory / "clinic.toml"
    ours = made.is_file() and made.read_text(encoding="utf-8", errors="replace") == clinic.config()
    if directory.is_dir() and any(directory.iterdir()) and not ours:
        raise InputError(
            f"{directory} is not empty, and not as the demo leaves it; choose a new directory with --data."
        )


def run(
    directory: str, months: int, say: Callable[[str], None], progress: Callable[[str], None] = lambda stage: None
) -> None:
    """Publish the first months twice, audit both series, print who is broken by what and write the reports."""
    output = Path(directory)
    _clear(output)
    say("A made-up clinic hands out its patient table every month: patients come, leave and come back.")
    say("Every new exam result of a patient is an episode, and two episodes of one patient count as two people here.\n")
    audits = {}
    with tempfile.TemporaryDirectory() as folder:
        snapshots = clinic.write(Path(folder), format="parquet", months=months)
        for number, (kind, (strategy, settings)) in enumerate(POLICIES.items(), start=1):
            where = f"{number} of {len(POLICIES)}, {kind}"
            config = Path(folder) / f"{kind}.toml"
            config.write_text(clinic.config(strategy=strategy, settings=settings), encoding="utf-8")
            with Series.from_config(output / f"{kind}.reissue", config) as series:
                _publish(series, kind, snapshots, say, say_inside(progress, f"{where}:"))
                attacking = say_inside(progress, f"{where}:")
                limits = THRESHOLDS if kind == NAIVE else {}
                audits[kind] = series.audit(names=False, progress=attacking, **limits)  # type: ignore[arg-type]
    say("What an attacker with all the releases learns (✗ succeeds, ✓ does not, ~ measured; people at risk):\n")
    say(matrix(audits))
    _explain(audits, say)
    _report(audits, output, say)
    private = output / f"{PROTECTED}.reissue"
    say(f"\nHand out: {private}/releases/*    Keep private: {private}/private and the reports")


def _publish(
    series: Series,
    kind: str,
    snapshots: Sequence[Path],
    say: Callable[[str], None],
    progress: Callable[[str], None],
) -> None:
    words = {NAIVE: "each release on its own", PROTECTED: "everybody belongs to one class for life"}
    promises = {key: value for key, value in series.strategy.thresholds().items() if key in ("k", "c", "l")}
    settings = ", ".join(f"{key} = {value:g}" for key, value in promises.items())
    say(f"{kind.capitalize()}: {words[kind]} ({series.strategy.name}, {settings})")
    say(HEADING)
    for number, snapshot in enumerate(snapshots, start=1):
        progress(f"release {number} of {len(snapshots)}")
        say(line(snapshot.stem, series.publish(snapshot)))
    say("")


HEADING = (
    f"{'month':9}{'patients':>9}{'new':>6}{'gone':>6}{'back':>6}{'classes':>9}{'counterfeits':>14}{'detail lost':>13}"
)


def line(month: str, release: Release) -> str:
    """One row of the demo's table; the last is the share of the quasi-identifiers' detail that was given up."""
    counts = release.counts
    names = ("snapshot", "new", "gone", "back", "classes", "counterfeits")
    numbers = "".join(f"{counts[name]:{width},}" for name, width in zip(names, (9, 6, 6, 6, 9, 14), strict=True))
    return f"{month:9}{numbers}{release.utility['gcp']:13.1%}"


def matrix(audits: Mapping[str, Audit]) -> str:
    """Attacks down, series across."""
    names = list(dict.fromkeys(one.name for audit in audits.values() for one in audit.checked))
    wide = max(len(name) for name in names) + 2
    lines = [f"{'attack':{wide}}" + "".join(f"{kind:>14}" for kind in audits)]
    for name in names:
        lines.append(f"{name:{wide}}" + "".join(f"{_tell_cell(audit, name):>14}" for audit in audits.values()))
    total = "".join(f"{len(audit.at_risk):>14,}" for audit in audits.values())
    return "\n".join([*lines, f"{'people at risk':{wide}}{total}"])


def _tell_cell(audit: Audit, name: str) -> str:
    outcome = audit.outcomes.get(name)
    if outcome is None:
        return "not run"
    if not outcome.breaches:
        statuses = {one.name: one.status for one in audit.checked}
        return {"partly": "?", "measured": "~"}.get(statuses[name], "✓")
    people = len(np.unique(np.concatenate(list(outcome.at_risk.values())))) if outcome.at_risk else 0
    return f"✗ {people:,}"


def _explain(audits: Mapping[str, Audit], say: Callable[[str], None]) -> None:
    """The worst finding of the naive series in words, and what the protected one does not promise."""
    naive, protected = audits[NAIVE], audits[PROTECTED]
    if naive.breaches:
        say(f"\nFor example: {naive.breaches[0].sentence}")
    left = [name for name, outcome in protected.outcomes.items() if outcome.breaches]
    if left:
        say(f"\n{protected.about['strategy']} does not promise to stop {', '.join(left)}.")


def _report(audits: Mapping[str, Audit], output: Path, say: Callable[[str], None]) -> None:
    say("")
    try:
        for kind, audit in audits.items():
            audit.to_html(output / f"{kind}-report.html")
            say(f"Wrote {output / f'{kind}-report.html'}")
    except MissingExtra as error:
        say(f"No report: {error}")


def _clear(output: Path) -> None:
    """Start anew in our own directory; never delete one that the demo did not make."""
    if output.exists():
        if not (output / MARKER).exists():
            raise InputError(f"{output} exists and was not made by the demo; choose another directory with --output.")
        shutil.rmtree(output)
    output.mkdir(parents=True)
    (output / MARKER).touch()
