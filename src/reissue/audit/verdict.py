"""The verdict of an audit: does the promise hold, what succeeds beyond it, and what to do now.

A promise is judged by its own limits only: an attack that was given other ones tells nothing about it, either way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reissue.arrays.sets import union
from reissue.audit.attacks import STATUSES, AttackResult
from reissue.methods.attack import list_names
from reissue.methods.registry import STRATEGIES, find_strategy

if TYPE_CHECKING:
    from reissue.audit.result import Audit

KEPT, BROKEN, UNCHECKED, NONE = "kept", "broken", "unchecked", "none"
"""What may be said of a promise: it holds, it does not, that was not looked at as a whole, or there is none."""
GO_ON, CHANGE, STOP = "go on", "change the strategy", "stop publishing"
"""What to do now."""


def judge(audit: Audit) -> dict[str, object]:
    """The answer in a few sentences, and who it is about: the document's `verdict`."""
    by = {status: [c.name for c in audit.checked if c.status == status] for status in STATUSES}
    found = _look(audit)
    action, lines = _advise(audit, found)
    return {
        "breached": bool(by["breached"]),
        "sentence": _write_sentence(audit, by),
        "promise": {
            "state": found.state,
            "attacks": list(audit.promised),
            "broken": found.broken,
            "unchecked": found.unchecked,
            "sentence": _write_promise(audit, found),
        },
        "beyond": {"attacks": found.beyond, "sentence": _write_beyond(audit, found, by)},
        "advice": {"action": action, "lines": [{"action": one, "sentence": text} for one, text in lines.items()]},
        **{f"attacks_{status}": names for status, names in by.items()},
        "subjects": audit.subjects,
        "subjects_left_out": sum(one.people for one in audit.absences),
        "subjects_at_risk": None if audit.subjects is None else len(audit.at_risk),
        "at_risk": _count_by_release(audit),
    }


def list_lines(verdict: Mapping[str, object]) -> list[str]:
    """The verdict for a terminal: the promise, what is beyond it, and three lines on what to do."""
    promise, beyond, advice = (verdict[key] for key in ("promise", "beyond", "advice"))
    assert isinstance(promise, Mapping) and isinstance(beyond, Mapping) and isinstance(advice, Mapping)  # noqa: PT018
    todo = [f"- {str(one['action']).capitalize()}: {one['sentence']}" for one in advice["lines"]]
    return [str(promise["sentence"]), str(beyond["sentence"]), "", "What to do now", *todo]


@dataclass(frozen=True)
class _Look:
    """beyond: attacks that succeed and are not promised to be stopped, or not against the limits they were given."""

    state: str
    broken: list[str]
    unchecked: list[str]
    beyond: list[str]
    partly: list[str]


def _look(audit: Audit) -> _Look:
    results = {one.name: one for one in audit.checked}
    judged = {name for name in audit.promised if name in results and _keeps_limits(results[name], audit.policy)}
    sure = {name for name in judged if results[name].status not in ("partly", "skipped")}
    breached = [name for name, one in results.items() if one.status == "breached"]
    broken = [name for name in breached if name in judged]
    unchecked = [name for name in audit.promised if name not in sure]
    state = NONE if not audit.promised else BROKEN if broken else UNCHECKED if unchecked else KEPT
    partly = [name for name, one in results.items() if one.status == "partly"]
    return _Look(state, broken, unchecked, [name for name in breached if name not in broken], partly)


def _keeps_limits(one: AttackResult, policy: Mapping[str, float]) -> bool:
    """Whether the attack measured against what the policy promises, not against limits given with the audit."""
    return all(one.settings[key] == limit for key, limit in policy.items() if key in one.settings)


# -- First: the promise


def _write_promise(audit: Audit, found: _Look) -> str:
    strategy, promised = audit.about["strategy"], audit.promised
    if found.state == NONE:
        if strategy is None:
            return "There is no promise to hold these releases to: no strategy of Reissue made them."
        return f"There is no promise to break: {strategy} promises nothing about releases laid side by side."
    if found.state == BROKEN:
        which = "the attack" if len(found.broken) == 1 else "attacks"
        return (
            f"Your promise is broken: {which} {list_names(found.broken)}, which {strategy} promises to stop, "
            f"{'succeeds' if len(found.broken) == 1 else 'succeed'}{_count_people(audit, found.broken)}."
        )
    if found.state == KEPT and len(promised) == 1:
        return f"Your promise holds: {promised[0]}, the attack that {strategy} promises to stop, does not succeed."
    if found.state == KEPT:
        return f"Your promise holds: none of the {len(promised)} attacks that {strategy} promises to stop succeeds."
    left, reasons = found.unchecked, {one.name: one for one in audit.checked}
    if len(left) == len(promised) and not any(name in reasons for name in left):
        return f"Your promise was not checked: none of the attacks that {strategy} promises to stop was asked for."
    why: dict[tuple[str, str], list[str]] = {}
    for name in left:
        why.setdefault(_explain_unchecked(reasons.get(name)), []).append(name)
    if len(left) == len(promised) and list(why) == [_NOT_RUN]:
        return f"Your promise was not checked: none of the attacks that {strategy} promises to stop could be run."
    told = [f"{list_names(names)} {one if len(names) == 1 else more}" for (one, more), names in why.items()]
    return f"Your promise was checked only in part: {'; '.join(told)}."


_NOT_RUN = ("was not run", "were not run")


def _explain_unchecked(one: AttackResult | None) -> tuple[str, str]:
    """What is said about one attack, and about several."""
    if one is None:
        return "was not asked for", "were not asked for"
    if one.status == "skipped":
        return _NOT_RUN
    if one.status == "partly":
        return "did not finish", "did not finish"
    return "was given other limits than the policy's", "were given other limits than the policy's"


# -- Then: what is beyond it


def _write_beyond(audit: Audit, found: _Look, by: Mapping[str, list[str]]) -> str:
    """Where there is no promise, everything is beyond it."""
    if found.state == NONE:
        return _write_sentence(audit, by)
    ran = [one.name for one in audit.checked if one.status != "skipped" and one.name not in found.broken]
    others = [name for name in ran if name not in audit.promised or name in found.beyond]
    partly = f" {_say_partly(found.partly)}" if found.partly else ""
    if found.beyond:
        verb = "attack succeeds" if len(found.beyond) == 1 else "attacks succeed"
        text = (
            f"Beyond the promise, {len(found.beyond)} {verb} ({', '.join(found.beyond)})"
            f"{_count_people(audit, found.beyond)}."
        )
    elif others:
        text = f"Beyond the promise, no attack succeeds either: {_say_tried(len(others))}."
    else:
        text = "Beyond the promise nothing was tried."
    return f"{text}{partly}{_say_traced(audit)}"


def _say_tried(count: int) -> str:
    return "one more was tried" if count == 1 else f"{count} more were tried"


def _say_partly(names: Sequence[str]) -> str:
    return f"{list_names(names).capitalize()} did not finish, so that more may be found."


def _say_traced(audit: Audit) -> str:
    traced = " Insensitive columns link rows across releases." if len(audit.traceable) > len(audit.naming) else ""
    return traced + (" Insensitive columns name rows." if audit.naming else "")


def _count_people(audit: Audit, names: Sequence[str]) -> str:
    if audit.subjects is None:
        return ""
    at_risk = len(union(*(ids for name in names for ids in audit.outcomes[name].at_risk.values())))
    return f", and {at_risk:,} of {audit.subjects:,} people {'is' if at_risk == 1 else 'are'} at risk"


def _write_sentence(audit: Audit, by: Mapping[str, list[str]]) -> str:
    """The whole audit in one sentence, against whatever limits it was given."""
    ran = sum(len(names) for status, names in by.items() if status != "skipped")
    count, traced = len(audit.observed), _say_traced(audit)
    together = "The release" if count == 1 else f"Taken together, the {count} releases"
    if ran == 0:
        return f"Nothing can be said: none of the attacks could be run.{traced}"
    if by["breached"]:
        verb, broken = "reveals" if count == 1 else "reveal", by["breached"]
        which = f"{len(broken)} of {ran} attacks {'succeeds' if len(broken) == 1 else 'succeed'}"
        which = "the one attack that was run succeeds" if ran == 1 else which
        people = _count_people(audit, broken)
        return f"{together} {verb} more than your limits allow: {which} ({', '.join(broken)}){people}.{traced}"
    kept, left = "keeps" if count == 1 else "keep", len(by["skipped"])
    skipped = f" {left:,} {'was' if left == 1 else 'were'} not run." if left else ""
    partly = f" But {list_names(by['partly'])} looked only at part of the people." if by["partly"] else ""
    none = "the one attack that was run does not succeed" if ran == 1 else f"none of the {ran} attacks run succeeds"
    return f"{together} {kept} to your limits: {none}.{partly}{skipped}{traced}"


def _count_by_release(audit: Audit) -> list[dict[str, object]]:
    """People at risk from any attack that succeeds, release by release; none where nobody is known."""
    won = [outcome.at_risk for outcome in audit.outcomes.values() if outcome.breaches]
    entries = [] if audit.subjects is None else [entry.tally for entry in audit.view.timeline]
    found: list[dict[str, object]] = []
    for tally in entries:
        people = union(*(at_risk[tally.number] for at_risk in won if tally.number in at_risk))
        found.append({"release": tally.number, "subjects": len(people), "of": tally.members})
    return found


# -- Last: what to do


def _advise(audit: Audit, found: _Look) -> tuple[str, dict[str, str]]:
    """(what to do, a line on each of the three things that one can do)."""
    succeed = [*found.broken, *found.beyond]
    if audit.naming:
        return _advise_naming(audit)
    if found.broken:
        return _advise_broken(audit, succeed)
    if succeed:
        return _advise_beyond(audit, found, succeed)
    if not audit.outcomes:
        return _advise_unknown()
    return _advise_partly(found) if found.partly else _advise_quiet(audit, found)


def _advise_naming(audit: Audit) -> tuple[str, dict[str, str]]:
    columns = list_names(dict.fromkeys(f"'{one.column}'" for one in audit.naming))
    return STOP, {
        GO_ON: f"no. {columns} names rows, whatever is done to the other columns.",
        CHANGE: "no strategy helps against that.",
        STOP: f"until {columns} is left out, or generalized as a quasi-identifier.",
    }


UNDONE = (
    "none undoes what is out, or promises anything to people who are exposed already. `reissue publish --dry-run "
    "--strategy NAME` shows whom each would expose beside them."
)


def _advise_broken(audit: Audit, succeed: Sequence[str]) -> tuple[str, dict[str, str]]:
    ours = audit.about["kind"] == "series"
    made = {str(one.about.get("strategy")) for one in audit.release_notes}
    others = ours and made != {str(audit.about["strategy"])}
    cause = "Other strategies or tools made some of these releases" if others else "Find the cause"
    back = ", and `reissue withdraw` takes back a last release that nobody has" if ours else ""
    return STOP, {
        GO_ON: "no. Every further release may add to what is known.",
        CHANGE: UNDONE if others else f"{_name_remedy(audit, succeed)}; that does not undo what is out.",
        STOP: f"now. {cause}; what was handed out stays out{back}.",
    }


def _advise_beyond(audit: Audit, found: _Look, succeed: Sequence[str]) -> tuple[str, dict[str, str]]:
    ours = audit.about["kind"] == "series"
    adopt = "" if ours else " `reissue adopt` takes these releases over."
    promise = ", since what is promised holds" if found.state == KEPT else ""
    return CHANGE, {
        GO_ON: f"{'only if' if promise else 'no, unless'} you can rule out such attackers{promise}.",
        CHANGE: f"{_name_remedy(audit, succeed)}.{adopt}",
        STOP: "if you can do neither. What is out cannot be taken back.",
    }


def _advise_unknown() -> tuple[str, dict[str, str]]:
    return STOP, {
        GO_ON: "not yet. Nothing was checked.",
        CHANGE: "nothing speaks for or against it.",
        STOP: "until an attack could be run; give the snapshots, or audit the series itself.",
    }


def _advise_partly(found: _Look) -> tuple[str, dict[str, str]]:
    return GO_ON, {
        GO_ON: f"once {list_names(found.partly)} looked at everybody; the notes say what that needs.",
        CHANGE: "no need, as far as can be seen.",
        STOP: "only if you cannot wait for that.",
    }


def _advise_quiet(audit: Audit, found: _Look) -> tuple[str, dict[str, str]]:
    if found.state == NONE:
        return GO_ON, {
            GO_ON: "with care. Nothing succeeded this time; audit again before you hand out the next release.",
            CHANGE: f"{_name_remedy(audit, [one.name for one in audit.checked])}, for every release to come.",
            STOP: "no need.",
        }
    if found.state == UNCHECKED:
        return GO_ON, {
            GO_ON: "once the whole promise was checked: audit again without limits of your own.",
            CHANGE: "no need, as far as can be seen.",
            STOP: "no need, as far as can be seen.",
        }
    return GO_ON, {
        GO_ON: "yes. Publish the next release with the same strategy, and audit again.",
        CHANGE: "no need.",
        STOP: "no need.",
    }


def _name_remedy(audit: Audit, attacks: Sequence[str]) -> str:
    """The other strategy that promises to stop most of the attacks, the recommended one first, and what it does not."""
    stops = {name: find_strategy(name).stops for name in STRATEGIES if name != audit.about["strategy"]}
    best = max(stops, key=lambda name: sum(attack in stops[name] for attack in attacks))  # the first of equals
    stopped = [attack for attack in attacks if attack in stops[best]]
    if not stopped:
        return f"no other strategy promises to stop {list_names(attacks)}"
    left = [attack for attack in attacks if attack not in stopped]
    rest = f", though not {list_names(left)}" if left else ""
    tried = f" (look at `reissue publish --dry-run --strategy {best}` first)" if audit.about["kind"] == "series" else ""
    return f"to {best}, which promises to stop {list_names(stopped)}{rest}{tried}"
