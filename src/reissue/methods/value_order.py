"""The order of ordered values: declared, or that of their own numbers; never that of the text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from typing import ClassVar, Self

from reissue.errors import SettingsError
from reissue.model.observed import Names

_NUMBER = re.compile(r"(below )?(-?\d+(?:\.\d+)?)(?: to under -?\d+(?:\.\d+)?| and over)?")
"""A number, or a bin as the schema names it."""


class OrderedValues:
    """A strategy with `ordered` and `value_order`; once it is prepared it knows the order in codes."""

    ordered: bool
    value_order: tuple[str, ...]
    _order: ClassVar[tuple[int, ...]] = ()  # an instance that was prepared has its own

    def with_order(self, names: Names) -> Self:
        """The same with the order of the series' values, as codes."""
        if not self.ordered:
            return self
        prepared = copy(self)
        object.__setattr__(prepared, "_order", order_values(names.values, self.value_order))
        return prepared


def order_values(labels: Sequence[str], declared: Sequence[str] = ()) -> tuple[int, ...]:
    """The codes of all labels, the lowest first. Raises a SettingsError where their order is not known."""
    if declared:
        place = {label: i for i, label in enumerate(declared)}
        missing = [label for label in labels if label not in place]
        if missing:
            raise SettingsError(
                f"value_order does not name the value {missing[0]!r}. List every value, the lowest first; it names "
                f"{', '.join(map(repr, declared))}."
            )
        return tuple(sorted(range(len(labels)), key=lambda code: place[labels[code]]))
    numbers = [_NUMBER.fullmatch(label) for label in labels]
    keys = [(float(found[2]), found[1] is None) for found in numbers if found is not None]
    if len(keys) < len(labels):
        wrong = next(label for label, found in zip(labels, numbers, strict=True) if found is None)
        raise SettingsError(
            f"ordered is true, but the value {wrong!r} is no number and no bin, and the order of the alphabet means "
            'nothing. List the values, the lowest first: value_order = ["mild", "moderate", "severe"].'
        )
    return tuple(sorted(range(len(labels)), key=lambda code: keys[code]))
