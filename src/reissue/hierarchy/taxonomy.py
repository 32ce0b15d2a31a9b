"""Hierarchy: an immutable taxonomy with labels, and its form for the kernels (Tree)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import cast

import numpy as np

from reissue.arguments import check_arguments
from reissue.arrays.types import Int32
from reissue.errors import SchemaError
from reissue.hierarchy import files
from reissue.hierarchy.links import MISSING, RANGE, ROOT, Nodes, Shape, check_stored, merge, shape_of
from reissue.hierarchy.rules import Dates, Flat, Intervals, Prefix, Rule, rule_from_dict
from reissue.model.domain import Tree


class Hierarchy:
    """A taxonomy of one attribute: text values at the leaves, labelled groups above.

    Codes 0, 1, ... number the leaves depth first, so every group is one interval of codes. Every label names one
    node. A group with a single member covers the same interval as that member: in `tree` the two are one node, and
    the more exact label is published; `parse` knows both.

    source: the name of the file it was read from, for messages; two hierarchies are the same whatever their sources
    """

    def __init__(self, nodes: Nodes, rule: Rule | None = None, source: str | None = None) -> None:
        self._nodes = nodes
        self._rule = rule
        self.source = source

    # --- builders ---------------------------------------------------------------------------------------------

    @staticmethod
    @check_arguments
    def from_file(path: str | PathLike[str]) -> Hierarchy:
        """By the ending: .json and .toml are nested tables, anything else is ARX's CSV."""
        readers = {".json": files.read_json, ".toml": files.read_toml}
        return Hierarchy(readers.get(Path(path).suffix.lower(), files.read_arx)(Path(path)), source=Path(path).name)

    @staticmethod
    @check_arguments
    def from_arx_csv(path: str | PathLike[str]) -> Hierarchy:
        return Hierarchy(files.read_arx(Path(path)), source=Path(path).name)

    @staticmethod
    def from_rows(rows: Sequence[Sequence[str]], source: str = "hierarchy") -> Hierarchy:
        """From lines as ARX writes them: value, groups, `*`."""
        return Hierarchy(files.from_lines(list(enumerate(map(list, rows), start=1)), source), source=source)

    @staticmethod
    @check_arguments
    def from_json(path: str | PathLike[str]) -> Hierarchy:
        return Hierarchy(files.read_json(Path(path)), source=Path(path).name)

    @staticmethod
    @check_arguments
    def from_toml(path: str | PathLike[str]) -> Hierarchy:
        return Hierarchy(files.read_toml(Path(path)), source=Path(path).name)

    @staticmethod
    def from_nested(tree: Mapping[str, object] | Sequence[object], source: str = "hierarchy") -> Hierarchy:
        """{"Europe": ["France", "Spain"], "Asia": {"East": ["Japan"]}}: groups to members; depths may differ."""
        return Hierarchy(files.nested(tree, source))

    @staticmethod
    def flat(values: Iterable[str] = ()) -> Hierarchy:
        """Values directly under the root; grows with the data."""
        return Hierarchy._growing(Flat(), values)

    @staticmethod
    def intervals(
        width: float,
        *,
        levels: int = 1,
        factors: Sequence[int] | None = None,
        start: float = 0,
        values: Iterable[str] = (),
    ) -> Hierarchy:
        """Intervals of `width`, then of width x factors[0], ... (or `levels` of them, doubling); grows with data."""
        steps = [2] * (levels - 1) if factors is None else list(factors)
        if levels < 1 or any(isinstance(factor, bool) or not isinstance(factor, int) or factor < 2 for factor in steps):
            raise SchemaError(f"intervals: levels={levels}, factors={factors}. Give levels >= 1, factors >= 2 (whole).")
        widths = [width]
        for factor in steps:  # in decimals, so that three times 0.1 is 0.3
            wider = Decimal(str(widths[-1])) * factor
            widths.append(int(wider) if isinstance(width, int) else float(wider))
        return Hierarchy._growing(Intervals(tuple(widths), start), values)

    @staticmethod
    def prefix(lengths: Sequence[int] = (), *, step: int = 0, values: Iterable[str] = ()) -> Hierarchy:
        """Groups by the first characters (12043, 120*, 1*); `lengths` to keep, or every `step`; grows with the data."""
        return Hierarchy._growing(Prefix(tuple(lengths), step), values)

    @staticmethod
    def dates(levels: Sequence[str] = ("day", "month", "year"), *, values: Iterable[str] = ()) -> Hierarchy:
        """Days under months, quarters, years, decades; grows with the data."""
        return Hierarchy._growing(Dates(tuple(levels)), values)

    @staticmethod
    def _growing(rule: Rule, values: Iterable[str] = ()) -> Hierarchy:
        return Hierarchy(_follow(rule, [], missing=False), rule).grow(values)

    # --- the taxonomy -----------------------------------------------------------------------------------------

    @property
    def rule(self) -> Rule | None:
        """The rule by which it grows with the data; None for a fixed hierarchy."""
        return self._rule

    @property
    def grows(self) -> bool:
        return self._rule is not None

    @property
    def order(self) -> str | None:
        """The order of the values in words, where a rule gives it."""
        return None if self._rule is None else self._rule.order

    @cached_property
    def _shape(self) -> Shape:
        return shape_of(self._nodes)

    @property
    def tree(self) -> Tree:
        return self._shape.tree

    @property
    def labels(self) -> tuple[str, ...]:
        """The label of each node of `tree`."""
        return self._shape.labels

    @property
    def leaves(self) -> tuple[str, ...]:
        """The values by code."""
        return self._shape.leaves

    @cached_property
    def codes(self) -> dict[str, int]:
        """The code of each value. Do not change it."""
        return {value: code for code, value in enumerate(self.leaves)}

    @property
    def all_labels(self) -> tuple[str, ...]:
        """Every label, also those of groups with a single member, depth first."""
        return self._nodes.names

    def encode(self, values: Iterable[str]) -> Int32:
        """int32[n]: the codes of the values."""
        try:
            return np.array([self.codes[value] for value in values], dtype=np.int32)
        except KeyError as error:
            raise SchemaError(f"The value {error.args[0]!r} is not in the hierarchy. Extend the hierarchy.") from None

    def label(self, lo: int, hi: int) -> str:
        """The label of the node that covers exactly lo..hi, the most exact one where several do; else `first..last`."""
        found = self._shape.by_interval.get((lo, hi))
        return f"{self.leaves[lo]}{RANGE}{self.leaves[hi]}" if found is None else found

    def parse(self, label: str) -> tuple[int, int]:
        """The closed interval of codes that a label stands for: a value, a group, or a range of values."""
        found = self._shape.by_label.get(label)
        if found is None:
            first, _, last = label.rpartition(RANGE)
            lo, hi = self.codes.get(first.strip(), 0), self.codes.get(last.strip(), -1)
            found = (lo, hi) if first.strip() in self.codes and lo <= hi else None
        if found is None:
            raise SchemaError(f"{label!r} is not a label of the hierarchy.")
        return found

    # --- growing ----------------------------------------------------------------------------------------------

    def problem(self, value: str) -> str | None:
        """Why the value cannot be coded or learned; None where it can."""
        if value in self.codes:
            return None
        return "it is not in the hierarchy" if self._rule is None else self._rule.problem(value)

    def grow(self, values: Iterable[str]) -> Hierarchy:
        """With new values put where the rule says; itself where there is nothing new."""
        fresh = [value for value in values if value not in self.codes]
        if not fresh:
            return self
        for value in fresh:
            problem = self.problem(value)
            if problem or self._rule is None:
                raise SchemaError(f"The value {value!r} cannot be added: {problem}.")
        rule = cast(Rule, self._rule)
        known = [value for value in self.leaves if value != MISSING]
        return Hierarchy(_follow(rule, {*known, *fresh}, missing=MISSING in self.codes), rule)

    def with_missing(self) -> Hierarchy:
        """With a leaf `(missing)` for nulls directly under the root, unless the hierarchy has such a value itself."""
        if MISSING in self.codes:
            return self
        if MISSING in self._nodes.names:
            raise SchemaError(f"The hierarchy has a group {MISSING!r}, the label of nulls. Rename the group.")
        nodes = self._nodes
        more = Nodes((*nodes.names, MISSING), (*nodes.parents, 0), (*nodes.levels, 0))
        return Hierarchy(more, self._rule, self.source)

    def extend(self, other: Hierarchy) -> Hierarchy:
        """With the nodes of `other` added; old leaves keep their order and every old label its place.

        `other` may be a complete new version or hold the new values only. What contradicts the old hierarchy is
        refused, since releases that use its labels are already out.
        """
        if self._rule is not None:
            if other._rule == self._rule:
                return self.grow(value for value in other.leaves if value != MISSING)
            raise SchemaError("This attribute grows with the data by its own rule: there is nothing to extend.")
        merged = merge(self._nodes, other._nodes)
        return self if merged == self._nodes else Hierarchy(merged, source=self.source)

    def remap(self, new: Hierarchy) -> tuple[Int32, Int32]:
        """(leaf int32[leaves], node int32[nodes, 2]): new codes of the old leaves, new intervals of the old nodes.

        `new` is this hierarchy grown or extended; the leaf map is increasing. O(nodes).
        """
        return new.encode(self.leaves), np.array([new.parse(label) for label in self.labels], dtype=np.int32).reshape(
            -1, 2
        )

    # --- storage ----------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, object]:
        """For JSON or TOML: a rule with its values, or the nodes."""
        if self._rule is not None:
            return {**self._rule.to_dict(), "values": list(self.leaves)}
        nodes = self._nodes
        given = {"names": list(nodes.names), "parents": list(nodes.parents), "levels": list(nodes.levels)}
        return given if self.source is None else {**given, "source": self.source}

    @staticmethod
    def from_dict(given: Mapping[str, object]) -> Hierarchy:
        if "names" in given:
            names, parents, levels = (
                tuple(cast(list[object], given.get(key, []))) for key in ("names", "parents", "levels")
            )
            nodes = Nodes(cast(tuple[str, ...], names), cast(tuple[int, ...], parents), cast(tuple[int, ...], levels))
            check_stored(nodes)
            return Hierarchy(nodes, source=cast("str | None", given.get("source")))
        values = cast(list[str], given.get("values", []))
        empty = Hierarchy._growing(rule_from_dict({key: item for key, item in given.items() if key != "values"}))
        grown = empty.grow(value for value in values if value != MISSING)
        return grown.with_missing() if MISSING in values else grown

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hierarchy) and self._rule == other._rule and self._nodes == other._nodes

    def __hash__(self) -> int:
        return hash((self._nodes, self._rule))

    def __repr__(self) -> str:
        how = "" if self._rule is None else f", {self._rule!r}"
        return f"<Hierarchy of {len(self.leaves)} values, {len(self._nodes.names)} labels{how}>"


def _follow(rule: Rule, values: Iterable[str], *, missing: bool) -> Nodes:
    """Nodes by a rule: values in its order, so that the members of a group come together. O(n log n)."""
    names, parents, levels = [ROOT], [-1], [rule.height()]
    open_groups: list[tuple[str, int]] = []  # (label, node) from the top to the group of the last value
    for value in sorted(values, key=rule.key):
        path = rule.steps(value)[::-1]
        same = 0
        while same < min(len(path), len(open_groups)) and path[same][0] == open_groups[same][0]:
            same += 1
        del open_groups[same:]
        for label, level in [*path[same:], (value, 0)]:
            parents.append(open_groups[-1][1] if open_groups else 0)
            open_groups.append((label, len(names)))
            names.append(label)
            levels.append(level)
        open_groups.pop()  # the value itself is no group
    if missing:
        names.append(MISSING)
        parents.append(0)
        levels.append(0)
    return Nodes(tuple(names), tuple(parents), tuple(levels))
