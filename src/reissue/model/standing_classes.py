"""What a release of standing classes consists of beside its rows and their boxes: everybody's class for life, tokens.

In such a release the class of a row, as `Facts.classes` has it, is only the box that the row shows. The class for life,
whose values are told once, is a private fact of its own, kept in the extras of the release under the names given here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from reissue.arrays.types import NO_CODES, Bool, Float64, Int32, Int64

Extras = Mapping[str, NDArray[np.generic]]

Classes = NDArray[np.int32] | NDArray[np.int64]
"""Numbers of classes for life; those of a table in fragments need more room."""


@dataclass(frozen=True, eq=False)
class Tokens:
    """The values that standing classes tell, counted: ascending by class and then by value, each pair once.

    standing: int32[n] class; value: int32[n]; count: int32[n] tokens of it, made_up: int32[n] those that are nobody's
    """

    standing: Int32
    value: Int32
    count: Int32
    made_up: Int32

    @staticmethod
    def none() -> Tokens:
        return Tokens(*(NO_CODES for _ in range(4)))

    @staticmethod
    def of(standing: Int32, value: Int32, made_up: Bool) -> Tokens:
        """Of single tokens. O(n log n)."""
        values = int(value.max(initial=-1)) + 1
        key = np.sort((standing.astype(np.int64) * max(values, 1) + value) * 2 + made_up)
        start = np.flatnonzero(np.diff(key >> 1, prepend=-1))
        found = key[start] >> 1
        count = np.diff(start, append=len(key))
        fakes = np.add.reduceat(key & 1, start) if len(start) else count
        return Tokens(
            *(column.astype(np.int32) for column in (found // max(values, 1), found % max(values, 1), count, fakes))
        )

    def __len__(self) -> int:
        return len(self.standing)

    def part(self, which: Bool | Int64) -> Tokens:
        return Tokens(self.standing[which], self.value[which], self.count[which], self.made_up[which])

    def numbered_from(self, first: int) -> Tokens:
        """Of classes that are called first, first + 1, ... instead of 0, 1, ..."""
        return Tokens(self.standing + np.int32(first), self.value, self.count, self.made_up)

    def followed_by(self, later: Tokens) -> Tokens:
        """With the tokens of later classes, whose numbers are higher."""
        columns = ("standing", "value", "count", "made_up")
        return Tokens(*(np.concatenate([getattr(self, name), getattr(later, name)]) for name in columns))

    def table(self) -> dict[str, NDArray[np.generic]]:
        return {"standing": self.standing, "value": self.value, "count": self.count, "made_up": self.made_up}

    @staticmethod
    def read(table: Extras) -> Tokens:
        return Tokens(*(cast("Int32", table[name]) for name in ("standing", "value", "count", "made_up")))


@dataclass(frozen=True, eq=False)
class Leaving:
    """What the sizes of classes have told so far about who leaves sooner; the last of each is all other values.

    values: int32[n] ascending; precision: float64[n + 1, n + 1] and slope: float64[n + 1] of the summed likelihood
    """

    values: Int32
    precision: Float64
    slope: Float64

    def table(self) -> dict[str, NDArray[np.generic]]:
        return {"values": self.values, "precision": self.precision.reshape(-1), "slope": self.slope}

    @staticmethod
    def read(table: Extras) -> Leaving | None:
        """None where there is none, or where fragments, each of which learns by itself, are listed together."""
        if not table or len(table["precision"]) != len(table["slope"]) ** 2:
            return None
        values, slope = cast("Int32", table["values"]), cast("Float64", table["slope"])
        return Leaving(values, cast("Float64", table["precision"]).reshape(len(slope), -1), slope)


@dataclass(frozen=True, eq=False)
class StandingClasses:
    """The private side of a release of standing classes.

    standing: int32[rows] everybody's class for life; dealt: int32[rows] the token that was dealt to them
    tokens:   of all classes that have somebody in this release
    told:     whether tokens are told by class; if not, every row shows its dealt value
    waiting:  int64[] subjects that are held back; draw: int32[] the made-up tokens that are drawn for them already
    noise:    int64[values] all noise drawn for totals; None if they are only expected
    totals:   int64[values] the published totals; in releases of earlier versions those with all the noise, or None
    expected: int64[values] what the classes let expect; None in releases of earlier versions
    leaving:  what was learned of who leaves sooner; None before anything could be, and of several fragments together
    shared:   in one of several fragments bool[boxes], which boxes of rows other fragments show, too
    """

    standing: Int32
    dealt: Int32
    tokens: Tokens
    told: bool
    waiting: Int64
    draw: Int32
    noise: Int64 | None = None
    totals: Int64 | None = None
    expected: Int64 | None = None
    leaving: Leaving | None = None
    shared: Bool | None = None

    @property
    def blended(self) -> int:
        """How many people share a class with made-up values. O(rows)."""
        return int(np.isin(self.standing, self.tokens.standing[self.tokens.made_up > 0]).sum())

    def table(self) -> dict[str, NDArray[np.generic]]:
        """As extras. `row_`: one entry per row; `part_`: fragments are listed one after the other; `sum_`: added up."""
        extras: dict[str, NDArray[np.generic]] = {
            "row_standing": self.standing,
            "row_dealt": self.dealt,
            **{f"part_token_{name}": column for name, column in self.tokens.table().items()},
            "part_waiting": self.waiting,
            "part_draw": self.draw,
            "told": np.array(self.told),
        }
        sums = {"sum_noise": self.noise, "sum_totals": self.totals, "sum_expected": self.expected}
        extras |= {name: amounts for name, amounts in sums.items() if amounts is not None}
        if self.leaving is not None:
            extras |= {f"part_leaving_{name}": column for name, column in self.leaving.table().items()}
        if self.shared is not None:
            extras["class_shared"] = self.shared
        return extras

    @staticmethod
    def read(extras: Extras) -> StandingClasses | None:
        """From the extras of a release; None if it has no standing classes."""
        if "row_standing" not in extras:
            return None
        tokens, leaving = (
            {name.removeprefix(start): extras[name] for name in extras if name.startswith(start)}
            for start in ("part_token_", "part_leaving_")
        )
        return StandingClasses(
            standing=cast("Int32", extras["row_standing"]),
            dealt=cast("Int32", extras["row_dealt"]),
            tokens=Tokens.read(tokens),
            told=bool(extras["told"]),
            waiting=cast("Int64", extras["part_waiting"]),
            draw=cast("Int32", extras["part_draw"]),
            noise=cast("Int64 | None", extras.get("sum_noise")),
            totals=cast("Int64 | None", extras.get("sum_totals")),
            expected=cast("Int64 | None", extras.get("sum_expected")),
            leaving=Leaving.read(leaving),
            shared=cast("Bool | None", extras.get("class_shared")),
        )
