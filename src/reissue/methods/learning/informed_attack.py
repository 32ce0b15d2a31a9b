"""Attacks with statistics: learned, the publisher's own, or given."""

from __future__ import annotations

from copy import copy
from typing import ClassVar, Self

from reissue.arrays.types import Float64
from reissue.errors import InputError, SettingsError
from reissue.methods.learning.class_graph import KnownPeople
from reissue.methods.learning.statistics import LEARN, PUBLISHER, FittedStatistics, Statistics, ValueShares
from reissue.model.observed import Names, Observed


class WithStatistics:
    """`statistics` by name, and, once it is prepared, what they say."""

    statistics: str
    _given: ClassVar[Statistics | None] = None  # an instance that was prepared has its own

    def prepare(self, names: Names) -> Self:
        """The same with the file of statistics read, its labels matched to the series' codes."""
        if self.statistics in (LEARN, PUBLISHER) or self._given is not None:
            return self
        try:
            return self.inform(ValueShares.read(self.statistics, names))
        except InputError as error:
            raise SettingsError(f"statistics is {self.statistics!r}: {error}") from error

    def inform(self, given: Statistics) -> Self:
        """The same with statistics in codes: a model of one's own, for example."""
        prepared = copy(self)
        object.__setattr__(prepared, "_given", given)
        return prepared

    def find_priors(self, series: Observed, people: KnownPeople) -> Float64 | None:
        """float64[people, values]: what the statistics say of everybody; None: they are to be learned."""
        domains, count = series.domains, series.value_count
        if self._given is not None:
            return self._given.priors(people.codes, domains, count)
        if self.statistics == LEARN:
            return None
        if self.statistics == PUBLISHER:
            own = FittedStatistics.of_table(people.codes, people.values, domains, count)
            return own.priors(people.codes, domains, count)
        raise SettingsError(
            f"The statistics in {self.statistics} have not been read. An audit does that; in a program call `prepare` "
            "or `inform` first."
        )

    @property
    def source(self) -> str:
        """One sentence: where the statistics come from."""
        if self._given is not None:
            return "How values depend on quasi-identifiers was given as statistics."
        if self.statistics == PUBLISHER:
            return "How values depend on quasi-identifiers was taken from the publisher's own snapshots, a worst case."
        return "How values depend on quasi-identifiers was learned from the releases themselves."
