"""Counts, rates and weights from release folders alone: what is exact is exact, what is wrong is named."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import reissue as ri
from reissue.cli import main
from reissue.errors import InputError, ReleaseError
from reissue.estimating.answering import make_spread
from reissue.estimating.intervals import WeighedQuery
from reissue.estimating.reading import read_release

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "experiments"))
experiment = pytest.importorskip("estimate_adult")
WARDS = {"surgery": ["bones", "heart"], "medicine": ["lungs", "skin", "nerves"]}
SCHEMA = ri.Schema(
    identifier="patient",
    quasi_identifiers={"age": ri.Numeric(), "sex": ri.Categorical(), "ward": ri.Categorical(WARDS)},
    sensitive=["diagnosis"],
)
FORMS = {
    "generalized": ri.MInvariance(m=4),
    "anatomized": ri.EEquivalence(m=3, e=2),
    "anatomized, small classes": ri.MInvariance(m=4, publishing="anatomized"),
    "told": ri.Standing(form="told", totals=0.5),
    "flat": ri.Standing(),
}


def patients(rows: int, seed: int = 0) -> pl.DataFrame:
    """People whose diagnosis depends on age, sex and ward; wards are as uneven as real ones."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    sex = np.where(rng.random(rows) < 0.55, "F", "M")
    wards = ["bones", "heart", "lungs", "skin", "nerves"]
    ward = rng.choice(wards, rows, p=[0.1, 0.4, 0.3, 0.15, 0.05])
    score = age / 30 + 1.5 * (sex == "M") + np.array([wards.index(one) for one in ward]) / 2
    names = np.array(["Flu", "Asthma", "Gout", "Angina", "Cancer", "Migraine"])
    noisy = np.clip(score + rng.normal(0, 1.5, rows), 0, 5.99)
    return pl.DataFrame(
        {"patient": np.arange(rows), "age": age, "sex": sex, "ward": ward, "diagnosis": names[noisy.astype(int)]}
    )


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return patients(1_500)


@pytest.fixture(scope="module")
def releases(people: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> dict[str, ri.Release]:
    folder = tmp_path_factory.mktemp("forms")
    made = {}
    for form, strategy in FORMS.items():
        with ri.Series.create(folder / form, SCHEMA, strategy, seed=1, formats=["csv"]) as series:
            made[form] = series.publish(people)
    return made


@pytest.mark.parametrize("form", FORMS)
def test_intervals_hold_the_truth_as_often_as_they_say(
    form: str, people: pl.DataFrame, releases: dict[str, ri.Release]
) -> None:
    found = experiment.cover(read_release(releases[form], SCHEMA), people, 200)
    assert found["counts"] >= 0.92
    assert found["rates"] >= 0.92
    assert found["median width"] < 2.5, "an interval that says nothing always holds"


@pytest.mark.parametrize("form", FORMS)
def test_intervals_that_allow_for_chance_alone_do_not_hold(
    form: str,
    people: pl.DataFrame,
    releases: dict[str, ri.Release],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """So what is allowed for beside chance is needed, and the test above can fail.

    Of told and flat releases a reader learns most of what small classes hide; so these are of large classes.
    """
    release = releases[form]
    if form in ("told", "flat"):
        strategy = ri.Standing(form="told" if form == "told" else "flat", c=0.25)
        with ri.Series.create(tmp_path / "s", SCHEMA, strategy, seed=1, formats=["csv"]) as series:
            release = series.publish(people)
    for name in ("LEAN", "BETWEEN"):
        monkeypatch.setattr(f"reissue.estimating.intervals.{name}", 0.0)
    monkeypatch.setattr("reissue.estimating.intervals.ASSOCIATION", {"learned": (0.0, 0.0), "mixed": (0.0, 0.0)})
    monkeypatch.setattr("reissue.estimating.intervals.TREND", {"numbers": 0.0, "groups": 0.0})
    assert experiment.cover(read_release(release, SCHEMA), people, 600)["counts"] < 0.9


def test_that_people_lean_is_allowed_for_where_only_people_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no value is asked for, only where people are in their boxes is unknown; chance explains too little."""
    rng = np.random.default_rng(3)
    heavy, rows = rng.random(3_000) < 0.5, 3_000
    table = pl.DataFrame(
        {
            "patient": np.arange(rows),
            "weight": np.round(np.where(heavy, rng.normal(92, 5, rows), rng.normal(61, 9, rows)), 1),
            "height": np.where(heavy, rng.normal(181, 6, rows), rng.normal(165, 6, rows)).astype(int),
            "age": rng.integers(18, 90, rows),
            "diagnosis": rng.choice(["Flu", "Gout", "Angina"], rows),
        }
    )
    columns = {"weight": ri.Numeric("float", 1), "height": ri.Numeric(), "age": ri.Numeric()}
    schema = ri.Schema(identifier="patient", quasi_identifiers=columns, sensitive=["diagnosis"])
    with ri.Series.create(tmp_path / "s", schema, ri.Static(k=10), seed=1) as series:
        read = read_release(series.publish(table), schema)
    codes, _ = experiment.encode(table, read)
    spreads = {a: make_spread(read, a) for a in range(3)}
    asked = [where for where, _ in experiment.draw_queries(read, 300, np.random.default_rng(1))]

    def find_held() -> float:
        held = []
        for where in asked:
            inside = np.all(
                [(codes[:, a] >= low) & (codes[:, a] <= high) for a, [(low, high)] in where.items()], axis=0
            )
            found = WeighedQuery(read, spreads, where, None).answer()[1]
            held += [found.low - 1e-9 <= inside.sum() <= found.high + 1e-9] if inside.any() else []
        return float(np.mean(held))

    allowed = find_held()
    assert allowed > 0.92
    for name in ("LEAN", "BETWEEN"):
        monkeypatch.setattr(f"reissue.estimating.intervals.{name}", 0.0)
    assert find_held() < allowed - 0.1


@pytest.mark.parametrize("form", FORMS)
def test_what_a_release_tells_exactly_is_told_exactly(
    form: str, people: pl.DataFrame, releases: dict[str, ri.Release]
) -> None:
    """How many rows there are, and in a first release without counterfeits how many have each value."""
    everybody = ri.estimate(releases[form], {})
    assert everybody.count == pytest.approx(releases[form].counts["published"])
    assert everybody.rate is None
    flu = ri.estimate(releases[form], "diagnosis=Flu")
    assert flu.count == pytest.approx(
        (people["diagnosis"] == "Flu").sum(), abs=1 + releases[form].counts["counterfeits"]
    )
    assert flu.rate == pytest.approx(flu.count / everybody.count)
    assert flu.low <= flu.count <= flu.high


def test_text_and_mapping_ask_the_same(releases: dict[str, ri.Release]) -> None:
    text = ri.estimate(releases["flat"], "age=30..39 sex=F diagnosis=Flu,Gout")
    mapping = ri.estimate(releases["flat"].path, {"age": (30, 39), "sex": "F", "diagnosis": ["Flu", "Gout"]})
    assert text.count == mapping.count
    assert text.others == "age=30..39 sex=F"
    assert ri.estimate(releases["flat"], "age=..39").count == ri.estimate(releases["flat"], "age=18..39").count
    several = ri.estimate(releases["flat"], "age=..29,40..49,75 diagnosis=Flu")
    assert several.others == "age=..29,40..49,75"
    assert several == ri.estimate(releases["flat"], {"age": [(None, 29), (40, 49), 75], "diagnosis": "Flu"})
    parts = [ri.estimate(releases["flat"], f"age={ages} diagnosis=Flu").count for ages in ("..29", "40..49", "75")]
    assert several.count == pytest.approx(sum(parts))


@pytest.mark.parametrize("form", FORMS)
def test_where_the_asked_values_may_be_more_the_others_may_be_fewer(form: str, releases: dict[str, ri.Release]) -> None:
    """Whichever of both is asked for: an association that makes one the commoner makes the other the rarer."""
    rows = read_release(releases[form], SCHEMA)
    where = {0: [(30, 49)]}
    spreads = {0: make_spread(rows, 0)}
    some, rest = (WeighedQuery(rows, spreads, where, values) for values in ([0, 2], [1, 3, 4, 5]))
    (few, many), (fewer, more) = some._associated()[0], rest._associated()[0]
    assert few[0] < some.count < many[0]
    if form != "generalized":  # there people lean, row by row
        assert few[0] + more[0] == pytest.approx(some.count + rest.count)
        assert many[0] + fewer[0] == pytest.approx(some.count + rest.count)


def test_parts_add_up_to_the_whole(releases: dict[str, ri.Release]) -> None:
    for form, release in releases.items():
        halves = [ri.estimate(release, f"age={ages} diagnosis=Angina").count for ages in ("..49", "50..")]
        assert sum(halves) == pytest.approx(ri.estimate(release, "diagnosis=Angina").count), form
        wards = [ri.estimate(release, f"ward={name}", config=SCHEMA).count for name in ("surgery", "medicine")]
        assert sum(wards) == pytest.approx(ri.estimate(release, {}).count), form


def test_missing_numbers_are_a_value_of_their_own(tmp_path: Path) -> None:
    """Just below the others: in no range of numbers, and asked for by their label."""
    ages = [None] * 12 + [20] * 12 + [21] * 12 + [40] * 24
    columns = {"patient": range(60), "age": ages, "diagnosis": ["Flu", "Gout", "Angina"] * 20}
    table = pl.DataFrame(columns, schema_overrides={"age": pl.Int64})
    schema = ri.Schema(
        identifier="patient", quasi_identifiers={"age": ri.Numeric()}, sensitive=["diagnosis"], missing="value"
    )
    with ri.Series.create(tmp_path / "s", schema, ri.Static(k=4, c=0.5), seed=1, formats=["csv"]) as series:
        release = series.publish(table)
        shown = set(release.to_polars()["age"].to_list())
        assert shown == {"(missing)", "20", "21", "40"}
        wide = series.publish(table.with_columns(pl.col("patient") + 100), strategy=ri.Static(k=60, c=0.5))
    counts = {"(missing)": 12, "20": 12, "..20": 12, "..21": 24, "20..40": 48, "(missing),21": 24, "(missing)..20": 24}
    for asked, count in counts.items():
        assert ri.estimate(release, f"age={asked}").count == pytest.approx(count), asked
        assert ri.estimate(release, f"age={asked} diagnosis=Flu").count == pytest.approx(count / 3), asked
    assert set(wide.to_polars()["age"].to_list()) == {"(missing) or <=40"}
    for asked, count in {"(missing)": 30, "40": 30, "(missing)..40": 60}.items():  # of which no reader knows more
        assert ri.estimate(wide, f"age={asked}").count == pytest.approx(count), asked


def test_nobody_has_a_missing_number_where_there_are_none(releases: dict[str, ri.Release]) -> None:
    assert ri.estimate(releases["flat"], "age=(missing)").count == 0


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("ages=30", ["'ages'", "Did you mean 'age'?", "diagnosis"]),
        ("patient=3", ["'patient'", "Columns: age, sex, ward, diagnosis"]),
        ("age=old", ["age: 'old'", "25, 20-29"]),
        ("age=39..30", ["age=39..30", "Exchange its ends"]),
        ("age", ["'age'", "column=value", "age=30..39"]),
        ("age=1 age=2", ["'age' twice", "age=a,b"]),
        ("sex=X", ["sex=X", "F", "M"]),
        ("diagnosis=flu", ["diagnosis=flu", "Did you mean 'Flu'?"]),
        ("diagnosis=Flu..Gout", ["Flu..Gout", "List them"]),
        ("ward=heart", ["'ward'", "groups", "--config"]),
        ("sex='F", ["not closed"]),
        ("age=30..39,old", ["age: 'old'", "25, 20-29"]),
        ("age=20..29,50..40", ["age=50..40", "Exchange its ends"]),
        ("diagnosis=Flu,Gout..Angina", ["Gout..Angina", "List them"]),
    ],
)
def test_a_wrong_query_is_answered_with_what_is_wrong_and_what_to_do(
    query: str, words: list[str], releases: dict[str, ri.Release]
) -> None:
    with pytest.raises(InputError) as caught:
        ri.estimate(releases["flat"], query)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("nothing", [None, [], ""])
@pytest.mark.parametrize("column", ["age", "diagnosis"])
def test_a_query_for_no_value_at_all_is_refused(column: str, nothing: object, releases: dict[str, ri.Release]) -> None:
    with pytest.raises(InputError, match=rf"asks for {column}=.*, which is no value\. .* leave the column out"):
        ri.estimate(releases["told"], {column: nothing})  # type: ignore[dict-item]


def test_an_insensitive_column_is_counted_in_the_table_itself(people: pl.DataFrame, tmp_path: Path) -> None:
    schema = ri.Schema(
        identifier="patient", quasi_identifiers={"age": ri.Numeric()}, sensitive=["diagnosis"], insensitive=["ward"]
    )
    with ri.Series.create(tmp_path / "s", schema, ri.Static(k=5), seed=1) as series:
        release = series.publish(people.drop("sex").head(100))
    with pytest.raises(InputError, match="asks for 'ward', an insensitive column, which the release shows as it is"):
        ri.estimate(release, "ward=heart")


@pytest.mark.parametrize("form", ["told", "flat"])
def test_a_range_of_everything_leaves_nothing_to_chance(form: str, releases: dict[str, ri.Release]) -> None:
    found = ri.estimate(releases[form], "age=..")
    assert found.low == found.count == found.high == 1_500


def test_a_folder_that_is_no_release_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match=r"release\.json"):
        ri.estimate(tmp_path, {})
    with pytest.raises(ReleaseError, match="no folder"):
        ri.estimate(tmp_path / "release.csv", {})


def test_groups_are_asked_for_with_the_config(releases: dict[str, ri.Release], people: pl.DataFrame) -> None:
    for form, release in releases.items():
        found = ri.estimate(release, "ward=surgery", config=SCHEMA)
        assert found.low <= people["ward"].is_in(WARDS["surgery"]).sum() <= found.high, form


@pytest.mark.parametrize("form", FORMS)
def test_weights_are_one_for_each_row_and_as_the_totals_for_each_value(
    form: str, releases: dict[str, ri.Release]
) -> None:
    table = pl.from_arrow(ri.weights(releases[form]))
    assert isinstance(table, pl.DataFrame)
    assert table.columns == ["row", "diagnosis", "weight"]
    by_row = table.group_by("row").agg(pl.col("weight").sum())
    assert sorted(by_row["row"].to_list()) == list(range(1, len(by_row) + 1))
    assert np.allclose(by_row["weight"].to_numpy(), 1.0)
    for name, weight in table.group_by("diagnosis").agg(pl.col("weight").sum()).iter_rows():
        assert weight == pytest.approx(ri.estimate(releases[form], {"diagnosis": name}).count, rel=1e-6)


def test_flat_rows_weigh_what_the_totals_say(people: pl.DataFrame, tmp_path: Path) -> None:
    """After people with one value left, dealt values are raked to the totals; rows still add up."""
    with ri.Series.create(tmp_path / "s", SCHEMA, ri.Standing(totals=50.0), seed=1, formats=["csv"]) as series:
        series.publish(people)
        left = people.filter((pl.col("diagnosis") != "Angina") | (pl.col("patient") % 3 == 0))
        release = series.publish(left)
    truth = (left["diagnosis"] == "Angina").sum()
    dealt = (pl.read_csv(release.path / "release.csv")["diagnosis"] == "Angina").sum()
    raked = ri.estimate(release, "diagnosis=Angina").count
    assert abs(raked - truth) < 0.1 * abs(dealt - truth)
    assert pl.from_arrow(ri.weights(release))["weight"].sum() == pytest.approx(len(left))  # type: ignore[index]


def test_the_command_answers_and_writes_weights(releases: dict[str, ri.Release], tmp_path: Path) -> None:
    path = str(releases["told"].path)
    asked = CliRunner().invoke(main, ["estimate", path, "age=30..49", "diagnosis=Flu"])
    assert asked.exit_code == 0
    assert re.match(r"About \d+ people \(95%: \d+ to \d+\)\.\nThat is [\d.]+% of the \d+ with age=30..49", asked.output)
    written = CliRunner().invoke(main, ["estimate", path, "--weights", str(tmp_path / "w.csv")])
    assert written.exit_code == 0
    assert (tmp_path / "w.csv").read_text().startswith("row,diagnosis,weight\n1,")
    nothing = CliRunner().invoke(main, ["estimate", path])
    assert nothing.exit_code == 2
    assert "Nothing is asked for" in nothing.output


def test_the_pandas_recipe_of_the_page_runs(releases: dict[str, ri.Release], tmp_path: Path) -> None:
    """Its code, on a release and weights under the names it uses, gives what `reissue.estimate` gives."""
    text = (ROOT / "docs" / "estimating.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(# pandas.*?)```", text, flags=re.DOTALL)
    assert code is not None
    release = pl.read_csv(releases["told"].path / "release.csv")
    release.write_csv(tmp_path / "release.csv")
    table = pl.from_arrow(ri.weights(releases["told"]))
    assert isinstance(table, pl.DataFrame)
    table.write_csv(tmp_path / "weights.csv")
    names: dict[str, object] = {}
    exec(
        code[1]
        .replace('"release.csv"', repr(str(tmp_path / "release.csv")))
        .replace('"weights.csv"', repr(str(tmp_path / "weights.csv"))),
        names,
    )
    flu = names["counts"]["Flu"]  # type: ignore[index]
    assert flu == pytest.approx(ri.estimate(releases["told"], "diagnosis=Flu").count)
    assert 0 < names["rates"].loc["F", "Flu"] < 1  # type: ignore[attr-defined]
