"""The recommendation: which strategy to take, and why, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reissue.compare.running import Run
from reissue.methods.attack import list_names
from reissue.methods.registry import ATTACKS, STRATEGIES, find_attack, find_strategy
from reissue.utility import Point, risk_utility


def advise(runs: Sequence[Run], assumes: Mapping[str, str]) -> tuple[str | None, list[str]]:
    """(label of the run to take, or None; sentences).

    Of the runs that every attack was tried on: one that none succeeds against, with the smallest query error; if there
    is none, the one with the fewest people at risk, and what the attackers must know who still succeed.
    """
    done = [run for run in runs if run.status == "done"]
    tried = max((len(_list_common(run)) for run in done), default=0)
    if not tried:
        why = "no strategy could publish these snapshots" if not done else "none of the attacks applies to these tables"
        return None, [f"Nothing can be recommended: {why}.", *_list_refused(runs)]
    judged = [run for run in done if len(_list_common(run)) == tried]
    safe = [run for run in judged if not run.breached]
    best = min(safe or judged, key=lambda run: (run.risk if not safe else 0.0, run.query_error or 0.0, run.label))
    tried = len(best.ran)
    words = [_explain_safe(best, safe, len(done), tried)] if safe else _explain_least(best, judged, tried, assumes)
    words += _discuss_frontier(best, done)
    return best.label, [*words, *_tell_promises(best), *_tell_costs(best), *_list_refused(runs)]


def _list_common(run: Run) -> list[str]:
    """The attacks that ran, without those that read how releases were made: these apply to some strategies only."""
    return [name for name in run.ran if name not in ATTACKS or not find_attack(name).selective]


def _explain_safe(best: Run, safe: Sequence[Run], done: int, tried: int) -> str:
    among = (
        ", and it is the only one that none of them succeeds against"
        if len(safe) == 1
        else f", and of the {len(safe)} that none of them succeeds against, it tells its readers most"
    )
    return f"Take {best.label}: of the {tried} attacks tried, none succeeds{among * (done > 1)} ({_tell_lost(best)})."


def find_frontier(runs: Sequence[Run]) -> list[Run]:
    """The finished runs that no other beats in people at risk and in query error, by rising risk."""
    done = {run.label: run for run in runs if run.status == "done"}
    points = risk_utility(Point(label=run.label, risk=run.risk, loss=run.query_error or 0.0) for run in done.values())
    return [done[point.label] for point in points.frontier]


def _discuss_frontier(best: Run, done: Sequence[Run]) -> list[str]:
    """What speaks for and against each of the others that no strategy beats in both."""
    words = []
    for run in find_frontier(done):
        if run is best:
            continue
        more = (run.query_error or 0.0) < (best.query_error or 0.0)
        gain = f"{run.label} would tell {'more' if more else 'as much'} ({_tell_lost(run)})"
        if run.breached:
            words.append(f"{gain}, but {_tell_broken(run)}: {_tell_people(run)}.")
        elif len(_list_common(run)) < len(_list_common(best)):
            words.append(f"{gain}, but only {len(run.ran)} of the attacks could be tried on it.")
        else:
            words.append(f"{gain}, and none of the attacks succeeds against it either.")
    return words


def _explain_least(best: Run, judged: Sequence[Run], tried: int, assumes: Mapping[str, str]) -> list[str]:
    words = [
        f"No strategy withstands all {tried} attacks that were tried. {best.label} comes closest: {_tell_people(best)} "
        f"({_tell_lost(best)}).",
        f"It is broken by {list_names(best.breached)}. Use it only if you can rule out such attackers:",
    ]
    words += [f"  {name}: {assumes[name]}" for name in best.breached if name in assumes]
    others = [run for run in judged if run is not best and len(run.breached) < len(best.breached)]
    if others:
        fewest = min(others, key=lambda run: (len(run.breached), run.risk))
        words.append(
            f"{fewest.label} is broken by fewer attacks ({list_names(fewest.breached)}), but more people are at risk: "
            f"{_tell_people(fewest)}."
        )
    return words


def _tell_promises(best: Run) -> list[str]:
    """What holds for the next release, too, and what merely held here."""
    kind = find_strategy(best.strategy) if best.strategy in STRATEGIES else None
    stops = () if kind is None else kind.stops
    lucky = [name for name in best.ran if name not in stops and name not in best.breached]
    if not stops:
        return ["It promises nothing against attacks across releases: what held here may not hold next time."]
    promise = f"It promises to stop {list_names(stops)}, and every release is checked for it before it is published."
    more = f" {list_names(lucky).capitalize()} also failed on these snapshots, but may succeed on the next."
    return [promise + (more if lucky else "")]


def _tell_costs(best: Run) -> list[str]:
    costs = []
    if best.counterfeits:
        rows = "1 counterfeit row is" if best.counterfeits == 1 else f"{best.counterfeits:,} counterfeit rows are"
        costs.append(f"{rows} among its {best.rows:,}")
    if best.suppressed:
        costs.append("1 row is withheld" if best.suppressed == 1 else f"{best.suppressed:,} rows are withheld")
    return [f"Its price besides: {' and '.join(costs)}."] if costs else []


def _list_refused(runs: Sequence[Run]) -> list[str]:
    refused = [run for run in runs if run.status == "refused"]
    lines = [
        f"  {run.label}{f', at snapshot {run.failed_at}' if run.failed_at else ''}: {run.reason}" for run in refused
    ]
    return ["Could not be used on these snapshots:", *lines] if refused else []


def _tell_broken(run: Run) -> str:
    return f"{list_names(run.breached)} {'succeeds' if len(run.breached) == 1 else 'succeed'} against it"


def _tell_people(run: Run) -> str:
    at_risk = run.subjects_at_risk or 0
    return f"{at_risk:,} of {run.subjects or 0:,} people {'is' if at_risk == 1 else 'are'} at risk"


def _tell_lost(run: Run) -> str:
    return f"counts made from it are off by {run.query_error or 0:.0%}"
