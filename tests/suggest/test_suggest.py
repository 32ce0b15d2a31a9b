"""A proposal says what each column may be and why, and can be used as it is."""

from __future__ import annotations

import datetime
import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import reissue as ri
from reissue import clinic
from reissue.engine.profile import profile
from reissue.errors import SchemaError, SnapshotError
from reissue.hierarchy import Hierarchy
from reissue.schema import read_config
from reissue.schema.proposal import Proposal
from reissue.suggest.coding import find_bins, group_by_frequency, group_in_order
from tests.suggest.tables import ADULT, adult, klinik, oddities, stays

BORN = {"type": "date", "levels": ["month", "year", "decade"], "labels": "ranges"}


def roles(proposal: Proposal) -> dict[str, str]:
    return {column.name: column.role for column in proposal.columns}


def column(proposal: Proposal, name: str):
    return next(one for one in proposal.columns if one.name == name)


def publish_as_it_is(proposal: Proposal, tables: list[pa.Table], folder: Path) -> list[ri.Release]:
    """By the files of the proposal, as a steward would who edits nothing."""
    proposal.write(folder / "s.toml")
    assert read_config(folder / "s.toml").schema == proposal.schema
    with ri.Series.from_config(folder / "s", folder / "s.toml", seed=1) as series:
        return [series.publish(table) for table in tables]


def test_a_table_whose_columns_are_not_named_in_english_publishes_as_proposed(tmp_path: Path) -> None:
    table = klinik(600)
    proposal = ri.Schema.suggest(table)
    assert roles(proposal) == {
        "PatientenNr": "identifier",
        "Nachname": "left out",
        "Geburtsdatum": "quasi-identifier",
        "Alter": "left out",
        "PLZ": "quasi-identifier",
        "Geschlecht": "quasi-identifier",
        "Diagnose": "sensitive",
        "Kosten": "left out",
    }
    assert column(proposal, "Geburtsdatum").coding == BORN, "months and years of birth alone would mostly show *"
    assert proposal.policy == {"strategy": "standing", "c": 0.55}
    (release,) = publish_as_it_is(proposal, [table], tmp_path)
    assert release.to_arrow().num_rows == 600
    assert "*" not in release.to_arrow()["Geburtsdatum"].to_pylist()


def test_a_name_counts_for_more_than_room_but_not_where_nearly_all_are_alike() -> None:
    table = klinik(600)
    by_values = table.set_column(6, "Diagnose", pa.array(["keine"] * 560 + ["Grippe", "Asthma", "HIV", "Krebs"] * 10))
    assert roles(ri.Schema.suggest(table))["Diagnose"] == "sensitive"
    assert roles(ri.Schema.suggest(by_values))["PLZ"] == "sensitive", "there is nothing to promise"


@pytest.mark.skipif(not ADULT.exists(), reason="needs ../shared/data")
def test_the_census_table_publishes_as_proposed(tmp_path: Path) -> None:
    table = adult(2500)
    proposal = ri.Schema.suggest(table)
    found = roles(proposal)
    assert found["person"] == "identifier"
    assert found["occupation"] == "sensitive", "income has two values, which no promise of a third fits"
    assert [name for name, role in found.items() if role == "quasi-identifier"] == (
        ["age", "workclass", "education", "marital-status", "relationship", "race", "sex", "native-country"]
    )
    assert "it says the same as education" in column(proposal, "education-num").reason
    assert "nearly every row has its own" in column(proposal, "fnlwgt").reason
    assert proposal.schema.spelling.missing_of("workclass") == ("?",)
    assert publish_as_it_is(proposal, [table], tmp_path)[0].counts["snapshot"] == 2500


def test_hospital_stays_publish_as_proposed(tmp_path: Path) -> None:
    table = stays(1500)
    proposal = ri.Schema.suggest(table)
    found = roles(proposal)
    assert found["encounter_id"] == "identifier"
    assert found["patient_nbr"] == "left out"
    assert found["diag_1"] == "sensitive"
    assert {"race", "gender", "age", "payer_code"} <= {n for n, role in found.items() if role == "quasi-identifier"}
    assert column(proposal, "age").groups[0] == (
        "[0-10)",
        "[0-10) or [10-20)",
        "[0-10) to [30-40)",
        "[0-10) to [70-80)",
        "*",
    )
    assert "all its values are the same" in column(proposal, "examide").reason
    assert "nobody may learn it" in column(proposal, "readmitted").reason
    assert publish_as_it_is(proposal, [table], tmp_path)[0].counts["suppressed"] == 0


def test_the_clinic_publishes_as_proposed_from_two_months(tmp_path: Path) -> None:
    months = list(clinic.clinic_months(months=3, patients=800))
    proposal = ri.Schema.suggest(*months[:2])
    found = roles(proposal)
    assert (found["patient"], found["episode"]) == ("identifier", "left out"), "the patient is who comes again"
    assert (found["exam"], found["age"]) == ("sensitive", "left out")
    assert proposal.schema.quasi_identifiers["zip"] == ri.Categorical(Hierarchy.prefix([4, 3, 2, 1]))
    assert len(publish_as_it_is(proposal, months, tmp_path)) == 3


def test_spellings_names_notes_and_codes_are_recognized(tmp_path: Path) -> None:
    table = oddities()
    proposal = ri.Schema.suggest(table)
    found = roles(proposal)
    assert {name for name, role in found.items() if role == "left out"} == {"Last Name", "remark", "site"}
    assert proposal.spelling == {"decimal": ",", "dates": "dd/mm/yyyy"}
    assert proposal.schema.spelling.missing == {"children": ("99",)}
    assert column(proposal, "birthDate").coding == BORN
    assert column(proposal, "plz").coding == {"prefix": [4, 3, 2, 1]}
    assert found["income"] == "sensitive"
    assert len(column(proposal, "income").bins) == 7
    publish_as_it_is(proposal, [table], tmp_path)


def test_a_value_that_most_people_have_is_told_and_loosens_c() -> None:
    table = pa.table(
        {"id": [f"p{i}" for i in range(200)], "age": list(range(20, 60)) * 5, "hiv": ["no"] * 170 + ["yes"] * 30}
    )
    proposal = ri.Schema.suggest(table)
    assert proposal.policy == {"strategy": "standing", "l": 2, "c": 0.95}
    assert any("85% of people have the same value" in note for note in proposal.notes)


def test_re_identification_is_measured() -> None:
    table = pa.table(
        {"id": ["a", "b", "c", "d"], "sex": ["f", "f", "m", "m"], "zip": ["1", "2", "2", "2"], "ill": list("xyzz")}
    )
    shown = profile([table], ())
    assert shown.count_alone(["sex"]) == 0
    assert shown.count_alone(["zip"]) == 1
    assert shown.count_alone(["sex", "zip"]) == 2
    assert shown.count_alone_in_pairs(["sex", "zip"]) == {("sex", "zip"): 2}
    wide = profile([pa.table({f"c{i}": np.arange(1000) % (900 + i) for i in range(9)})], ())
    assert wide.count_alone([f"c{i}" for i in range(9)]) == 1000, "also where packed numbers have no room"


def test_what_is_given_stays_and_the_rest_follows() -> None:
    (month,) = clinic.clinic_months(months=1, patients=300)
    proposal = ri.Schema.suggest(month, identifier="episode", sensitive="ward", quasi_identifiers=["age", "sex"])
    assert proposal.schema.identifier == "episode"
    assert proposal.schema.sensitive == ("ward",)
    assert list(proposal.schema.quasi_identifiers) == ["sex", "age"]


def test_the_config_in_one_piece_says_the_same_as_its_files(tmp_path: Path) -> None:
    proposal = ri.Schema.suggest(stays(300))
    (tmp_path / "one.toml").write_text(proposal.to_toml())
    one, other = (
        schema.quasi_identifiers["age"] for schema in (ri.Schema.from_toml(tmp_path / "one.toml"), proposal.schema)
    )
    assert isinstance(one, ri.Categorical)
    assert isinstance(other, ri.Categorical)
    assert one.hierarchy.all_labels == other.hierarchy.all_labels
    assert proposal.to_dict()["alone"] == proposal.alone


def test_values_that_look_like_toml_stay_comments() -> None:
    name = 'strange\n"] [policy]'
    table = pa.table(
        {"id": [f"p{i}" for i in range(60)], name: [f"v;{i % 7}\n" for i in range(60)], "exam": list("abcdef") * 10}
    )
    parsed = tomllib.loads(ri.Schema.suggest(table).to_toml())
    assert list(parsed) == ["schema", "policy"]
    assert list(parsed["schema"]["quasi_identifiers"]) == [name]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"id": ["p1"] * 60}, "column 'id' cannot be the identifier: 59 rows repeat a value"),
        ({"id": None}, "no column tells people apart"),
        ({"id": None, "patient": [i + 0.5 for i in range(60)]}, "'patient' cannot be the identifier: it holds neither"),
        ({"id": ["p1", None] * 30}, "'id' cannot be the identifier: 29 rows repeat a value and 30 are empty"),
        ({"exam": [f"e{i}" for i in range(60)], "age": None, "sex": None}, "fewer than three columns"),
    ],
)
def test_tables_that_no_schema_fits_are_refused_with_a_remedy(changes: dict, told: str) -> None:
    columns = {
        "id": [f"p{i}" for i in range(60)],
        "age": [20, 30] * 30,
        "sex": ["f", "m"] * 30,
        "exam": list("abcdef") * 10,
    }
    table = pa.table({name: some for name, some in {**columns, **changes}.items() if some is not None})
    with pytest.raises((SchemaError, SnapshotError)) as caught:
        ri.Schema.suggest(table)
    assert told in str(caught.value)


def test_groups_are_neighbours_of_about_equal_weight() -> None:
    values = [f"v{i:02d}" for i in range(30)]
    rows = group_by_frequency(values, np.array([1000, *[10] * 29]))
    assert rows[0][1] == "v00", "who has most of the rows stands alone"
    assert len({row[1] for row in rows}) >= 8, "and the others are still told apart"
    assert Hierarchy.from_rows(rows).leaves == tuple(values)
    assert group_by_frequency(["a", "b"], np.array([1, 1])) == ()


@pytest.mark.parametrize(("values", "levels"), [(5, [2]), (12, [4]), (24, [8]), (30, [10, 4]), (90, [16, 4])])
def test_a_group_has_three_values_or_more_and_there_are_few(values: int, levels: list[int]) -> None:
    rows = group_by_frequency([f"v{i:02d}" for i in range(values)], np.full(values, 7))
    assert [len({row[level] for row in rows}) for level in range(1, len(rows[0]) - 1)] == levels


def test_intervals_are_grouped_in_their_order() -> None:
    rows = group_in_order(["<18", "75+", "18-39", "40 to 74"])
    assert [row[0] for row in rows] == ["<18", "18-39", "40 to 74", "75+"]
    assert [row[1] for row in rows] == ["<18 or 18-39"] * 2 + ["40 to 74 or 75+"] * 2
    assert all(len(row) == 3 for row in rows)
    decades = [f"{low}-{low + 9}" for low in range(0, 90, 10)]
    levels = list(zip(*group_in_order(decades[::-1]), strict=True))
    assert [len(set(level)) for level in levels] == [9, 5, 3, 2, 1], "two, four, eight, all"
    assert levels[2][::4] == ("0-9 to 30-39", "40-49 to 70-79", "80-89")
    assert group_in_order(["18-39", "old", "40-74"]) == ()


def test_bins_hold_about_equally_many_rows() -> None:
    numbers = np.arange(1000, dtype=float)
    edges = find_bins(list(numbers), np.ones(1000, dtype=np.int64))
    assert edges == [120, 250, 370, 500, 620, 750, 870], "eighths, with two digits that count"


def make(**columns: list) -> pa.Table:
    return pa.table({"id": [f"p{i}" for i in range(60)], "exam": list("abcdef") * 10, **columns})


def test_moments_with_a_time_of_day_are_left_out() -> None:
    hours = [datetime.datetime(2026, 1, 1, i % 24) for i in range(60)]
    days = [datetime.datetime(2026, 1, 1 + i % 9) for i in range(60)]
    found = roles(ri.Schema.suggest(make(came=hours, born=days)))
    assert (found["came"], found["born"]) == ("left out", "quasi-identifier")


def test_blank_text_and_masked_cells_are_missing() -> None:
    proposal = ri.Schema.suggest(make(sex=["f", " ", "m"] * 20, race=["x", "*", "y", "z"] * 15))
    assert proposal.schema.missing == "value"
    assert proposal.schema.spelling.missing == {"race": ("*",)}


def test_what_most_people_lack_is_a_value_that_most_people_have() -> None:
    table = make(sex=["f", "m"] * 30).set_column(1, "exam", [["a", "b", "c", None, None, None] * 10])
    assert ri.Schema.suggest(table).policy["c"] == 0.6


def test_columns_of_nearly_one_name_get_files_of_their_own(tmp_path: Path) -> None:
    table = make(**{"home town": [f"t{i % 7}" for i in range(60)], "home_town": [f"u{i % 8}" for i in range(60)]})
    proposal = ri.Schema.suggest(table)
    assert len(set(proposal.file_names.values())) == 2
    proposal.write(tmp_path / "s.toml")
    assert ri.Schema.from_toml(tmp_path / "s.toml") == proposal.schema


def test_rows_that_are_not_people_and_ages_that_change_are_told() -> None:
    rows = 120
    table = pa.table(
        {
            "visit_id": [f"V{i}" for i in range(rows)],
            "patient_nbr": [f"P{i % 50}" for i in range(rows)],
            "age": [20 + i % 40 for i in range(rows)],
            "diagnosis": [f"d{i % 5}" for i in range(rows)],
        }
    )
    proposal = ri.Schema.suggest(table)
    assert roles(proposal)["visit_id"] == "identifier"
    told = column(proposal, "visit_id").reason
    assert "whoever has several rows by 'patient_nbr' is protected row by row, not as one" in told
    assert column(proposal, "age").reason.endswith("It changes every year: the year of birth would not.")
    people = ri.Schema.suggest(table.slice(0, 50).append_column("birth_year", pa.array(range(1950, 2000))))
    assert "protected row by row" not in column(people, "patient_nbr").reason
    assert "year of birth would" not in column(people, "age").reason
