"""The page docs/benchmarks/peers.md, made from one run's numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.peers.processes import Cost
from benchmarks.peers.run import TINY, Check, Report
from benchmarks.peers.tools import Policy, Result

INTRO = """# Against other tools for one release

[anjana](https://github.com/IFCA-Advanced-Computing/anjana), [anonypy](https://github.com/glassonion1/anonypy) and
[anonypyx](https://github.com/questforwisdom/anonypyx) make one table k-anonymous or l-diverse;
[pycanon](https://github.com/IFCA-Advanced-Computing/pycanon) measures k and l of a released table;
[ARX](https://arx.deidentifier.org) does all of that, in Java. Reissue's `static` strategy does the same job, so here
they meet on the same rows, in one run, each in a process of its own.
**What Reissue is for cannot be compared: none of these tools publishes a series**, that is a release that stays
private beside the earlier ones (anonypyx has attacks on several releases, but nothing that stops them).
"""

METHOD = """## How it is measured
- **Time and memory** are those of a fresh process from start to end: start Python, import, read the CSV file,
  anonymize, write the result as CSV. CPU seconds count all cores and are the number to compare; wall seconds depend on
  what else the machine does. One run each. Reissue's process also writes the ledger and checks the finished
  release; its kernels were compiled before (see the fixed costs).
- **The same question for all**: the same quasi-identifiers, the same hierarchies (anjana, Reissue), categories as
  pandas categories (anonypy, anonypyx), ages as numbers for every Mondrian, no suppression. anonypy and anonypyx take
  no hierarchies but halve the values as they come: *halving* is Reissue with hierarchies that halve them, too (ordered
  by ARX's groups). Full-domain generalization may leave rows out: on the smallest table it is also shown with up to 5%
  of them. ARX takes part if its jar is given (`--arx JAR`); it minimizes loss, and its local recoding
  (`optimizeIterativeFast`) chooses itself what to leave out. *standing* has boxes of at least k rows and, if asked for,
  l dealt values, and classes for life by its defaults.
- **Information loss** is measured by Reissue's `utility.measure` on every output alike. A cell is read as the values
  that it allows: a range of ages, one value, the values below a group of the hierarchy (anjana, Reissue), or the values
  that it lists (anonypy, anonypyx; each cell of anonypy is a list with one text in it, which is unpacked). Values that
  do not occur in the table do not count. The measure looks at how many values an interval of codes allows, so s values
  become an interval of s codes, whichever values they are: a list costs only what it lists. Lines with a
  `count` stand for so many rows; lines that allow the same are one class; for Reissue the published class number
  counts as well.
    - **GCP**: the share of the domains that a row's cells allow, averaged over columns and rows, 0 (exact) to 1
      (anything). A suppressed row counts as 1. AIL is the same times the number of quasi-identifiers.
    - **GCP in groups**: the same after widening each list to the smallest group of the hierarchy that covers it.
    - **discernibility**: the chance that two rows share a class; a suppressed row shares one with everybody.
- **k and l found** are those of the output: the smallest class, the fewest different sensitive values in one.
  Reissue's check and pycanon measured them independently of each other.
- **Many rows** are Adult resampled with ages moved by up to 4 years. That repeats rows with their sensitive values, so
  l is harder to keep there, for every tool, than in a real table of that size. A peer is not tried there if the power
  law through its two smaller sizes expects more than 1.5 limits, or more than the rest of the minutes for the whole
  run (`--minutes`); the table then says what is expected. The limit of one process is one of CPU seconds (`--limit`);
  what it had used when it was stopped is shown.
"""


def page(report: Report) -> str:
    parts = [INTRO, _about(report), "## What the numbers say\n", *_lessons(report), ""]
    parts.append("## Results\n")
    sizes = list(dict.fromkeys((result.rows, result.policy) for result in report.results))
    for rows, policy in sizes:
        parts += [f"### {rows:,} rows, {policy}\n", _results(report, rows, policy)]
    parts += ["### Checking a release\n", _checking(report), "### Fixed costs\n", _fixed(report), METHOD]
    return "\n".join(parts)


def _about(report: Report) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    names = ", ".join(report.quasi_identifiers)
    return (
        f"Measured: {report.machine}.\nVersions: {versions}.\nData: {report.title}; quasi-identifiers {names}; "
        f"sensitive {report.sensitive}.\n\n```sh\n{report.command}\n```\n"
        "This installs the packages into an environment of its own under `.benchmarks/`; `--help` shows how to give it "
        "other data and limits.\n"
    )


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows), ""])


def _results(report: Report, rows: int, policy: Policy) -> str:
    chosen = [result for result in report.results if (result.rows, result.policy) == (rows, policy)]
    headings = ["tool", "CPU s", "wall s", "peak MB", "classes", "rows per class", "GCP", "GCP in groups"]
    headings += ["discernibility", "suppressed rows", "k, l found"]
    asked = any(result.by_pycanon for result in chosen)
    return _table([*headings, *(["by pycanon"] if asked else [])], [_row(one, report.limit, asked) for one in chosen])


def _row(result: Result, limit: float, asked: bool) -> list[str]:
    cost, seen = result.cost, result.seen
    if cost is None:
        return [str(result.tool), f"not run, about {_round(result.expected)} expected", *[""] * (9 + asked)]
    if seen is None:
        cpu = f"failed: {cost.problem}" if cost.problem else f"> {min(cost.cpu, limit):.0f}, stopped"
        return [str(result.tool), cpu, *_cost(cost)[1:], *[""] * (7 + asked)]
    found = f"{seen.k}, {seen.diversity}" + ("" if seen.kept else " **(policy broken)**")
    cells = [
        *_cost(cost),
        f"{seen.utility.classes:,}",
        f"{seen.utility.class_size:,.1f}",
        f"{seen.utility.gcp_share:.3f}",
        f"{seen.grouped:.3f}",
        f"{seen.utility.discernibility_share:.2g}",
        f"{seen.utility.suppressed:,}",
        found,
    ]
    by_pycanon = [f"{result.by_pycanon[0]}, {result.by_pycanon[1]}" if result.by_pycanon else ""]
    return [str(result.tool), *cells, *(by_pycanon if asked else [])]


def _cost(cost: Cost) -> list[str]:
    return [f"{cost.cpu:.1f}", f"{cost.seconds:.1f}", f"{cost.megabytes:,.0f}"]


def _round(seconds: float | None) -> str:
    if seconds is None or seconds == float("inf"):
        return "more"
    return f"{seconds:,.0f} s"


def _checking(report: Report) -> str:
    intro = (
        f"A release of Reissue's Mondrian ({report.policies[-1]}), its k and l measured by both. pycanon looks at the "
        "labels alone. `reissue.audit` reads every label by the hierarchies, takes the class numbers of the file as "
        "well, and also runs the attack that needs no snapshot. Its report shows the smallest class but not the fewest "
        "values; the script counts those in `audit.observed`.\n\n"
    )
    return intro + _table(
        ["rows", "tool", "CPU s", "wall s", "peak MB", "k, l found"], [_check(c) for c in report.checks]
    )


def _check(check: Check) -> list[str]:
    found = f"{check.found[0]}, {check.found[1]}" if check.found else check.cost.problem or "stopped"
    return [f"{check.rows:,}", check.by, *_cost(check.cost), found]


def _fixed(report: Report) -> str:
    rows = [[what, *_cost(cost)] for what, cost in report.fixed]
    return f"What {TINY} rows cost, {report.policies[0]}: mostly starting and importing.\n\n" + _table(
        ["what", "CPU s", "wall s", "peak MB"], rows
    )


def _lessons(report: Report) -> list[str]:
    """Sentences about the numbers; those that the run has no numbers for are left out."""
    made: list[Callable[[Report], str | None]] = [_promises, _speed, _loss, _standing, _full_domain, _start, _memory]
    made += [_check_speed, _leftovers, _busy]
    return [f"- {sentence}" for sentence in (make(report) for make in made) if sentence]


def _promises(report: Report) -> str:
    seen = [result for result in report.results if result.seen is not None]
    broken = [f"{one.tool} ({one.rows:,} rows, {one.policy})" for one in seen if one.seen and not one.seen.kept]
    differ = [
        f"{one.tool} ({one.rows:,} rows, {one.policy})"
        for one in seen
        if one.by_pycanon and one.seen and one.by_pycanon != (one.seen.k, one.seen.diversity)
    ]
    first = (
        f"**Not every output keeps its policy:** {'; '.join(broken)}."
        if broken
        else (f"**All {len(seen)} outputs keep their policy** by our own check.")
    )
    second = (
        f"pycanon measures something else for {'; '.join(differ)}."
        if differ
        else ("Wherever pycanon was asked as well, it finds the same k and l.")
    )
    return f"{first} {second}"


def _pick(report: Report, rows: int, package: str, algorithm: str = "") -> Result | None:
    for one in report.results:
        fits = one.rows == rows and one.policy == report.policies[0] and one.tool.package == package
        if fits and one.tool.plain and algorithm.lower() in one.tool.algorithm.lower():
            return one
    return None


def _speed(report: Report) -> str:
    told = []
    for rows in sorted({one.rows for one in report.results}):
        ours = _pick(report, rows, "reissue", "mondrian")
        peers = [_pick(report, rows, package) for package in ("anjana", "anonypy", "anonypyx", "arx")]
        if ours is None or ours.cost is None:
            continue
        parts = [f"{one.tool.package} {_outcome(one, report.limit)}" for one in peers if one is not None]
        told.append(f"{rows:,} rows: Reissue's Mondrian {ours.cost.cpu:.1f} s, {', '.join(parts)}")
    return f"**CPU time** for {report.policies[0]}. " + "; ".join(told) + "."


def _outcome(result: Result, limit: float) -> str:
    if result.cost is None:
        return f"not run ({_round(result.expected)} expected)"
    if result.cost.problem:
        return "failed"
    return f"{result.cost.cpu:.1f} s" if result.cost.finished else f"over {limit:.0f} s"


def _find(report: Report, package: str, **asked: object) -> Result | None:
    """The run of the smallest table and the first policy that was asked so, if it was measured."""
    rows = min(one.rows for one in report.results)
    for one in report.results:
        fits = (one.rows, one.policy, one.tool.package) == (rows, report.policies[0], package) and one.seen is not None
        if fits and all(getattr(one.tool, name) == value for name, value in asked.items()):
            return one
    return None


def _share(result: Result | None) -> str:
    return "" if result is None or result.seen is None else f"{result.seen.utility.gcp_share:.3f}"


def _loss(report: Report) -> str | None:
    ours, theirs = _find(report, "reissue", algorithm="mondrian"), _find(report, "anonypy")
    if ours is None or theirs is None or ours.seen is None or theirs.seen is None:
        return None
    ranges, halving = _find(report, "reissue", ranges=True), _find(report, "reissue", halved=True)
    text = (
        f"**Groups tell less than lists.** On {ours.rows:,} rows Reissue's Mondrian has a GCP of {_share(ours)} in "
        "groups of the hierarchies, of which ARX's are flat (race is one value or `*`); anonypy lists the values that "
        f"occur in a class and has {_share(theirs)}, or {theirs.seen.grouped:.3f} widened to those groups. Reissue has "
        "no lists, since its guarantees over a series compare intervals of codes."
    )
    if ranges is not None:
        text += f' With `labels = "ranges"` (any range in the order of the hierarchy) it has {_share(ranges)}.'
    return text + (f" Hierarchies that halve the values (*halving*) bring it to {_share(halving)}." if halving else "")


def _standing(report: Report) -> str | None:
    ours = _find(report, "reissue", algorithm="standing")
    if ours is None or ours.cost is None:
        return None
    return (
        f"**Standing**, which protects a whole series, costs no more on one release: GCP {_share(ours)} in "
        f"{ours.cost.cpu:.1f} s."
    )


def _full_domain(report: Report) -> str | None:
    told = []
    for package, name in (("reissue", "Reissue's Incognito"), ("arx", "ARX"), ("anjana", "anjana")):
        algorithm = "incognito" if package == "reissue" else "full domain"
        whole = _find(report, package, algorithm=algorithm, suppression=0)
        spared = _find(report, package, algorithm=algorithm, suppression=5)
        if whole is not None:
            more = ""
            if spared is not None and spared.seen is not None:
                more = f", {_share(spared)} with {spared.seen.utility.suppressed:,} rows left out"
            told.append(f"{name} {_share(whole)}{more}")
    if not told:
        return None
    text = f"**Full-domain generalization**, GCP (rows left out count as wholly lost): {'; '.join(told)}."
    local = _find(report, "arx", algorithm="local recoding")
    if local is not None and local.seen is not None:
        left = local.seen.utility.suppressed
        text += f" ARX's local recoding of such solutions reaches {_share(local)}, {left:,} rows left out."
    return text


def _start(report: Report) -> str:
    ours = next(cost for what, cost in report.fixed if what == "reissue, mondrian")
    others = [(what.split(",")[0], cost) for what, cost in report.fixed if not what.startswith("reissue")]
    peers = dict(reversed(others))  # of each package the first
    listed = ", ".join(f"{package} {cost.cpu:.1f} s" for package, cost in reversed(peers.items()))
    faster = [package for package, cost in peers.items() if cost.cpu < 0.8 * ours.cpu]
    small = f" On a few hundred rows {' and '.join(faster)} are done earlier." if faster else ""
    return (
        f"**Weak spot: the start.** {TINY} rows cost Reissue {ours.cpu:.1f} s of CPU, {listed}.{small} The first run "
        f"after an installation takes {report.fixed[0][1].cpu:.0f} s, since it compiles the kernels."
    )


def _memory(report: Report) -> str:
    tools = (("reissue", "mondrian"), ("anjana", ""), ("anonypy", ""), ("anonypyx", ""), ("arx", ""))
    told = []
    for rows in sorted({one.rows for one in report.results}):
        found = [_pick(report, rows, package, algorithm) for package, algorithm in tools]
        parts = [f"{one.tool.package} {one.cost.megabytes:,.0f} MB" for one in found if one and one.cost]
        told.append(f"{rows:,} rows: " + ", ".join(parts))
    base = next(cost for what, cost in report.fixed if what == "reissue, mondrian")
    return f"**Weak spot: memory.** {'; '.join(told)}. {base.megabytes:,.0f} MB of Reissue's are there at {TINY} rows."


def _check_speed(report: Report) -> str | None:
    told = []
    for rows in dict.fromkeys(check.rows for check in report.checks):
        costs = {check.by: check.cost.cpu for check in report.checks if check.rows == rows and check.cost.good}
        if len(costs) == 2:
            told.append(f"{costs['pycanon']:.1f} s against {costs['reissue.audit']:.1f} s on {rows:,} rows")
    if not told:
        return None
    return f"**Checking k and l of one release**, pycanon against `reissue.audit`, in CPU time: {', '.join(told)}."


def _busy(report: Report) -> str | None:
    """The peers work on one core, so their wall seconds should hardly exceed their CPU seconds."""
    costs = [one.cost for one in report.results if one.cost is not None and one.tool.package != "reissue"]
    wall, cpu = sum(cost.seconds for cost in costs), sum(cost.cpu for cost in costs)
    if cpu == 0 or wall < 1.2 * cpu:
        return None
    return (
        f"The machine had other work during this run: wall seconds are about {wall / cpu:.1f} times what they would be "
        "on an idle one, and CPU seconds somewhat higher than there, for every tool."
    )


def _leftovers(report: Report) -> str | None:
    left = {(one.tool.package, name) for one in report.results for name in one.extra_columns}
    if not left:
        return None
    package, name = sorted(left)[0]
    return (
        f"**Look at an output before handing it out**: when {package} suppresses rows, its result has a further "
        f"column `{name}` with the row numbers of the input."
    )
