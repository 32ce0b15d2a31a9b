"""A release folder as rows: what each box covers in codes, and the value of each row or the values of its class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.types import Float64, Int32, Int64
from reissue.audit.foreign.reading import Published, find_file, read_published
from reissue.audit.foreign.series import encode_values, learn_coding, number_classes, read_boxes
from reissue.coding import Coding
from reissue.engine.output import COUNT, added_name
from reissue.engine.read import find
from reissue.engine.text import text_of
from reissue.errors import ReleaseError
from reissue.history.public_files import read_description
from reissue.model.observed import Groups
from reissue.model.release import Style
from reissue.model.requirement import Requirement
from reissue.partition.mondrian import mondrian
from reissue.schema import Attribute, Categorical, Numeric, Schema, read_config
from reissue.utility.learned_shares import RowShares, learn_shares, share_evenly

ROUNDS = 30
MIXED = 0.5
"""Where more of the variation of quasi-identifiers lies inside classes, how these differ tells next to nothing."""
EXPECTED = 0.05
"""How far off expected totals may be, as a share."""


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
    even:    whether every class shows all of its values equally often; never of the form `flat`, whose are not known
    totals:  int64[values] if the release has them; noise: the variance of each; off: how far off a total that is only
             expected may be, as a share of it (standard deviation)
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
    even: bool
    totals: Int64 | None
    noise: float
    off: float
    opaque: frozenset[str]

    def __len__(self) -> int:
        return len(self.boxes)

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
    off = EXPECTED if totals is not None and not epsilon and number > 1 else 0.0
    if one.counts is not None:
        assert one.classes is not None
        home, sensitive, counts = one.counts
        table = np.zeros((int(one.classes.max()) + 1, len(coding.values)))
        if int(home.max()) + 1 != len(table):
            raise ReleaseError(f"{path}: the two tables name different classes. Take the files as they were published.")
        np.add.at(table, (home, encode_values(sensitive, coding)), counts)
        tokens = table.sum(axis=1)
        by_class = _rake(table / tokens[:, None], np.bincount(one.classes).astype(np.float64), totals)
        learns = _find_mixture(boxes, one.classes) < MIXED
        shares = learn_shares(boxes, one.classes, by_class) if learns else share_evenly(one.classes, by_class)
        even = _are_even(home, counts)
        ones = np.ones(table.shape[1])
        return ReleaseRows(
            style, coding, boxes, one.classes, None, tokens, ones, shares, even, totals, noise, off, opaque
        )
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
    groups = Groups.of(classes, values, int(classes.max(initial=-1)) + 1, len(coding.values))
    even = style != "flat" and _are_even(np.repeat(np.arange(len(tokens)), np.diff(groups.start)), groups.count)
    return ReleaseRows(style, coding, boxes, classes, values, tokens, amounts, None, even, totals, noise, off, opaque)


def _find_mixture(boxes: Int32, classes: Int32) -> float:
    """From 0 to 1: which part of the variation of quasi-identifiers lies inside classes, on average."""
    middles = boxes.sum(axis=2, dtype=np.int64) / 2.0
    middles -= middles.mean(axis=0)
    people = np.bincount(classes).astype(np.float64)
    whole = (middles**2).sum(axis=0)
    sums = np.stack([np.bincount(classes, column) for column in middles.T], axis=1)
    between = (sums**2 / people[:, None]).sum(axis=0)
    return float(1.0 - (between / np.maximum(whole, 1e-300))[whole > 0].mean()) if (whole > 0).any() else 1.0


def _are_even(classes: NDArray[np.integer], counts: Int64) -> bool:
    """Whether every class shows all of its values equally often. Both: [n], one for every class and value there is."""
    most = np.zeros(int(classes.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(most, classes, counts)
    return bool((counts == most[classes]).all())


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
