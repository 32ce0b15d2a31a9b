"""The studies of standing classes: risk over a whole series beside other strategies, and what readers still get.

python experiments/standing_study.py [folder of the data] [folder for the page]      (needs scikit-learn)
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from known_algorithm import measure as simulate
from learning_people import count_others, observe, read_adult, read_census
from learning_strategies import read_clinic
from reissue.methods.baselines.static import Static
from reissue.methods.correlation.strategy import CorSplit
from reissue.methods.equivalence.strategy import EEquivalence
from reissue.methods.incremental.checked_mondrian import CheckedMondrian
from reissue.methods.invariance.known_algorithm_attack import KnownAlgorithm
from reissue.methods.invariance.strategy import MInvariance
from reissue.methods.standing.strategy import Standing
from reissue.methods.strategy import Strategy
from reissue.model.release import Coded, Facts, History, Table
from standing_readers import churn, measure_reading
from standing_risk import attack, divide, see
from standing_study_report import Row, write

ROOT = Path(__file__).resolve().parents[1]
LIVE, RELEASES, PATIENTS, SIMULATED = 5_000, 24, 3_000, 6_000
CURVE = (1, 2, 3, 4, 6, 8, 12, 18, 24)

DEFAULT = "standing, c=.4 l=4 k=8"
STANDING: dict[str, Strategy] = {
    "standing, c=.25 l=4 k=4": Standing(k=4, c=0.25, totals=0.5),
    "standing, c=.34 l=3 k=4": Standing(k=4, c=0.34, l=3, totals=0.5),
    DEFAULT: Standing(totals=0.5),
    "standing, c=.5 l=4 k=4": Standing(k=4, c=0.5, totals=0.5),
}
SPLIT: dict[str, Strategy] = {
    "m-invariance, m=4": MInvariance(m=4, on_ineligible="counterfeit"),
    "cor-split, m=4, n=2": CorSplit(m=4, n=2, on_ineligible="counterfeit"),
}
STRATEGIES: dict[str, Strategy] = {
    **SPLIT,
    "e-equivalence, m=4, e=3": EEquivalence(m=4, e=3, on_ineligible="counterfeit"),
    "static, k=8 c=.4 (unsafe)": Static(k=8, c=0.4),
    "checked-mondrian, k=8 c=.4": CheckedMondrian(k=8, c=0.4),
    **STANDING,
}
FEW = ("m-invariance, m=4", "e-equivalence, m=4, e=3", "static, k=8 c=.4 (unsafe)", "standing, c=.25 l=4 k=4", DEFAULT)


@dataclass(frozen=True, eq=False)
class Scene:
    """A history. others: of whom only statistics are known; grows: nobody ever leaves."""

    name: str
    snapshots: Callable[[], Iterator[Coded]]
    others: Coded
    grows: bool = False

    def list_strategies(self, names: Sequence[str] = ()) -> Mapping[str, Strategy]:
        """Those that can go through it, or of these the named ones."""
        able = {name: one for name, one in STRATEGIES.items() if self.grows or one.supports.gone}
        return {name: one for name, one in able.items() if not names or name in names}


@dataclass(frozen=True, eq=False)
class Series:
    """releases, snapshots: in order; seconds: processor time of each release, its check included."""

    releases: list[Facts]
    snapshots: list[Coded]
    seconds: list[float]


def publish(strategy: Strategy, snapshots: Iterator[Coded]) -> Series:
    """Every release found sound."""
    releases: list[Facts] = []
    caches: Mapping[str, Table] = {}
    seen, seconds = list(snapshots), []
    for number, snapshot in enumerate(seen, start=1):
        begin, history = time.process_time(), History(list(releases), caches, number)
        facts = strategy.publish(snapshot, history).facts(number, snapshot)
        fault = strategy.check(facts, history)
        assert fault is None, fault
        caches = strategy.remember(caches, facts)
        seconds.append(time.process_time() - begin)
        releases.append(facts)
    return Series(releases, seen, seconds)


def set_scenes(adult: Coded, census: Coded) -> list[Scene]:
    """Adult with little, some and much turnover, growing, shrinking, leaving by value; census-like people; a clinic."""
    people, others = divide(adult, len(adult) * 2 // 3)
    common = np.argsort(-np.bincount(adult.values))[:2]
    by_value = {int(value): 4.0 for value in common}

    def live(
        share: float, growth: float = 0.0, rows: int = LIVE, **more: Mapping[int, float]
    ) -> Callable[[], Iterator[Coded]]:
        return lambda: churn(people, rows, RELEASES, share, growth=growth, **more)

    crowd, strangers = divide(census, len(census) // 2)
    return [
        Scene("Adult, 10% replaced", live(0.1), others),
        Scene("Adult, 5% replaced", live(0.05), others),
        Scene("Adult, 20% replaced", live(0.2), others),
        Scene("Adult, growing: 10% leave, 15% come", live(0.1, 0.05, LIVE // 2), others),
        Scene("Adult, shrinking: 10% leave, 5% come", live(0.1, -0.05), others),
        Scene("Adult, 10% replaced, two common values leave 4 times as often", live(0.1, leaving=by_value), others),
        Scene("Adult, only growing: 10% come", live(0.0, 0.1, LIVE // 5), others, grows=True),
        Scene("census-like, 10% replaced", lambda: churn(crowd, LIVE, RELEASES, 0.1), strangers),
        Scene(
            f"clinic, {PATIENTS:,} patients",
            lambda: iter(read_clinic(2024, False, RELEASES, PATIENTS)),
            read_clinic(7, True, RELEASES, PATIENTS)[-1],
        ),
    ]  # fmt: skip


def follow(scene: Scene, name: str, strategy: Strategy, whole: bool) -> Iterator[Row]:
    """Risk after more and more releases, the last with all that is measured. whole: every attacker, all points."""
    made = publish(strategy, scene.snapshots())
    series, last = see(made.releases, scene.others), len(made.releases)
    for until in sorted({number for number in CURVE if whole and number < last} | {1, last}):
        yield {"scene": scene.name, "strategy": name, "release": until, **attack(series, scene.others, until)}
    row: Row = {"scene": scene.name, "strategy": name, "release": "all", "people": len(made.snapshots[-1])}
    row |= measure_reading(made.releases[-1], made.snapshots[-1])
    row["seconds"] = float(np.mean(made.seconds[1:]))
    if whole:
        row["releases alone"] = attack(series, None, last)["first right"]
        row["statistics"] = attack(series, scene.others, last)["first right"]
        row["statistics, 4% known"] = attack(series, scene.others, last, known=0.04)["first right"]
    yield row


def know_algorithm(adult: Coded) -> Iterator[Row]:
    """Right guesses from one release, without and with knowing how classes are made.

    Lists of values that are cut at their medians: what follows from that. Standing: what can be learned from
    simulating it on other people.
    """
    mine, theirs = (adult.part(np.arange(i * SIMULATED, (i + 1) * SIMULATED)) for i in range(2))
    statistics = count_others(adult, np.arange(2 * SIMULATED, len(adult)))
    for name, strategy in SPLIT.items():
        series = observe(publish(strategy, iter([theirs])).releases, theirs)
        found = KnownAlgorithm().inform(statistics).run(series).measures
        without = attack(series, adult.part(np.arange(2 * SIMULATED, len(adult))), 1)
        yield {"strategy": name, "without": without["first right"], "knowing": found["right"], "chance": ""}
    for name, strategy in STANDING.items():
        leak = simulate(name, strategy, mine, theirs, statistics)
        chance = leak.null_place[1] - leak.null_without[1]
        yield {"strategy": name, "without": leak.without[1], "knowing": leak.place[1], "chance": f"{chance:+.3f}"}


def main(folder: Path, page: Path) -> None:
    adult, census = read_adult(folder), read_census(folder)
    rows: list[Row] = []
    for number, scene in enumerate(set_scenes(adult, census)):
        whole = number == 0 or not scene.name.startswith("Adult")
        names = () if whole or scene.grows else FEW
        for name, strategy in scene.list_strategies(names).items():
            rows += follow(scene, name, strategy, whole)
            print(scene.name, name, f"{rows[-2]['first right']:.3f} {rows[-1]['wide told']:.3f}", flush=True)
    write(rows, list(know_algorithm(adult)), page)


if __name__ == "__main__":
    given = [Path(one) for one in sys.argv[1:]]
    main(
        given[0] if given else ROOT.parent / "shared" / "data",
        given[1] if len(given) > 1 else ROOT / "docs" / "experiments" / "standing",
    )
