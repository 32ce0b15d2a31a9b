"""What every attack takes and gives: a series as outsiders see it in, findings out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, runtime_checkable

from reissue.arrays.types import Int64
from reissue.model.observed import Observed


@dataclass(frozen=True)
class Finding:
    """One thing an attacker learns.

    releases: the release numbers laid side by side; classes: (release, class) pairs; subjects: who is at risk, as
    the words of the series name them; level: what was measured, in `unit`; sentence: for a person to read.
    rank: where it stands among the findings of its attack, the lowest first; of a separable or stepwise attack it is
    the same whether the series is attacked whole or piece by piece, and no two findings share it.
    """

    attack: str
    releases: tuple[int, ...]
    subjects: tuple[str, ...]
    classes: tuple[tuple[int, int], ...]
    value: str | None
    level: float
    unit: str
    threshold: float | None
    breach: bool
    sentence: str
    details: Mapping[str, object] = field(default_factory=dict)
    rank: tuple[float, ...] = field(default=(), compare=False, repr=False)


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
    """

    attack: str
    findings: tuple[Finding, ...]
    total: int
    at_risk: Mapping[int, Int64] = field(default_factory=dict)
    measures: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    tallies: Mapping[str, int] = field(default_factory=dict)

    @property
    def breaches(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.breach)


@runtime_checkable
class Attack(Protocol):
    """A frozen, keyword-only dataclass of thresholds and limits, with one verb.

    name:          as on the command line ("difference")
    assumes:       in one line, what the attacker is assumed to know
    needs_members: whether it runs only when who is in which class is known
    persistent:    whether it is valid only for series where a subject's value never changes
    separable:     whether parts of a series that share nobody can be attacked one by one: see `attacks.merging`

    Optional: `by_counts`, true if it gives the same measures and finds the same classes where rows and people are only
    counted (`Release.amounts`); `in_order`, true if it asks for every release once, in order, and keeps of it only what
    it must; `adds`, of an attack that is stepwise: what every release adds can be found by itself,
    and the whole is the sum, see `attacks.merging`.
    """

    name: ClassVar[str]
    assumes: ClassVar[str]
    needs_members: ClassVar[bool]
    persistent: ClassVar[bool]

    @property
    def separable(self) -> bool: ...

    def run(self, series: Observed, *, involving: int | None = None) -> Outcome:
        """Attack the series; `involving=n` looks only at what release n adds (publish's self-check)."""
        ...
