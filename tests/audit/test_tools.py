"""What other tools write, in small tables of their forms: anjana, anonypy, ARX, pycanon's examples, sdcMicro, Stata."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import reissue as ri
from reissue.audit import Audit, audit
from reissue.audit.foreign.labels import read_intervals
from reissue.errors import ReleaseError, SchemaError
from tests.audit.test_labels import coding

AGES = [21, 24, 33, 35, 36, 52]
SNAPSHOT: dict[str, list] = {
    "name": list("abcdef"),
    "age": AGES,
    "city": ["Oslo", "Rome", "Oslo", "Rome", "Bern", "Bern"],
    "ill": ["flu", "cold", "flu", "flu", "cold", "cold"],
}


def schema(**changes: object) -> ri.Schema:
    given: dict[str, object] = {
        "identifier": "name",
        "quasi_identifiers": {"age": {"type": "int"}, "city": {"type": "categorical"}},
        "sensitive": "ill",
    }
    return ri.Schema(**{**given, **changes})


def look(release: dict[str, object], known: ri.Schema | None = None, *, snapshot: bool = True, **more: object) -> Audit:
    rows = len(next(iter(release.values())))
    table = pa.table({"ill": SNAPSHOT["ill"][:rows], **release})
    given = [pa.table({name: some[:rows] for name, some in SNAPSHOT.items()})] if snapshot else None
    return audit(releases=[table], schema=known or schema(), snapshots=given, **more)


def notes(done: Audit) -> str:
    return " ".join(done.notes)


def count_classes(done: Audit) -> int:
    return len(done.observed.releases[0].boxes)


RANGES = ["[20, 25)", "[20, 25)", "[30, 40)", "[30, 40)", "[30, 40)", "[50, 60)"]


def test_an_identifier_that_is_starred_throughout_identifies_nobody() -> None:
    """As anjana leaves it."""
    done = look({"name": ["*"] * 6, "age": RANGES, "city": ["*"] * 6})
    assert "says nothing (* throughout)" in notes(done)
    assert not any("name" in str(finding) for finding in done.findings)
    shown = look({"name": list("abcdef"), "age": RANGES, "city": ["*"] * 6})
    assert "says nothing" not in notes(shown)


@pytest.mark.parametrize("missing", ["NA", "<NA>", ".", ".a", "NaN", "NULL", None])
def test_missing_cells_of_r_pandas_sql_and_stata_are_suppressed_cells(missing: str | None) -> None:
    """As sdcMicro's local suppression leaves them."""
    done = look({"age": [*map(str, AGES[:5]), missing], "city": [missing, *SNAPSHOT["city"][1:]]})
    assert "1 empty cells in 'age'" in notes(done)
    assert "were read as *" in notes(done)


def test_three_of_the_texts_that_stand_for_empty_cells_are_named() -> None:
    cells = ["NA", "NULL", ".", "NaN", *map(str, AGES[4:])]
    assert "4 empty cells in 'age' (., NA, NULL among them) were read as *" in notes(
        look({"age": cells, "city": ["*"] * 6})
    )
    cells = [*map(str, AGES[:4]), "NULL", "."]
    assert "2 empty cells in 'age' (., NULL among them) were read as *" in notes(
        look({"age": cells, "city": ["*"] * 6})
    )


def test_a_missing_text_that_the_hierarchy_knows_is_that_value() -> None:
    known = schema(
        quasi_identifiers={"age": {"type": "int"}, "city": {"hierarchy": {"Africa": ["NA", "ZA"], "Europe": ["NO"]}}}
    )
    table = pa.table({"age": ["20-29"] * 2, "city": ["NA", "NA"], "ill": ["flu", "cold"]})
    snapshot = pa.table({"name": ["a", "b"], "age": [21, 24], "city": ["NA", "NA"], "ill": ["flu", "cold"]})
    assert "empty cells" not in notes(audit(releases=[table], schema=known, snapshots=[snapshot]))


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("[21-25]", (21, 25)),
        ("[21-25)", (21, 24)),
        ("30_39", (30, 39)),
        ("[21, 24, 33]", (21, 33)),
        ("21,24,33", (21, 33)),
        ("(20,25]", (21, 25)),
        ("['21', '24']", (21, 24)),
        ("[20 to 25[", (20, 24)),
    ],
)
def test_ranges_and_lists_of_numbers(label: str, expected: tuple[int, int]) -> None:
    assert tuple(read_intervals(coding(), "age", [label])[0][0]) == expected


@pytest.mark.parametrize("label", ["30_39_49", "_39", "3_0-39", "1_000"])
def test_an_underscore_is_no_digit(label: str) -> None:
    if label == "1_000":  # a range from 1 to 0
        label = "9_000_000"
    with pytest.raises(ReleaseError):
        read_intervals(coding(), "age", [label])


@pytest.mark.parametrize("label", ["France,Italy", "['France', 'Italy']", '["Italy","France"]', "France, Italy"])
def test_joined_values_and_printed_lists_are_sets(label: str) -> None:
    made = coding()
    low, high = read_intervals(made, "place", [label])[0][0]
    assert made.hierarchies["place"].leaves[low : high + 1] == ("France", "Italy")


def test_a_count_column_says_for_how_many_people_a_row_stands() -> None:
    """As anonypy writes it: classes with joined values, one row per sensitive value."""
    release = {
        "age": ["21-24", "21-24", "33-36", "33-36", "52"],
        "city": ["Oslo,Rome", "Oslo,Rome", "Oslo,Rome,Bern", "Oslo,Rome,Bern", "Bern"],
        "ill": ["cold", "flu", "cold", "flu", "cold"],
        "count": [1, 1, 1, 2, 1],
    }
    snapshot = pa.table(SNAPSHOT)
    done = audit(releases=[pa.table(release)], schema=schema(), snapshots=[snapshot])
    assert "'count' says for how many people a row stands; 6 rows" in notes(done)
    assert "matched by content" in notes(done)
    assert "fit no row" not in notes(done)


@pytest.mark.parametrize("counts", [[0, 1, 1, 2, 1], [-1, 1, 1, 2, 1], [1] * 5, [1, 1, None, 2, 1]])
def test_counts_that_can_be_of_no_rows_or_of_single_ones_are_left_alone(counts: list[int | None]) -> None:
    table = {"age": ["21", "22", "23", "33-36", "52"], "city": ["Oslo"] * 5, "ill": ["flu"] * 5, "count": counts}
    assert "stands" not in notes(audit(releases=[pa.table(table)], schema=schema()))


def test_a_count_column_of_another_meaning_is_left_alone() -> None:
    done = look({"age": ["20-59"] * 6, "city": ["*"] * 6, "count": [1, 2, 1, 2, 1, 2]})
    assert "stands" not in notes(done)


def test_a_class_column_of_names_divides_rows_with_equal_labels() -> None:
    done = look({"age": ["20-59"] * 6, "city": ["*"] * 6, "class": ["A", "A", "A", "B", "B", "B"]})
    assert count_classes(done) == 2
    other = look({"age": RANGES, "city": ["*"] * 6, "class": ["x", "y", "x", "y", "x", "y"]})
    assert "'class' is no class name" in notes(other)


def test_aliases_of_the_config_are_read(tmp_path: Path) -> None:
    config = """
[schema]
identifier = "name"
sensitive = "ill"
[schema.quasi_identifiers]
age = { type = "int" }
city = { type = "categorical" }
[labels]
unknown = "*"
[labels.age]
old = ">=50"
[policy]
strategy = "static"
"""
    (tmp_path / "c.toml").write_text(config)
    known = ri.Schema.from_toml(tmp_path / "c.toml")
    assert ri.Schema.from_stored(known.to_dict()) == known
    done = look({"age": ["unknown", *map(str, AGES[1:5]), "old"], "city": ["unknown"] * 6}, known)
    assert count_classes(done) == 5, "a row of nothing but aliases of * is suppressed"
    with pytest.raises(ReleaseError, match="old"):
        look({"age": [*map(str, AGES[:5]), "old"], "city": ["unknown"] * 6})
    (tmp_path / "c.toml").write_text(config.replace('unknown = "*"', "unknown = 7"))
    with pytest.raises(SchemaError, match=r"labels\.unknown: received 7"):
        ri.Schema.from_toml(tmp_path / "c.toml")


def test_averages_are_named_for_what_they_are() -> None:
    """As sdcMicro's microaggregation leaves them."""
    with pytest.raises(ReleaseError) as caught:
        look({"age": ["22.5", "22.5", "34.67", "34.67", "34.67", "52"], "city": SNAPSHOT["city"]})
    assert "average (microaggregation)" in str(caught.value)


def test_a_label_that_does_not_hold_the_value_is_told_with_what_it_holds() -> None:
    with pytest.raises(ReleaseError) as caught:
        look({"age": ["22-29", *["20-59"] * 5], "city": ["*"] * 6})
    told = str(caught.value)
    assert "row 1 says '22-29' in 'age', which holds '22-29', but row 1 of the snapshot has '21'" in told
    with pytest.raises(ReleaseError) as caught:
        look({"age": ["20-59"] * 6, "city": ["Bern", *["*"] * 5]})
    assert "which holds 'Bern', but row 1 of the snapshot has 'Oslo'" in str(caught.value)


def test_a_range_that_ends_before_it_starts_is_refused() -> None:
    """As an example of pycanon has it."""
    with pytest.raises(ReleaseError, match="38"):
        look({"age": ["[87, 38[", *["20-59"] * 5], "city": ["*"] * 6})


def test_declared_missing_codes_hold_in_releases_too() -> None:
    known = schema(spelling={"missing": ["-9"]}, missing="value")
    table = {**SNAPSHOT, "age": ["-9", "24", "33", "35", "36", "52"], "ill": ["-9", *SNAPSHOT["ill"][1:]]}
    release = pa.table({"age": ["-9", *["24-59"] * 5], "city": ["*"] * 6, "ill": table["ill"]})
    done = audit(releases=[release], schema=known, snapshots=[pa.table(table)])
    assert count_classes(done) == 2


def test_releases_that_withhold_every_row_give_nothing_away() -> None:
    blank = pa.table({"age": ["*"] * 6, "city": ["*"] * 6, "ill": SNAPSHOT["ill"]})
    done = audit([blank, blank], schema(), [pa.table(SNAPSHOT)] * 2)
    assert done.outcomes
    assert not done.breaches
