"""Publish checks the finished release itself: whoever cheats is refused in that guard's words, and nothing is kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import reissue as ri
from reissue.errors import GuaranteeBroken
from reissue.methods.strategy import Strategy
from reissue.model.paths import count_paths
from reissue.model.release import Facts
from tests.support import cheats
from tests.support.cheats import LIES
from tests.support.divided import CHURN, INSERTS, SCHEMA, VALUES, People
from tests.support.words import PlainWords

HONEST = ri.Static(k=4)
LABEL = f"'(?:{'|'.join(VALUES)})'"

BREACHES: dict[str, tuple[Strategy, str]] = {
    "a row is suppressed and published": (cheats.Hider(k=4), "would go out and 1 are suppressed"),
    "classes are too small": (cheats.Careless(k=8), r"\d+ classes break k \(4 against 8\)"),
    "a value is too frequent": (cheats.Careless(k=4, c=0.3), rf"\d+ classes break c \(\S+ against 0.3, of {LABEL}\)"),
    "classes are far from the table": (cheats.Careless(k=4, t=0.2), r"\d+ classes break t \(\S+ against 0.2\)"),
    "its own test fails": (cheats.Honest(k=4), "rows, some of 'asthma', are too many after release the first"),
    "a second look finds what the attack does not": (
        cheats.Doubter(k=4),
        r"\d+ people are too many in release the first, too few of them with a value that the series does not know, "
        "although the attack itself found nothing",
    ),
    "a promised attack succeeds": (cheats.Boaster(k=4, c=0.3), "the (intersection|difference) attack would succeed. "),
}


COMMON: dict[str, tuple[Callable[..., Strategy], str]] = {
    "it keeps half of its promise": (cheats.CarelessPlanner, "the correspondence attack would succeed. "),
    "nobody gets into a class": (cheats.EmptyPlanner, "a class is empty"),
    "counts cannot prove it": (cheats.UnprovenPlanner, "the difference attack cannot be tried on counts"),
}


@pytest.fixture(scope="module")
def months() -> list[pa.Table]:
    return [table.select(SCHEMA.columns) for table in People(3).months(3, CHURN, first=150)]


def test_every_guard_has_a_cheat() -> None:
    """A sentence of the check that no cheat here provokes is a guard that nobody tests."""
    source = Path(ri.__file__).parent / "publish"
    told = " ".join(words for cheating in (LIES, BREACHES, COMMON) for _, words in cheating.values())
    for sentence in re.findall(
        r'refuse_release\(\s*(?:put_names\()?f?"([^"]*)"', (source / "self_check.py").read_text()
    ):
        words = max(re.split(r"\{[^}]*\}", sentence), key=len).strip(" .(")
        assert words in told, f"no strategy here is refused with: {sentence}"


def assert_refused(series: ri.Series, table: pa.Table, cheat: Strategy, words: str, engine: str = "embedded") -> None:
    """In those words, with the series as it was: its releases, its files, and what is staged."""
    before = files(series.path)
    with pytest.raises(GuaranteeBroken, match=f"^The finished release failed its own check: .*{words}") as refused:
        series.publish(table, strategy=cheat, engine=engine)
    assert not re.search(r"\{\w+:-?\d+\}", str(refused.value)), "a code is left, where a label belongs"
    assert files(series.path) == before
    assert not list((series.path / "private" / "staging").iterdir())


def files(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def words_of(lie: str) -> str:
    return re.escape(LIES[lie][1]).replace(re.escape("{}"), r"\d+").replace(re.escape("{label}"), LABEL)


@pytest.fixture(scope="module", params=[1, 2], ids=["whole", "in two fragments"])
def series(
    request: pytest.FixtureRequest, months: list[pa.Table], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ri.Series]:
    path = tmp_path_factory.mktemp("cheats") / "s"
    with ri.Series.create(path, SCHEMA, HONEST, seed=1, fragments=request.param) as made:
        made.publish(months[0], label="the first")
        yield made
        assert made.verify(rebuild=True) == []
        assert made.publish(months[1]).number == 2, "an honest strategy goes on as if nothing had been"


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_refused(series: ri.Series, months: list[pa.Table], lie: str) -> None:
    assert_refused(series, months[1], cheats.Liar(k=4, lie=lie), words_of(lie))


@pytest.mark.parametrize("name", BREACHES)
def test_a_broken_promise_is_refused(series: ri.Series, months: list[pa.Table], name: str) -> None:
    assert_refused(series, months[1], *BREACHES[name])


@pytest.mark.parametrize("name", COMMON)
def test_a_plan_for_all_fragments_that_cheats_is_refused(name: str, tmp_path: Path) -> None:
    first, second = (table.select(SCHEMA.columns) for table in People(3).months(2, INSERTS, first=300))
    with ri.Series.create(tmp_path / "s", SCHEMA, ri.BCF(k=6), seed=1, fragments=2) as series:
        series.publish(first)
        cheat, words = COMMON[name]
        assert_refused(series, second, cheat(k=6), words)
        assert series.publish(second).number == 2


def test_nodes_are_not_checked_by_the_code_that_makes_them(
    months: list[pa.Table], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reissue.model.boxes.widen_to_nodes", lambda boxes, domains: boxes)
    monkeypatch.setattr("reissue.methods.invariance.strategy.widen_to_nodes", lambda boxes, domains: boxes)
    with ri.Series.create(tmp_path / "s", SCHEMA, ri.MInvariance(m=3), seed=1) as series:
        assert_refused(series, months[0], ri.MInvariance(m=3), "a box is not a node of its hierarchy")


def test_what_differs_from_an_earlier_release_is_told_by_labels() -> None:
    """Where classes are common to all fragments, people are counted by their ways through all releases."""
    box = np.array([[[0, 9]]], dtype=np.int32)

    def release(number: int, subjects: list[int], values: list[int]) -> Facts:
        rows = np.zeros(len(subjects), dtype=np.int32)
        who, own = np.array(subjects, dtype=np.int64), np.array(values, dtype=np.int32)
        return Facts(number, box, who, rows, own, rows.reshape(-1, 1))

    words = PlainWords({2: "flu", 5: "gout"})
    with pytest.raises(GuaranteeBroken, match=r"in release 2 a sensitive value differs .*: 'gout' in place of 'flu'"):
        count_paths([release(1, [4, 7], [0, 2]), release(2, [7, 8], [5, 1])], words)
    with pytest.raises(GuaranteeBroken, match=r"in release 2 a row of this strategy stands for nobody"):
        count_paths([release(1, [4, 7], [0, 2]), release(2, [-1, 8], [5, 1])], words)
