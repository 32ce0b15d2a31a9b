"""What the learning attacker gets against every strategy: on Adult and on the made-up clinic.

python experiments/learning_strategies.py [folder of the Adult data and ARX's hierarchies] [folder for the page]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from learning_people import count_others, publish, read_adult, replace_people
from reissue.clinic import EXAMS, SEXES, clinic_months
from reissue.methods.baselines.merge import Merge
from reissue.methods.baselines.static import Static
from reissue.methods.bcf.strategy import BCF
from reissue.methods.beliefs.bay_frame import BayFrame
from reissue.methods.beliefs.js_reduce import JSReduce
from reissue.methods.correlation.strategy import CorSplit
from reissue.methods.equivalence.strategy import EEquivalence
from reissue.methods.incremental.checked_incognito import CheckedIncognito
from reissue.methods.incremental.checked_mondrian import CheckedMondrian
from reissue.methods.invariance.strategy import MInvariance
from reissue.methods.learning.attack import Learning
from reissue.methods.standing.strategy import Standing
from reissue.methods.strategy import Strategy
from reissue.model.domain import Domain, Tree
from reissue.model.release import Coded
from standing_risk import see

ROOT = Path(__file__).resolve().parents[1]
LIVE, RELEASES, PATIENTS = 3_000, 6, 2_000
STRATEGIES: dict[str, Strategy] = {
    "standing": Standing(),
    "m-invariance": MInvariance(m=4, on_ineligible="counterfeit"),
    "e-equivalence": EEquivalence(m=4, e=3, on_ineligible="counterfeit"),
    "cor-split": CorSplit(m=4, n=2, on_ineligible="counterfeit"),
    "bay-frame": BayFrame(k=4, J=0.6, beta=5.0, most_suppressed=1.0),
    "js-reduce": JSReduce(k=4, J=0.6, t=0.5, most_suppressed=1.0),
    "static": Static(k=8, c=0.5),
    "merge": Merge(k=8, c=0.5),
    "checked-mondrian": CheckedMondrian(k=8, c=0.5),
    "checked-incognito": CheckedIncognito(k=8, c=0.5),
    "bcf": BCF(k=8, confidence=0.5),
}
SETTINGS = "m = 4; e = 3; n = 2; k = 4, J = 0.6, beta = 5 or t = 0.5; k = 8, c = 0.5 for the others"


def grows(strategy: Strategy) -> bool:
    """Whether it needs a table that only grows."""
    return not strategy.supports.gone


def follow_adult(table: Coded, growing: bool) -> Iterator[Coded]:
    """A fifth of the people is replaced between releases, or comes on top."""
    batch = LIVE // 5
    if growing:
        return (table.part(np.arange(LIVE + batch * update)) for update in range(RELEASES))
    return replace_people(table, LIVE, batch, RELEASES)


def read_clinic(seed: int, growing: bool, months: int = 0, patients: int = 0) -> list[Coded]:
    """Months of the clinic: sex, year of birth and weight; results of exams, of which every new one is an episode."""
    tables = list(
        clinic_months(seed=seed, months=months or RELEASES, patients=patients or PATIENTS, cumulative=growing)
    )
    both = Tree(*(np.array(column, dtype=np.int32) for column in ([0, 0, 1], [1, 0, 1], [-1, 0, 0], [1, 0, 0])))
    domains = (Domain("sex", 0, 1, both), Domain("birth_year", 1900, 2026), Domain("weight", 400, 1400))
    episodes = {name: number for number, name in enumerate(_list_episodes(tables))}
    return [_encode(table, domains, episodes) for table in tables]


def _list_episodes(tables: list[pa.Table]) -> dict[str, None]:
    return dict.fromkeys(name for table in tables for name in table["episode"].to_pylist())


def _encode(table: pa.Table, domains: tuple[Domain, ...], episodes: dict[str, int]) -> Coded:
    columns = (
        [SEXES.index(sex) for sex in table["sex"].to_pylist()],
        table["birth_year"].to_pylist(),
        [round(10 * weight) for weight in table["weight"].to_pylist()],
    )
    codes = np.asfortranarray(np.stack([np.array(column, dtype=np.int32) for column in columns], axis=1))
    subjects = np.array([episodes[name] for name in table["episode"].to_pylist()], dtype=np.int64)
    values = np.array([EXAMS.index(exam) for exam in table["exam"].to_pylist()], dtype=np.int32)
    return Coded(subjects, codes, values, domains, len(EXAMS))


def measure(strategy: Strategy, snapshots: Iterator[Coded], others: Coded) -> dict[str, float]:
    """Right guesses: by the releases alone, with statistics of other people, and with one class only (mean)."""
    releases = publish(strategy, snapshots)
    series = see(releases, others)
    alone = Learning().run(series).measures
    told = Learning().inform(count_others(others, np.arange(len(others)))).run(series).measures
    return {"alone": alone["right"], "informed": told["right"], "one": told["right_of_one_release"]}


def main(data: Path, folder: Path) -> None:
    adult = read_adult(data)
    others = adult.part(np.arange(2 * LIVE + LIVE // 5 * RELEASES, len(adult)))
    rows = []
    for name, strategy in STRATEGIES.items():
        growing = grows(strategy)
        months, strangers = read_clinic(2024, growing), read_clinic(7, True)[-1]
        found = {
            "Adult": measure(strategy, follow_adult(adult, growing), others),
            "clinic": measure(strategy, iter(months), strangers),
        }
        rows.append((name, found))
        print(name, found, flush=True)
    statistics = {"Adult": guess_blindly(others, adult), "clinic": guess_blindly(strangers, months[-1])}
    write_page(rows, statistics, folder)


def guess_blindly(others: Coded, people: Coded) -> float:
    """The share of right guesses by statistics alone."""
    priors = count_others(others, np.arange(len(others))).priors(people.codes, people.domains, people.value_count)
    return float((priors.argmax(axis=1) == people.values).mean())


def write_page(rows: list[tuple[str, dict[str, dict[str, float]]]], statistics: dict[str, float], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        f"| {name} | "
        + " | ".join(f"{100 * found[of][key]:.0f}%" for of in found for key in ("one", "alone", "informed"))
        for name, found in rows
    ]
    table = "\n".join(f"{line} |" for line in lines)
    page = PAGE.format(
        live=LIVE, releases=RELEASES, patients=PATIENTS, settings=SETTINGS, table=table, values=len(EXAMS),
        adult=100 * statistics["Adult"], clinic=100 * statistics["clinic"],
    )  # fmt: skip
    (folder / "README.md").write_text(page, encoding="utf-8")


PAGE = """# What the learning attacker gets against every strategy

Made by `python experiments/learning_strategies.py`. Adult: {live:,} people live, occupation (14 values), {releases} releases, a fifth replaced
between two; the clinic: {releases} months of about {patients:,} patients, exam result ({values} values), every new result an episode of its own. For
strategies that need a table that only grows (checked-mondrian, checked-incognito, bcf) nobody leaves. Settings: {settings}.

Values guessed rightly. *One class*: by statistics of other people and one class of a person, on average. *Releases*: by the releases
alone, from which the attacker [learns](../../attacks/learning.md). *Both*: by all releases and statistics of other people. Statistics
without any release guess {adult:.0f}% of Adult's occupations and {clinic:.0f}% of the clinic's results. What counts is how far *releases* and *both*
are above *one class*: that is what the series adds.

| strategy | Adult: one class | Adult: releases | Adult: both | clinic: one class | clinic: releases | clinic: both |
|---|---|---|---|---|---|---|
{table}
"""  # noqa: E501 (a table)

if __name__ == "__main__":
    main(
        Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared" / "data",
        Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs" / "experiments" / "learning",
    )
