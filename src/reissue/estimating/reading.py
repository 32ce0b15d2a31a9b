"""A release folder as rows: what each box covers in codes, and the value of each row or the values of its class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Protocol, cast

import numpy as np

from reissue.arrays.types import Float64, Int32, Int64
from reissue.audit.foreign.reading import Published, find_file, read_published
from reissue.audit.foreign.series import encode_values, learn_coding, number_classes, read_boxes
from reissue.coding import Coding
from reissue.engine.output import COUNT, added_name
from reissue.engine.read import find
from reissue.engine.text import text_of
from reissue.errors import ReleaseError
from reissue.history.public_files import read_description
from reissue.model.release import Style
from reissue.model.requirement import Requirement
from reissue.partition.mondrian import mondrian
from reissue.schema import Attribute, Categorical, Numeric, Schema, read_config
from reissue.utility.learned_shares import RowShares, learn_shares, share_evenly

ROUNDS = 30
MIXED = 0.5
"""Where more of the variation of quasi-identifiers lies inside classes, how these differ tells next to nothing."""
EXPECTED = 0.02
"""How far off expected totals may be at least, as a share."""
COUNTERFEITING = ("m-invariance", "e-equivalence", "cor-split")
"""Strategies that add rows of nobody."""


class InFolder(Protocol):
    """A release of a series: what `Series.publish` returns."""

    @property
    def path(self) -> Path: ...


@dataclass(frozen=True, eq=False)
class ReleaseRows:
    """The rows of a release as its files tell them.

    boxes:   int32[rows, attributes, 2] closed intervals of codes
    classes: int32[rows]; of the form `flat`, whose classes nobody outside knows, groups of neighbouring rows
    values:  int32[rows] where every row shows a value, else None
    tokens:  float64[classes] how many values a class was formed of
    amounts: float64[values] what a row that shows the value counts (1, or adjusted to totals)
    shares:  how much of each value of its class every row counts, where rows show none
    mixed:   whether classes are mixed from everywhere, so that how they differ tells next to nothing
    totals:  int64[values] if the release has them; noise: the variance of each; off: how far off a total that is only
             expected may be, as a share of it (standard deviation)
    crowding: how many of all people have one of the values of a class, on average, where classes show all of their
             values equally often, so that few who live together can share one; else 0
    counterfeits: whether rows may stand for nobody
    together: int64[rows] how many rows share each whole box
    opaque:  columns whose groups cannot be read without the hierarchies
    """

    style: Style
    coding: Coding
    boxes: Int32
    classes: Int32
    values: Int32 | None
    tokens: Float64
    amounts: Float64
    shares: RowShares | None
    mixed: bool
    totals: Int64 | None
    noise: float
    off: float
    crowding: float
    counterfeits: bool
    together: Int64
    opaque: frozenset[str]

    def __len__(self) -> int:
        return len(self.boxes)

    @cached_property
    def value_amounts(self) -> Float64:
        """float64[values]: how much of each value all rows count together."""
        if self.shares is not None:
            return np.bincount(self.shares.value, self.shares.weight, len(self.amounts)).astype(np.float64)
        assert self.values is not None
        return np.bincount(self.values, minlength=len(self.amounts)) * self.amounts

    def weigh(self, asked: Sequence[int]) -> Float64:
        """float64[rows]: how much of the asked values each row counts."""
        wanted = np.zeros(len(self.amounts), dtype=np.bool_)
        wanted[list(asked)] = True
        if self.shares is not None:
            return self.shares.count(wanted)
        assert self.values is not None
        counted: Float64 = np.where(wanted, self.amounts, 0.0)[self.values]
        return counted


def read_release(release: str | PathLike[str] | InFolder, config: str | PathLike[str] | Schema | None) -> ReleaseRows:
    """The release in a folder. config: the schema, or the config with it, to read groups of hierarchies."""
    path = Path(release if isinstance(release, str | PathLike) else release.path)
    if not path.is_dir():
        raise ReleaseError(f"{path} is no folder. Name the folder of a release, the one with release.json in it.")
    if (path / "releases").is_dir():
        raise ReleaseError(f"{path} is a series. Name the folder of one of its releases, such as {path}/releases/0001.")
    about = read_description(path)
    opaque: frozenset[str] = frozenset()
    if config is None:
        schema, opaque = describe_schema(about)
    else:
        schema = config if isinstance(config, Schema) else read_config(config).schema
    one = read_published(path, schema, cast(int, about.get("number", 1)))
    coding = learn_coding(schema, [one], [])
    return _make_rows(path, one, coding, opaque)


def describe_schema(about: Mapping[str, object]) -> tuple[Schema, frozenset[str]]:
    """(the schema as far as `release.json` tells it, the columns whose labels may be groups of unknown content)."""
    columns = cast("Sequence[Mapping[str, object]]", about.get("columns", ()))
    roles: dict[str, list[str]] = {"quasi-identifier": [], "sensitive": [], "insensitive": []}
    attributes: dict[str, Attribute] = {}
    opaque = set()
    for column in columns:
        name, kind = str(column["name"]), column.get("type")
        roles.setdefault(str(column["role"]), []).append(name)
        if column["role"] == "quasi-identifier":
            if kind in ("int", "float", "date"):
                attributes[name] = Numeric(type=kind)
            else:
                attributes[name] = Categorical()
                opaque |= {name} if column.get("groups", True) else set()
    identifier = added_name("identifier", [str(column["name"]) for column in columns])
    schema = Schema(
        identifier=identifier,
        quasi_identifiers=attributes,
        sensitive=roles["sensitive"],
        insensitive=roles["insensitive"],
        missing="value",
    )
    return schema, frozenset(opaque)


def _make_rows(path: Path, one: Published, coding: Coding, opaque: frozenset[str]) -> ReleaseRows:
    style = cast(Style, one.about.get("style", "generalized"))
    boxes = read_boxes(one, coding, [])
    parameters = cast("Mapping[str, float | None]", one.about.get("parameters", {}))
    number = cast(int, one.about.get("number", 1))
    totals = _read_totals(path, coding)
    epsilon = parameters.get("totals")
    noise = 0.0 if totals is None or not epsilon else 8.0 / epsilon**2 * max(1, number - 1)
    only_expected = totals is not None and not epsilon and number > 1
    fakes = one.about.get("strategy") in COUNTERFEITING
    shared = _count_together(boxes)
    if one.counts is not None:
        assert one.classes is not None
        home, sensitive, counts = one.counts
        table = np.zeros((int(one.classes.max()) + 1, len(coding.values)))
        if int(home.max()) + 1 != len(table):
            raise ReleaseError(f"{path}: the two tables name different classes. Take the files as they were published.")
        np.add.at(table, (home, encode_values(sensitive, coding)), counts)
        tokens = table.sum(axis=1)
        rows = np.bincount(one.classes).astype(np.float64)
        off = _find_off(totals, rows @ (table / tokens[:, None]), 0.0) if only_expected else 0.0
        by_class = _rake(table / tokens[:, None], rows, totals)
        mixed = _find_mixture(boxes, one.classes) >= MIXED
        shares = share_evenly(one.classes, by_class) if mixed else learn_shares(boxes, one.classes, by_class)
        crowding, ones = 0.0 if mixed else _find_crowding(table, rows), np.ones(table.shape[1])
        told = (one.classes, None, tokens, ones, shares, mixed, totals, noise, off, crowding)
        return ReleaseRows(style, coding, boxes, *told, fakes, shared, opaque)
    values = encode_values(one.sensitive, coding)
    known = np.bincount(values, minlength=len(coding.values)).astype(np.float64)
    amounts = np.ones(len(known))
    if totals is not None:
        wanted = np.maximum(totals, 0.5)
        amounts = wanted / np.maximum(known, 1.0)
        amounts *= one.rows / float(amounts @ known)
    if style == "flat":
        counted = cast("Mapping[str, int]", one.about.get("counts", {}))
        size = counted.get("typical_standing_class", 2 * int(parameters.get("k") or 8))
        classes = _group_neighbours(boxes, coding, size)
        tokens = np.bincount(classes) * max(1.0, counted.get("tokens", one.rows) / one.rows)
    else:
        classes = number_classes(one, np.zeros(one.rows, dtype=np.bool_))
        tokens = np.bincount(classes).astype(np.float64)
    gone = 1.0 - one.rows / max(1.0, float(tokens.sum()))
    off = _find_off(totals, known, gone) if only_expected else 0.0
    shown = (classes, values, tokens, amounts, None, False, totals, noise, off, 0.0)
    return ReleaseRows(style, coding, boxes, *shown, fakes, shared, opaque)


def _find_crowding(table: Float64, rows: Float64) -> float:
    """See `ReleaseRows`. table: float64[classes, values] how often each class shows each value; rows: of each class."""
    most = table.max(axis=1, keepdims=True)
    if ((table > 0) & (table < most)).any():
        return 0.0
    common = table.sum(axis=0) / table.sum()
    return float(np.average((table > 0) @ common, weights=rows))


def _find_off(totals: Int64 | None, shown: Float64, gone: float) -> float:
    """How far off expected totals may be, as a share: as far as they are from what classes show.

    shown: float64[values], by the values of classes or as dealt. gone: the share of people who left, if chance chose
    who of those with a value is left; 0 where it did not.
    """
    assert totals is not None
    some = (shown > 0) & (totals > 0)
    far = np.log(totals[some] / shown[some]) ** 2 - gone / shown[some]
    seen = max(0.0, float(far @ shown[some]) / float(shown[some].sum())) if some.any() else 0.0
    return float((EXPECTED**2 + seen) ** 0.5)


def _count_together(boxes: Int32) -> Int64:
    """int64[rows]: how many rows share each whole box."""
    flat = np.ascontiguousarray(boxes.reshape(len(boxes), -1))
    _, place, count = np.unique(flat, axis=0, return_inverse=True, return_counts=True)
    return count[place.reshape(-1)].astype(np.int64)


def _find_mixture(boxes: Int32, classes: Int32) -> float:
    """From 0 to 1: which part of the variation of quasi-identifiers lies inside classes, on average."""
    middles = boxes.sum(axis=2, dtype=np.int64) / 2.0
    middles -= middles.mean(axis=0)
    people = np.bincount(classes).astype(np.float64)
    whole = (middles**2).sum(axis=0)
    sums = np.stack([np.bincount(classes, column) for column in middles.T], axis=1)
    between = (sums**2 / people[:, None]).sum(axis=0)
    return float(1.0 - (between / np.maximum(whole, 1e-300))[whole > 0].mean()) if (whole > 0).any() else 1.0


def _read_totals(path: Path, coding: Coding) -> Int64 | None:
    """int64[values] from the table of totals; None if there is none."""
    if not any((path / f"totals.{suffix}").exists() for suffix in ("parquet", "csv")):
        return None
    names = list(coding.schema.sensitive)
    counted = added_name(COUNT, coding.schema.sensitive)
    table = find(find_file(path, "totals"), [*names, counted]).table
    columns = [text_of(table.column(name)) for name in names]
    totals = np.zeros(len(coding.values), dtype=np.int64)
    for row, count in enumerate(table.column(counted).to_pylist()):
        code = coding.value_lookup.get(tuple(str(text.labels[text.index[row]]) for text in columns))
        if code is not None:
            totals[code] = int(count)
    return totals


def _rake(shares: Float64, rows: Float64, totals: Int64 | None) -> Float64:
    """float64[classes, values] with every row a person, and every value as often as the totals say."""
    if totals is None:
        return shares
    wanted = np.maximum(totals, 0.5)
    for _ in range(ROUNDS):
        shares = shares * (wanted / np.maximum(rows @ shares, 1e-9))
        shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-12)
    return shares


def _group_neighbours(boxes: Int32, coding: Coding, size: int) -> Int32:
    """int32[rows]: rows beside each other, about so many together, in place of classes that are not known: cut as those
    of `standing` are, at medians, here of the middles of the boxes."""
    middles = np.asfortranarray((boxes.sum(axis=2, dtype=np.int64) // 2).astype(np.int32))
    domains = [replace(domain, tree=None) for domain in coding.domains]
    limits = Requirement(k=max(1, 2 * size // 3)).limits(np.array([len(boxes)], dtype=np.int64))
    return mondrian(middles, np.zeros(len(boxes), dtype=np.int32), domains, limits).classes
