"""Attacks on parts or steps of a series at the same time, by whatever can run tasks: threads, processes, Spark.

What goes to a worker is an attack's settings and plain arrays: classes, values, members by number; to one of record
tracing also exact quasi-identifiers, as codes. Names and labels stay here, exact quasi-identifiers otherwise, too; what
comes back has marks for them (`model.placeholders`), and the names are put in here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reissue.audit.steps import Step, steps_of, together
from reissue.methods.attack import Attack, Division, Finding, Outcome
from reissue.methods.attack_parts import merge
from reissue.model.observed import Members, Observed, ObservedRelease, Words
from reissue.model.placeholders import TokenWords, fill_in_all_words, fill_in_words
from reissue.model.series_parts import deal_parts, find_links, split_series


@dataclass(frozen=True, eq=False)
class Task:
    """An attack on one part or step of a series; it can be pickled, and holds nobody's name."""

    attack: Attack
    part: Observed
    involving: int | None = None

    def run(self) -> Outcome:
        return self.attack.run(self.part, involving=self.involving)


Run = Callable[[Sequence[Task]], Sequence[Outcome]]
"""Runs tasks, anywhere and in any order, and gives their outcomes in the order of the tasks."""

Runner = Callable[[Attack, Observed], Outcome]
"""How an audit runs one attack on a series."""


def on_whole(attack: Attack, observed: Observed) -> Outcome:
    """The plain way: the attack on the whole series, here."""
    return attack.run(observed)


def divided(observed: Observed, parts: int, involving: int | None = None) -> list[Observed]:
    """The parts of a series, each ready to be sent: without names, labels and exact quasi-identifiers. O(rows log).

    With `involving` each part has members in that release, so that an attack has something to say of each.
    """
    people = [_people(release) * (involving in (None, release.number)) for release in observed.releases]
    return [
        anonymous(part) for part in split_series(observed, deal_parts(find_links(observed.releases), people, parts))
    ]


def anonymous(part: Observed) -> Observed:
    """The part as a worker sees it; a separable attack reads nothing else."""
    return replace(part, words=TokenWords(), releases=[_light(release) for release in part.releases])


def run_parts(
    attack: Attack, parts: Sequence[Observed], words: Words, run: Run, *, involving: int | None = None
) -> Outcome:
    """The outcome of a separable attack on the series that these are the parts of, named by `words`."""
    return named(merge(attack, run([Task(attack, part, involving) for part in parts])), words)


def in_parts(parts: int, run: Run) -> Runner:
    """How an audit runs its attacks in parts, or in steps; a series is divided once for all of them."""
    known: list[tuple[Observed, list[Observed]]] = []

    def runner(attack: Attack, observed: Observed) -> Outcome:
        steps = steps_of(len(observed), parts) if attack.divides(Division.STEPS) else []
        if attack.divides(Division.PARTS):
            if not known or known[0][0] is not observed:
                known[:] = [(observed, divided(observed, parts))]
            if len(steps) < 2 or not _one_has_most(known[0][1]):
                return run_parts(attack, known[0][1], observed.words, run)
        if attack.divides(Division.STEPS) and len(steps) > 1:
            return run_steps(attack, observed, steps, run)
        return attack.run(observed)

    return runner


def run_steps(attack: Attack, observed: Observed, steps: Sequence[Step], run: Run) -> Outcome:
    """The outcome of `attack.run(observed)`, worked out in steps."""
    sent = replace(observed, words=TokenWords()) if not attack.divides(Division.PARTS) else anonymous(observed)
    tasks = [Task(attack, replace(sent, releases=[sent.releases[i] for i in step]), len(step)) for step in steps]
    return named(together(attack, steps, run(tasks)), observed.words)


def _one_has_most(parts: Sequence[Observed]) -> bool:
    """Whether one part has more than half of all rows."""
    rows = [sum(len(release.classes) for release in part.releases) for part in parts]
    return 2 * max(rows, default=0) > sum(rows)


def named(outcome: Outcome, words: Words) -> Outcome:
    """The outcome with people, values, boxes and releases called by name."""
    findings = tuple(_named(finding, words) for finding in outcome.findings)
    return replace(outcome, findings=findings, notes=tuple(fill_in_words(note, words) for note in outcome.notes))


def _named(finding: Finding, words: Words) -> Finding:
    return replace(
        finding,
        subjects=tuple(fill_in_words(subject, words) for subject in finding.subjects),
        value=None if finding.value is None else fill_in_words(finding.value, words),
        sentence=fill_in_words(finding.sentence, words),
        details={key: fill_in_all_words(detail, words) for key, detail in finding.details.items()},
    )


def _people(release: ObservedRelease) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """int64[classes]: the known members of each class."""
    classes = np.empty(0, dtype=np.int32) if release.members is None else release.members.classes
    return np.bincount(classes, minlength=release.class_count).astype(np.int64)


def _light(release: ObservedRelease) -> ObservedRelease:
    def light(some: Members | None) -> Members | None:
        return None if some is None else replace(some, codes=np.empty((len(some.subjects), 0), dtype=np.int32))

    return replace(release, members=light(release.members), counterfeits=light(release.counterfeits))
