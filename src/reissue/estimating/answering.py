"""`reissue.estimate` and `reissue.weights`: what a reader of a release asks it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from os import PathLike

import numpy as np
import pyarrow as pa

from reissue.arguments import check_arguments
from reissue.coding import Coding
from reissue.coding.numeric import MISSING_CODE
from reissue.estimating.asking import Query, read_query
from reissue.estimating.intervals import Interval, WeighedQuery
from reissue.estimating.reading import InFolder, ReleaseRows, read_release
from reissue.estimating.spreads import Kind, Spread
from reissue.schema import Schema
from reissue.utility.rates import are_narrow


@dataclass(frozen=True)
class Estimate:
    """How many people a query matches, and between which numbers that is in 95 of 100 queries.

    count, low, high: of all that the query asks for
    base:             of the query without its sensitive values; rate is count / base, with an interval of its own.
                      None where the query asks for no sensitive value
    others:           the query without its sensitive values, as it is written
    """

    count: float
    low: float
    high: float
    base: float | None = None
    rate: float | None = None
    rate_low: float | None = None
    rate_high: float | None = None
    others: str = ""

    def to_dict(self) -> dict[str, object]:
        return asdict(self)

    def describe(self) -> str:
        """In a sentence or two, for a terminal."""
        told = f"About {self.count:,.0f} people (95%: {self.low:,.0f} to {self.high:,.0f})."
        if self.rate is None:
            return told
        of = f"the {self.base:,.0f} with {self.others}" if self.others else f"all {self.base:,.0f}"
        return f"{told}\nThat is {self.rate:.1%} of {of} (95%: {self.rate_low:.1%} to {self.rate_high:.1%})."


@check_arguments
def estimate(
    release: str | PathLike[str] | InFolder, query: Query, *, config: str | PathLike[str] | Schema | None = None
) -> Estimate:
    """The people of a release who match a query, from its public files alone.

    release: its folder, or what `Series.publish` returned
    query:   `"age=30..39 sex=F diagnosis=Flu"` or `{"age": (30, 39), "sex": "F", "diagnosis": ["Flu"]}`
    config:  the schema or its config file, needed to ask for columns that are published in groups
    """
    return answer(read_release(release, config), query)


def answer(rows: ReleaseRows, query: Query) -> Estimate:
    """The same of a release that was read before. O(rows) for every column of the query."""
    question = read_query(query, rows.coding, rows.opaque)
    spreads = {a: make_spread(rows, a) for a in question.where}
    where = {a: _place_missing(asked, rows.coding, a) for a, asked in question.where.items()}
    count, base, rate = WeighedQuery(rows, spreads, where, question.values).answer()
    if question.values is None:
        return Estimate(count.middle, count.low, count.high)
    return Estimate(count.middle, count.low, count.high, base.middle, *_numbers(rate), question.others)


def _numbers(found: Interval) -> tuple[float, float, float]:
    return found.middle, found.low, found.high


def make_spread(rows: ReleaseRows, a: int) -> Spread:
    """How people are spread over an attribute."""
    domain, low, boxes = rows.coding.domains[a], _lowest(rows.coding, a), rows.boxes[:, a]
    own = np.where(boxes == MISSING_CODE, low, boxes)
    narrow = domain.tree is None and are_narrow([boxes])
    kind: Kind = "numbers" if domain.name in rows.coding.numbers else "groups"
    return Spread(own, low, domain.hi, kind, rows.together if narrow else None)


def _lowest(coding: Coding, a: int) -> int:
    """The lowest code of an attribute. A missing number is just below the others, not as far away as its own code."""
    domain = coding.domains[a]
    number = coding.numbers.get(domain.name)
    return domain.lo - 1 if number is not None and number.nulls else domain.lo


def _place_missing(asked: Sequence[tuple[int, int]], coding: Coding, a: int) -> list[tuple[int, int]]:
    """The asked intervals where `make_spread` has them; of missing numbers nothing, where there are none."""
    low = min(_lowest(coding, a), coding.domains[a].lo - 1)
    return [(low if first == MISSING_CODE else first, low if last == MISSING_CODE else last) for first, last in asked]


@check_arguments
def weights(release: str | PathLike[str] | InFolder, *, config: str | PathLike[str] | Schema | None = None) -> pa.Table:
    """Every row with each value it may have and how much it counts there, as survey weights.

    Columns: `row` (from 1, as in the release), the sensitive columns, `weight`. Weights of all rows add up to the rows
    of the release; where it has totals, the weights of a value add up to its total. O(rows * values of a class).
    """
    return list_weights(read_release(release, config))


def list_weights(rows: ReleaseRows) -> pa.Table:
    """The same of a release that was read before."""
    if rows.shares is not None:
        row, value, weight = rows.shares.row, rows.shares.value, rows.shares.weight
    else:
        assert rows.values is not None
        row, value = np.arange(len(rows)), rows.values.astype(np.int64)
        weight = rows.amounts[value]
    columns = rows.coding.value_columns.items()
    shown = {name: pa.array(np.array(labels, dtype=object)[value]) for name, labels in columns}
    return pa.table({"row": row + 1, **shown, "weight": weight})
