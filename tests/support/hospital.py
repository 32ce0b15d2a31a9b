"""A tiny hospital as files and objects: figures 1 and 3 of the incremental paper, and a growing population."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

import reissue as ri

# Figures 1 and 3 of "Privacy-Preserving Incremental Data Dissemination": name, age, gender, diagnosis.
FIGURE_1 = [
    ("Tom", 21, "Male", "Asthma"),
    ("Mike", 23, "Male", "Flu"),
    ("Bob", 52, "Male", "Alzheimer"),
    ("Eve", 57, "Female", "Diabetes"),
]
FIGURE_3 = [
    *FIGURE_1,
    ("Alice", 27, "Female", "Cancer"),
    ("Hank", 53, "Male", "Hepatitis"),
    ("Sal", 59, "Female", "Flu"),
]
GENDERS = {"Person": ["Male", "Female"]}
CONFIG = """
[schema]
identifier = "name"
sensitive = "diagnosis"
[schema.quasi_identifiers]
age = { type = "numeric" }
gender = { hierarchy = "gender.csv" }
[policy]
strategy = "static"
k = 2
"""


def hospital_schema() -> ri.Schema:
    return ri.Schema(
        identifier="name",
        quasi_identifiers={"age": ri.Numeric(), "gender": ri.Categorical(hierarchy=ri.Hierarchy.from_nested(GENDERS))},
        sensitive="diagnosis",
    )


def write_config(folder: Path, more: str = "") -> Path:
    """The hospital's config c.toml and its hierarchy in a folder; `more` continues the policy."""
    (folder / "gender.csv").write_text("Male;Person\r\nFemale;Person\r\n")
    path = folder / "c.toml"
    path.write_text(CONFIG + more)
    return path


def frame(rows: list[tuple[str, int, str, str]]) -> pa.Table:
    """The rows as an Arrow table."""
    names = ("name", "age", "gender", "diagnosis")
    return pa.table({name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)})


def population(people: int, seed: int = 0, first: int = 0) -> pa.Table:
    """People with unmistakable identifiers, so that a leak can be found by searching bytes."""
    rng = np.random.default_rng([seed, first])
    return pa.table(
        {
            "name": [f"IDENT-{first + i:06d}-Q" for i in range(people)],
            "age": rng.integers(20, 90, people),
            "gender": rng.choice(["Male", "Female"], people),
            "diagnosis": rng.choice(["Flu", "Asthma", "Cancer", "Diabetes", "GERD"], people),
        }
    )
