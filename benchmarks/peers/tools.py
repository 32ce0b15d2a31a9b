"""The tools that are compared, each as its own documentation shows it, and what one run of one of them gives."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from benchmarks.harness import reissue
from benchmarks.peers.cells import Measurer, Seen
from benchmarks.peers.data import IDENTIFIER, Source, halved
from benchmarks.peers.processes import Cost, Peers, timed


@dataclass(frozen=True)
class Policy:
    """k rows in a class at least, and `diversity` different sensitive values (None: not asked for)."""

    k: int
    diversity: int | None = None

    def __str__(self) -> str:
        return f"k = {self.k}" + (f", l = {self.diversity}" if self.diversity else "")


@dataclass(frozen=True)
class Tool:
    """A package and how it is asked.

    suppression: percent of the rows that may be left out
    halved: Reissue gets hierarchies that halve the values, since anonypy and anonypyx halve them, too
    ranges: Reissue's cells are ranges of the hierarchy's values, not only its groups
    """

    package: str
    algorithm: str
    suppression: int = 0
    halved: bool = False
    ranges: bool = False

    @property
    def plain(self) -> bool:
        return not (self.suppression or self.halved or self.ranges)

    def __str__(self) -> str:
        more = f", may suppress {self.suppression}%" if self.suppression else ""
        more += ", halving" * self.halved + ", ranges" * self.ranges
        return f"{self.package}, {self.algorithm}{more}"


MONDRIAN = Tool("reissue", "mondrian")
INCOGNITO = Tool("reissue", "incognito")
STANDING = Tool("reissue", "standing")
OWN = (
    MONDRIAN,
    Tool("reissue", "mondrian", ranges=True),
    Tool("reissue", "mondrian", halved=True),
    INCOGNITO,
    Tool("reissue", "incognito", suppression=5),
    STANDING,
)
PEERS = (
    Tool("anjana", "full domain"),
    Tool("anjana", "full domain", suppression=5),
    Tool("anonypy", "Mondrian"),
    Tool("anonypyx", "Mondrian"),
)
ARX = (
    Tool("arx", "full domain"),
    Tool("arx", "full domain", suppression=5),
    Tool("arx", "local recoding"),
)
TOOLS = (*OWN, *PEERS)


@dataclass(frozen=True)
class Result:
    """One run. cost: None if it was not tried, `expected` then says how many CPU seconds it would take.

    by_pycanon: k and l as pycanon measures them, where it was asked
    """

    rows: int
    policy: Policy
    tool: Tool
    cost: Cost | None
    seen: Seen | None = None
    by_pycanon: tuple[int, int] | None = None
    extra_columns: tuple[str, ...] = ()
    expected: float | None = None


@dataclass(frozen=True, eq=False)
class Bench:
    """One folder for everything of a run; `limit`: CPU seconds that a process may take."""

    source: Source
    peers: Peers
    folder: Path
    limit: float

    @property
    def tools(self) -> tuple[Tool, ...]:
        return (*TOOLS, *(ARX if self.peers.arx else ()))

    @property
    def cached(self) -> dict[str, str]:
        """Reissue's compiled kernels are kept here, so that the first run of all compiles them."""
        return {"NUMBA_CACHE_DIR": str(self.folder / "kernels")}

    def prepare(self, rows: int) -> Path:
        """The CSV file that every tool reads."""
        path = self.folder / f"table-{rows}.csv"
        if not path.exists():
            self.source.rows(rows).write_csv(path)
        return path

    def measurer(self, table: Path) -> Measurer:
        return Measurer.of(pl.read_csv(table, infer_schema=False), self.source)

    def run(self, tool: Tool, table: Path, policy: Policy) -> tuple[Cost, Path]:
        """One tool in a fresh process; its cost and where its output is."""
        if tool.package == "reissue":
            self.init(tool, policy)
            publish = reissue("publish", str(self.folder / "series"), str(table), "--format", "csv")
            cost = timed(publish, self.folder, self.limit, self.cached)
            return cost, self.folder / "series" / "releases" / "0001" / "release.csv"
        out = self.folder / "out.csv"
        out.unlink(missing_ok=True)
        task = self._task(tool, table, policy, out)
        run = self.peers.run_arx if tool.package == "arx" else self.peers.run
        return run(task, self.folder, self.limit), out

    def init(self, tool: Tool, policy: Policy) -> Cost:
        """A fresh series of our own."""
        shutil.rmtree(self.folder / "series", ignore_errors=True)
        config = self.config(tool, policy)
        return timed(
            reissue("init", str(self.folder / "series"), "--config", str(config)), self.folder, 600, self.cached
        )

    def config(self, tool: Tool, policy: Policy) -> Path:
        lines = ["[schema]", f'identifier = "{IDENTIFIER}"', f"sensitive = {json.dumps(self.source.sensitive)}"]
        lines.append("[schema.quasi_identifiers]")
        for name, path in self.source.hierarchies.items():
            number = name in self.source.numeric and tool.algorithm != "incognito"
            file = path.resolve()
            if tool.halved and not number:
                file = self.folder / f"halved-{name}.csv"
                file.write_text(halved(path), encoding="utf-8")
            what = 'type = "int"' if number else f"hierarchy = {json.dumps(str(file))}"
            what += ', labels = "ranges"' if tool.ranges and not number else ""
            lines.append(f"{json.dumps(name)} = {{ {what} }}")
        lines += ["[policy]", *_write_policy(tool, policy)]
        path = self.folder / "series.toml"
        path.write_text("\n".join(lines))
        return path

    def _task(self, tool: Tool, table: Path, policy: Policy, out: Path) -> dict[str, object]:
        return {
            "tool": tool.package,
            "algorithm": tool.algorithm,
            "data": str(table),
            "out": str(out),
            "k": policy.k,
            "l": policy.diversity,
            "suppression": tool.suppression,
            "identifier": IDENTIFIER,
            "sensitive": self.source.sensitive,
            "quasi_identifiers": self.source.quasi_identifiers,
            "numeric": list(self.source.numeric),
            "hierarchies": {name: str(path.resolve()) for name, path in self.source.hierarchies.items()},
        }

    def pycanon(self, release: Path, quasi_identifiers: list[str]) -> Cost:
        """k and l of a released table, by pycanon."""
        task = {
            "tool": "pycanon",
            "data": str(release),
            "quasi_identifiers": quasi_identifiers,
            "sensitive": self.source.sensitive,
        }
        return self.peers.run(task, self.folder, self.limit)

    def audit(self, release: Path, tool: Tool, policy: Policy) -> Cost:
        """k and l of a released table, by Reissue's audit of somebody else's release."""
        code = (
            "import sys, numpy, reissue\n"
            "schema = reissue.Schema.from_toml(sys.argv[1])\n"
            "release = reissue.audit(releases=[sys.argv[2]], schema=schema).observed.releases[0]\n"
            "print([int(release.sizes.min()), int(numpy.bincount(release.groups[0]).min())])"
        )
        command = [sys.executable, "-c", code, str(self.config(tool, policy)), str(release)]
        return timed(command, self.folder, self.limit, self.cached)

    def result(self, tool: Tool, rows: int, policy: Policy, measurer: Measurer, ask_pycanon: bool) -> Result:
        """One run, measured and checked."""
        table = self.prepare(rows)
        cost, path = self.run(tool, table, policy)
        if not cost.good:
            return Result(len(measurer.snapshot), policy, tool, cost)
        output = pl.read_csv(path, infer_schema=False)
        seen = measurer.seen(output, policy.k, policy.diversity)
        extra = tuple(json.loads(cost.said).get("extra_columns", ())) if tool.package != "reissue" else ()
        found = self._by_pycanon(measurer, output) if ask_pycanon else None
        return Result(len(measurer.snapshot), policy, tool, cost, seen, found, extra)

    def _by_pycanon(self, measurer: Measurer, output: pl.DataFrame) -> tuple[int, int] | None:
        plain = self.folder / "plain.csv"
        measurer.plain(output).write_csv(plain)
        names = [*self.source.quasi_identifiers, *(["class"] if "class" in output.columns else [])]
        cost = self.pycanon(plain, names)
        if not cost.good:
            return None
        found = json.loads(cost.said)
        return found["k"], found["l"]


def _write_policy(tool: Tool, policy: Policy) -> list[str]:
    if tool == STANDING:
        more = [f"row_l = {policy.diversity}"] if policy.diversity else []
        return ['strategy = "standing"', f"row_k = {policy.k}", *more]
    lines = ['strategy = "static"', f'algorithm = "{tool.algorithm}"', f"k = {policy.k}"]
    lines += [f"l = {policy.diversity}"] if policy.diversity else []
    return lines + ([f"suppress = {tool.suppression / 100}"] if tool.suppression else [])
