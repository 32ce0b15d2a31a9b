"""Tables as stewards have them: a census, hospital stays, and columns that mean many things."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa

ADULT = Path(__file__).resolve().parents[3] / "shared" / "data" / "adult" / "adult.data.gz"
ADULT_COLUMNS = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex capital-gain "
    "capital-loss hours-per-week native-country income"
)


def adult(rows: int) -> pa.Table:
    """The first rows of the census table, with a number for each person."""
    with gzip.open(ADULT, "rt") as file:
        lines = [[field.strip() for field in file.readline().split(",")] for _ in range(rows)]
    columns = dict(zip(ADULT_COLUMNS.split(), zip(*lines, strict=True), strict=True))
    return pa.table({"person": [f"a{i}" for i in range(rows)], **{name: list(some) for name, some in columns.items()}})


def stays(rows: int, seed: int = 1) -> pa.Table:
    """Hospital stays of diabetes patients, as in the well-known table of 130 hospitals: same columns, made-up rows."""
    r = np.random.default_rng(seed)
    decades = [f"[{low}-{low + 10})" for low in range(0, 100, 10)]
    patients = r.integers(0, rows * 3 // 4, rows)
    return pa.table(
        {
            "encounter_id": r.permutation(10 * rows)[:rows] + 10_000,
            "patient_nbr": patients + 500_000,
            "race": r.choice(["Caucasian", "AfricanAmerican", "?", "Asian", "Other", "Hispanic"], rows),
            "gender": r.choice(["Female", "Male"], rows),
            "age": r.choice(decades, rows, p=np.arange(1, 11) / 55),
            "weight": ["?"] * (rows - 3) + ["[50-75)", "[75-100)", "[100-125)"],
            "admission_type_id": r.integers(1, 9, rows),
            "time_in_hospital": r.integers(1, 15, rows),
            "payer_code": r.choice(["?", "MC", "HM", "SP", "BC", "MD"], rows),
            "medical_specialty": r.choice(["?", "Cardiology", "Surgery", "InternalMedicine", "Emergency"], rows),
            "num_lab_procedures": r.integers(1, 120, rows),
            "diag_1": r.choice([f"{code}" for code in range(390, 460)] + ["250.83", "V57"], rows),
            "max_glu_serum": r.choice(["None", "Norm", ">200", ">300"], rows),
            "A1Cresult": r.choice(["None", "Norm", ">7", ">8"], rows),
            "insulin": r.choice(["No", "Up", "Down", "Steady"], rows),
            "examide": ["No"] * rows,
            "readmitted": r.choice(["NO", "<30", ">30"], rows),
        }
    )


def oddities(rows: int = 400) -> pa.Table:
    """Columns that are easily mistaken: names, notes, dates and decimals as people write them, 99 for unknown."""
    r = np.random.default_rng(2)
    days = np.datetime64("1950-01-01") + r.integers(0, 15_000, rows)
    dates = [f"{day.day:02d}/{day.month:02d}/{day.year}" for day in days.astype(object)]
    return pa.table(
        {
            "row id": [f"r{i:04d}" for i in range(rows)],
            "Last Name": r.choice(["Ng", "Roy", "Kim", "Diaz"], rows),
            "birthDate": dates,
            "bmi": [f"{value:.1f}".replace(".", ",") for value in r.normal(25, 3, rows)],
            "children": r.choice([0, 1, 2, 3, 99], rows),
            "plz": [f"0{zip}" for zip in r.integers(1000, 1020, rows)],
            "remark": [f"came at {i} and felt well after {i % 9} days" for i in range(rows)],
            "site": ["main"] * rows,
            "income": r.integers(10_000, 90_000, rows),
        }
    )


def klinik(rows: int, seed: int = 1) -> pa.Table:
    """A hospital's export as a German one makes it: dates with dots, decimal commas, one frequent diagnosis."""
    r = np.random.default_rng(seed)
    found = [0.4, 0.2, 0.2, 0.1, 0.05, 0.05]
    births = [f"{r.integers(1, 29):02d}.{r.integers(1, 13):02d}.{r.integers(1930, 2015)}" for _ in range(rows)]
    return pa.table(
        {
            "PatientenNr": [f"P{i:05d}" for i in range(rows)],
            "Nachname": [f"Müller {i}" for i in range(rows)],
            "Geburtsdatum": births,
            "Alter": r.integers(0, 95, rows),
            "PLZ": [f"{r.choice(['01', '10', '80'])}{r.integers(100, 130)}" for _ in range(rows)],
            "Geschlecht": r.choice(["m", "w"], rows),
            "Diagnose": r.choice(["keine", "Grippe", "Asthma", "Diabetes", "HIV", "Krebs"], rows, p=found),
            "Kosten": [f"{cents // 100},{cents % 100:02d}" for cents in r.integers(1_000, 999_999, rows).tolist()],
        }
    )
