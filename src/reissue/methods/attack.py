"""The contract of attacks: a series as outsiders see it in, findings out; how the work can be divided; their words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, ClassVar, Self

from reissue.arrays.sets import union
from reissue.arrays.types import Int64
from reissue.model.observed import Names, Observed, Words
from reissue.model.settings import Within, check_settings
from reissue.showing import Shown, Sketch


@dataclass(frozen=True, kw_only=True, repr=False)
class Finding(Shown):
    """One thing an attacker learns.

    releases: the release numbers laid side by side; classes: (release, class) pairs; subjects: who is at risk, as
    the words of the series name them; level: what was measured, in `unit`; sentence: for a person to read.
    rank: where it stands among the findings of its attack, the lowest first; of an attack that is divided by parts or
    steps it is the same whether the series is attacked whole or piece by piece, and no two findings share it.
    """

    attack: str
    releases: tuple[int, ...]
    subjects: tuple[str, ...]
    classes: tuple[tuple[int, int], ...]
    value: str | None = None
    level: float
    unit: str
    threshold: float | None
    breach: bool = True
    sentence: str
    details: Mapping[str, object] = field(default_factory=dict)
    rank: tuple[float, ...] = field(default=(), compare=False)

    def _sketch(self) -> Sketch:
        measured = f"{self.level:g} {self.unit}" + ("" if self.threshold is None else f" (limit {self.threshold:g})")
        return self.attack, {"breach": "yes" if self.breach else "no", "measured": measured, "told": self.sentence}


@dataclass(frozen=True, eq=False)
class Outcome:
    """All that one attack found.

    findings: worst first, at most the attack's `limit` of them
    total:    how many findings there were before the limit
    at_risk:  release number -> int64[] subjects at risk there (surrogate numbers, ascending, unique); empty if the
              attack does not know members
    measures: numbers of the attack as a whole (FA, CA, BA, smallest e, ...); none if nothing can be concluded
    notes:    what the reader must know (what was not looked at and why)
    tallies:  how many people or rows the notes speak of, where they do, so that those of parts can be added up
    unfinished: how many people (or classes, where nobody is known) a limit left unlooked at, wholly or in part: then
              finding nothing is no proof; a note says what would finish it
    measuring: whether, with these settings on this series, it only measured (see `Attack`): by draws, or nearly
    """

    attack: str
    findings: tuple[Finding, ...]
    total: int
    at_risk: Mapping[int, Int64] = field(default_factory=dict)
    measures: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    tallies: Mapping[str, int] = field(default_factory=dict)
    unfinished: int = 0
    measuring: bool = False

    @property
    def breaches(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.breach)


class WorkDivision(Enum):
    """How the work of an attack can be divided among workers; `methods.attack_parts` says of each attack why."""

    PARTS = "parts of the series that share nobody are attacked one by one"
    STEPS = "every release is laid beside a few earlier ones at a time"
    COUNTS = "where rows and people are only counted (`Release.amounts`) measures and classes found are the same"
    VALUE_SETS = "all classes that show the same values are searched by themselves"
    SHARED_COUNTS = "parts are attacked one by one, once each is told what all of them counted"


@dataclass(frozen=True, kw_only=True)
class Attack(ABC):
    """Thresholds and limits, with one verb; every attack is such a frozen, keyword-only dataclass.

    limit:         the most findings to describe

    name:          as on the command line ("difference")
    assumes:       in one line, what the attacker is assumed to know
    needs_members: whether it runs only when who is in which class is known
    persistent:    whether it is valid only for series where a subject's value never changes
    divisions:     how the work can be divided, and why that is right; ask `divides`, which knows the settings, too
    combines:      of an attack divided by parts: how each measure of the whole follows from those of the parts
    adds:          of an attack divided by steps: how each measure of the whole follows from those of the steps
    in_order:      whether it asks for every release once, in order, and keeps of it only what it must
    measuring:     whether it only measures how far one attacker comes: that it finds nobody proves nothing
    selective:     whether it reads how releases were made, so that not to apply to others is no gap
    """

    limit: Annotated[int, Within("the most findings to describe", least=1)] = 100

    name: ClassVar[str]
    assumes: ClassVar[str]
    needs_members: ClassVar[bool] = True
    persistent: ClassVar[bool] = True
    divisions: ClassVar[Mapping[WorkDivision, str]] = {}
    combines: ClassVar[Mapping[str, str]] = {}
    adds: ClassVar[Mapping[str, str]] = {}
    in_order: ClassVar[bool] = False
    measuring: ClassVar[bool] = False
    selective: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self)

    @abstractmethod
    def run(self, series: Observed, *, involving: int | None = None) -> Outcome:
        """Attack the series; `involving=n` looks only at what release n adds (publish's self-check)."""

    def divides(self, division: WorkDivision) -> bool:
        """Whether the work can be divided in this way, with these settings."""
        return division in self.divisions

    @property
    def looks_for_names(self) -> bool:
        """Whether it looks for people by their names, so that whoever runs it must know everybody's."""
        return False

    def prepare(self, names: Names) -> Self:
        """The same attack, with the files that its settings name read, and their labels matched to codes."""
        return self

    def notes(self, tallies: Mapping[str, int]) -> tuple[str, ...]:
        """What the reader must know, with the numbers of an outcome's `tallies`."""
        return ()


# -- What is told of a series piece by piece


def _take_least(levels: Sequence[float]) -> float:
    return min((level for level in levels if level > 0), default=0.0)


RULES: dict[str, Callable[[Sequence[float]], float]] = {"sum": sum, "min": min, "max": max, "least": _take_least}
"""How measures combine; "least": the smallest above 0, where 0 stands for "none"."""

PEOPLE = "people"
"""How a measure follows from those of steps that counts the people at risk: they may be at risk in several steps."""


def merge(attack: Attack, outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome of a separable attack on a series, from its outcomes on all the parts (at least one).

    The worst `limit` findings of the whole are among the worst `limit` of the parts, and their ranks do not depend on
    how the series was parted. If nothing can be concluded about one part, nothing can be about the whole: the attack's
    assumption does not hold.
    """
    if not attack.divides(WorkDivision.PARTS):
        raise TypeError(f"{attack.name} must be run on the whole series.")
    for outcome in outcomes:
        if not outcome.measures:
            return outcome
    tallies = _add_tallies(outcomes)
    return Outcome(
        attack=attack.name,
        findings=_take_worst(outcomes, attack.limit),
        total=sum(outcome.total for outcome in outcomes),
        at_risk=_join_at_risk(outcomes),
        measures=_combine_measures(outcomes, attack.combines),
        notes=attack.notes(tallies),
        tallies=tallies,
        unfinished=sum(outcome.unfinished for outcome in outcomes),
        measuring=any(outcome.measuring for outcome in outcomes),
    )


def merge_steps(attack: Attack, outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome of a stepwise attack on a series, from those on its steps (at least one), by newest release.

    Merging some of them first makes no difference.
    """
    at_risk, rules = _join_at_risk(outcomes), {name: rule for name, rule in attack.adds.items() if rule != PEOPLE}
    people = float(len(union(*at_risk.values())))
    return Outcome(
        attack=attack.name,
        findings=_take_worst(outcomes, attack.limit),
        total=sum(outcome.total for outcome in outcomes),
        at_risk=at_risk,
        measures=dict.fromkeys(attack.adds, people) | _combine_measures(outcomes, rules),
        notes=tuple(dict.fromkeys(note for outcome in outcomes for note in outcome.notes)),
        tallies=_add_tallies(outcomes),
        unfinished=sum(outcome.unfinished for outcome in outcomes),
        measuring=any(outcome.measuring for outcome in outcomes),
    )


def _add_tallies(outcomes: Sequence[Outcome]) -> dict[str, int]:
    return {name: sum(o.tallies.get(name, 0) for o in outcomes) for name in outcomes[0].tallies}


def _take_worst(outcomes: Sequence[Outcome], limit: int) -> tuple[Finding, ...]:
    return tuple(sorted((f for outcome in outcomes for f in outcome.findings), key=lambda f: f.rank)[:limit])


def _join_at_risk(outcomes: Sequence[Outcome]) -> dict[int, Int64]:
    numbers = dict.fromkeys(number for outcome in outcomes for number in outcome.at_risk)
    return {number: union(*(o.at_risk[number] for o in outcomes if number in o.at_risk)) for number in numbers}


def _combine_measures(outcomes: Sequence[Outcome], rules: Mapping[str, str]) -> dict[str, float]:
    return {
        name: float(RULES[rules[name]]([outcome.measures[name] for outcome in outcomes]))
        for name in outcomes[0].measures
        if name in rules
    }


def name_subjects(words: Words, subjects: Int64, most: int = 200) -> tuple[str, ...]:
    """The first subjects as people call them; longer lists stay in `at_risk`."""
    return tuple(words.subject(int(subject)) for subject in subjects[:most].tolist())


def name_releases(words: Words, numbers: Sequence[int]) -> str:
    """ "release 1 and release 2"; of more than three the first and the last."""
    where = [words.release(number) for number in numbers]
    return list_names(where) if len(where) < 4 else f"the {len(where)} releases from {where[0]} to {where[-1]}"


def name_all_of(words: Words, numbers: Sequence[int]) -> str:
    """ "both release 1 and release 2", "all of the 5 releases from ...": for what is so in each of them."""
    where = name_releases(words, numbers)
    return f"both {where}" if len(numbers) == 2 else f"all of {where}" if len(numbers) > 2 else where


def put_in_brackets(box: str) -> str:
    """ " (age 21-30)"; nothing where the box is everything."""
    return "" if box in ("", "everyone") else f" ({box})"


OUR_WORDS = ("the ", "only ", "subject ", "what ", "release ")


def begin_sentence(text: str) -> str:
    """With a capital letter, unless it begins with a name, which stays as it is: p1 and P1 may be two people."""
    return text[:1].upper() + text[1:] if text.startswith(OUR_WORDS) else text


def list_names(names: Iterable[str], most: int | None = None, rest: str = "others") -> str:
    """ "a, b and c"; lists longer than `most` are cut with the number of the rest."""
    shown = list(names)
    if most is not None and len(shown) > most:
        shown = [*shown[: most - 1], f"{len(shown) - most + 1} {rest}"]
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else "".join(shown)


def count_people(count: int) -> str:
    return "1 person" if count == 1 else f"{count:,} people"


def count_rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def call_nobody(count: int) -> str:
    """Rows that stand for nobody whom the attacker knows."""
    return f"{count_rows(count)} of nobody known"


def call_people(names: Sequence[str], count: int) -> str:
    """One person by name; of more their number, and the first names."""
    some = ", ".join([*names[:3], "..."] if len(names) > 3 else names)
    return names[0] if count == 1 else f"{count_people(count)} ({some})"
