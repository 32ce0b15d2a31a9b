"""How much detail releases lose: groups and ranges on Adult, m-invariance on the clinic, and who knows how it deals."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import numpy as np
import polars as pl

import reissue as ri
from benchmarks.harness import DATA, report
from reissue.clinic import clinic_months, config
from reissue.model.boxes import bounding_boxes, widen_to_nodes
from reissue.publish.gates import NAMES as GATES
from reissue.schema import read_config

COLUMNS = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")
FULL_DOMAIN = {
    f"full domain, at most {share:.0%} left out": ri.Static(k=10, algorithm="incognito", suppress=share)
    for share in (0.0, 0.02, 0.05)
}
STRATEGIES: Mapping[str, ri.Static] = {"Mondrian": ri.Static(k=10), **FULL_DOMAIN}
HEADINGS = (
    "data",
    "what",
    "detail lost",
    "rows left out, or of nobody",
    "belief",
    "right guesses",
    "of one class alone",
)


def adult() -> pl.DataFrame:
    with gzip.open(DATA / "arx_adult" / "adult.csv.gz") as lines:
        people = pl.read_csv(lines.read(), separator=";")
    return people.select(*COLUMNS, "occupation").with_row_index("person")


def adult_schema(labels: Literal["groups", "ranges"]) -> ri.Schema:
    """All seven columns by ARX's hierarchies, the age too."""
    hierarchies = {name: DATA / "arx_adult" / f"adult_hierarchy_{name}.csv" for name in COLUMNS}
    attributes = {name: ri.Categorical(path, labels=labels) for name, path in hierarchies.items()}
    return ri.Schema(identifier="person", quasi_identifiers=attributes, sensitive=["occupation"])


def measure_labels() -> Iterator[list[object]]:
    """One release of Adult, in groups and in ranges."""
    people = adult()
    for name, strategy in STRATEGIES.items():
        for labels in ("groups", "ranges"):
            with (
                TemporaryDirectory() as folder,
                ri.Series.create(Path(folder) / "s", adult_schema(labels), strategy, seed=1) as series,
            ):
                release = series.publish(people, allow=GATES)
                left = release.counts.get("suppressed", 0) / len(people)
                lost = float(release.utility["gcp"])
            yield [
                f"Adult, {len(people):,} rows, k = 10",
                f"{name}, {labels}",
                f"{lost:.3f}",
                f"{left:.2%}",
                "",
                "",
                "",
            ]


def measure_classes(rows: int = 8_000) -> Iterator[list[object]]:
    """Standing's classes, which are formed without looking at values: how wide they are, by rows."""
    people = adult()[np.random.default_rng(0).permutation(rows)]
    strategy = ri.Standing(k=8, c=0.4, l=4)
    with (
        TemporaryDirectory() as folder,
        ri.Series.create(Path(folder) / "s", adult_schema("groups"), strategy, seed=1) as series,
    ):
        series.publish(people, allow=GATES)
        facts, domains = series._ledger.facts(1), series.coding.domains
    assert facts.standing is not None
    sizes, classes = np.unique(facts.standing.standing, return_inverse=True, return_counts=True)[2:0:-1]
    ranges = bounding_boxes(np.asfortranarray(facts.codes), classes.astype(np.int32), len(sizes))
    span = np.array([max(1, domain.hi - domain.lo) for domain in domains])
    for name, boxes in (("ranges", ranges), ("groups", widen_to_nodes(ranges.copy(), domains))):
        lost = float(np.average(((boxes[:, :, 1] - boxes[:, :, 0]) / span).mean(axis=1), weights=sizes))
        what = f"classes of standing (k = 8, c = .4, l = 4), {name}"
        yield [f"Adult, {rows:,} rows", what, f"{lost:.3f}", "0.00%", "", "", ""]


def measure_clinic(releases: int = 6) -> Iterator[list[object]]:
    """m-invariance where results hardly depend on the patient, and the attacker who knows the algorithm."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "clinic.toml"
        path.write_text(config(strategy="static"), encoding="utf-8")
        schema = read_config(path).schema
        with ri.Series.create(Path(folder) / "s", schema, ri.MInvariance(m=4), seed=1) as series:
            for number, month in enumerate(clinic_months(months=releases, dependence="weak"), start=1):
                release = series.publish(month, allow=GATES)
                if number not in (1, releases):
                    continue
                found = series.audit(attacks=["known-algorithm"]).to_dict()["attacks"][0]["measures"]
                figures = (found[name] for name in ("belief", "right", "right_of_one_release"))
                nobody = release.counts.get("counterfeits", 0) / release.counts["published"]
                lost = float(release.utility["gcp"])
                what = f"m-invariance, m = 4, release {number}"
                yield ["clinic, 4,000 patients", what, f"{lost:.3f}", f"{nobody:.2%}", *figures]


def main() -> None:
    report(
        "detail",
        "How much detail releases lose",
        "Detail lost is GCP, 0 to 1; rows left out count as wholly lost. Adult: ARX's seven hierarchies. The clinic: "
        'results depend little on the patient (`dependence="weak"`); beside it the attacker who knows how classes are '
        "dealt, over the whole series so far, with the publisher's own statistics. Before classes were dealt by where "
        "people live, release 1 lost 0.31 and release 6 0.35 of the detail, and this attacker believed 0.80 and 0.90 "
        "of the truth and guessed 0.85 and 0.91 rightly. The goals: ranges at most 0.6 of the 0.146 that groups once "
        "lost, full domain at most 0.25 with 2% left out, the clinic at most 0.20 and 0.26 with 0.5% of nobody, "
        "standing's classes, which are intervals of codes, at most 0.14.",
        HEADINGS,
        [*measure_labels(), *measure_classes(), *measure_clinic()],
    )


if __name__ == "__main__":
    main()
