"""Forgetting, withdrawing and packing refuse what cannot be right, with a sentence that says what to do."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

import reissue as ri
from reissue.errors import LedgerDamaged, SeriesError, SettingsError, SnapshotError
from reissue.series.creating import summarize_attribute
from tests.audit.figures import FIRST, SECOND, SNAPSHOTS
from tests.support.hospital import FIGURE_1, frame, hospital_schema


@pytest.fixture
def series(tmp_path: Path) -> ri.Series:
    made = ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2), seed=1)
    made.publish(frame(FIGURE_1))
    return made


def test_identifiers_that_are_not_known_are_named_and_the_nearest_is_told(series: ri.Series) -> None:
    with pytest.raises(SeriesError) as one:
        series.forget("TOM")
    assert str(one.value) == (
        "'TOM' is not known to this series. Identifiers are matched exactly; did you mean 'Tom'? Nobody was forgotten."
    )
    with pytest.raises(SeriesError, match=r"'Xerxes' is not known .* exactly; was it erased before\? Nobody"):
        series.forget("Xerxes")
    with pytest.raises(SeriesError) as three:
        series.forget("Tom", "Xerxes", "Yan", "Zoe")
    assert str(three.value) == (
        "3 identifiers are not known to this series: 'Xerxes', 'Yan', 'Zoe'. They are matched exactly; was it erased "
        "before? Nobody was forgotten: correct them or take them out."
    )
    with pytest.raises(SeriesError, match=r"^4 identifiers .* series: 'Xerxes', 'Yan', 'Zoe' and 1 more\. They"):
        series.forget("Xerxes", "Yan", "Zoe", "Anna")
    assert series.forget("Tom").before == 0, "nobody was forgotten before"


def test_a_list_with_an_empty_cell_forgets_nobody(series: ri.Series, tmp_path: Path) -> None:
    file = tmp_path / "ids.csv"
    file.write_text("name,age\nTom,1\n,2\nMike,3\n")
    with pytest.raises(SnapshotError, match=r"ids\.csv: column 'name' has rows without an identifier; nobody was"):
        series.forget(file=file)
    file.write_text("name,age\nTom,1\nMike,3\n")
    assert series.forget(file=file).people == 2


@pytest.mark.parametrize("given", [[["Tom"]], [{"a": 1}], [object()], [1.5], True])
def test_what_is_no_identifier_is_shown(given: object, series: ri.Series) -> None:
    with pytest.raises(SettingsError, match=r"The identifier is .*; give texts or whole numbers, .* Nobody was"):
        series.forget(given)  # type: ignore[arg-type]


def test_what_other_tools_published_cannot_be_withdrawn(tmp_path: Path) -> None:
    schema = hospital_schema()
    adopted = ri.adopt(tmp_path / "s", [FIRST, SECOND], SNAPSHOTS, schema=schema, strategy=ri.Static(k=2))
    with pytest.raises(SeriesError, match=r"^Release .* was published with another tool and adopted: it cannot be"):
        adopted.series.withdraw("mistaken", not_handed_out=True)
    assert len(adopted.series.releases) == 2


def test_only_what_was_published_as_it_was_is_handed_out(series: ri.Series, tmp_path: Path) -> None:
    empty = ri.Series.create(tmp_path / "e", hospital_schema(), ri.Static(k=2))
    with pytest.raises(SeriesError, match=r"^Nothing has been published yet, so there is nothing to hand out\."):
        empty.pack(None, tmp_path / "e.zip")
    series.pack(None, tmp_path / "r.zip")
    with zipfile.ZipFile(tmp_path / "r.zip") as packed:
        assert sorted(packed.namelist()) == sorted(file.name for file in series.releases[0].path.iterdir())
    file = next(series.releases[0].path.glob("release.*"))
    file.write_bytes(file.read_bytes() + b" ")
    refused = r"is missing, or not what was published: it must not be handed out"
    with pytest.raises(LedgerDamaged, match=refused):
        series.pack(None, tmp_path / "other.zip")
    file.unlink()
    with pytest.raises(LedgerDamaged, match=refused):
        series.pack(None, tmp_path / "other.zip")
    assert not (tmp_path / "other.zip").exists()


def test_tables_of_a_catalogue_are_for_spark(series: ri.Series) -> None:
    with pytest.raises(SettingsError, match=r"^Only Spark writes tables: publish on the engine 'spark', or leave"):
        series.publish(frame(FIGURE_1), table="catalogue.releases")
    assert len(series.releases) == 1


def test_a_series_and_a_release_show_themselves_in_a_line(series: ri.Series, tmp_path: Path) -> None:
    release = series.releases[0]
    assert repr(series) == f"<Series {tmp_path / 's'}; strategy: static, releases: 1, last: 1>"
    assert repr(release) == f"<Release 1; strategy: static, rows: 4, classes: 2, folder: {release.path}>"
    empty = ri.Series.create(tmp_path / "<e>", hospital_schema(), ri.Static(k=2))
    assert repr(empty).endswith("<e>; strategy: static, releases: 0, last: none>")
    assert "&lt;e&gt;</caption>" in empty._repr_html_()
    assert "<td style='text-align:left'>none</td></tr></tbody></table>" in empty._repr_html_()


def test_a_summary_of_attributes_leaves_out_what_the_ledger_keeps() -> None:
    """As reissue.toml of a series shows them: everything but the values, which may be many."""
    prefix = ri.Categorical(ri.Hierarchy.prefix([2], values=["ab1", "ab2"]))
    assert summarize_attribute(prefix) == {"prefix": {"lengths": [2]}}
    dates = summarize_attribute(ri.Categorical(ri.Hierarchy.dates(values=["2026-01-02"]), labels="ranges"))
    assert dates == {"type": "date", "levels": ["day", "month", "year"], "labels": "ranges"}
    nested = ri.Categorical({"all": {"g": ["a", "b"], "h": ["c"]}})
    assert summarize_attribute(nested) == {"hierarchy": "3 values, kept in the ledger"}
    assert summarize_attribute(ri.Numeric(type="float", decimals=2, weight=3.0)) == {
        "type": "float", "decimals": 2, "weight": 3.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("k", "sentence"),
    [
        (2, "The release keeps to your limits: the one attack that was run does not succeed."),
        (3, "The release reveals more than your limits allow: the one attack that was run succeeds (correspondence)"),
    ],
)
def test_an_audit_by_one_attack_speaks_of_one(series: ri.Series, k: int, sentence: str) -> None:
    audit = series.audit(attacks=["correspondence"], k=k)
    assert audit.to_dict()["verdict"]["sentence"].startswith(sentence)  # type: ignore[index]
