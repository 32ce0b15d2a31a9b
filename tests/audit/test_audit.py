"""The audit as a whole: what it says, about whom, against what, and what it leaves out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest

import reissue as ri
from reissue.audit import Audit, audit
from reissue.cli.audit import exit_code
from reissue.errors import ReleaseError, SeriesError, SettingsError
from tests.audit.figures import FIRST, SECOND, SNAPSHOTS
from tests.support.hospital import FIGURE_1, FIGURE_3, frame, hospital_schema, population

EXAMPLE = Path(__file__).with_name("example.json")


@pytest.fixture(scope="module")
def figures() -> Audit:
    """Figures 2 and 4 of the incremental paper, as another tool would have written them."""
    return audit([FIRST, SECOND], hospital_schema(), SNAPSHOTS, k=2, c=0.5)


def test_alice_and_bob(figures: Audit) -> None:
    told = {(f.attack, f.value, f.subjects) for f in figures.breaches}
    assert ("difference", "Cancer", ("Alice",)) in told
    assert ("intersection", "Alzheimer", ("Bob",)) in told
    assert ("possible-worlds", "Cancer", ("Alice",)) in told
    assert ("possible-worlds", "Alzheimer", ("Bob",)) in told
    assert "people are at risk" in figures.verdict


def keys(value: object, depth: int = 0) -> object:
    """The shape of a document: keys all the way down, free-form parts left out."""
    if isinstance(value, dict):
        free = {"settings", "measures", "details", "thresholds", "files"}
        return {key: None if key in free else keys(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        shapes = [keys(item, depth + 1) for item in value if isinstance(item, dict)]
        return shapes[0] if shapes else None
    return None


def test_document_has_the_published_shape(figures: Audit) -> None:
    document, example = figures.to_dict(), json.loads(EXAMPLE.read_text())
    assert document["format"] == example["format"] == "reissue-audit/1"
    assert set(document) == set(example)
    for part in ("series", "verdict"):
        assert set(document[part]) == set(example[part])  # type: ignore[call-overload]
    assert keys(document["releases"]) == keys(example["releases"])
    attack = next(one for one in document["attacks"] if one["name"] == "difference")  # type: ignore[attr-defined]
    assert keys(attack) == keys(example["attacks"][0])
    for one in document["attacks"]:  # type: ignore[attr-defined]
        assert set(one) == set(example["attacks"][0])
        for finding in one["findings"]:
            assert set(finding) == set(example["attacks"][0]["findings"][0])
            for cls in finding["classes"]:
                assert all(0 <= i["lo"] < i["hi"] <= 1 for i in cls["intervals"])
    json.loads(figures.to_json())


def test_intervals_of_the_document_stand_where_they_lie_on_the_scale(figures: Audit) -> None:
    age = figures.observed.domains[0]
    width, seen = age.hi - age.lo + 1, set()
    for one in figures.to_dict()["attacks"]:  # type: ignore[attr-defined]
        for place in (i for finding in one["findings"] for cls in finding["classes"] for i in cls["intervals"]):
            if place["attribute"] == "age":
                first, *last = map(int, re.findall(r"\d+", place["label"]))
                expected = ((first - age.lo) / width, ((last or [first])[0] + 1 - age.lo) / width)
                assert (place["lo"], place["hi"]) == pytest.approx(expected)
                seen.add(expected)
    assert age.lo > 0
    assert len(seen) > 1


def test_release_timeline_and_arx_risks(figures: Audit) -> None:
    first, second = figures.to_dict()["releases"]  # type: ignore[misc]
    assert second["changes"] == {  # type: ignore[index]
        "new": 3, "gone": 0, "back": 0, "changed_quasi_identifiers": 0, "changed_value": 0,
    }  # fmt: skip
    risk = first["risk"]  # type: ignore[index]
    assert risk["prosecutor"] == {
        "highest": 0.5,
        "average": 0.5,
        "records_at_risk": 1.0,
        "records_above": {"ema": 1.0, "arx": 1.0},
    }
    # 21-23 male: Tom and Mike of the 7 people; 52-57: Bob, Eve and Hank. J / sum F = 2/5; 1/4 (2/2 + 2/3) = 5/12
    assert risk["journalist"]["average"] == pytest.approx(5 / 12)
    assert risk["marketer"]["success_rate"] == pytest.approx(5 / 12)
    assert risk["journalist"]["highest"] == 0.5


def test_numbers_instead_of_names() -> None:
    hidden = audit([FIRST, SECOND], hospital_schema(), SNAPSHOTS, names=False, k=2, c=0.5)
    text = hidden.to_json() + hidden.describe()
    assert "subject 2" in text
    assert not [name for name, *_ in FIGURE_3 if re.search(rf"\b{name}\b", text)]


def test_changed_values_skip_attacks_with_the_reason() -> None:
    changed = [("Tom", 21, "Male", "Flu"), *FIGURE_3[1:]]
    second = SECOND.set_column(2, "diagnosis", pa.array([row[3] for row in changed]))
    done = audit([FIRST, second], hospital_schema(), [frame(FIGURE_1), frame(changed)])
    assert "1 person has another value in a later release" in done.skipped["possible-worlds"]
    assert "intersection" not in done.outcomes
    assert done.to_dict()["releases"][1]["changes"]["changed_value"] == 1  # type: ignore[index]


def test_series_and_thresholds(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=3), seed=1) as series:
        with pytest.raises(SeriesError, match="Nothing has been published"):
            series.audit()
        series.publish(population(90).slice(0, 60))
        series.publish(population(90))
        done = series.audit()
        assert done.to_dict()["thresholds_from"] == "policy"
        assert done.thresholds["k"] == 3
        assert done.outcomes["difference"].breaches, "Static does not protect a series"
        assert "IDENT-" in done.to_json()
        assert "IDENT-" not in series.audit(names=False).to_json()
        weaker = series.audit(attacks=["difference"], k=1, c=1.0)
        assert weaker.to_dict()["thresholds_from"] == "given"
        assert not weaker.breaches
        from_files = audit(
            [release.path for release in series.releases],
            hospital_schema(),
            [population(90).slice(0, 60), population(90)],
            strategy=ri.Static(k=3),
        )
        assert from_files.outcomes["difference"].total == done.outcomes["difference"].total


def test_settings_are_checked() -> None:
    schema = hospital_schema()
    with pytest.raises(SettingsError, match="no attack 'nonsense'"):
        audit([FIRST], schema, attacks=["nonsense"])
    with pytest.raises(SettingsError, match="setting 'kk'"):
        audit([FIRST], schema, kk=3)
    with pytest.raises(SettingsError, match="releases given are 2, the snapshots 1"):
        audit([FIRST, SECOND], schema, SNAPSHOTS[:1])
    with pytest.raises(SettingsError, match="match is 'guess'"):
        audit([FIRST], schema, match="guess")
    with pytest.raises(SettingsError, match="received none"):
        audit([], schema)
    with pytest.raises(SettingsError, match="c is 7"):
        audit([FIRST, SECOND], schema, SNAPSHOTS, c=7)


def traced_schema() -> ri.Schema:
    known = hospital_schema()
    return ri.Schema(
        identifier="name",
        quasi_identifiers=known.quasi_identifiers,
        sensitive="diagnosis",
        insensitive=("ward", "note"),
    )


def test_insensitive_columns_that_link_rows_are_flagged() -> None:
    notes = [f"text {i}" for i in range(7)]
    first = FIRST.append_column("note", pa.array(notes[:4])).append_column("ward", pa.array(["A"] * 4))
    second = SECOND.append_column("note", pa.array(notes)).append_column("ward", pa.array(["A"] * 7))
    with_columns = [
        table.append_column("note", pa.array(notes[: len(table)])).append_column("ward", pa.array(["A"] * len(table)))
        for table in SNAPSHOTS
    ]
    done = audit([first, second], traced_schema(), with_columns)
    (linked,) = done.traceable
    assert (linked.column, linked.linked_rows, linked.share) == ("note", 4, 1.0)
    assert "undoes the generalization" in linked.sentence
    assert "Insensitive columns link rows" in done.verdict


def test_columns_that_link_only_together() -> None:
    first = FIRST.append_column("note", pa.array(["x", "x", "y", "y"])).append_column("ward", pa.array(list("ABAB")))
    done = audit([first, first], traced_schema())
    (linked,) = done.traceable
    assert (linked.column, linked.linked_rows) == ("ward + note", 4)


def test_a_column_that_names_the_rows_of_a_single_release_is_a_breach() -> None:
    rows = pa.concat_tables([FIRST] * 5)
    named = rows.append_column("note", pa.array([f"Ann {i}" for i in range(20)])).append_column(
        "ward", pa.array(["A"] * 20)
    )
    done = audit([named], traced_schema())
    (naming,) = done.naming
    assert (naming.column, naming.releases, naming.linked_rows) == ("note", (1, 1), 20)
    assert "a value of its own in 20 of the 20 rows of release 1" in naming.sentence
    assert "Insensitive columns name rows." in done.verdict
    assert (exit_code(done), exit_code(done, promise=True)) == (1, 0)
    few = rows.append_column("note", pa.array([f"Ann {i % 9}" for i in range(20)])).append_column("ward", named["ward"])
    assert audit([few], traced_schema()).naming == ()


def test_a_published_identifier_is_flagged() -> None:
    named = FIRST.append_column("name", pa.array(["Tom", "Mike", "Bob", "Eve"]))
    assert "itself" in audit([named], hospital_schema()).traceable[0].sentence
    assert "itself" in audit([named, named], hospital_schema()).traceable[0].sentence


def test_members_are_validated_by_order() -> None:
    wrong = frame([("Tom", 51, "Male", "Asthma"), *FIGURE_1[1:]])
    with pytest.raises(
        ReleaseError, match="row 1 says '21-23' in 'age', which holds '21-23', but row 1 of the snapshot has '51'"
    ):
        audit([FIRST], hospital_schema(), [wrong])
    wrong = frame([("Tom", 21, "Male", "Gout"), *FIGURE_1[1:]])
    with pytest.raises(ReleaseError, match="row 1 says 'Asthma' in 'diagnosis', but row 1 of the snapshot has 'Gout'"):
        audit([FIRST], hospital_schema(), [wrong])
    with pytest.raises(ReleaseError, match="4 rows and its snapshot 7"):
        audit([FIRST], hospital_schema(), [frame(FIGURE_3)])
    with pytest.raises(ReleaseError, match="fits any of its rows"):
        audit([FIRST], hospital_schema(), [frame([("X", 99, "Male", "Gout")])], match="content")


def test_content_counts_ambiguity_and_rows_of_nobody() -> None:
    release = pa.table({"age": ["20-40", "30-50", "30-50"], "gender": ["*"] * 3, "diagnosis": ["Flu", "Flu", "Gout"]})
    people = frame([("A", 35, "Male", "Flu"), ("B", 36, "Male", "Flu"), ("C", 90, "Male", "Flu")])
    done = audit([release], hospital_schema(), [people], match="content")
    (entry,) = done.to_dict()["releases"]  # type: ignore[misc]
    assert (entry["members"], entry["ambiguous"], entry["counterfeits"], entry["suppressed"]) == (2, 2, 1, 1)  # type: ignore[index,call-overload]
    text = " ".join(done.notes)
    assert "2 people fit rows of several classes" in text
    assert "1 rows fit nobody" in text
    assert "1 people of the snapshot fit no row" in text


def test_the_package_is_also_the_function() -> None:
    import reissue.audit as package

    assert package([FIRST], hospital_schema()).outcomes  # type: ignore[operator]
