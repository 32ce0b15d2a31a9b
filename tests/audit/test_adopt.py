"""Adopted releases are facts: the next release is safe given them, and what they told is told once."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import reissue as ri
from reissue.audit import audit
from reissue.errors import ReleaseError, SeriesBusy, SeriesError, SettingsError
from reissue.methods.registry import STRATEGIES, find_strategy
from reissue.model.observed import Members, ObservedRelease
from reissue.series import adopt
from reissue.series.adopting import _rows_of_nobody
from reissue.series.creating import NewSeries
from reissue.series.outlook import Outlook, recommend
from tests.audit.figures import FIRST, SECOND, SNAPSHOTS
from tests.ledger.support import KILLED, in_child
from tests.support.hospital import FIGURE_3, frame, hospital_schema, population, write_config

NEW = ("Zoe", 44, "Female", "Asthma")


def static_files(folder: Path, tables: list[pa.Table], k: int) -> list[Path]:
    return other_files(folder, tables, ri.Static(k=k))


def other_files(folder: Path, tables: list[pa.Table], strategy: ri.Static | ri.MInvariance) -> list[Path]:
    """Releases as files without class numbers: what another tool would have written."""
    with ri.Series.create(folder / "other", hospital_schema(), strategy, seed=1) as other:
        for table in tables:
            other.publish(table)
        releases = [release.path / "release.csv" for release in other.releases]
    files = []
    for i, path in enumerate(releases):
        files.append(folder / f"r{i}.csv")
        pa.csv.write_csv(pa.csv.read_csv(path).drop_columns(["class"]), files[-1])
    return files


def test_adopt_then_publish(tmp_path: Path) -> None:
    adopted = adopt(tmp_path / "s", [FIRST, SECOND], SNAPSHOTS, schema=hospital_schema(), strategy=ri.Static(k=2))
    with adopted.series as series:
        assert series.strategy == ri.Static(k=2)
        assert [release.strategy for release in series.releases] == ["adopted", "adopted"]
        assert adopted.audit.breaches
        assert "cannot be undone" in adopted.describe()
        assert series.membership(1).num_rows == 4
        third = series.publish(frame([*FIGURE_3, NEW]))
        assert (third.counts["new"], third.counts["gone"]) == (1, 0)
        assert series.verify(rebuild=True) == []
        assert series.strategy == ri.Static(k=2)
    with ri.Series.open(tmp_path / "s") as again:
        assert len(again.releases) == 3
        one = again.releases[0]
        assert sorted(p.name for p in one.path.iterdir()) == ["release.json", "release.parquet"]
        texts = [(release.path / "release.json").read_text() for release in (one, third)]
        assert all(text.startswith('{\n  "') and text.endswith("\n}\n") for text in texts), "written as our own are"
        folders = [release.path for release in again.releases]
    told = audit(folders, hospital_schema(), [*SNAPSHOTS, frame([*FIGURE_3, NEW])])
    assert {f.subjects for f in told.breaches if f.value == "Cancer"} >= {("Alice",)}


def test_adoption_says_what_one_more_release_would_add(tmp_path: Path) -> None:
    """As a preview of the last table counts it, against the policy's limits; nothing of it is kept."""
    tables = [population(150).slice(0, 100), population(150)]
    files = static_files(tmp_path, tables, 6)
    adopted = adopt(
        tmp_path / "s", files, tables, schema=hospital_schema(), strategy=ri.Static(k=6), match="content", names=False
    )
    with adopted.series as series:
        assert len(series.releases) == 2
        own = series.preview(tables[1])
        assert {one.strategy: one.newly_exposed for one in adopted.outlooks}["static"] == own.newly_exposed
        assert [one.strategy for one in adopted.outlooks] == ["static", "standing"], (
            "the policy, and what is recommended"
        )
        told = adopted.describe()
        for one in adopted.outlooks:
            assert one.describe() in told
        assert "Nothing can undo that" in told
        document = json.loads(adopted.to_json())
        assert document["adopted"]["tried"] == [vars(one) for one in adopted.outlooks]
        assert document["adopted"]["advice"] == recommend(adopted.outlooks)
        assert document["adopted"]["warning"] is None
        assert {key: document[key] for key in document if key != "adopted"} == json.loads(adopted.audit.to_json())
        refused = adopted.outlooks[0]
    assert [one.strategy for one in adopted.outlooks] == ["static", "standing"]
    assert refused.refusal is None


@pytest.mark.parametrize(
    ("outlook", "words"),
    [
        (Outlook("bcf", None, "k is too high."), "bcf refuses it: k is too high."),
        (Outlook("bcf", 0), "bcf would put nobody else at risk."),
        (Outlook("bcf", 1), "bcf would put 1 more person at risk."),
        (Outlook("bcf", 1200), "bcf would put 1,200 more people at risk."),
    ],
)
def test_an_outlook_in_words(outlook: Outlook, words: str) -> None:
    assert outlook.describe() == words


@pytest.mark.parametrize(
    ("policy", "standing", "words"),
    [
        (0, 0, "Use merge: it added nobody"),
        (5, 0, "Use standing (`reissue publish --strategy standing`): it added nobody"),
        (5, 2, "If you must go on, do it with standing"),
        (2, 5, "Nothing that was tried helps: stop publishing about these people. A fresh start needs other people"),
        (5, 5, "Nothing that was tried helps"),
        (None, 3, "If you must go on, do it with standing"),
        (None, None, "Nothing that was tried helps"),
    ],
)
def test_only_what_lowers_the_risk_is_recommended(policy: int | None, standing: int | None, words: str) -> None:
    given = [Outlook(name, people, None if people is not None else "no") for name, people in
             (("merge", policy), ("standing", standing))]  # fmt: skip
    told = recommend(given)
    assert told.startswith(words)
    assert ("pause until" in told) == ("Use" not in words), "what a fresh start would need"


def test_advice_that_protects_nobody_is_gone() -> None:
    root = Path(__file__).parents[2]
    pages = [*root.glob("docs/**/*.md"), *root.glob("src/**/*.py"), root / "README.md"]
    for page in pages:
        text = " ".join(page.read_text(encoding="utf-8").lower().split())
        assert "go on safely" not in text, page
        assert "people have new identifiers" not in text, page
        assert "new identifiers for the same people" not in text, page


def test_fragments_are_not_passed_over(tmp_path: Path) -> None:
    write_config(tmp_path, "[engine]\nfragments = 2")
    with pytest.raises(SettingsError, match="adopts releases is worked on as a whole"):
        adopt(tmp_path / "s", [FIRST], SNAPSHOTS[:1], config=tmp_path / "c.toml")
    assert not (tmp_path / "s").exists()


def test_adopted_facts_tell_what_the_files_tell(tmp_path: Path) -> None:
    tables = [population(120).slice(0, 80), population(120)]
    files = static_files(tmp_path, tables, 3)
    outside = audit(files, hospital_schema(), tables, match="content", k=3, c=0.5, seconds=60.0)
    adopted = adopt(
        tmp_path / "s", files, tables, schema=hospital_schema(), strategy=ri.Static(k=3, c=0.5), match="content"
    )
    with adopted.series as series:
        own = series.audit(k=3, c=0.5, seconds=60.0)
    assert set(own.outcomes) == set(outside.outcomes)
    for name, outcome in own.outcomes.items():
        assert outcome.total == outside.outcomes[name].total, name


SETTINGS: dict[str, dict[str, float]] = {
    "m-invariance": {"m": 2},
    "e-equivalence": {"m": 2, "e": 2},
    "cor-split": {"m": 2, "n": 1},
    "bay-frame": {"k": 3, "J": 0.9, "beta": 9.0},
    "js-reduce": {"k": 3, "J": 0.9, "t": 0.9},
}


@pytest.mark.gates
@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_the_next_release_is_safe_given_what_is_out(tmp_path: Path, name: str) -> None:
    """Every strategy that claims to stop attacks keeps its claim for what the new release adds."""
    strategy = find_strategy(name)(**SETTINGS.get(name, {"k": 3}))
    tables = [population(200).slice(0, 100), population(200).slice(0, 150), population(200)]
    files = static_files(tmp_path, tables[:2], 6)
    adopted = adopt(tmp_path / "s", files, tables[:2], schema=hospital_schema(), strategy=strategy, match="content")
    with adopted.series as series:
        try:
            series.publish(tables[2])
        except ri.errors.InfeasiblePolicy:
            return  # refusing is safe, too: what is out may leave no safe release
        except ri.errors.GateStopped as stopped:
            # standing asks before it publishes what cannot keep c any more
            assert "lost-before" in str(stopped)  # noqa: PT017
            assert len(series.releases) == 2
            return
        except ri.errors.GuaranteeBroken:
            assert adopted.warning, f"{name} refused without a warning at adoption"
            assert adopted.warning in adopted.describe()
            return
        assert adopted.warning is None
        observed = series.audit().observed
        from reissue.methods.registry import make_attack

        for attack in strategy.stops:
            outcome = make_attack(attack, strategy.thresholds()).run(observed, involving=3)
            assert not outcome.breaches, f"{name} against {attack}: {outcome.breaches[0].sentence}"


def test_m_invariance_goes_on_from_one_release(tmp_path: Path) -> None:
    """Everybody has one set of values so far, and keeps it; where classes are even, that is enough."""
    tables = [population(200).slice(0, 150), population(200)]
    files = other_files(tmp_path, tables[:1], ri.MInvariance(m=3, on_ineligible="counterfeit"))
    adopted = adopt(
        tmp_path / "s", files, tables[:1], schema=hospital_schema(), strategy=ri.MInvariance(m=2), match="content"
    )
    with adopted.series as series:
        assert adopted.warning is None
        series.publish(tables[1])
        done = series.audit(attacks=["association"])
        assert done.outcomes["association"].measures["changed_signatures"] == 0


def test_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema, strategy = hospital_schema(), ri.Static(k=2)
    with pytest.raises(SettingsError, match="without them nobody knows"):
        adopt(tmp_path / "s", [FIRST], [], schema=schema, strategy=strategy)
    with pytest.raises(SettingsError, match="either config"):
        adopt(tmp_path / "s", [FIRST], SNAPSHOTS[:1])
    with pytest.raises(ReleaseError, match="row 1 says"):
        adopt(
            tmp_path / "s",
            [SECOND],
            [frame(FIGURE_3[::-1])],
            schema=schema,
            strategy=strategy,
        )
    assert list(tmp_path.iterdir()) == [], "nothing is left of a refused adoption"
    adopt(tmp_path / "s", [FIRST], SNAPSHOTS[:1], schema=schema, strategy=strategy).series.close()
    with pytest.raises(SettingsError, match="exists already"):
        adopt(tmp_path / "s", [FIRST], SNAPSHOTS[:1], schema=schema, strategy=strategy)
    for kind in ("made for it", "there before"):
        if kind == "there before":
            (tmp_path / "t").mkdir()
        with monkeypatch.context() as broken:
            broken.setattr("reissue.series.adopting.fold_caches", interrupt)
            with pytest.raises(KeyboardInterrupt):
                adopt(tmp_path / "t", [FIRST], SNAPSHOTS[:1], schema=schema, strategy=strategy)
        assert (tmp_path / "t").exists() == (kind == "there before")
    assert list((tmp_path / "t").iterdir()) == []


@pytest.mark.parametrize("seed", range(20))
def test_rows_beyond_the_members_are_rows_of_nobody(seed: int) -> None:
    """As many of each value in each class as it shows more than its members have; values that nobody shows, too."""
    rng = np.random.default_rng(seed)
    classes, values = (rng.integers(0, 4, 12).astype(np.int32) for _ in range(2))
    some = rng.permutation(12)[: int(rng.integers(0, 13))]
    own = np.where(rng.random(len(some)) < 0.2, 7, values[some]).astype(np.int32)  # altered before it was published
    members = Members(np.arange(len(some)), classes[some], np.zeros((len(some), 1), dtype=np.int32), own)
    release = ObservedRelease(1, np.zeros((4, 1, 2), dtype=np.int32), classes, values, members)
    found = Counter(zip(*(part.tolist() for part in _rows_of_nobody(release)), strict=True))
    shown = Counter(zip(classes.tolist(), values.tolist(), strict=True))
    assert found == shown - Counter(zip(members.classes.tolist(), own.tolist(), strict=True))


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "point",
    [
        *("create.begun", "create.catalogue", "create.renamed", "stage.facts", "commit.transaction"),
        *("commit.committed", "commit.swept", "adopt.unfinished", "adopt.finished"),
    ],
)
def test_a_killed_adoption_opens_as_nothing_and_is_repeated_by_the_same_command(point: str, tmp_path: Path) -> None:
    path = tmp_path / "s"

    def work() -> None:
        adopt(path, [FIRST, SECOND], SNAPSHOTS, schema=hospital_schema(), strategy=ri.Static(k=2)).series.close()

    assert in_child(work, point) == KILLED
    if point != "adopt.finished":
        with pytest.raises(SeriesError, match="interrupted"):
            ri.Series.open(path)
        work()
    with ri.Series.open(path) as series:
        assert len(series.releases) == 2
        assert series.verify() == []
    assert [entry.name for entry in tmp_path.iterdir()] == ["s"]


def test_nobody_takes_an_adoption_away_that_is_under_way(tmp_path: Path) -> None:
    path, schema = tmp_path / "s", hospital_schema()
    new = NewSeries(schema=schema, strategy=ri.Static(k=2), unfinished=True)
    with new.create(path) as ledger, ledger.publisher():
        with pytest.raises(SeriesBusy, match="is at work in this series"):
            adopt(path, [FIRST], SNAPSHOTS[:1], schema=schema, strategy=ri.Static(k=2))
        assert (path / "private" / "unfinished").exists()


def test_sets_that_are_no_group_are_widened_for_the_ledger(tmp_path: Path) -> None:
    regions = {"Europe": ["France", "Italy", "Spain"], "Asia": ["China", "Japan"]}
    schema = ri.Schema(
        identifier="name",
        quasi_identifiers={"place": ri.Categorical(hierarchy=ri.Hierarchy.from_nested(regions))},
        sensitive="diagnosis",
    )
    release = pa.table({"place": ["{France, Italy}", "{France, Italy}"], "diagnosis": ["Flu", "Gout"]})
    people = pa.table({"name": ["A", "B"], "place": ["France", "Italy"], "diagnosis": ["Flu", "Gout"]})
    adopted = adopt(tmp_path / "s", [release], [people], schema=schema, strategy=ri.Static(k=2))
    with adopted.series as series:
        facts = series._ledger.facts(1)
        assert facts.boxes.tolist() == [[[0, 2]]]
        series.publish(people)
