"""The comparison with other packages reads every tool's cells alike, and stops what takes too long."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest
from benchmarks.peers.cells import Measurer
from benchmarks.peers.data import Source, halved, lines, source
from benchmarks.peers.page import page
from benchmarks.peers.processes import Cost, timed
from benchmarks.peers.run import TINY, Report, expected
from benchmarks.peers.tools import ARX, MONDRIAN, OWN, PEERS, Policy, Result

ANONYPY = PEERS[2]
COUNTRY = "France;Europe;*\nSpain;Europe;*\nItaly;Europe;*\nPeru;America;*\nChile;America;*\n"
AGE = "".join(f"{age};{age // 10 * 10}-{age // 10 * 10 + 9};*\n" for age in range(20, 41))


@pytest.fixture
def own(tmp_path: Path) -> Source:
    """Ages 20 to 40, five countries of which Italy does not occur."""
    table = "age;country;diagnosis\n20;France;flu\n30;Spain;flu\n30;Peru;gout\n40;Chile;cold\n"
    (tmp_path / "people.csv").write_text(table)
    (tmp_path / "people_hierarchy_age.csv").write_text(AGE)
    (tmp_path / "people_hierarchy_country.csv").write_text(COUNTRY)
    found = source(tmp_path, "diagnosis", None)
    assert found is not None
    return found


def output(*rows: tuple[str, ...], count: bool = False) -> pl.DataFrame:
    names = ["age", "country", "diagnosis", *(["count"] if count else [])]
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def test_a_folder_of_ones_own_says_what_is_what(own: Source) -> None:
    assert own.quasi_identifiers == ["age", "country"]
    assert own.numeric == ("age",)
    assert own.rows(3)["patient"].n_unique() == 3


def test_without_data_there_is_no_source(tmp_path: Path) -> None:
    assert source(tmp_path / "absent", "diagnosis", None) is None


def test_groups_ranges_and_lists_cost_the_values_they_allow(own: Source) -> None:
    measurer = Measurer.of(own.table, own)
    rows = [
        ("20-29", "Europe", "flu"),  # ages 9 of 20; France and Spain occur: 1 of 3
        ("30", "*", "flu"),  # 0; all four: 1
        ("30-40", "Peru,Spain", "gout"),  # 10 of 20; two: 1 of 3
        ("*", "Chile", "cold"),  # 1; 0
    ]
    seen = measurer.seen(output(*rows), 1, None)
    assert seen.utility.gcp_share == pytest.approx(sum([9 / 20, 1 / 3, 0, 1, 1 / 2, 1 / 3, 1, 0]) / 8)
    # only the group of all has Peru and Spain
    assert seen.grouped == pytest.approx(sum([9 / 20, 1 / 3, 0, 1, 1 / 2, 1, 1, 0]) / 8)


def test_a_range_costs_the_values_that_occur_from_its_first_to_its_last(own: Source) -> None:
    """In the order of the hierarchy: Spain and Italy, of which only Spain occurs; then Peru."""
    measurer = Measurer.of(own.table, own)
    rest = [("20", "Peru", value) for value in ("flu", "gout", "cold")]
    seen = measurer.seen(output(("20", "Spain..Peru", "flu"), *rest), 1, None)
    assert seen.utility.gcp_share == pytest.approx(1 / 3 / 8)


def test_lists_in_another_order_and_counted_lines_are_one_class(own: Source) -> None:
    measurer = Measurer.of(own.table, own)
    lines_ = [("20-40", "Spain,Peru", "flu", "2"), ("20-40", "Peru,Spain", "gout", "1")]
    seen = measurer.seen(output(*lines_, count=True), 3, 2)
    assert (seen.k, seen.diversity, seen.kept) == (3, 2, True)
    assert seen.utility.suppressed == 1
    assert measurer.plain(output(*lines_, count=True))["country"].to_list() == ["Peru,Spain"] * 3


def test_a_broken_policy_is_found(own: Source) -> None:
    measurer = Measurer.of(own.table, own)
    table = output(("20-40", "*", "flu"), ("20-40", "*", "flu"), ("30", "Peru", "gout"))
    assert not measurer.seen(table, 2, None).kept
    assert not measurer.seen(table, 1, 2).kept
    assert measurer.seen(table, 1, 1).kept


def test_rows_that_nobody_had_are_refused(own: Source) -> None:
    with pytest.raises(ValueError, match="more rows"):
        Measurer.of(own.table, own).seen(output(*[("30", "Peru", "gout")] * 2), 1, None)


def test_a_halved_hierarchy_halves_until_one_value_is_left(own: Source, tmp_path: Path) -> None:
    path = tmp_path / "halved.csv"
    path.write_text(halved(own.hierarchies["country"]))
    found = lines(path)
    assert {len(line) for line in found} == {4}
    assert sorted(line[0] for line in found) == ["Chile", "France", "Italy", "Peru", "Spain"]
    for level, most in ((1, 2), (2, 3)):
        sizes = [len(line[level].split(",")) for line in found]
        assert max(sizes) == most
        assert all(line[0] in line[level].split(",") for line in found)


def test_a_process_is_stopped_at_its_limit_and_a_failure_is_told(tmp_path: Path) -> None:
    busy, idle = "while True: pass", "import time; time.sleep(10**6)"
    for work in (busy, idle):
        filled = tmp_path / "filled"
        code = f"x = bytearray(6 * 10**7)\nopen({str(filled)!r}, 'w').close()\n{work}"
        limit = 0.25
        while not filled.exists():  # a slow machine needs longer to come so far
            slow = timed([sys.executable, "-c", code], tmp_path, limit)
            assert not slow.finished
            limit *= 2
        assert slow.megabytes > 60  # a bare Python has 10
        filled.unlink()
    small = timed([sys.executable, "-c", "print('done')"], tmp_path, 600.0)
    assert small.good
    assert small.said == "done\n"
    assert small.megabytes < 100  # not that of the process that measures
    assert timed([sys.executable, "-c", "raise SystemExit('no rows')"], tmp_path, 600.0).problem == "no rows"


def cost(seconds: float, finished: bool = True) -> Cost:
    return Cost(seconds, seconds, 100.0, finished, None, "")


def test_expected_time_follows_the_growth_measured() -> None:
    k, both = Policy(10), Policy(10, 3)
    known = [Result(1_000, k, ANONYPY, cost(2.0)), Result(1_000, both, ANONYPY, cost(3.0))]
    assert expected(known, ANONYPY, k, 100_000) == float("inf")
    known.append(Result(10_000, k, ANONYPY, cost(20.0)))
    assert expected(known, ANONYPY, k, 100_000) == pytest.approx(200.0)
    assert expected(known, ANONYPY, both, 100_000) == pytest.approx(300.0)


def test_the_page_tells_what_was_stopped_and_what_was_not_tried(own: Source) -> None:
    k = Policy(2)
    seen = Measurer.of(own.table, own).seen(output(*[("*", "*", "flu")] * 2), 2, None)
    results = [
        Result(4, k, MONDRIAN, cost(1.0), seen, (2, 1)),
        Result(4, k, PEERS[0], cost(600.0, finished=False)),
        Result(4, k, ANONYPY, None, expected=1234.0),
    ]
    fixed = [("reissue, first run", cost(9.0)), (str(MONDRIAN), cost(1.0)), (str(ANONYPY), cost(0.5))]
    names = own.quasi_identifiers
    text = page(Report("people", "here", {}, names, "diagnosis", (k,), 600.0, 25.0, fixed, results, [], "python"))
    assert "| anjana, full domain | > 600, stopped | 600.0 | 100 |" in text
    assert "**Full-domain" not in text
    assert "not run, about 1,234 s expected" in text
    assert "All 1 outputs keep their policy" in text
    assert f"{TINY} rows cost Reissue 1.0 s of CPU, anonypy 0.5 s. On a few hundred rows anonypy" in text
    widths = {line.count("|") for line in text.splitlines() if line.startswith(("| tool", "| reissue", "| an"))}
    assert len(widths) == 2  # results, fixed costs


def test_the_page_sets_full_domain_generalization_side_by_side(own: Source) -> None:
    k, measurer = Policy(1), Measurer.of(own.table, own)
    diagnoses = ("flu", "flu", "gout", "cold")
    whole = measurer.seen(output(*[("*", "*", value) for value in diagnoses]), 1, None)
    spared = measurer.seen(output(*[("20", "France", value) for value in diagnoses[1:]]), 1, None)
    results = [Result(4, k, MONDRIAN, cost(1.0), whole)]
    for tool in (*OWN[3:5], *PEERS[:2], *ARX):
        results.append(Result(4, k, tool, cost(1.0), spared if tool.suppression else whole))
    fixed = [("reissue, first run", cost(9.0)), (str(MONDRIAN), cost(1.0))]
    names = own.quasi_identifiers
    text = page(Report("people", "here", {}, names, "diagnosis", (k,), 600.0, 25.0, fixed, results, [], "python"))
    each = ("Reissue's Incognito", "ARX", "anjana")
    told = "; ".join(f"{name} 1.000, 0.250 with 1 rows left out" for name in each)
    assert f"(rows left out count as wholly lost): {told}. ARX's local recoding of such solutions" in text
