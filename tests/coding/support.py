"""A clinic's schema and what its snapshots show of it."""

from __future__ import annotations

from collections.abc import Iterable

from reissue.coding import Coding, NumericCoding, NumericSummary, SnapshotSummary
from reissue.hierarchy import Hierarchy
from reissue.schema import Categorical, Numeric, Schema


def counted(*values: str | None) -> dict[str | None, tuple[int, int]]:
    return {value: (values.count(value), values.index(value)) for value in values}


def clinic(**changes: object) -> Schema:
    place = Categorical({"Europe": ["France", "Spain"], "Asia": ["Japan", "China"]})
    given: dict[str, object] = {
        "identifier": "patient",
        "quasi_identifiers": {"age": Numeric(), "zip": Categorical(Hierarchy.prefix([3, 1])), "place": place},
        "sensitive": "diagnosis",
    }
    return Schema(**{**given, **changes})  # type: ignore[arg-type]


def snapshot(
    ages: NumericSummary | None = None,
    zips: Iterable[str | None] = ("12043", "12044", "13000"),
    places: Iterable[str | None] = ("France",),
    values: Iterable[tuple[str | None, ...]] = (("flu",), ("cold",)),
) -> SnapshotSummary:
    ages = ages or NumericSummary(kind="int", lowest=20, highest=60)
    return SnapshotSummary(
        categories={"zip": counted(*zips), "place": counted(*places)}, numbers={"age": ages}, sensitive=tuple(values)
    )


def numbered(kind: str, attribute: Numeric, *seen: NumericSummary) -> NumericCoding:
    coding = Coding.start(clinic(quasi_identifiers={"age": attribute}))
    for one in seen:
        coding = coding.learn(SnapshotSummary(numbers={"age": one}))
    assert coding.numeric("age").kind == kind
    return coding.numeric("age")
