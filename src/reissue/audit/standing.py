"""An audit of standing classes: readers see rows, attackers are taken to know the classes for life."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from reissue.arrays.types import Int64
from reissue.audit.description import ClassRef, ClassSummary, SeriesView, WholeSeries, Workers
from reissue.model.observed import Observed
from reissue.model.release import Facts
from reissue.model.standing_classes import StandingClasses


def refuse_styles(styles: Sequence[str]) -> str | None:
    """Why no attack applies to files of such releases, where their ledger is not at hand; None if some may."""
    if "flat" in styles:
        return (
            "the values of its rows were dealt at random inside groups that the files do not tell, so that what a row "
            "says about a person is not true by design, and nothing can be concluded from it; audit the series itself "
            "to attack the groups."
        )
    if "told" in styles:
        return (
            "its classes stand for life, and the files do not tell who is in which; audit the series itself to attack "
            "them."
        )
    return None


class StandingView(SeriesView):
    """The timeline is that of the rows; the classes of findings, and whose value changed, are what the attacks saw."""

    def __init__(self, shown: Observed, attacked: Observed) -> None:
        super().__init__([WholeSeries(shown)], Workers())
        self._attacked = SeriesView([WholeSeries(attacked)], Workers())

    @property
    def changed_value(self) -> int:
        return self._attacked.changed_value

    @property
    def people_with_other_values(self) -> int:
        """How many people ever had another value."""
        return super().changed_value

    def find_members(self, numbers: Int64) -> list[tuple[int, int, int]]:
        return self._attacked.find_members(numbers)

    def summaries(self, classes: Iterable[ClassRef]) -> Mapping[ClassRef, ClassSummary]:
        return self._attacked.summaries(classes)


def describe_standing(releases: Sequence[Facts], view: StandingView) -> list[str]:
    """What the reader of the audit must know: what attackers are taken to know, and who is outside the proof."""
    notes = [
        "Classes stand for life: attackers are taken to know everybody's class and its values in every release, also "
        "where rows only show values that were dealt inside their class. Dealt values say nothing more."
    ]
    changed = view.people_with_other_values
    if changed:
        notes.append(
            f"{changed:,} people had another value in a later release and entered a new class each time, which can be "
            "seen. The attacks know them as new people; that the new value is not the old one is known beside that."
        )
    kept = [found for facts in releases if (found := StandingClasses.read(facts.extras)) is not None]
    last = kept[-1]
    if last.blended:
        notes.append(
            f"{last.blended:,} people of the last release share a class with made-up values, because they came too few "
            "or too alike: that may reveal something about them."
        )
    if len(last.waiting):
        notes.append(f"{len(last.waiting):,} people wait for a release in which they fit a class.")
    return notes
