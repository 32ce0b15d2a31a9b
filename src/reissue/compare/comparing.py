"""`compare`: every strategy on the same snapshots, attacked in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from reissue.compare.advice import advise, find_frontier
from reissue.compare.planning import make_plans, share_thresholds
from reissue.compare.running import Run, Runner, digest_inputs, say_inside
from reissue.documents import COMPARISON, write_bytes, write_json, write_text
from reissue.errors import SettingsError
from reissue.ledger.disk import make_private_folder
from reissue.methods.plain_words import describe_attack
from reissue.methods.registry import ATTACKS, find_attack
from reissue.methods.strategy import Strategy
from reissue.schema import Schema, read_config
from reissue.showing import Shown, Sketch

MATRIX = "Attacks: ✗ people at risk, ✓ held, ~ below the limit, ? in part, – not run"
COSTS = ("at risk", "query error", "rate error", "detail lost", "rows per class", "counterfeits", "withheld", "seconds")
_TERMINAL, _HEADS = 80, 24
MARKS = {"breached": "✗", "partly": "?", "held": "✓", "measured": "~", "skipped": "–"}


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """runs: in the order asked for; thresholds: what all were measured against; recommended: the label to take."""

    runs: Sequence[Run]
    thresholds: Mapping[str, float]
    snapshots: Sequence[str]
    recommended: str | None
    sentences: Sequence[str]
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    @property
    def attacks(self) -> list[str]:
        return [name for name in ATTACKS if any(name in run.attacks for run in self.runs)]

    def _sketch(self) -> Sketch:
        told: dict[str, object] = {
            run.label: f"{run.risk:.1%} at risk, counts off by {run.query_error or 0:.1%}"
            for run in self.runs
            if run.status == "done"
        }
        return f"{len(self.snapshots)} snapshots; take {self.recommended or 'none'}", told

    def to_dict(self) -> dict[str, object]:
        """The document `reissue-comparison/1` (docs/comparing.md)."""
        from reissue import __version__

        return {
            "format": COMPARISON,
            "reissue": __version__,
            "created": self.created,
            "snapshots": list(self.snapshots),
            "thresholds": dict(self.thresholds),
            "attacks": [_describe_attack(name) for name in self.attacks],
            "runs": [{**asdict(run), "risk": run.risk if run.status == "done" else None} for run in self.runs],
            "frontier": [run.label for run in find_frontier(self.runs)],
            "recommendation": {"label": self.recommended, "sentences": list(self.sentences)},
        }

    def to_json(self, path: str | PathLike[str] | None = None, *, public: bool = False) -> str:
        """The document as text, also written to `path` if one is given, for its owner only unless it is public."""
        return write_json(self.to_dict(), path, public)

    def to_html(self, path: str | PathLike[str] | None = None, *, public: bool = False) -> str:
        """One self-contained offline page, also written to `path` if one is given, for its owner only unless public."""
        from reissue.report import render_comparison

        return write_text(render_comparison(self.to_dict()), path, public)

    def to_picture(self, path: str | PathLike[str], *, public: bool = False) -> None:
        """The map of risk against query error as SVG or PNG, by the file's suffix."""
        from reissue.report import draw_comparison

        write_bytes(draw_comparison(self.to_dict(), choose_format(path)), path, public)

    def describe(self) -> str:
        """Table, matrix and recommendation, for a terminal."""
        done = [run for run in self.runs if run.status == "done"]
        measured = ", ".join(f"{key} = {value:g}" for key, value in self.thresholds.items())
        count = len(self.snapshots)
        lines = [f"{count} snapshot{'' if count == 1 else 's'}; every series was measured against {measured}", ""]
        if done:
            frontier = {run.label for run in find_frontier(self.runs)}
            wide = max(len(run.label) for run in done)
            for number, run in enumerate(done, start=1):
                lines.append(f"{number:>3}  {run.label:{wide}}{'  *' if run.label in frontier else ''}".rstrip())
            lines += ["* no other has both less risk and a smaller query error", ""]
            for block in self._blocks(done):
                lines += [*block, ""]
            lines += [MATRIX, ""]
        return "\n".join([*lines, *self.sentences])

    def _blocks(self, runs: Sequence[Run]) -> Iterator[list[str]]:
        """Measures and attacks down, as many strategies across, by their numbers, as a terminal has room for."""
        attacks = [[_format_cell(run.attacks.get(name)) for name in self.attacks] for run in runs]
        columns = [
            [str(number), *_format_costs(run), *cells]
            for number, (run, cells) in enumerate(zip(runs, attacks, strict=True), start=1)
        ]
        wide = 2 + max(len(cell) for column in columns for cell in column)
        abreast = (_TERMINAL - _HEADS) // wide
        for start in range(0, len(columns), abreast):
            rows = zip(*columns[start : start + abreast], strict=True)
            heads = ("", *COSTS, *self.attacks)
            yield [
                f"{head:{_HEADS}}" + "".join(f"{cell:>{wide}}" for cell in row)
                for head, row in zip(heads, rows, strict=True)
            ]


def _describe_attack(name: str) -> dict[str, object]:
    words = describe_attack(name)
    shows = list(words.shows)
    return {"name": name, "does": words.does, "who": words.who, "shows": shows, "assumes": find_attack(name).assumes}


def choose_format(path: str | PathLike[str]) -> str:
    """ "svg" or "png", as the name of the picture's file ends."""
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in ("svg", "png"):
        raise SettingsError(f"The picture is written as .svg or .png; received '{path}'.")
    return suffix


def _format_costs(run: Run) -> tuple[str, ...]:
    return (
        f"{run.risk:.1%}",
        f"{run.query_error or 0:.1%}",
        "–" if run.rate_error is None else f"{run.rate_error:.1%}",
        "–" if run.detail_lost is None else f"{run.detail_lost:.1%}",
        f"{run.class_size or 0:.1f}",
        f"{run.counterfeits:,}",
        f"{run.suppressed:,}",
        f"{run.seconds:.1f}",
    )


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
    rates: Sequence[str] = (),
    out: str | PathLike[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Publish the snapshots with every strategy, attack each series, and recommend one.

    snapshots: CSV or Parquet files, oldest first. strategies: names; all by default. policy: whose promises the
    others get, too (k, m, c, e, n). rates: pairs of quasi-identifiers such as "age x sex", by which the error of rates
    is measured. settings: `{"k": 5, "static.k": [5, 10]}`; a list is a grid. out: keeps finished
    runs, so that an interrupted comparison goes on where it stopped; private, like a ledger.
    """
    from reissue.utility import find_pair

    given = dict(settings or {})
    if not snapshots:
        raise SettingsError("Give at least one snapshot to compare strategies on.")
    for text in rates:
        find_pair(text, list(schema.quasi_identifiers))  # before the long work
    shared = share_thresholds(policy, given)
    planned = make_plans(strategies, policy, shared, given)
    _refuse_foreign(out)
    digest = digest_inputs(schema, snapshots, shared, on_change, rates)
    say = progress or (lambda stage: None)
    with TemporaryDirectory() if out is None else nullcontext(str(out)) as folder:
        place = Path(folder) / "runs"
        place.mkdir(parents=True, exist_ok=True)
        for one in (place.parent, place):
            make_private_folder(one)
        runs = []
        for number, plan in enumerate(planned, start=1):
            where = f"{number} of {len(planned)},"
            say(f"{where} {plan.label}")
            inside = say_inside(say, where)
            runs.append(Runner(place, schema, snapshots, shared, on_change, digest, inside, rates).run(plan))
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
        rates=cast("Sequence[str]", read.utility.get("rates", ())),
        out=out,
        progress=progress,
    )


def _parse_list(value: object) -> object:
    """`2,5` as the list that it means; other text as it is."""
    from reissue.series.creating import parse_settings

    if not isinstance(value, str) or "," not in value:
        return value
    return [parse_settings([f"value={part.strip()}"])["value"] for part in value.split(",")]
