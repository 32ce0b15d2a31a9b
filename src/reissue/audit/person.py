"""One person looked up in an audit: what the series reveals about this one, for who asks what is known about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from reissue.arrays.types import Int64
from reissue.documents import write_json
from reissue.errors import InputError
from reissue.model.standing_view import EPISODE

if TYPE_CHECKING:
    from reissue.audit.result import Audit

FORMAT = "reissue-person/1"


@dataclass(frozen=True)
class PersonClass:
    """A class that the person is known to be in, as attackers are taken to know it.

    release: its number; name: what people call it; box: who fits the class; rows: that look alike
    values: the commonest of its values with their rows; values_total: how many there are; value: the person's own
    """

    release: int
    name: str
    box: str
    rows: int
    values: tuple[tuple[str, int], ...]
    values_total: int
    value: str


@dataclass(frozen=True)
class Person:
    """at_risk: attacks that put the person at risk, with the numbers of the releases; findings: those about them."""

    identifier: str
    releases: int
    places: tuple[PersonClass, ...]
    at_risk: dict[str, list[int]]
    findings: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The answer, in one or two sentences."""
        seen = len({place.release for place in self.places})
        told = f"{self.identifier} is known to be in {seen} of {self.releases} releases."
        if not self.at_risk:
            return f"{told} No attack of this audit puts this person at risk."
        many = "1 attack puts" if len(self.at_risk) == 1 else f"{len(self.at_risk)} attacks put"
        return f"{told} {many} this person at risk: {', '.join(self.at_risk)}."

    def to_dict(self) -> dict[str, object]:
        """The document `reissue-person/1`, JSON-able."""
        places = [
            {**asdict(place), "values": [{"value": value, "rows": rows} for value, rows in place.values]}
            for place in self.places
        ]
        given = {**vars(self), "places": places, "findings": list(self.findings)}
        return {"format": FORMAT, "sentence": self.sentence, **given}

    def to_json(self) -> str:
        return write_json(self.to_dict(), None)

    def describe(self) -> str:
        """For a terminal."""
        lines = [self.sentence, ""]
        for place in self.places:
            values = ", ".join(f"{value} {rows:,}" for value, rows in place.values)
            rest = place.values_total - len(place.values)
            more = f" and {rest} more" if rest else ""
            lines.append(f"{place.name}: one of {place.rows:,} rows ({place.box}) with the values {values}{more}")
        return "\n".join([*lines, *(f"- {sentence}" for sentence in self.findings)])


def look_up(audit: Audit, identifier: str) -> Person:
    """The person of that identifier. O(rows of the series)."""
    numbers = _find_numbers(audit, identifier)
    called = {audit.observed.words.subject(int(number)) for number in numbers}
    found = [finding.sentence for finding in audit.findings if called & set(finding.subjects)]
    at_risk = {
        one.name: [release for release, ids in one.outcome.at_risk.items() if np.isin(ids % EPISODE, numbers).any()]
        for one in audit.checked
        if one.outcome is not None and one.outcome.breaches
    }
    return Person(
        identifier=identifier,
        releases=len(audit.observed),
        places=tuple(_find_places(audit, numbers)),
        at_risk={name: releases for name, releases in at_risk.items() if releases},
        findings=tuple(found),
    )


def _find_numbers(audit: Audit, identifier: str) -> Int64:
    if audit.find_numbers is None:
        raise InputError("People are looked up in the audit of a series on this machine: use the engine 'embedded'.")
    numbers = audit.find_numbers(identifier.strip())
    if not len(numbers):
        raise InputError(
            f"'{identifier}' is not known to this series. Identifiers are matched exactly; was the person erased?"
        )
    return numbers


def _find_places(audit: Audit, numbers: Sequence[int] | Int64) -> list[PersonClass]:
    words, found = audit.observed.words, []
    members = audit.view.find_members(np.asarray(numbers))
    summaries = audit.view.summaries([(release, its) for release, its, _ in members])
    for release, its, value in members:
        summary = summaries[release, its]
        found.append(
            PersonClass(
                release=release,
                name=words.release(release),
                box=words.box(summary.box),
                rows=summary.rows,
                values=tuple((words.value(one), rows) for one, rows in summary.values),
                values_total=summary.kinds,
                value=words.value(value),
            )
        )
    return found
