"""Coding: the codes of a series at one version. It only ever grows, so old releases keep their meaning.

Also between codes and what people call them: for the sentences of findings, and for knowledge files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.types import Int32, Int64
from reissue.coding.learning import SnapshotSummary
from reissue.coding.numeric import MISSING_CODE, Kind, NumericCoding
from reissue.errors import ReleaseError, SchemaError, did_you_mean, show_text
from reissue.hierarchy import Hierarchy
from reissue.model.domain import Domain
from reissue.schema import Categorical, Numeric, Schema
from reissue.schema.attributes import check_ranges

JOINT = " / "
"""Between the labels of jointly sensitive columns, in sentences."""


def join_labels(labels: Sequence[str]) -> str:
    """One text for the labels of jointly sensitive columns, another one for any others: what looks like several is put
    in quotes."""
    if len(labels) == 1:
        return labels[0]
    return JOINT.join(
        '"' + label.replace('"', '""') + '"' if JOINT in f" {label} " or label.startswith('"') else label
        for label in labels
    )


@dataclass(frozen=True, eq=False)
class Coding:
    """The codes of a series: of quasi-identifiers by their hierarchy or arithmetic, of sensitive values by a list.

    version:      0 at the start, one more whenever something was learned
    hierarchies:  of each quasi-identifier that has one, in its present state
    numbers:      of each numeric quasi-identifier
    value_labels: one tuple of labels (a label per sensitive column) by code; only ever appended to
    """

    schema: Schema
    version: int
    hierarchies: Mapping[str, Hierarchy]
    numbers: Mapping[str, NumericCoding]
    value_labels: tuple[tuple[str, ...], ...] = ()

    @staticmethod
    def start(schema: Schema) -> Coding:
        """The coding of a series without releases."""
        hierarchies: dict[str, Hierarchy] = {}
        numbers: dict[str, NumericCoding] = {}
        for name, attribute in schema.quasi_identifiers.items():
            missing = schema.takes_missing(name)
            if isinstance(attribute, Categorical):
                hierarchies[name] = attribute.hierarchy.with_missing() if missing else attribute.hierarchy
            else:
                numbers[name] = _numeric_start(attribute, missing)
        return Coding(schema, 0, hierarchies, numbers)

    # --- what the kernels and the engine use ------------------------------------------------------------------

    @property
    def attributes(self) -> tuple[str, ...]:
        """The quasi-identifiers in the order of the codes."""
        return tuple(self.schema.quasi_identifiers)

    @cached_property
    def domains(self) -> tuple[Domain, ...]:
        return tuple(self._domain(name, given.weight) for name, given in self.schema.quasi_identifiers.items())

    def _domain(self, name: str, weight: float) -> Domain:
        if name in self.numbers:
            return self.numbers[name].domain(name, weight)
        hierarchy = self.hierarchies[name]
        return Domain(name, 0, len(hierarchy.leaves) - 1, hierarchy.tree, weight, self.shows_ranges(name))

    def shows_ranges(self, name: str) -> bool:
        """Whether cells of a hierarchical attribute may be ranges of its values, not only its groups."""
        attribute = self.schema.quasi_identifiers[name]
        return isinstance(attribute, Categorical) and attribute.labels == "ranges"

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The label of each sensitive value by code; jointly sensitive columns as "a / b"."""
        return tuple(join_labels(labels) for labels in self.value_labels)

    @property
    def value_columns(self) -> dict[str, list[str]]:
        """Each sensitive column with its labels by code, in the schema's order."""
        return {name: [labels[i] for labels in self.value_labels] for i, name in enumerate(self.schema.sensitive)}

    @cached_property
    def value_lookup(self) -> dict[tuple[str, ...], int]:
        """The code of each sensitive value by its tuple of labels; a null is MISSING. Do not change it."""
        return {labels: code for code, labels in enumerate(self.value_labels)}

    def lookup(self, column: str) -> dict[str, int]:
        """The code of each value of a quasi-identifier with a hierarchy; a null is MISSING. Do not change it."""
        return self.hierarchies[column].codes

    def numeric(self, column: str) -> NumericCoding:
        """The arithmetic of a numeric quasi-identifier."""
        return self.numbers[column]

    # --- labels -----------------------------------------------------------------------------------------------

    def labels(self, a: int | str, lo: Int32, hi: Int32) -> NDArray[np.object_]:
        """object[n]: the label of each interval of attribute `a`. O(n log n)."""
        named, which = self.name_intervals(a, lo, hi)
        return named[which]

    def name_intervals(self, a: int | str, lo: Int32, hi: Int32) -> tuple[NDArray[np.object_], Int32]:
        """(object[distinct] labels, int32[n] which is each interval's): each distinct one is named once. O(n log n)."""
        packed = (np.asarray(lo).astype(np.int64) << 32) | (np.asarray(hi).astype(np.int64) & 0xFFFFFFFF)
        distinct, inverse = np.unique(packed, return_inverse=True)
        low, high = (distinct >> 32).tolist(), distinct.astype(np.int32).tolist()  # the low half is hi again
        name = self._name(a)
        find = self.numbers[name].label if name in self.numbers else self.hierarchies[name].label
        named = np.empty(len(distinct), dtype=np.object_)
        named[:] = [find(one, other) for one, other in zip(low, high, strict=True)]
        return named, inverse.reshape(-1).astype(np.int32)

    def label(self, a: int | str, lo: int, hi: int) -> str:
        name = self._name(a)
        return self.numbers[name].label(lo, hi) if name in self.numbers else self.hierarchies[name].label(lo, hi)

    def parse(self, a: int | str, label: str) -> tuple[int, int]:
        """The interval of codes that a published label of attribute `a` stands for."""
        name = self._name(a)
        if name in self.numbers:
            try:
                return self.numbers[name].parse(label)
            except ReleaseError as error:
                raise ReleaseError(f"{name}: {error}") from None
        try:
            return self.hierarchies[name].parse(label)
        except SchemaError:
            hint = did_you_mean(label, self.hierarchies[name].labels)
            raise ReleaseError(
                f"{name}: {label!r} is neither a value nor a group of its hierarchy.{hint} "
                "Give the hierarchy that the release was made with."
            ) from None

    def _name(self, a: int | str) -> str:
        return a if isinstance(a, str) else self.attributes[a]

    # --- growing ----------------------------------------------------------------------------------------------

    def learn(self, seen: SnapshotSummary) -> Coding:
        """With what a snapshot brings: new values of growing hierarchies, wider limits, new sensitive values.

        Raises one SnapshotError with everything that does not fit. Itself where nothing is new.
        """
        from reissue.coding.learning import learn

        hierarchies, numbers, values = learn(self, seen)
        if (hierarchies, numbers, values) == (self.hierarchies, self.numbers, self.value_labels):
            return self
        return Coding(self.schema, self.version + 1, hierarchies, numbers, values)

    def learn_labels(
        self, labels: Mapping[str, Iterable[str]], told: Callable[[str, str], str] | None = None
    ) -> Coding:
        """With what the distinct labels of releases made elsewhere show, by quasi-identifier: limits and values.

        Raises one ReleaseError with every label that cannot be read. Itself where nothing is new. told: how a label
        of a column is called in it, for example with where it stands.
        """
        from reissue.coding.foreign import learn_from_labels

        hierarchies, numbers = learn_from_labels(self, labels, told or (lambda _, label: repr(label)))
        if (hierarchies, numbers) == (self.hierarchies, self.numbers):
            return self
        return replace(self, version=self.version + 1, hierarchies=hierarchies, numbers=numbers)

    def extend(self, column: str, hierarchy: Hierarchy) -> Coding:
        """With the values of `hierarchy` added to the column's; what contradicts published labels is refused."""
        if column not in self.hierarchies:
            allowed = ", ".join(self.hierarchies) or "none"
            raise SchemaError(f"{column!r} has no hierarchy to extend. Columns with one: {allowed}.")
        try:
            extended = self.hierarchies[column].extend(hierarchy)
            check_ranges(extended, self.shows_ranges(column))
        except SchemaError as error:
            raise SchemaError(f"{column}: {error}") from None
        if extended is self.hierarchies[column]:
            return self
        return replace(self, version=self.version + 1, hierarchies={**self.hierarchies, column: extended})

    def remap(self, since: Coding, boxes: Int32, codes: Int32) -> tuple[Int32, Int32]:
        """Boxes and codes made under the older coding `since`, in this coding's codes. O(classes + rows).

        boxes: int32[classes, attributes, 2]; codes: int32[rows, attributes]. What did not change is not copied:
        where nothing did, the arrays themselves are returned. A class without rows (lo > hi) stays as it is.
        """
        changed = [a for a, name in enumerate(self.attributes) if self._changed(since, name)]
        if not changed:
            return boxes, codes
        boxes, codes = boxes.copy(), codes.copy(order="F")
        for a in changed:
            old = since.hierarchies[self.attributes[a]]
            leaf, node = old.remap(self.hierarchies[self.attributes[a]])
            codes[:, a] = leaf[codes[:, a]]
            real = np.flatnonzero(boxes[:, a, 0] <= boxes[:, a, 1])
            lo, hi = boxes[real, a, 0], boxes[real, a, 1]
            cover = old.tree.cover(lo, hi)
            exact = (old.tree.lo[cover] == lo) & (old.tree.hi[cover] == hi)
            if not (exact.all() or self.domains[a].ranges):
                raise ValueError(f"a box of {self.attributes[a]!r} is no node of its hierarchy")
            boxes[real, a] = np.where(exact[:, None], node[cover], np.stack([leaf[lo], leaf[hi]], axis=1))
        return boxes, codes

    def _changed(self, since: Coding, name: str) -> bool:
        if name in self.numbers:
            return False  # the arithmetic is fixed for life
        return self.hierarchies[name] is not since.hierarchies[name] and (
            self.hierarchies[name].leaves != since.hierarchies[name].leaves
            or self.hierarchies[name].labels != since.hierarchies[name].labels
        )

    # --- storage ----------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, object]:
        """For JSON. Hierarchies that are as in the schema are left out."""
        start = Coding.start(self.schema)
        return {
            "schema": self.schema.to_dict(),
            "version": self.version,
            "hierarchies": {
                name: hierarchy.to_dict()
                for name, hierarchy in self.hierarchies.items()
                if hierarchy != start.hierarchies[name]
            },
            "numbers": {
                name: {"kind": n.kind, "decimals": n.decimals, "lo": n.lo, "hi": n.hi, "nulls": n.nulls}
                for name, n in self.numbers.items()
            },
            "values": [list(labels) for labels in self.value_labels],
        }

    @staticmethod
    def from_dict(given: Mapping[str, object]) -> Coding:
        """The inverse of `to_dict`."""
        schema = Schema.from_stored(cast(Mapping[str, object], given["schema"]))
        start = Coding.start(schema)
        grown = cast(Mapping[str, Mapping[str, object]], given["hierarchies"])
        numbers = cast(Mapping[str, Mapping[str, object]], given["numbers"])
        return Coding(
            schema,
            cast(int, given["version"]),
            {
                name: Hierarchy.from_dict(grown[name]) if name in grown else hierarchy
                for name, hierarchy in start.hierarchies.items()
            },
            {name: _numeric_from(number, numbers[name]) for name, number in start.numbers.items()},
            tuple(tuple(labels) for labels in cast(Sequence[Sequence[str]], given["values"])),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Coding) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]


def _numeric_start(attribute: Numeric, missing: bool) -> NumericCoding:
    kinds: dict[str, Kind] = {"int": "int", "float": "float", "date": "date"}
    return NumericCoding(kind=kinds.get(attribute.type), decimals=attribute.decimals or 0, missing=missing)


def _numeric_from(start: NumericCoding, given: Mapping[str, object]) -> NumericCoding:
    return replace(
        start,
        kind=cast("Kind | None", given["kind"]),
        decimals=cast(int, given["decimals"]),
        lo=cast(int, given["lo"]),
        hi=cast(int, given["hi"]),
        missing=start.missing or cast(bool, given["nulls"]),
        nulls=cast(bool, given["nulls"]),
    )


@dataclass(frozen=True)
class CodingWords:
    """The words of a series, each on one line and without control characters.

    names: gives a subject's name by its number (a private lookup of the publisher)
    releases: by number, how releases are called that have a label
    """

    coding: Coding
    names: Callable[[int], str]
    releases: Mapping[int, str] = field(default_factory=dict)

    def box(self, box: Int32) -> str:
        """int32[attributes, 2] as "age 21-30, zip 120*"; attributes that cover everything are left out."""
        parts = []
        for a, (lo, hi) in enumerate(box.tolist()):
            if not self._anything(a, lo, hi):
                parts.append(show_text(f"{self.coding.attributes[a]} {self.coding.label(a, lo, hi)}"))
        return ", ".join(parts) or "everyone"

    def _anything(self, a: int, lo: int, hi: int) -> bool:
        domain = self.coding.domains[a]
        number = self.coding.numbers.get(domain.name)
        lowest = MISSING_CODE if number is not None and number.nulls else domain.lo
        return bool(lo <= lowest and hi >= domain.hi)

    def value(self, code: int) -> str:
        return show_text(self.coding.values[code])

    def subject(self, number: int) -> str:
        return show_text(self.names(number))

    def release(self, number: int) -> str:
        return show_text(f"release {self.releases.get(number) or number}")


@dataclass(frozen=True, eq=False)
class CodingNames:
    """`Names` of a series: labels as its coding has them; `lookup` gives the subjects of identifiers, -1 if unknown."""

    coding: Coding
    lookup: Callable[[Sequence[str]], Int64]

    @property
    def values(self) -> Sequence[str]:
        return self.coding.values

    @property
    def attributes(self) -> Sequence[str]:
        return self.coding.attributes

    def interval(self, attribute: str, label: str) -> tuple[int, int]:
        return self.coding.parse(attribute, label)

    def numbers(self, identifiers: Sequence[str]) -> Int64:
        return self.lookup(identifiers)
