"""Comparisons of real runs on a small clinic: the matrix, what is kept, the recommendation, page and picture."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import click.testing
import pyarrow as pa
import pyarrow.parquet
import pytest
from playwright.sync_api import Browser

from reissue import clinic
from reissue.cli.compare import compare as command
from reissue.compare import Comparison, compare_config
from reissue.compare.advice import advise, find_frontier
from reissue.compare.running import Run
from reissue.errors import InputError, SettingsError, SnapshotError
from reissue.methods.registry import ATTACKS, make_strategy
from reissue.report import render_comparison
from reissue.report.comparison_charts import draw_map
from reissue.schema import read_config
from reissue.series import Series
from tests.report.browser import shown
from tests.support.axe import find_violations, show_in_turn

STRATEGIES = ("static", "m-invariance", "bcf")


def written(folder: Path, months: int, patients: int) -> Path:
    clinic.write(folder, months=months, patients=patients)
    (folder / "clinic.toml").write_text(clinic.config(strategy="m-invariance"), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("clinic"), months=3, patients=150)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where only it matters whether something is run."""
    return written(tmp_path_factory.mktemp("few"), months=2, patients=60)


def compared(data: Path, out: Path | None, strategies: tuple[str, ...] = STRATEGIES, **more: object) -> Comparison:
    snapshots = sorted(data.glob("*.parquet"))
    return compare_config(data / "clinic.toml", snapshots, strategies=strategies, out=out, **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def comparison(data: Path) -> Comparison:
    return compared(data, data / "out")


def test_on_a_terminal_it_fits_80_columns_with_every_strategy_and_attack() -> None:
    attack = {"status": "breached", "subjects_at_risk": 1_234_567, "reason": None}
    runs = [
        Run(label=f"strategy-{number} (k=10, c=0.5, l=4)", strategy="static", settings={}, status="done",
            query_error=0.5, subjects=2_000_000, subjects_at_risk=1_234_567, attacks=dict.fromkeys(ATTACKS, attack))
        for number in range(1, 12)
    ]  # fmt: skip
    told = Comparison(runs, {"k": 5}, ["1.csv"], None, []).describe().split("\n")
    assert max(map(len, told)) <= 80
    numbers = [word for line in told if line.startswith(" " * 24) for word in line.split()]
    assert numbers == [str(number) for number in range(1, 12)]
    named = [line.split()[:2] for line in told if line.strip().startswith(tuple(numbers))]
    assert [one for one in named if one[1].startswith("strategy-")] == [[n, f"strategy-{n}"] for n in numbers]
    for name in ATTACKS:
        assert sum(line.count("✗ 1,234,567") for line in told if line.startswith(f"{name} ")) == 11


def test_the_matrix_is_what_an_audit_of_the_same_series_says(
    comparison: Comparison, data: Path, tmp_path: Path
) -> None:
    read = read_config(str(data / "clinic.toml"))
    run = next(run for run in comparison.runs if run.strategy == "static")
    with Series.create(tmp_path / "s", read.schema, make_strategy({"strategy": "static", **run.settings})) as series:
        for snapshot in sorted(data.glob("*.parquet")):
            series.publish(snapshot)
        audit = series.audit(**comparison.thresholds)  # type: ignore[arg-type]
    assert {one.name: one.status for one in audit.checked} == {n: a["status"] for n, a in run.attacks.items()}
    assert run.breached, "the naive series must be broken, or the comparison proves nothing"
    assert run.subjects == audit.subjects
    assert run.subjects_at_risk == len(audit.at_risk)


def test_a_strategy_for_growing_tables_says_why_it_cannot_be_used(comparison: Comparison) -> None:
    run = next(run for run in comparison.runs if run.strategy == "bcf")
    assert (run.status, run.failed_at) == ("refused", 2)
    assert "subjects of the last release are not in the snapshot" in str(run.reason)
    patients = {line for line in str(run.reason).split() if line.startswith("P")}
    assert not patients, "nobody is named"
    assert any("bcf" in sentence for sentence in comparison.sentences)


def test_it_recommends_the_protected_one(comparison: Comparison) -> None:
    runs = {run.strategy: run for run in comparison.runs}
    assert comparison.recommended == runs["m-invariance"].label
    assert runs["m-invariance"].risk < runs["static"].risk
    assert {run.label for run in find_frontier(comparison.runs)} >= {runs["m-invariance"].label}


@pytest.mark.usefixtures("comparison")  # whose runs are kept
def test_it_recommends_standing_classes_first(data: Path) -> None:
    found = compared(data, data / "out", ("static", "m-invariance", "standing"))
    by_name = {run.strategy: run for run in found.runs}
    assert found.recommended == by_name["standing"].label
    assert not by_name["standing"].breached
    assert by_name["standing"].subjects_at_risk == 0


def test_finished_runs_are_kept_and_reused_until_something_changes(few: Path, tmp_path: Path) -> None:
    first = compared(few, tmp_path, ("static",))
    said: list[str] = []
    again = compared(few, tmp_path, ("static",), progress=said.append)
    assert list(again.runs) == list(first.runs), "seconds and all: it was not run again"
    assert not any("release 1 of" in word for word in said)
    compared(few, tmp_path, ("static",), settings=["static.k=6"], progress=said.append)
    assert any("release 1 of" in word for word in said)
    assert not list((tmp_path / "runs").glob("*/series")), "no ledger is left behind"


def test_an_interrupted_run_starts_anew(few: Path, tmp_path: Path) -> None:
    def interrupt(stage: str) -> None:
        if "release 2" in stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compared(few, tmp_path, ("static",), progress=interrupt)
    (run,) = compared(few, tmp_path, ("static",)).runs
    assert run.status == "done"
    kept = next((tmp_path / "runs").glob("*/run.json"))
    kept.write_text(kept.read_text()[:40])
    (again,) = compared(few, tmp_path, ("static",)).runs
    assert (again.subjects_at_risk, again.query_error) == (run.subjects_at_risk, run.query_error), "same seed, same run"


def test_a_changed_snapshot_is_noticed(few: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(few, tmp_path / "copy"))
    compared(copied, tmp_path / "out", ("static",))
    (copied / "2024-02.parquet").write_bytes((copied / "2024-01.parquet").read_bytes())
    said: list[str] = []
    compared(copied, tmp_path / "out", ("static",), progress=said.append)
    assert any("release 1 of" in word for word in said)


def test_wrong_input_is_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nofile"):
        compare_config(data / "clinic.toml", [tmp_path / "nofile.csv"])
    with pytest.raises(SettingsError, match="at least one snapshot"):
        compare_config(data / "clinic.toml", [])
    with pytest.raises(SettingsError, match="statik"):
        compare_config(data / "clinic.toml", sorted(data.glob("*.parquet")), strategies=["statik"])


def test_a_snapshot_that_does_not_fit_is_no_result(data: Path, tmp_path: Path) -> None:
    first = sorted(data.glob("*.parquet"))[0]
    table = pa.parquet.read_table(first)
    bad = tmp_path / "bad.parquet"
    pa.parquet.write_table(table.drop_columns("exam"), bad)
    with pytest.raises(SnapshotError, match="Column 'exam' is missing"):
        compare_config(data / "clinic.toml", [first, bad], strategies=["static"])
    few = tmp_path / "few.parquet"
    pa.parquet.write_table(table.slice(0, 1), few)
    done = click.testing.CliRunner().invoke(
        command, ["--config", str(data / "clinic.toml"), "--strategy", "static", str(few)]
    )
    assert done.exit_code == 3, "nobody can publish one row"
    assert "Nothing can be recommended" in done.output


def test_the_command_prints_writes_and_draws(few: Path, tmp_path: Path) -> None:
    snapshots = [str(path) for path in sorted(few.glob("*.parquet"))[:2]]
    files = ["--html", str(tmp_path / "c.html"), "--picture", str(tmp_path / "c.svg")]
    start = ["--config", str(few / "clinic.toml"), "--strategy", "static", "--out", str(tmp_path / "out")]
    done = click.testing.CliRunner().invoke(command, [*start, *files, *snapshots])
    assert done.exit_code == 0, done.output
    assert "static (k=4, c=0.5, l=4)" in done.output
    assert "intersection" in done.output
    assert (tmp_path / "c.svg").read_text().startswith("<svg")
    assert "var(--" not in (tmp_path / "c.svg").read_text()
    assert "Strategies compared" in (tmp_path / "c.html").read_text()
    document = json.loads(click.testing.CliRunner().invoke(command, [*start, "--json", *snapshots]).output)
    assert document["format"] == "reissue-comparison/1"
    assert document["runs"][0]["attacks"]["intersection"]["status"] in ("breached", "held")


def test_png_by_suffix_and_other_suffixes_refused(comparison: Comparison, tmp_path: Path) -> None:
    comparison.to_picture(tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(SettingsError, match="pdf"):
        comparison.to_picture(tmp_path / "map.pdf")


def test_the_page_escapes_what_runs_say(comparison: Comparison) -> None:
    document = comparison.to_dict()
    hostile = "</script><script>window.pwned=1</script>"
    for run in document["runs"]:  # type: ignore[attr-defined]
        run["label"] = run["reason"] = hostile
    page = render_comparison(document)
    assert hostile not in page
    with pytest.raises(InputError, match="reissue-comparison/9"):
        render_comparison({**document, "format": "reissue-comparison/9"})


def test_the_page_says_what_the_command_says(comparison: Comparison) -> None:
    """Also the lines below "Use it only if you can rule out such attackers:"."""
    document = comparison.to_dict()
    attacker = "  intersection: The attacker knows who is in which class."
    document["recommendation"]["sentences"] = [  # type: ignore[index]
        "It is broken by intersection. Use it only if you can rule out such attackers:", attacker,
        "It promises nothing.", "Could not be used on these snapshots:", "  bcf: somebody left",
    ]  # fmt: skip
    page = render_comparison(document)
    assert f"rule out such attackers:</p><ul><li>{attacker.strip()}</li></ul><p>It promises nothing.</p></div>" in page
    assert "query error" in page
    best = next(run for run in document["runs"] if run["label"] == document["recommendation"]["label"])  # type: ignore[index, attr-defined]
    for status, look, words in (("held", "good", "✓ Take "), ("breached", "unsure", "? ")):
        best["attacks"] = {name: {**attack, "status": status} for name, attack in best["attacks"].items()}
        assert f'<div class="verdict {look}" id="verdict" tabindex="-1">\n<strong>{words}' in render_comparison(
            document
        )


def test_strategies_that_crowd_at_zero_get_a_logarithmic_axis(comparison: Comparison) -> None:
    document = comparison.to_dict()
    one = next(run for run in document["runs"] if run["status"] == "done")  # type: ignore[attr-defined]

    def scale(*risks: float) -> str:
        runs = [{**one, "label": f"s{i}", "risk": risk} for i, risk in enumerate(risks)]
        layers = draw_map({**document, "runs": runs, "frontier": []})["layer"]
        return str(layers[1]["encoding"]["x"]["scale"].get("type"))  # type: ignore[index]

    assert scale(0, 0.001, 0.9) == "symlog"
    assert scale(0, 0.5, 0.9) == scale(0, 0, 0.9) == scale(0, 0) == "None", "nothing to tell apart"


def test_every_strategy_stands_beside_its_point_once(comparison: Comparison) -> None:
    """Each label is written twice, the second on the outline of the first, in the one place where it has room."""
    document = comparison.to_dict()
    one = next(run for run in document["runs"] if run["status"] == "done")  # type: ignore[attr-defined]
    places = [(0.1, 0.1), (0.1, 0.11), (0.12, 0.1), (0.9, 0.5), (0.9, 0.51), (0.5, 0.9)]
    runs = [{**one, "label": f"s{i}", "risk": risk, "query_error": error} for i, (risk, error) in enumerate(places)]
    spec = draw_map({**document, "runs": runs, "frontier": []})
    texts = [layer for layer in spec["layer"] if layer["mark"]["type"] == "text"]  # type: ignore[index, attr-defined]
    assert all(layer["encoding"]["text"]["field"] == "label" for layer in texts)
    for outline, words in zip(texts[::2], texts[1::2], strict=True):
        assert "strokeWidth" in outline["mark"]
        assert "strokeWidth" not in words["mark"]
        assert outline["transform"] == words["transform"]
    wanted = [layer["transform"][0]["filter"] for layer in texts[1::2]]
    rows = texts[0].get("data", spec.get("data"))["values"]  # type: ignore[union-attr, index]
    stands = [[f"datum.side == '{row['side']}' && datum.height == '{row['height']}'" for row in rows]]
    assert sorted(wanted) == sorted(set(stands[0]))
    assert len(rows) == len(places)


def test_the_page_has_no_serious_violation(browser: Browser, comparison: Comparison, tmp_path: Path) -> None:
    comparison.to_html(tmp_path / "c.html")
    with shown(browser, tmp_path / "c.html") as (page, _):
        for look in show_in_turn(page):
            assert find_violations(page) == [], look


def test_the_page_loads_nothing_in_a_real_browser(browser: Browser, comparison: Comparison, tmp_path: Path) -> None:
    comparison.to_html(tmp_path / "c.html")
    with shown(browser, tmp_path / "c.html", width=1280) as (page, seen):
        assert page.evaluate("[...document.querySelectorAll('.scroll')].every(e => e.scrollWidth <= e.clientWidth)")
        assert page.locator(".chart svg path").count() > 2
        assert seen.requests == [(tmp_path / "c.html").as_uri()]
        assert seen.problems == []


def run(label: str, breached: tuple[str, ...], at_risk: int, error: float, ran: int = 3) -> Run:
    names = ("intersection", "difference", "equivalence")[:ran]
    attacks = {
        n: {"status": "breached" if n in breached else "held", "subjects_at_risk": 0, "reason": None} for n in names
    }
    return Run(label=label, strategy=label, settings={}, status="done", releases=2, query_error=error, subjects=100,
               subjects_at_risk=at_risk, attacks=attacks)  # fmt: skip


def test_advice() -> None:
    naive = run("naive", ("intersection",), 50, 0.01)
    dear, cheap = run("dear", (), 0, 0.4), run("cheap", (), 0, 0.2)
    label, words = advise([naive, dear, cheap], {})
    assert label == "cheap"
    assert "of the 2 that none of them succeeds against" in words[0]
    assert words[1] == (
        "naive would tell more (counts made from it are off by 1%), but intersection succeeds against it: 50 of 100 "
        "people are at risk."
    )
    middle = run("middle", ("difference",), 9, 0.1)
    discussed = " ".join(advise([naive, dear, cheap, middle], {})[1])
    assert "naive would tell more" in discussed
    assert "middle would tell more" in discussed, "every strategy on the frontier is discussed"
    assert "dear" not in discussed, "it is beaten"
    equal = " ".join(advise([cheap, run("same", (), 0, 0.2)], {})[1])
    assert "same would tell as much (" in equal
    unproven = run("unproven", (), 0, 0.0, ran=1)
    assert advise([naive, unproven, dear], {})[0] == "dear", "fewer attacks tried is no merit"
    label, words = advise([naive, run("less", ("equivalence",), 7, 0.5)], {"equivalence": "knows all"})
    assert label == "less"
    assert any("equivalence: knows all" in word for word in words)
    assert "promises nothing against attacks across releases" in advise([run("static", (), 0, 0.1)], {})[1][1]
    promise = advise([run("e-equivalence", (), 0, 0.1)], {})[1][1]
    assert promise.startswith(
        "It promises to stop association, equivalence, intersection, difference and possible-worlds"
    )
    assert "also failed" not in promise, "what it promises is no luck"
    lucky = advise([run("bcf", (), 0, 0.1)], {})[1][1]
    assert (
        "Intersection, difference and equivalence also failed on these snapshots, but may succeed on the next." in lucky
    )
    [alone, *_] = advise([cheap], {})[1]
    assert alone == "Take cheap: of the 3 attacks tried, none succeeds (counts made from it are off by 20%)."
    assert advise([], {}) == (None, ["Nothing can be recommended: no strategy could publish these snapshots."])
    assert advise([run("untested", (), 0, 0.0, ran=0)], {})[0] is None


def test_rates_are_measured_by_the_pair_of_the_config_and_drawn(tmp_path: Path) -> None:
    data = written(tmp_path, months=1, patients=300)
    config = tmp_path / "c.toml"
    config.write_text(
        clinic.config(strategy="m-invariance") + '\n[utility]\nrates = ["birth_year x sex"]\n', encoding="utf-8"
    )
    snapshots = sorted(data.glob("*.parquet"))
    done = compare_config(config, snapshots, strategies=("static", "standing"))
    for run in done.runs:
        [rates] = run.rates
        assert rates["pair"] == "birth_year x sex"
        assert 0 <= float(str(rates["error"])) < 2
        assert rates["points"]
    assert "rate error" in done.describe()
    page = render_comparison(done.to_dict())
    assert "chart-rates" in page
    assert "correlation of rates" in page


def test_a_pair_that_is_none_is_refused_before_the_work(data: Path, tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text(
        clinic.config(strategy="m-invariance") + '\n[utility]\nrates = ["birth_year x sx"]\n', encoding="utf-8"
    )
    with pytest.raises(InputError, match="Did you mean 'sex'"):
        compare_config(config, sorted(data.glob("*.parquet")), strategies=("static",))
