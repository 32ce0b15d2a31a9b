"""Standing through the whole library: files, ledger, membership, forgetting, growing codes, fragments, audits."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import reissue as ri
from reissue.errors import GateStopped, GuaranteeBroken, ReleaseError, SettingsError
from reissue.methods.standing.strategy import Standing
from reissue.model.release import Candidate, Coded, History
from reissue.model.standing_classes import StandingClasses
from tests.support.divided import CHURN, NOTED, SCHEMA, People
from tests.support.standing_series import standing_of

FORMS = pytest.mark.parametrize("form", ["flat", "told"])
Rows = list[dict[str, object]]


def read(folder: Path, name: str) -> Rows:
    rows: Rows = pyarrow.parquet.read_table(folder / f"{name}.parquet").to_pylist()
    return rows


def published(path: Path, strategy: Standing, count: int = 4, fragments: int | None = None) -> ri.Series:
    series = ri.Series.create(path, NOTED, strategy, seed=3, fragments=fragments)
    for table in People(1).months(count, CHURN):
        series.publish(table)
    return series


def test_a_flat_release_is_one_table_with_a_row_for_everybody_present(tmp_path: Path) -> None:
    with published(tmp_path / "s", Standing()) as series:
        for release in series.releases:
            rows = read(release.path, "release")
            facts = series._ledger.facts(release.number)
            kept = standing_of(facts)
            assert list(rows[0]) == ["age", "zip", "diagnosis", "note"]
            assert sorted(path.name for path in release.path.iterdir()) == [
                "release.csv",
                "release.json",
                "release.parquet",
                "totals.csv",
                "totals.parquet",
            ]
            assert Counter(str(row["diagnosis"]) for row in rows) == Counter(
                series.coding.values[value] for value in kept.dealt.tolist()
            )
            boxes: dict[tuple[object, object], list[object]] = defaultdict(list)
            for row in rows:
                boxes[row["age"], row["zip"]].append(row["diagnosis"])
            assert min(len(values) for values in boxes.values()) >= 5
            assert min(len(set(values)) for values in boxes.values()) >= 2


def test_a_told_release_tells_classes_and_their_values_apart(tmp_path: Path) -> None:
    numbers = []
    with published(tmp_path / "s", Standing(form="told", totals=0.5)) as series:
        for release in series.releases:
            rows, values = read(release.path, "release"), read(release.path, "values")
            kept = standing_of(series._ledger.facts(release.number))
            assert list(rows[0]) == ["age", "zip", "note", "class"]
            assert list(values[0]) == ["class", "diagnosis", "count"]
            told: dict[object, Counter[object]] = defaultdict(Counter)
            for row in values:
                told[row["class"]][row["diagnosis"]] += int(str(row["count"]))
            assert set(told) == {row["class"] for row in rows} == set(range(len(told)))
            for tokens in told.values():
                assert tokens.total() >= 8
                assert max(tokens.values()) <= 0.4 * tokens.total()
                assert len(tokens) >= 4
            assert [row["class"] for row in values] == sorted(int(str(row["class"])) for row in values)
            people = Counter(row["class"] for row in rows)
            assert all(people[number] <= tokens.total() for number, tokens in told.items())
            by_size = Counter(np.unique(kept.standing, return_counts=True)[1].tolist())
            assert Counter(people.values()) == by_size
            numbers.append(_public_numbers(series, release.number, rows))
    first, second = numbers[0], numbers[1]
    both = sorted(set(first) & set(second))
    assert len(both) > 20
    assert [first[one] for one in both] != [second[one] for one in both], "class numbers compare between releases"
    order = np.argsort([first[one] for one in both])
    assert np.abs(np.corrcoef(order, np.arange(len(order)))[0, 1]) < 0.5, "class numbers tell when they were formed"


def _public_numbers(series: ri.Series, number: int, rows: Rows) -> dict[int, int]:
    """Class for life -> its public number, found by who is in it (notes and boxes tell rows apart well enough)."""
    members = series.membership(number).to_pylist()
    people = Counter(int(row["class"]) for row in members)
    sizes = Counter(int(str(row["class"])) for row in rows)
    kept = standing_of(series._ledger.facts(number))
    live = np.unique(kept.standing)
    from reissue.arrays.sets import permute_ids

    public = permute_ids(np.arange(len(live)), len(live), series._ledger.releases[number - 1].seed)
    found = dict(zip(live.tolist(), public.tolist(), strict=True))
    assert all(sizes[found[one]] == people[one] for one in found)
    return found


@FORMS
def test_release_json_says_how_to_read_it_and_nothing_private(form: str, tmp_path: Path) -> None:
    with published(tmp_path / "s", Standing(form=form, totals=0.5)) as series:  # type: ignore[arg-type]
        about = json.loads((series.releases[-1].path / "release.json").read_text())
    assert about["style"] == form
    notes = " ".join(about["notes"])
    assert "formed once, without looking at who has which value" in notes
    assert "add up to the table 'totals'" in notes
    assert "at least 8 values" in notes
    assert ("dealt to it at random" in notes) == (form == "flat")
    assert not {"waiting", "made_up", "draw", "seed", "noise"} & set(about)


@FORMS
def test_the_audit_calls_a_release_by_its_form(form: str, tmp_path: Path) -> None:
    with published(tmp_path / "s", Standing(form=form), count=2) as series:  # type: ignore[arg-type]
        own = series.audit(attacks=["intersection"]).to_dict()["releases"]
        folders = [release.path for release in series.releases]
    outside = ri.audit(releases=folders, schema=NOTED).to_dict()["releases"]
    for told in (own, outside):
        assert [release["style"] for release in told] == [form, form]  # type: ignore[attr-defined]


def test_another_tool_finds_the_promised_k_and_l_in_the_flat_file(tmp_path: Path) -> None:
    """pycanon's k-anonymity and l-diversity of the rows, as any recipient would check them."""
    import pandas
    from pycanon import anonymity

    with published(tmp_path / "s", Standing(row_k=6, row_l=3)) as series:
        for release in series.releases:
            frame = pandas.read_csv(release.path / "release.csv", dtype=str)
            sizes = frame.groupby(["age", "zip"])["diagnosis"].agg(["size", "nunique"])
            assert anonymity.k_anonymity(frame, ["age", "zip"]) == sizes["size"].min() >= 6
            assert anonymity.l_diversity(frame, ["age", "zip"], ["diagnosis"]) == sizes["nunique"].min() >= 3


def test_membership_tells_class_box_true_and_dealt_value(tmp_path: Path) -> None:
    with published(tmp_path / "s", Standing()) as series:
        first, last = series.membership(1).to_pylist(), series.membership(4).to_pylist()
    assert set(first[0]) == {"subject", "number", "class", "value", "counterfeit", "box", "dealt"}
    before = {row["subject"]: (row["class"], row["value"], row["dealt"]) for row in first}
    stayed = [row for row in last if row["subject"] in before]
    assert len(stayed) > 300
    for row in stayed:
        assert before[row["subject"]] == (row["class"], row["value"], row["dealt"])
    assert any(row["value"] != row["dealt"] for row in last)


@FORMS
@pytest.mark.parametrize("fragments", [None, 3])
def test_caches_are_rebuilt_and_every_attack_finds_nothing(form: str, fragments: int | None, tmp_path: Path) -> None:
    strategy = Standing(form=form, totals=0.5)  # type: ignore[arg-type]
    with published(tmp_path / "s", strategy, fragments=fragments) as series:
        assert series.verify(rebuild=True) == []
        audit = series.audit(attacks=[*Standing.stops, "background-knowledge"])
        assert {one.name for one in audit.checked if one.status == "held"} >= set(Standing.stops)
        assert not audit.breaches


def test_an_audit_with_every_attack_there_is_finds_nothing(tmp_path: Path) -> None:
    """Also those that only measure; the one that reads how values were split has nothing to read."""
    with published(tmp_path / "s", Standing()) as series:
        audit = series.audit()
    assert not audit.breaches
    assert {one.name for one in audit.checked if one.status not in ("held", "measured")} <= {"known-algorithm"}


def test_an_encrypted_ledger_keeps_standing_classes(tmp_path: Path) -> None:
    tables = People(1).months(3, CHURN)
    key = b"k" * 32
    with ri.Series.create(tmp_path / "s", NOTED, Standing(form="told", totals=0.5), seed=3, key=key) as series:
        for table in tables[:2]:
            series.publish(table)
    with ri.Series.open(tmp_path / "s", key=key) as series:
        series.publish(tables[2])
        before, after = (series.membership(number).to_pylist() for number in (1, 3))
        place = {row["subject"]: (row["class"], row["dealt"]) for row in before}
        stayed = [row for row in after if row["subject"] in place]
        assert stayed
        assert all(place[row["subject"]] == (row["class"], row["dealt"]) for row in stayed)
        assert series.verify(rebuild=True) == []


def test_the_same_series_made_by_m_invariance_is_not_proof_against_all_of_them(tmp_path: Path) -> None:
    with ri.Series.create(tmp_path / "s", SCHEMA, ri.MInvariance(m=3), seed=3) as series:
        for table in People(1).months(4, CHURN):
            series.publish(table.drop_columns(["note"]) if "note" in table.column_names else table)
        audit = series.audit(attacks=Standing.stops, k=8, c=0.4)
    assert audit.breaches


def test_somebody_forgotten_goes_and_the_tokens_stay(tmp_path: Path) -> None:
    with published(tmp_path / "s", Standing(form="told"), count=2) as series:
        someone = next(row for row in series.membership(2).to_pylist())
        tokens = standing_of(series._ledger.facts(2)).tokens
        before = int(tokens.count[tokens.standing == someone["class"]].sum())
        series.forget(someone["subject"])
        table = People(1).months(2, CHURN)[-1]
        series.publish(table)
        tokens = standing_of(series._ledger.facts(3)).tokens
        assert int(tokens.count[tokens.standing == someone["class"]].sum()) == before
        assert series.verify(rebuild=True) == []


def test_new_groups_of_a_hierarchy_change_no_class(tmp_path: Path) -> None:
    first = ri.Hierarchy.from_nested({"*": {"1*": ["10", "11"], "2*": ["20"]}})
    schema = ri.Schema(
        identifier="name",
        quasi_identifiers={"age": {"type": "numeric"}, "zip": ri.Categorical(hierarchy=first)},
        sensitive="diagnosis",
    )

    def table(zips: Sequence[str], count: int) -> pa.Table:
        rng = np.random.default_rng(4)
        return pa.table(
            {
                "name": [f"p{i}" for i in range(count)],
                "age": rng.integers(20, 80, 400)[:count],
                "zip": [zips[i % len(zips)] if i >= 200 else ["10", "11", "20"][i % 3] for i in range(count)],
                "diagnosis": [f"d{rng.integers(0, 6)}" for _ in range(400)][:count],
            }
        )

    with ri.Series.create(tmp_path / "s", schema, Standing(), seed=1) as series:
        series.publish(table(["10"], 200))
        series.extend("zip", ri.Hierarchy.from_nested({"*": {"0*": ["05"], "1*": ["10", "11", "12"], "2*": ["20"]}}))
        series.publish(table(["05", "12"], 300))
        one, two = (series.membership(number).to_pylist() for number in (1, 2))
        before = {row["subject"]: (row["class"], row["dealt"]) for row in one}
        assert all(before[row["subject"]] == (row["class"], row["dealt"]) for row in two if row["subject"] in before)
        assert series.verify(rebuild=True) == []
        assert not series.audit(attacks=Standing.stops).breaches


def test_changed_values_are_told_in_the_steps_and_enter_new_classes(tmp_path: Path) -> None:
    tables = People(1).months(1, CHURN)
    values = tables[0]["diagnosis"].to_pylist()
    changed = [*(reversed(values[:40])), *values[40:]]
    place = tables[0].column_names.index("diagnosis")
    other = tables[0].set_column(place, "diagnosis", pa.array(changed))
    with ri.Series.create(tmp_path / "s", NOTED, Standing(), seed=3) as series:
        series.publish(tables[0])
        release = series.publish(other)
        assert any("whose value changed" in step for step in release.steps)
        audit = series.audit(attacks=Standing.stops)
        assert not audit.breaches
        assert any("had another value in a later release" in note for note in audit.notes)


def test_no_other_strategy_goes_on_from_standing_classes(tmp_path: Path) -> None:
    tables = People(1).months(2, CHURN)
    with ri.Series.create(tmp_path / "s", NOTED, Standing(), seed=3) as series:
        series.publish(tables[0])
        with pytest.raises(SettingsError, match=r"its classes stand for life.*begin a new series"):
            series.publish(tables[1], strategy=ri.Static(k=5))
        series.publish(tables[1], strategy=Standing(form="told", k=10))


@pytest.mark.gates
def test_standing_classes_begin_after_other_releases_only_where_c_is_kept_or_allowed(
    tmp_path: Path,
) -> None:
    tables = People(1).months(2, CHURN)
    with ri.Series.create(tmp_path / "s", NOTED, ri.Static(k=3), seed=3) as series:
        series.publish(tables[0])
        with pytest.raises(GateStopped, match=r"c = 0\.4 is lost for good(.|\n)*--allow lost-before") as stopped:
            series.publish(tables[1], strategy=Standing())
        assert stopped.value.gates == ("lost-before",)
        assert len(series.releases) == 1
        release = series.publish(tables[1], strategy=Standing(), allow=["lost-before"])
        assert release.allowed == ("lost-before",)
        lost = release.counts["lost_before"]
        assert lost > 0
        assert "intersection" not in release.steps[-1] or "difference" not in release.steps[-1]
        audit = series.audit(attacks=["intersection", "difference"], c=0.4, k=1)
        assert audit.breaches, "what is lost stays told"
        assert len(audit.at_risk) >= lost
    with ri.Series.create(tmp_path / "t", NOTED, ri.Static(k=200, c=0.4), seed=3) as series:
        series.publish(tables[0])
        release = series.publish(tables[1], strategy=Standing(c=0.5))
        assert "intersection, difference" in release.steps[-1]


def test_a_fault_of_the_maker_is_never_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = People(1).months(2, CHURN)
    make = Standing.publish

    def dealt_anew(self: Standing, snapshot: Coded, history: History) -> Candidate:
        candidate = make(self, snapshot, history)
        kept = StandingClasses.read(candidate.extras)
        assert kept is not None
        dealt = np.random.default_rng(0).permutation(kept.dealt)
        return replace(candidate, extras=replace(kept, dealt=dealt).table())

    with ri.Series.create(tmp_path / "s", NOTED, Standing(row_l=1), seed=3) as series:
        series.publish(tables[0])
        monkeypatch.setattr(Standing, "publish", dealt_anew)
        with pytest.raises(GuaranteeBroken, match="another dealt value than before"):
            series.publish(tables[1])
        assert len(series.releases) == 1
        assert sorted(path.name for path in (tmp_path / "s" / "releases").iterdir()) == ["0001"]


def test_the_policy_section_of_a_config_makes_the_strategy(tmp_path: Path) -> None:
    from reissue.methods.registry import make_strategy, write_policy

    assert make_strategy({"strategy": "standing"}) == Standing()
    assert make_strategy(write_policy(Standing(form="told", totals=0.5))) == Standing(form="told", totals=0.5)


@FORMS
def test_an_outsider_is_told_why_no_attack_applies_to_the_files_alone(form: str, tmp_path: Path) -> None:
    with published(tmp_path / "s", Standing(form=form), count=2) as series:  # type: ignore[arg-type]
        folders = [release.path for release in series.releases]
        audit = ri.audit(folders, NOTED)
        assert {one.status for one in audit.checked} == {"skipped"}
        reason = "dealt at random inside groups" if form == "flat" else "stand for life"
        assert all(reason in str(one.reason) for one in audit.checked)
        assert audit.to_dict()["releases"]
        files = [next(folder.glob("release.csv")) for folder in folders]  # type: ignore[union-attr]
        assert ri.audit(files, NOTED).skipped == audit.skipped, "a file is read with the description beside it"
        for sources in (folders, files):
            with pytest.raises(ReleaseError, match="the files do not tell who is in which"):
                ri.audit(sources, NOTED, People(1).months(2, CHURN))
