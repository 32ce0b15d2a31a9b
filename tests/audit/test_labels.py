"""What other tools write, in codes."""

from __future__ import annotations

import pyarrow as pa
import pytest

import reissue as ri
from reissue.audit import audit
from reissue.audit.foreign.labels import LabelReader, learn_labels, read_intervals, split_set, to_range
from reissue.coding import Coding
from reissue.errors import ReleaseError

ZIPS = ["12040", "12041", "12050", "13000"]


def coding(**labels: list[str]) -> Coding:
    schema = ri.Schema(
        identifier="id",
        quasi_identifiers={
            "age": ri.Numeric(),
            "zip": ri.Categorical(hierarchy=ri.Hierarchy.prefix([4, 3, 2], values=ZIPS)),
            "place": ri.Categorical(
                hierarchy=ri.Hierarchy.from_nested({"Europe": ["France", "Italy", "Spain"], "Asia": ["China", "Japan"]})
            ),
            "years": ri.Categorical(hierarchy=ri.Hierarchy.from_nested({"young": ["1", "2", "3"], "old": ["4", "5"]})),
        },
        sensitive="s",
    )
    return learn_labels(Coding.start(schema), {"age": ["17-90"], **labels})


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("20-29", (20, 29)),
        ("[20, 30[", (20, 29)),
        ("[20,30)", (20, 29)),
        ("(20,30]", (21, 30)),
        ("]20, 30]", (21, 30)),
        (">=65", (65, 90)),
        ("≥65", (65, 90)),
        ("65+", (65, 90)),
        ("<30", (17, 29)),
        ("under 30", (17, 29)),
        ("20~29", (20, 29)),
        ("20 – 29", (20, 29)),
        ("{20, 25, 29}", (20, 29)),
        ("2*", (20, 29)),
        ("*", (17, 90)),
        (" 33 ", (33, 33)),
    ],
)
def test_numbers(label: str, expected: tuple[int, int]) -> None:
    read, _ = read_intervals(coding(), "age", [label])
    assert tuple(read[0]) == expected


@pytest.mark.parametrize(
    ("column", "label", "leaves"),
    [
        ("place", "France", ["France"]),
        ("place", "Europe", ["France", "Italy", "Spain"]),
        ("place", "{France, Italy}", ["France", "Italy"]),
        ("place", "{'France','Italy'}", ["France", "Italy"]),
        ("place", "Italy~France", ["France", "Italy"]),
        ("place", "{Asia, China}", ["China", "Japan"]),
        ("zip", "1204*", ["12040", "12041"]),
        ("zip", "120**", ["12040", "12041", "12050"]),
        ("zip", "12040-12049", ["12040", "12041"]),
        ("years", "[2, 5[", ["2", "3", "4"]),
        ("years", ">=4", ["4", "5"]),
    ],
)
def test_hierarchies(column: str, label: str, leaves: list[str]) -> None:
    made = coding()
    hierarchy = made.hierarchies[column]
    (low, high), notes = read_intervals(made, column, [label])[0][0], read_intervals(made, column, [label])[1]
    assert list(hierarchy.leaves[low : high + 1]) == leaves
    assert not notes


def test_sets_with_gaps_are_read_as_the_smallest_group_and_that_is_said() -> None:
    made = coding()
    read, notes = read_intervals(made, "place", ["{France, Spain}", "{Spain, Japan}"])
    assert list(made.hierarchies["place"].leaves[read[0][0] : read[0][1] + 1]) == ["France", "Italy", "Spain"]
    assert tuple(read[1]) == (0, 4)
    assert "'{France, Spain}' as 'Europe'" in notes[0]


def test_sets_of_numbers_are_read_as_ranges_and_that_is_said() -> None:
    read, notes = read_intervals(coding(), "age", ["{20}", "30-39", " {25, 21, 30}", "{40, 41}"])
    assert read.tolist() == [[20, 20], [30, 39], [21, 30], [40, 41]]
    assert notes == ["age: sets such as ' {25, 21, 30}' were read as the range from least to greatest."]
    assert read_intervals(coding(), "age", ["{20}", "30-39"])[1] == [], "a set of one number says just that"


@pytest.mark.parametrize(
    ("column", "label"),
    [("place", "Atlantis"), ("place", "{France, Atlantis}"), ("zip", "99*"), ("years", "7-9"), ("age", "old"),
     ("age", "30-20"), ("age", "9e999999"), ("age", "NaN"), ("age", "{1, x}"), ("zip", "x" * 5000)],
)  # fmt: skip
def test_unknown_labels_are_named(column: str, label: str) -> None:
    def read() -> None:
        learn_labels(coding(), {column: [label]})
        read_intervals(coding(), column, [label])

    with pytest.raises(ReleaseError, match=column) as caught:
        read()
    assert len(str(caught.value)) < 700


def test_rules_know_their_groups_without_snapshots() -> None:
    """A hierarchy that grows by a rule learns one value for each group that a release names."""
    schema = ri.Schema(
        identifier="id",
        quasi_identifiers={
            "zip": ri.Categorical(hierarchy=ri.Hierarchy.prefix([3, 2])),
            "day": ri.Categorical(hierarchy=ri.Hierarchy.dates(("day", "month", "year"))),
        },
        sensitive="s",
    )
    made = learn_labels(Coding.start(schema), {"zip": ["120*", "12*", "13045"], "day": ["2026-01", "2026"]})
    (narrow, wide, other), _ = read_intervals(made, "zip", ["120*", "12*", "13045"])
    assert wide[0] <= narrow[0] <= narrow[1] <= wide[1] < other[0]
    (month, year), _ = read_intervals(made, "day", ["2026-01", "2026"])
    assert year[0] <= month[0] <= month[1] <= year[1]


def test_small_things() -> None:
    assert split_set("{a}") == ["a"]
    assert split_set("a") is None
    assert split_set("{}") is None
    assert to_range("20 .. 29") == "20 to 29"
    assert LabelReader(ri.Hierarchy.from_nested({"g": ["a b", "c"]}), {}).interval(" a b ") == (0, 0)


def test_suppressed_rows_are_no_class_and_empty_cells_are_stars() -> None:
    schema = ri.Schema(identifier="id", quasi_identifiers={"age": ri.Numeric(), "n": ri.Numeric()}, sensitive="s")
    table = pa.table(
        {"age": ["20-29", "*", "20-29", None, "*"], "n": ["1", "*", "1", "*", "3"], "s": ["a", "b", "c", "d", "e"]}
    )
    document = audit([table], schema).to_dict()
    (release,) = document["releases"]  # type: ignore[misc]
    assert (release["rows"], release["classes"], release["suppressed"]) == (3, 2, 2)  # type: ignore[index,call-overload]
    assert any("1 empty cells in 'age' were read as *" in note for note in document["notes"])  # type: ignore[attr-defined]
