"""Section 6 of Fung et al. (2008) on Adult: what separate k-anonymization gives away, and what preventing it costs.

python experiments/bcf_adult.py [folder of the Adult data and ARX's hierarchies] [folder for tables and figures]
"""

from __future__ import annotations

import gzip
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path

import numpy as np

from bcf_adult_report import Row, write
from reissue.arrays.types import Int32
from reissue.methods.bcf.attack import Correspondence
from reissue.methods.bcf.strategy import BCF
from reissue.model.domain import Domain, Tree
from reissue.model.observed import Observed, ObservedRelease
from reissue.model.release import Coded, Facts, History
from words import Numbers

ROOT = Path(__file__).resolve().parents[1]
KS = (40, 80, 120, 160, 200)
NEWCOMERS = {"200D2": 200, "2000D2": 2_000, "allD2": 30_162}
COLUMNS = ("workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "native-country")
POSITIONS = (1, 3, 5, 6, 7, 8, 9, 13)
SENSITIVE = {"Sen1": ("native-country",), "Sen3": ("native-country", "education", "occupation")}
RELATIONSHIP = {"Spouse": ["Husband", "Wife"], "Relative": ["Own-child", "Other-relative"]}
RELATIONSHIP["No relative"] = ["Not-in-family", "Unmarried"]
Nested = dict[str, "Nested"] | list[str]
DEEP: dict[str, Nested] = {  # the kind of taxonomies the paper's authors used: binary or nearly so
    "workclass": {
        "Paid": {
            "Private": ["Private"],
            "Self-employed": ["Self-emp-inc", "Self-emp-not-inc"],
            "Government": {"Federal": ["Federal-gov"], "Regional": ["Local-gov", "State-gov"]},
        },
        "Unpaid": ["Without-pay", "Never-worked"],
    },
    "education": {
        "No college": {
            "Elementary": {"Lower": ["Preschool", "1st-4th"], "Upper": ["5th-6th", "7th-8th"]},
            "Secondary": {"Junior": ["9th", "10th"], "Senior": ["11th", "12th", "HS-grad"]},
        },
        "College": {
            "Undergraduate": {"Some": ["Some-college"], "Associate": ["Assoc-acdm", "Assoc-voc"]},
            "University": {"Bachelors": ["Bachelors"], "Graduate": ["Masters", "Prof-school", "Doctorate"]},
        },
    },
    "marital-status": {
        "Married": {"Present": ["Married-civ-spouse", "Married-AF-spouse"], "Absent": ["Married-spouse-absent"]},
        "Alone": {"Never": ["Never-married"], "Was married": ["Divorced", "Separated", "Widowed"]},
    },
    "occupation": {
        "White-collar": {
            "Office": ["Exec-managerial", "Adm-clerical", "Sales"],
            "Specialist": ["Prof-specialty", "Tech-support"],
        },
        "Blue-collar": {
            "Industry": ["Craft-repair", "Machine-op-inspct", "Handlers-cleaners"],
            "Outdoors": ["Transport-moving", "Farming-fishing"],
        },
        "Service": ["Other-service", "Protective-serv", "Priv-house-serv", "Armed-Forces"],
    },
    "relationship": {"Family": {"Spouse": RELATIONSHIP["Spouse"], "Relative": RELATIONSHIP["Relative"]}}
    | {"No relative": RELATIONSHIP["No relative"]},
    "race": {"White": ["White"], "Other": {"Black": ["Black"], "Rest": ["Asian-Pac-Islander", "Amer-Indian-Eskimo"]}},
    "sex": ["Female", "Male"],
}


def read_split(path: Path) -> list[tuple[str, ...]]:
    """The complete rows of one split of UCI Adult, eight categorical columns."""
    with gzip.open(path, "rt") as lines:
        rows = [line.strip().split(", ") for line in lines if line.count(",") == 14]
    return [tuple(row[p] for p in POSITIONS) for row in rows if "?" not in row]


def read_paths(folder: Path | None, column: str, values: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Leaf -> labels from the leaf up to the top: from ARX's CSV, or the deep ones; a value they lack is on its own."""
    if folder is None:
        paths = dict(walk(DEEP[column], ("*",)))
    elif column == "relationship":
        paths = dict(walk(dict(RELATIONSHIP), ("*",)))
    else:
        text = (folder / f"adult_hierarchy_{column}.csv").read_text()
        paths = {line.split(";")[0]: tuple(line.split(";")) for line in text.splitlines() if line}
    height = max(len(path) for path in paths.values())
    found = {value: paths.get(value, (value, "*")) for value in sorted(set(values))}
    return {leaf: (*(leaf,) * (height - len(path)), *path) for leaf, path in found.items()}


def walk(part: Nested, above: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(leaf, its path to the top) of a nested taxonomy."""
    if isinstance(part, list):
        yield from ((leaf, (leaf, *above)) for leaf in part)
    else:
        for label, below in part.items():
            yield from walk(below, (label, *above))


def plant(paths: dict[str, tuple[str, ...]]) -> tuple[Tree, dict[str, int]]:
    """The taxonomy over depth-first leaf codes, and the code of each leaf."""
    leaves = sorted(paths, key=lambda leaf: paths[leaf][::-1])
    height = len(paths[leaves[0]]) - 1
    lo, hi, parent, level = [0], [len(leaves) - 1], [-1], [height]
    above = {paths[leaves[0]][height:]: 0}
    for depth in range(height - 1, -1, -1):
        keys = [paths[leaf][depth:] for leaf in leaves]
        starts = [0, *(i for i in range(1, len(keys)) if keys[i] != keys[i - 1]), len(keys)]
        here = {}
        for first, after in pairwise(starts):
            here[keys[first]] = len(lo)
            lo.append(first)
            hi.append(after - 1)
            parent.append(above[keys[first][1:]])
            level.append(depth)
        above = here
    tree = Tree(*(np.array(column, dtype=np.int32) for column in (lo, hi, parent, level)))
    return tree, {leaf: code for code, leaf in enumerate(leaves)}


@dataclass(frozen=True)
class Setting:
    """All rows in the order of arrival, test split first, coded for one choice of the sensitive attribute."""

    codes: Int32
    values: Int32
    domains: tuple[Domain, ...]

    def snapshot(self, rows: slice) -> Coded:
        subjects = np.arange(len(self.values), dtype=np.int64)[rows]
        codes = np.asfortranarray(self.codes[rows])
        return Coded(subjects, codes, self.values[rows], self.domains, int(self.values.max()) + 1)


def load(data: Path, sensitive: Sequence[str], deep: bool = False) -> tuple[Setting, int]:
    """The setting, and how many rows D1 has."""
    first, second = (read_split(data / "adult" / f"adult.{split}.gz") for split in ("test", "data"))
    rows = first + second
    columns = {name: [row[c] for row in rows] for c, name in enumerate(COLUMNS)}
    domains, codes = [], []
    for name in COLUMNS:
        if name not in sensitive:
            tree, code = plant(read_paths(None if deep else data / "arx_adult", name, columns[name]))
            domains.append(Domain(name, 0, tree.leaves - 1, tree))
            codes.append([code[value] for value in columns[name]])
    joined = list(zip(*(columns[name] for name in sensitive), strict=True))
    number = {value: n for n, value in enumerate(sorted(set(joined)))}
    values = np.array([number[value] for value in joined], dtype=np.int32)
    return Setting(np.array(codes, dtype=np.int32).T.copy(), values, tuple(domains)), len(first)


def publish(k: int, snapshot: Coded, before: Sequence[Facts] = ()) -> Facts:
    number = len(before) + 1
    return BCF(k=k).publish(snapshot, History(list(before), {}, number)).facts(number, snapshot)


def cost(release: Facts) -> float:
    """Discernibility, normalized to 0..1."""
    sizes = np.bincount(release.classes)
    return float((sizes.astype(np.float64) ** 2).sum() / sizes.sum() ** 2)


def measure(setting: Setting, old: int, k: int, newcomers: int) -> dict[str, float]:
    """One test case: separate k-anonymization, its violations, and the three alternatives."""
    d1 = setting.snapshot(slice(0, old))
    both = setting.snapshot(slice(0, old + newcomers))
    d2 = setting.snapshot(slice(old, old + newcomers))
    r1 = publish(k, d1)
    unsafe = publish(k, both)
    begin = time.perf_counter()
    safe = publish(k, both, [r1])
    seconds = time.perf_counter() - begin
    found = {}
    for name, release in (("unsafe", unsafe), ("safe", safe)):
        second = Facts(2, release.boxes, release.subjects, release.classes, release.values, release.codes)
        series = Observed([_bare(r1), _bare(second)], setting.domains, both.value_count, Numbers())
        levels = Correspondence(k=k, limit=0).run(series).measures
        found |= {f"{name}_{level}": levels[level] for level in ("FA", "CA", "BA")}
        found[f"{name}_newcomer"] = levels["candidates(2)"]
    alone = publish(k, d2)
    costs = {"bcf": cost(safe), "k_r2": cost(unsafe), "k_d2": cost(alone)}
    return {**found, **costs, "seconds": seconds, "classes": float(safe.class_count)}


def _bare(facts: Facts) -> ObservedRelease:
    return ObservedRelease(facts.number, facts.boxes, facts.classes, facts.values)


def run(data: Path) -> list[Row]:
    rows: list[Row] = []
    for deep, (sen, sensitive) in product((False, True), SENSITIVE.items()):
        setting, old = load(data, sensitive, deep)
        measure(setting, old, 40, 2_000)  # compiles the kernels, before anything is timed
        for case, newcomers in NEWCOMERS.items():
            for k in KS:
                levels = measure(setting, old, k, newcomers)
                rows.append(Row("deep" if deep else "ARX", sen, case, k, levels))
                print(rows[-1])
    return rows


def main() -> None:
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared" / "data"
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs" / "experiments" / "bcf"
    write(run(data), folder)


if __name__ == "__main__":
    main()
