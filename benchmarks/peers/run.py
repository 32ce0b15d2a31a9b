"""One run of everything, within a number of minutes."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from benchmarks.harness import machine
from benchmarks.peers.cells import Measurer
from benchmarks.peers.processes import Cost
from benchmarks.peers.tools import INCOGNITO, MONDRIAN, STANDING, Bench, Policy, Result, Tool

TINY = 200
MIDDLE = 100_000
HOPELESS = 1.5
"""A run is not tried if it is expected to take more than this many limits."""


@dataclass(frozen=True)
class Check:
    """k and l of one release of ours, measured by pycanon and by `reissue.audit`."""

    rows: int
    by: str
    cost: Cost
    found: tuple[int, int] | None


@dataclass(frozen=True)
class Report:
    """Everything the page tells. fixed: what `TINY` rows cost, by what was run."""

    title: str
    machine: str
    versions: dict[str, str]
    quasi_identifiers: list[str]
    sensitive: str
    policies: tuple[Policy, ...]
    limit: float
    minutes: float
    fixed: list[tuple[str, Cost]]
    results: list[Result]
    checks: list[Check]
    command: str


@dataclass(frozen=True)
class Clock:
    """When the whole run must be over."""

    end: float

    def left(self) -> float:
        return self.end - time.perf_counter()


def everything(bench: Bench, policies: tuple[Policy, ...], large: int | None, minutes: float, command: str) -> Report:
    clock = Clock(time.perf_counter() + 60 * minutes)
    versions = {"reissue": version("reissue"), **bench.peers.versions(bench.folder)}
    fixed = _fixed(bench, policies[0])
    rows = len(bench.source.table)
    bench.audit(bench.run(MONDRIAN, bench.prepare(rows), policies[0])[1], MONDRIAN, policies[0])  # compiles the rest
    results, checks = _whole(bench, rows, policies, bench.tools, True), _checks(bench, rows, policies[-1])
    tools = tuple(tool for tool in bench.tools if tool.suppression == 0)
    if large is not None and bench.source.grows:
        results += _whole(bench, MIDDLE, policies[:1], tools, False)
        results += _large(bench, large, policies, tools, results, clock)
        checks += _checks(bench, large, policies[-1])
    return Report(
        bench.source.title,
        machine(),
        versions,
        bench.source.quasi_identifiers,
        bench.source.sensitive,
        policies,
        bench.limit,
        minutes,
        fixed,
        results,
        checks,
        command,
    )


def _fixed(bench: Bench, policy: Policy) -> list[tuple[str, Cost]]:
    """What each tool costs on next to no rows; the first run of Reissue compiles its kernels."""
    table = bench.prepare(TINY)
    first = bench.run(MONDRIAN, table, policy)[0]
    for other in (INCOGNITO, STANDING):
        bench.run(other, table, policy)
    bench.audit(bench.run(MONDRIAN, table, policy)[1], MONDRIAN, policy)
    found = [("reissue, first run after installing (compiles its kernels)", first)]
    found.append(("reissue init, once per series", bench.init(MONDRIAN, policy)))
    found += [(str(tool), bench.run(tool, table, policy)[0]) for tool in bench.tools if tool.plain]
    for what, cost in found:
        _say(f"{TINY} rows", what, cost)
    return found


def _whole(
    bench: Bench, rows: int, policies: tuple[Policy, ...], tools: tuple[Tool, ...], ask_pycanon: bool
) -> list[Result]:
    measurer = bench.measurer(bench.prepare(rows))
    return [_one(bench, tool, rows, policy, measurer, ask_pycanon) for policy in policies for tool in tools]


def _one(bench: Bench, tool: Tool, rows: int, policy: Policy, measurer: Measurer, ask_pycanon: bool) -> Result:
    result = bench.result(tool, rows, policy, measurer, ask_pycanon)
    if result.cost is not None:
        _say(f"{rows} rows, {policy}", str(tool), result.cost)
    return result


def _large(
    bench: Bench, rows: int, policies: tuple[Policy, ...], tools: tuple[Tool, ...], known: list[Result], clock: Clock
) -> list[Result]:
    """The large table: our own runs, then the peers by rising expected time as far as the minutes reach."""
    measurer = bench.measurer(bench.prepare(rows))
    found = []
    for cpu, policy, tool in _queue(policies, tools, known, rows):
        wall = 0.0 if tool.package == "reissue" else expected(known, tool, policy, rows, "seconds")
        if cpu > HOPELESS * bench.limit or min(wall, 3 * bench.limit) > clock.left():
            found.append(Result(rows, policy, tool, None, expected=cpu))
        else:
            found.append(replace(_one(bench, tool, rows, policy, measurer, False), expected=cpu))
    return sorted(found, key=lambda result: (policies.index(result.policy), tools.index(result.tool)))


def _queue(
    policies: tuple[Policy, ...], tools: tuple[Tool, ...], known: list[Result], rows: int
) -> Iterator[tuple[float, Policy, Tool]]:
    """(expected CPU seconds, policy, tool): ours first, then the first policy for every peer, then the others."""
    for policy in policies:
        yield from ((0.0, policy, tool) for tool in tools if tool.package == "reissue")
    for policy in policies:
        peers = [(expected(known, tool, policy, rows), tool) for tool in tools if tool.package != "reissue"]
        yield from ((seconds, policy, tool) for seconds, tool in sorted(peers, key=lambda pair: pair[0]))


def expected(known: list[Result], tool: Tool, policy: Policy, rows: int, what: str = "cpu") -> float:
    """CPU seconds (or wall `seconds`) on `rows` rows.

    The power law through the two sizes measured; other policies than the first in proportion.
    """
    mine = [result for result in known if result.tool == tool and result.cost is not None and result.cost.good]
    first = [result for result in mine if result.policy == mine[0].policy]
    same = [result for result in mine if result.policy == policy]
    if len(first) < 2 or not same:
        return math.inf
    small, middle, other = (float(getattr(result.cost, what)) for result in (first[0], first[-1], same[0]))
    growth = math.log(middle / small) / math.log(first[-1].rows / first[0].rows)
    factor: float = (rows / first[-1].rows) ** max(growth, 0.0)
    return middle * factor * other / small


def _checks(bench: Bench, rows: int, policy: Policy) -> list[Check]:
    """The same release, checked by both."""
    cost, release = bench.run(MONDRIAN, bench.prepare(rows), policy)
    if not cost.good:
        return []
    kept = bench.folder / "release.csv"
    kept.write_bytes(Path(release).read_bytes())
    ours = bench.audit(kept, MONDRIAN, policy)
    theirs = bench.pycanon(kept, bench.source.quasi_identifiers)
    _say(f"{rows} rows, check", "reissue.audit", ours)
    _say(f"{rows} rows, check", "pycanon", theirs)
    said = json.loads(theirs.said) if theirs.good else None
    return [
        Check(rows, "reissue.audit", ours, tuple(json.loads(ours.said)) if ours.good else None),
        Check(rows, "pycanon", theirs, (said["k"], said["l"]) if said else None),
    ]


def _say(what: str, who: str, cost: Cost) -> None:
    end = cost.problem or ("" if cost.finished else "stopped")
    print(f"{what}: {who}: {cost.cpu:.1f} s CPU, {cost.seconds:.1f} s, {cost.megabytes:.0f} MB {end}", flush=True)
