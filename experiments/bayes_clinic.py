"""Section 6 of Amiri et al. (2019): what an attacker with background knowledge gains, on the clinic and on Adult.

python experiments/bayes_clinic.py [folder of the Adult data] [folder for tables and figures]
"""

from __future__ import annotations

import gzip
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bayes_clinic_report import Point, Run, write
from reissue.clinic import EXAMS, SEXES, TRANSITIONS, clinic_months
from reissue.hierarchy import Hierarchy
from reissue.methods.beliefs.attack import BackgroundKnowledge
from reissue.methods.beliefs.attack_cycle import follow, join_claims
from reissue.methods.beliefs.bay_frame import BayFrame
from reissue.methods.beliefs.js_reduce import JSReduce
from reissue.methods.beliefs.knowledge import Knowledge, ReadKnowledge
from reissue.methods.beliefs.posterior import Estimator
from reissue.methods.beliefs.revision import Claims
from reissue.model.domain import Domain, Tree
from reissue.model.observed import Observed, ObservedRelease
from reissue.model.release import Coded, Facts, History, Table
from reissue.utility import gcp, observed_domains, record_linkage
from words import Numbers

ROOT = Path(__file__).resolve().parents[1]
CONFIDENCE = 0.9
MOVES = ReadKnowledge(one=TRANSITIONS.shares)
ESTIMATED, UNIFORM = Knowledge(), Knowledge(transitions="uniform", second="uniform")


# --- the tables ------------------------------------------------------------------------------------------------------


def clinic(months: int = 24, patients: int = 4000) -> list[Coded]:
    """Sex, year of birth and weight; the exam result is sensitive. 24 tables of about 4,000 patients."""
    tables = list(clinic_months(months=months, patients=patients, dependence="weak"))
    years = [int(year) for table in tables for year in table["birth_year"].to_pylist()]
    both = Tree(*(np.array(column, dtype=np.int32) for column in ([0, 0, 1], [1, 0, 1], [-1, 0, 0], [1, 0, 0])))
    domains = (Domain("sex", 0, 1, both), Domain("birth_year", min(years), max(years)), Domain("weight", 400, 1400))
    made = []
    for table in tables:
        columns = (
            [SEXES.index(sex) for sex in table["sex"].to_pylist()],
            table["birth_year"].to_pylist(),
            [round(10 * weight) for weight in table["weight"].to_pylist()],
        )
        codes = np.asfortranarray(np.stack([np.array(column, dtype=np.int32) for column in columns], axis=1))
        subjects = np.array([int(name[1:]) for name in table["patient"].to_pylist()], dtype=np.int64)
        values = np.array([EXAMS.index(exam) for exam in table["exam"].to_pylist()], dtype=np.int32)
        made.append(Coded(subjects, codes, values, domains, len(EXAMS)))
    return made


def adult(folder: Path, releases: int = 10, rows: int = 4000) -> list[Coded]:
    """Age, sex, education; occupation is sensitive. A tenth of the rows leaves, comes and gets any value each time."""
    with gzip.open(folder / "arx_adult" / "adult.csv.gz", "rt") as file:
        lines = file.read().splitlines()
    header, people = lines[0].split(";"), [line.split(";") for line in lines[1:]]
    at = {name: header.index(name) for name in ("age", "sex", "education", "occupation")}
    school = Hierarchy.from_arx_csv(folder / "arx_adult" / "adult_hierarchy_education.csv")
    sex = Hierarchy.from_nested({"*": ["Female", "Male"]})
    jobs = sorted({person[at["occupation"]] for person in people})
    columns = (
        [int(person[at["age"]]) for person in people],
        [sex.codes[person[at["sex"]]] for person in people],
        [school.codes[person[at["education"]]] for person in people],
    )
    codes = np.asfortranarray(np.stack([np.array(column, dtype=np.int32) for column in columns], axis=1))
    ages = codes[:, 0]
    domains = (
        Domain("age", int(ages.min()), int(ages.max())),
        Domain("sex", 0, 1, sex.tree),
        Domain("education", 0, len(school.leaves) - 1, school.tree),
    )
    values = np.array([jobs.index(person[at["occupation"]]) for person in people], dtype=np.int32)
    rng = np.random.default_rng(1)
    order = rng.permutation(len(values))
    present, waiting = order[:rows], order[rows:]
    made = []
    for number in range(releases):
        if number:
            tenth = rows // 10
            present = np.concatenate([rng.permutation(present)[tenth:], waiting[:tenth]])
            waiting = waiting[tenth:]
            changed = rng.choice(present, tenth, replace=False)
            values[changed] = rng.integers(0, len(jobs), tenth)
        here = np.sort(present).astype(np.int64)
        made.append(Coded(here, np.asfortranarray(codes[here]), values[here].copy(), domains, len(jobs)))
    return made


def compromised(snapshots: Sequence[Coded], sigma: float, seed: int = 7) -> Claims:
    """Everybody in every table with probability sigma, their true value held to be known with 0.9."""
    parts = []
    for number, snapshot in enumerate(snapshots, start=1):
        rng = np.random.default_rng([seed, number])
        drawn = np.flatnonzero(rng.random(len(snapshot)) < sigma)
        numbers = np.full(len(drawn), number, dtype=np.int32)
        parts.append(Claims(snapshot.subjects[drawn], snapshot.values[drawn], numbers, np.full(len(drawn), CONFIDENCE)))
    return join_claims(parts)


# --- running ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Setting:
    """A data set with what the attacker and the publisher know about how its values move."""

    name: str
    snapshots: list[Coded]
    knowledge: Knowledge
    given: ReadKnowledge


def publish(setting: Setting, strategy: BayFrame | JSReduce) -> tuple[list[Facts], float]:
    """The releases, each passed by the strategy's own check, and the seconds it took."""
    releases: list[Facts] = []
    caches: Mapping[str, Table] = {}
    start = time.perf_counter()
    for number, snapshot in enumerate(setting.snapshots, start=1):
        history = History(list(releases), caches, number)
        facts = strategy.publish(snapshot, history).facts(number, snapshot)
        broken = strategy.check(facts, history)
        assert broken is None, broken
        caches = strategy.remember(caches, facts)
        releases.append(facts)
    return releases, time.perf_counter() - start


def measure(
    setting: Setting,
    label: str,
    strategy: BayFrame | JSReduce,
    *,
    sigma: float = 0.0,
    guarded: bool = True,
    others: Sequence[Estimator] = (),
) -> Run:
    """Publish, attack as the strategy supposes, and map risk against utility.

    sigma: share of compromised rows; guarded: whether the publisher knows of them. others: estimators of attackers who
    reason otherwise.
    """
    claims = compromised(setting.snapshots, sigma) if sigma else Claims.none()
    known = ReadKnowledge(one=setting.given.one, claims=claims)
    strategy = strategy.inform(known if guarded else ReadKnowledge(one=setting.given.one))
    releases, seconds = publish(setting, strategy)
    last = setting.snapshots[-1]
    series = Observed([ObservedRelease.of(facts) for facts in releases], last.domains, last.value_count, Numbers())
    how = strategy.reasoning
    cascading = "posterior" if how.cascading == "posterior" else "prior"

    def attack(estimator: Estimator) -> BackgroundKnowledge:
        own = cascading if estimator == "bayes" else "prior"
        steps = strategy.steps
        return BackgroundKnowledge(
            estimator=estimator,
            steps=steps,
            cascading=own,
            knowledge=setting.knowledge,  # type: ignore[arg-type]
        ).inform(known)

    learned = list(follow(series, attack(how.estimator).attacker, claims))
    pairs = list(zip(releases, setting.snapshots, strict=True))
    missing = [len(snapshot) - int(facts.real.sum()) for facts, snapshot in pairs]
    return Run(
        label=label,
        gain=[float(a.gain.mean()) for a in learned],
        gain_of_others=[float(a.gain[~a.claimed].mean()) for a in learned],
        points=[
            Point(gcp(facts, observed_domains(snapshot), suppressed=gone), record_linkage(facts, snapshot.domains))
            for (facts, snapshot), gone in zip(pairs, missing, strict=True)
        ],
        suppressed=missing,
        seconds=seconds,
        by_estimator={
            estimator: float(np.mean([a.gain.mean() for a in follow(series, attack(estimator).attacker, claims)]))
            for estimator in others
        },
    )


ALL: tuple[Estimator, ...] = ("bayes", "js-reduce", "omega", "exact")


def figures(setting: Setting) -> dict[str, list[Run]]:
    """The runs of figures 3, 4, 5 (with 7), 9 (with 10) and 11, by figure; and one that the paper does not have."""
    kept = setting.knowledge
    same = {"k": 3, "J": 0.6, "t": 0.5, "knowledge": kept}
    own = {"k": 3, "J": 0.6, "beta": 5.0, "knowledge": kept, "order": "nearest"}
    found: dict[str, list[Run]] = {name: [] for name in ("3", "4", "5", "9", "11", "estimators")}
    for steps in (1, 2):
        s = f"{steps} step" + "s" * (steps == 2)
        hilbert = BayFrame(**same, steps=steps, order="hilbert")  # type: ignore[arg-type]
        js = measure(setting, f"JS-reduce, {s}", JSReduce(**same, steps=steps), others=ALL)  # type: ignore[arg-type]
        found["3"] += [measure(setting, f"Bayes estimator, {s}", hilbert), js]
        bay = measure(setting, f"BayFrame, {s}", BayFrame(**same, steps=steps, order="nearest"), others=ALL)  # type: ignore[arg-type]
        found["9"] += [bay, js]
        found["11"] += [
            measure(setting, f"{name}, {s}", strategy, sigma=0.1)
            for name, strategy in (
                ("JS-reduce+Prior", JSReduce(**same, steps=steps)),  # type: ignore[arg-type]
                ("BayFrame+Prior", BayFrame(**same, steps=steps, order="nearest")),  # type: ignore[arg-type]
                ("BayFrame+Posterior", BayFrame(**same, steps=steps, cascading="posterior", order="nearest")),  # type: ignore[arg-type]
            )
        ]
        for sigma in (0.01, 0.1):
            for cascading in ("prior", "posterior"):
                strategy = BayFrame(**own, steps=steps, cascading=cascading)  # type: ignore[arg-type]
                found["5"].append(measure(setting, f"{cascading}, sigma {sigma}, {s}", strategy, sigma=sigma))
        if steps == 1:
            found["estimators"] += [bay, js]
            strong = BayFrame(**own, estimator="omega")  # type: ignore[arg-type]
            found["5"].append(measure(setting, "prior, sigma 0.1, 1 step, by omega", strong, sigma=0.1))
    for k in (3, 8):
        strategy = BayFrame(**{**own, "k": k})  # type: ignore[arg-type]
        found["4"].append(measure(setting, f"k = {k}", strategy, others=ALL))
        found["4"].append(measure(setting, f"k = {k}, compromised", strategy, sigma=0.1, guarded=False))
    found["estimators"].insert(0, found["4"][0])
    strong = BayFrame(**same, estimator="omega", order="nearest")  # type: ignore[arg-type]
    found["estimators"].append(measure(setting, "BayFrame against omega", strong, others=ALL))
    return found


def main(data: Path, target: Path) -> None:
    settings = [Setting("clinic", clinic(), ESTIMATED, MOVES)]
    if (data / "arx_adult").exists():
        settings.append(Setting("Adult", adult(data), UNIFORM, ReadKnowledge()))
    write({setting.name: figures(setting) for setting in settings}, target)


if __name__ == "__main__":
    folders = [Path(argument) for argument in sys.argv[1:]]
    main(
        folders[0] if folders else ROOT.parent / "shared" / "data",
        folders[1] if len(folders) > 1 else ROOT / "docs" / "experiments" / "bayes",
    )
