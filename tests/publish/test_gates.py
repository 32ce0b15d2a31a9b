"""Gates: what is probably a mistake stops publish before anything changes, unless it is allowed by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import reissue as ri
from reissue.errors import GateStopped, InfeasiblePolicy, SettingsError
from reissue.ledger import ReleaseRecord
from reissue.publish.changes import ColumnTraits
from reissue.publish.gates import GATES, GateInput, find_stops

pytestmark = pytest.mark.gates

VALUES = ("flu", "gout", "cold", "ulcer")
Row = tuple[str, int, str, str]


def people(count: int, first: int = 0) -> list[Row]:
    """(identifier, age, zip, value), alike for the same number every time."""
    return [
        (f"p{i}", 20 + i % 50, f"0{i % 7}{i % 3}40", VALUES[(i * 7 + i // 5) % 4]) for i in range(first, first + count)
    ]


def table(rows: list[Row], **more: list[object]) -> pa.Table:
    names = ("id", "age", "zip", "illness")
    return pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)} | more)


def schema(*insensitive: str) -> ri.Schema:
    return ri.Schema(
        identifier="id",
        quasi_identifiers={"age": ri.Numeric(), "zip": ri.Categorical(ri.Hierarchy.prefix([3, 1]))},
        sensitive="illness",
        insensitive=insensitive,
    )


@pytest.fixture
def series(tmp_path: Path) -> Iterator[ri.Series]:
    """With one release of 100 people."""
    with ri.Series.create(tmp_path / "s", schema(), ri.Static(k=3)) as created:
        created.publish(table(people(100)))
        yield created


def stopped_by(series: ri.Series, snapshot: pa.Table, **options: object) -> tuple[str, ...]:
    """The gates that stop it; nothing of the series may have changed, and a preview tells the same."""
    files = {file: file.read_bytes() for file in series.path.rglob("*") if file.is_file()}
    with pytest.raises(GateStopped) as caught:
        series.publish(snapshot, **options)  # type: ignore[arg-type]
    assert caught.value.exit_code == 5
    many = "a gate" if len(caught.value.gates) == 1 else f"{len(caught.value.gates)} gates"
    first, *told = str(caught.value).splitlines()
    assert first == f"Nothing was published, {many} stopped it:"
    assert [line.partition(":")[0] for line in told] == [f"- {gate}" for gate in caught.value.gates]
    assert {file: file.read_bytes() for file in series.path.rglob("*") if file.is_file()} == files
    preview = series.preview(snapshot, audit=False, **options)  # type: ignore[arg-type]
    assert set(caught.value.gates) <= {stop.gate for stop in preview.stopped}
    assert "No gate stops it" not in preview.describe()
    assert all(f"Gate {stop.gate} stops it: {stop.sentence}" in preview.describe() for stop in preview.stopped)
    return caught.value.gates


def test_an_ordinary_snapshot_passes_every_gate(series: ri.Series) -> None:
    assert series.preview(table(people(105, first=5)), audit=False).stops == ()
    assert series.publish(table(people(105, first=5))).number == 2


def test_rows_may_not_fall_by_more_than_half(series: ri.Series) -> None:
    assert stopped_by(series, table(people(49))) == ("few-rows",)
    assert series.publish(table(people(50))).number == 2, "half is allowed"


def test_the_same_snapshot_is_known_by_its_content_in_any_order(series: ri.Series) -> None:
    assert stopped_by(series, table(people(100)[::-1])) == ("same-snapshot",)
    series.publish(table(people(105, first=5)))
    assert stopped_by(series, table(people(100))) == ("same-snapshot",), "also one before the last"
    other = [*people(99), ("p99", *people(100)[99][1:3], "gout" if people(100)[99][3] != "gout" else "flu")]
    assert series.publish(table(other)).number == 3


def test_the_fingerprint_survives_codes_that_grow(series: ri.Series) -> None:
    grown = [*people(100, first=3)[:-1], ("x", 99, "99999", "flu")]
    series.publish(table(grown))
    assert stopped_by(series, table(people(100))) == ("same-snapshot",)


def test_nobody_known_is_stopped(series: ri.Series) -> None:
    others = [(f"x{name}", *rest) for name, *rest in people(100)]
    assert stopped_by(series, table(others)) == ("nobody-known",)


def test_nearly_everybody_changed_is_stopped(series: ri.Series) -> None:
    older = [(name, age + 1, code, value) for name, age, code, value in people(100)]
    assert stopped_by(series, table(older)) == ("all-changed",)
    assert series.publish(table(older[:50] + people(100)[50:])).number == 2


def test_zips_that_lost_their_zero_are_stopped(series: ri.Series) -> None:
    bare = [
        (name, age, code.lstrip("0") if int(name[1:]) % 4 == 0 else code, value)
        for name, age, code, value in people(100)
    ]
    assert stopped_by(series, table(bare)) == ("reformatted",)


@pytest.mark.parametrize("code", ["NA", "?", "Unknown", "99"])
def test_codes_for_missing_values_are_no_diversity(series: ri.Series, code: str) -> None:
    rows = [(*row[:3], code) if i % 20 == 0 else row for i, row in enumerate(people(105, first=5))]
    assert stopped_by(series, table(rows)) == ("missing-codes",)


@pytest.mark.parametrize("other", ["Flu", "FLU"])
def test_values_that_differ_in_capitals_are_no_diversity(series: ri.Series, other: str) -> None:
    rows = [(*row[:3], other) if row[3] == "flu" and i % 2 else row for i, row in enumerate(people(105, first=5))]
    assert stopped_by(series, table(rows)) == ("alike-values",)
    assert series.publish(table(rows), allow=["alike-values"]).number == 2, "they may mean different things"


def test_numbers_among_numbers_are_values(tmp_path: Path) -> None:
    numbers = [(*row[:3], str(90 + i % 12)) for i, row in enumerate(people(100))]
    with ri.Series.create(tmp_path / "n", schema(), ri.Static(k=3)) as series:
        assert series.publish(table(numbers)).number == 1


def test_a_sensitive_column_with_nearly_as_many_values_as_rows_is_stopped(tmp_path: Path) -> None:
    notes = [(*row[:3], f"note {i}") for i, row in enumerate(people(100))]
    with ri.Series.create(tmp_path / "n", schema(), ri.Static(k=3)) as series:
        assert stopped_by(series, table(notes)) == ("many-values",)


def test_names_and_identifiers_in_insensitive_columns_are_stopped(tmp_path: Path) -> None:
    rows = people(100)
    with ri.Series.create(tmp_path / "n", schema("who"), ri.Static(k=3)) as series:
        names = table(rows, who=[f"Ann {i}" for i in range(100)])
        assert stopped_by(series, names) == ("near-unique",)
        assert stopped_by(series, table(rows, who=[row[0] if i == 7 else "x" for i, row in enumerate(rows)])) == (
            "near-unique",
        ), "one identifier is one too many"
        assert series.publish(table(rows, who=[f"ward {i % 4}" for i in range(100)])).number == 1
        again = table(people(105, first=5), who=[f"Ann {i}" for i in range(105)])
        assert series.publish(again, allow=["near-unique"]).number == 2, "without counterfeits it may be meant"


def test_near_unique_columns_cannot_be_allowed_beside_counterfeits(tmp_path: Path) -> None:
    rows = people(60)
    with ri.Series.create(tmp_path / "n", schema("who"), ri.MInvariance(m=2), seed=1) as series:
        series.publish(table(rows, who=["a"] * 60))
        left = [row for row in rows if row[3] != "flu"]  # their classmates need somebody with flu
        names = table(left, who=[f"Ann {i}" for i in range(len(left))])
        preview = series.preview(names, audit=False, allow=("near-unique", "counterfeits"))
        assert preview.release.counts["counterfeits"] > 0
        [stop] = preview.stopped
        assert (stop.gate, stop.overridable) == ("near-unique", False)
        with pytest.raises(GateStopped, match="cannot be allowed where counterfeits are made"):
            series.publish(names, allow=("near-unique", "counterfeits"))


def test_too_many_counterfeits_are_stopped_once_the_release_is_made(tmp_path: Path) -> None:
    rows = people(60)
    with ri.Series.create(tmp_path / "n", schema(), ri.MInvariance(m=2), seed=1) as series:
        series.publish(table(rows))
        left = table([row for row in rows if row[3] != "flu"])
        assert stopped_by(series, left) == ("counterfeits",)
        assert series.publish(left, allow=("counterfeits",)).counts["counterfeits"] > 3


def test_too_many_blended_newcomers_are_stopped(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "n", schema(), ri.Standing(k=4, l=3), seed=1) as series:
        series.publish(table(people(100)))
        alike = [(f"new{i}", 30, "00040", "flu") for i in range(12)]
        assert stopped_by(series, table(people(100) + alike)) == ("blended",)


def test_an_allowed_gate_stays_in_the_log(series: ri.Series) -> None:
    release = series.publish(table(people(40)), allow=["few-rows"])
    assert release.allowed == ("few-rows",)
    assert release.user
    assert series.releases[-1].to_dict()["allowed"] == ["few-rows"]
    assert series.releases[0].allowed == ()


def test_thresholds_stand_in_the_config(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", schema(), ri.Static(k=3), gates={"few-rows": 0.9}) as series:
        series.publish(table(people(100)))
        assert series.publish(table(people(20))).number == 2
    config = """
        [schema]
        identifier = "id"
        sensitive = "illness"
        [schema.quasi_identifiers]
        age = { type = "numeric" }
        [policy]
        strategy = "static"
        k = 3
        [gates]
    """
    for line, said in (("few_rows = 0.5", "Did you mean 'few-rows'"), ("few-rows = 5", "a share of rows")):
        (tmp_path / "c.toml").write_text(config + line)
        with pytest.raises(SettingsError, match=said):
            ri.Series.from_config(tmp_path / "c", tmp_path / "c.toml")
    (tmp_path / "c.toml").write_text(config + "few-rows = 0.9")
    with ri.Series.from_config(tmp_path / "c", tmp_path / "c.toml") as made:
        assert "[gates]\nfew-rows = 0.9" in (made.path / "reissue.toml").read_text()


COUNTS = {"snapshot": 1000, "new": 0, "gone": 0, "changed": 0, "suppressed": 0}
FLU = {("flu",): (1000, 0)}


def gates_that_stop(*, rows: int = 1000, before: int | None = None, **given: object) -> set[str]:
    """The gates that stop a snapshot of so many rows, all known; counts are given as such, the rest as `GateInput`."""
    counts = {**COUNTS, "snapshot": rows, **{name: given.pop(name) for name in (*COUNTS, *MADE) if name in given}}
    made = {"strategy": "static", "settings": {}, "seed": 0, "coding_version": 1}
    last = None if before is None else ReleaseRecord(number=3, counts={"rows": {"snapshot": before}}, **made)
    case: dict[str, object] = {
        "counts": counts, "fingerprint": "", "values": FLU, "sensitive": ("illness",), "columns": (), "respelled": {},
        "changed": {}, "same": None, "last": last, "stands": False,
    }  # fmt: skip
    looked = GateInput(**{**case, **given})
    return {stop.gate for after in ("snapshot", "release") for stop in find_stops(looked, {}, (), after)}


MADE = ("counterfeits", "blended")
NUMBERS = {(label,): (1, 0) for label in ("7", "-8.5", "12", "13", "-9", "99")}
BOUNDS: dict[str, tuple[str, dict[str, object], dict[str, object]]] = {
    "lone values, a share": ("near-unique", {"columns": [ColumnTraits("x", 1000, 50, 0)]},
                             {"columns": [ColumnTraits("x", 1000, 51, 0)]}),
    "lone values, few": ("near-unique", {"columns": [ColumnTraits("x", 20, 9, 0)]},
                         {"columns": [ColumnTraits("x", 20, 10, 0)]}),
    "fewer rows, a share": ("few-rows", {"before": 2000}, {"before": 2001}),
    "fewer rows, few": ("few-rows", {"rows": 2, "before": 11}, {"rows": 2, "before": 12}),
    "nobody known": ("nobody-known", {"before": 1000, "new": 999, "gone": 1}, {"before": 1000, "new": 1000, "gone": 1}),
    "nobody known, nobody gone": ("nobody-known", {"before": 0, "new": 1000}, {"before": 1, "new": 1000, "gone": 1}),
    "changed, a share": ("all-changed", {"new": 500, "changed": 450}, {"new": 500, "changed": 451}),
    "changed, few": ("all-changed", {"rows": 4, "changed": 4}, {"rows": 5, "changed": 5}),
    "respelled, a share": ("reformatted", {"new": 400, "respelled": {"zip": 30}},
                           {"new": 400, "respelled": {"zip": 31}}),
    "respelled, few": ("reformatted", {"rows": 20, "respelled": {"zip": 9}}, {"rows": 20, "respelled": {"zip": 10}}),
    "codes among numbers": ("missing-codes", {"values": NUMBERS},
                            {"values": {**NUMBERS, (" Unknown ",): (1, 0)}}),
    "numbers among words": ("missing-codes", {"values": {("flu",): (1, 0), ("98",): (1, 0)}},
                            {"values": {("flu",): (1, 0), ("99",): (1, 0)}}),
    "numbers among versions": ("missing-codes", {"values": NUMBERS},
                               {"values": {("1.2.3",): (1, 0), ("4.5.6",): (1, 0), ("99",): (1, 0)}}),
    "values alike": ("alike-values", {"values": {("a b",): (1, 0), ("a c",): (1, 0), (None,): (1, 0)}},
                     {"values": {("Straße",): (1, 0), ("STRASSE",): (1, 0)}}),
    "values, a share": ("many-values", {"rows": 60, "values": {(f"v{i}",): (2, 0) for i in range(30)}},
                        {"rows": 60, "values": {(f"v{i}",): (2, 0) for i in range(31)}}),
    "values, few": ("many-values", {"rows": 20, "values": {(f"v{i}",): (1, 0) for i in range(19)}},
                    {"rows": 20, "values": {(f"v{i}",): (1, 0) for i in range(20)}}),
    "suppressed, a share": ("suppressed", {"suppressed": 50}, {"suppressed": 51}),
    "suppressed, few": ("suppressed", {"rows": 20, "suppressed": 9}, {"rows": 20, "suppressed": 10}),
    "suppressed, who wait": ("suppressed", {"stands": True, "suppressed": 60}, {"suppressed": 60}),
    "counterfeits, a share": ("counterfeits", {"counterfeits": 50}, {"counterfeits": 51}),
    "counterfeits, few": ("counterfeits", {"rows": 20, "counterfeits": 9}, {"rows": 20, "counterfeits": 10}),
    "blended, a share": ("blended", {"stands": True, "blended": 20, "suppressed": 30},
                         {"stands": True, "blended": 21, "suppressed": 30}),
    "waiting, a share": ("blended", {"stands": True, "suppressed": 50}, {"stands": True, "suppressed": 51}),
    "blended, few": ("blended", {"rows": 20, "stands": True, "blended": 5, "suppressed": 4},
                     {"rows": 20, "stands": True, "blended": 5, "suppressed": 5}),
    "blended, who do not wait": ("blended", {"blended": 50, "suppressed": 49}, {"blended": 51, "suppressed": 49}),
    "lost": ("lost-before", {}, {"lost": "The promise"}),
}  # fmt: skip


@pytest.mark.parametrize("bound", BOUNDS)
def test_every_gate_opens_up_to_its_bound_and_stops_beyond(bound: str) -> None:
    gate, within, beyond = BOUNDS[bound]
    assert gate not in gates_that_stop(**within)
    assert gate in gates_that_stop(**beyond)


def test_every_gate_has_its_bound_tested() -> None:
    assert {gate for gate, _, _ in BOUNDS.values()} == {gate.name for gate in GATES} - {"same-snapshot"}


def test_every_gate_is_on_its_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "gates.md").read_text()
    for gate in GATES:
        limit = "" if gate.limit is None else f" {gate.limit:g} |"
        assert f"| `{gate.name}` |{limit}" in page


def test_a_gate_of_the_snapshot_stops_before_anything_is_made(series: ri.Series) -> None:
    """Rows too few for the policy are too few for a gate first: what is said is what somebody can look into."""
    few = table(people(2))
    with pytest.raises(GateStopped, match="few-rows"):
        series.publish(few)
    with pytest.raises(InfeasiblePolicy, match="k = 3 cannot hold"):
        series.publish(few, allow=["few-rows"])
