"""`compare`: every strategy on the same snapshots, attacked in the same way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory

from reissue.compare.advice import advise
from reissue.compare.planning import make_plans, share_thresholds
from reissue.compare.running import Run, Runner, digest_inputs
from reissue.documents import COMPARISON, write_bytes, write_json, write_text
from reissue.errors import SettingsError
from reissue.methods.registry import ATTACKS, find_attack
from reissue.methods.strategy import Strategy
from reissue.schema import Schema, read_config
from reissue.utility import Point, RiskUtility, risk_utility

MATRIX = "✗ people at risk, ✓ held, ~ measured below the threshold, ? looked only at part"
MARKS = {"breached": "✗", "partly": "?", "held": "✓", "measured": "~", "skipped": "–"}


@dataclass(frozen=True)
class Comparison:
    """runs: in the order asked for; thresholds: what all were measured against; recommended: the label to take."""

    runs: Sequence[Run]
    thresholds: Mapping[str, float]
    snapshots: Sequence[str]
    recommended: str | None
    sentences: Sequence[str]
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    @property
    def map(self) -> RiskUtility:
        """Share of people at risk against query error, of the runs that were done."""
        done = [run for run in self.runs if run.status == "done"]
        return risk_utility(Point(label=run.label, risk=run.risk, loss=run.query_error or 0.0) for run in done)

    @property
    def attacks(self) -> list[str]:
        return [name for name in ATTACKS if any(name in run.attacks for run in self.runs)]

    def to_dict(self) -> dict[str, object]:
        """The document `reissue-comparison/1` (docs/comparing.md)."""
        from reissue import __version__

        return {
            "format": COMPARISON,
            "reissue": __version__,
            "created": self.created,
            "snapshots": list(self.snapshots),
            "thresholds": dict(self.thresholds),
            "attacks": [{"name": name, "assumes": find_attack(name).assumes} for name in self.attacks],
            "runs": [{**asdict(run), "risk": run.risk if run.status == "done" else None} for run in self.runs],
            "frontier": [point.label for point in self.map.frontier],
            "recommendation": {"label": self.recommended, "sentences": list(self.sentences)},
        }

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """The document as text, also written to `path` if one is given."""
        return write_json(self.to_dict(), path)

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """One self-contained offline page, also written to `path` if one is given."""
        from reissue.report import render_comparison

        return write_text(render_comparison(self.to_dict()), path)

    def to_picture(self, path: str | PathLike[str]) -> None:
        """The map of risk against query error as SVG or PNG, by the file's suffix."""
        from reissue.report import draw_comparison

        write_bytes(draw_comparison(self.to_dict(), choose_format(path)), path)

    def describe(self) -> str:
        """Table, matrix and recommendation, for a terminal."""
        done = [run for run in self.runs if run.status == "done"]
        measured = ", ".join(f"{key} = {value:g}" for key, value in self.thresholds.items())
        lines = [f"{len(self.snapshots)} snapshots; every series was measured against {measured}", ""]
        if done:
            wide = max(len(MATRIX), *(len(run.label) for run in done)) + 2
            heads = ("at risk", "query error", "detail lost", "rows per class", "counterfeits", "withheld", "seconds")
            lines.append(f"{'strategy':{wide}}" + "".join(f"{head:>16}" for head in heads))
            frontier = {point.label for point in self.map.frontier}
            lines += [f"{run.label:{wide}}{_format_costs(run)}{'  *' if run.label in frontier else ''}" for run in done]
            lines += ["* no other has both less risk and a smaller query error", "", *self._matrix(done, wide), ""]
        return "\n".join([*lines, *self.sentences])

    def _matrix(self, done: Sequence[Run], wide: int) -> list[str]:
        """Strategies down, attacks across: people at risk where an attack succeeds."""
        lines = [f"{MATRIX:{wide}}" + "  ".join(self.attacks)]
        for run in done:
            cells = [f"{_format_cell(run.attacks.get(name)):>{len(name)}}" for name in self.attacks]
            lines.append(f"{run.label:{wide}}" + "  ".join(cells))
        return lines


def choose_format(path: str | PathLike[str]) -> str:
    """ "svg" or "png", as the name of the picture's file ends."""
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in ("svg", "png"):
        raise SettingsError(f"The picture is written as .svg or .png; received '{path}'.")
    return suffix


def _format_costs(run: Run) -> str:
    cells = (
        f"{run.risk:.1%}",
        f"{run.query_error or 0:.1%}",
        "–" if run.detail_lost is None else f"{run.detail_lost:.1%}",
        f"{run.class_size or 0:.1f}",
        f"{run.counterfeits:,}",
        f"{run.suppressed:,}",
        f"{run.seconds:.1f}",
    )
    return "".join(f"{cell:>16}" for cell in cells)


def _format_cell(attack: Mapping[str, object] | None) -> str:
    if attack is None:
        return ""
    people = attack["subjects_at_risk"]
    mark = MARKS[str(attack["status"])]
    return f"{mark} {people:,}" if mark == "✗" and people else mark


def compare(
    snapshots: Sequence[str | PathLike[str]],
    schema: Schema,
    *,
    strategies: Sequence[str] = (),
    policy: Strategy | None = None,
    settings: Mapping[str, object] | None = None,
    on_change: str = "refuse",
    out: str | PathLike[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Publish the snapshots with every strategy, attack each series, and recommend one.

    snapshots: CSV or Parquet files, oldest first. strategies: names; all by default. policy: whose promises the
    others get, too (k, m, c, e, n). settings: `{"k": 5, "static.k": [5, 10]}`; a list is a grid. out: keeps finished
    runs, so that an interrupted comparison goes on where it stopped; private, like a ledger.
    """
    given = dict(settings or {})
    if not snapshots:
        raise SettingsError("Give at least one snapshot to compare strategies on.")
    shared = share_thresholds(policy, given)
    planned = make_plans(strategies, policy, shared, given)
    _refuse_foreign(out)
    digest = digest_inputs(schema, snapshots, shared, on_change)
    say = progress or (lambda stage: None)
    with TemporaryDirectory() if out is None else nullcontext(str(out)) as folder:
        place = Path(folder) / "runs"
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        runner = Runner(place, schema, snapshots, shared, on_change, digest, say)
        runs = []
        for number, plan in enumerate(planned, start=1):
            say(f"{number} of {len(planned)}, {plan.label}")
            runs.append(runner.run(plan))
    label, sentences = advise(runs, {name: find_attack(name).assumes for name in ATTACKS})
    names = [Path(snapshot).name for snapshot in snapshots]
    return Comparison(runs, shared, names, label, sentences)


def _refuse_foreign(out: str | PathLike[str] | None) -> None:
    """Runs are kept in a folder of their own, not among a series or a steward's files."""
    folder = None if out is None else Path(out)
    if folder is not None and folder.is_dir() and any(folder.iterdir()) and not (folder / "runs").is_dir():
        raise SettingsError(f"{folder} is not empty, and holds no comparison; choose a new folder with --out.")


def compare_config(
    config: str | PathLike[str],
    snapshots: Sequence[str | PathLike[str]],
    *,
    strategies: Sequence[str] = (),
    settings: Sequence[str] = (),
    out: str | PathLike[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """The same as a config file says. settings: KEY=VALUE texts; `k=[2,5]` or `k=2,5` is a grid."""
    from reissue.audit.auditing import read_strategy
    from reissue.series.creating import parse_settings

    read = read_config(str(config))
    given = {key: _parse_list(value) for key, value in parse_settings(settings).items()}
    return compare(
        snapshots,
        read.schema,
        strategies=strategies,
        policy=read_strategy(read.policy),
        settings=given,
        on_change=str(read.policy.get("on_change", "refuse")),
        out=out,
        progress=progress,
    )


def _parse_list(value: object) -> object:
    """`2,5` as the list that it means; other text as it is."""
    from reissue.series.creating import parse_settings

    if not isinstance(value, str) or "," not in value:
        return value
    return [parse_settings([f"value={part.strip()}"])["value"] for part in value.split(",")]
