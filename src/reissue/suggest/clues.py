"""What names and values of columns hint at: whom they mean, who knows them, and what stands for missing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reissue.engine.profile import ColumnProfile
from reissue.schema.spelling import DATES, ISO


def _list(words: str) -> tuple[str, ...]:
    return tuple(words.split())


UNKNOWN = frozenset(
    {
        *_list("* ? ?? . - -- na n/a n.a. #n/a nan null nil unknown unk unbekannt missing (missing) <na>"),
        *("not available", "not known", "not stated", "not specified"),
    }
)
"""Texts, in small letters, that stand for a missing value wherever they are seen."""

PEOPLE = _list("patient person subject member citizen employee customer client student simulant user patienten kunde")
EVENTS = _list("episode encounter visit case stay claim record row account household")
MARKS = _list("id identifier uuid guid pid mrn nbr ssn key nhs index nr nummer kennung numero número")
NAMES = _list(
    "name firstname lastname surname forename fullname email mail phone telephone mobile fax address street ssn iban "
    "passport licence license url ip username vorname nachname familienname strasse straße adresse anschrift telefon "
    "nom prenom prénom rue nombre apellido apellidos direccion dirección nome cognome indirizzo naam voornaam "
    "achternaam"
)

BORN = _list(
    "birth born dob geburt geburtsdatum geburtstag geburtsjahr naissance nacimiento nascita nascimento geboortedatum"
)
"""When somebody was born, in some languages: as the other lists, for tables whose columns are not named in English."""
AGE = _list("age alter âge edad età leeftijd")
OUTSIDERS = (
    *AGE,
    *BORN,
    *_list(
        "sex gender zip zipcode postal postcode plz city town county district state region province country "
        "nationality race ethnicity ethnic marital married education degree occupation job profession workclass "
        "employer relationship children language birthplace weight height hours admission admitted admittance "
        "discharge date year ward department hospital insurance payer specialty geschlecht wohnort ort stadt "
        "landkreis bundesland land nationalität familienstand bildung abschluss beruf kinder sprache gewicht größe "
        "aufnahme entlassung datum jahr station abteilung krankenhaus sexe ville pays région sexo "
        "ciudad país provincia sesso città geslacht woonplaats beroep"
    ),
)
"""What outsiders may know of a person, what they know most often first."""

SECRETS = _list(
    "diagnosis diagnose diag diagnostic diagnostico diagnóstico diagnosi disease illness condition disorder icd hiv "
    "cancer krankheit erkrankung maladie enfermedad malattia ziekte exam result test symptom treatment therapy "
    "therapie behandlung medication drug surgery befund income salary wage wages earnings wealth debt einkommen gehalt "
    "lohn salaire revenu salario ingresos reddito inkomen religion party vote orientation crime offence offense "
    "conviction grade score outcome readmitted occupation class"
)
"""What nobody may learn, the clearest first."""

POSTAL = frozenset(["zip", "zipcode", "postal", "postcode", "plz", "postleitzahl"])
ICD = re.compile(r"([A-TV-Z][0-9][0-9A-Z](\.?[0-9A-Z]{1,4})?|[0-9]{3}\.[0-9]{1,2}|[EV][0-9]{2,3}(\.[0-9]{1,2})?)")
COMMA = re.compile(r"[+-]?[0-9]+(,[0-9]+)?")


def words_of(name: str) -> list[str]:
    """birthYear, birth_year and BIRTH-YEAR are birth and year."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+", name)
    return [part.casefold() for part in parts]


def rank(name: str, clues: Sequence[str]) -> int | None:
    """The place of the first clue that a word of the name is; None if none is."""
    words = words_of(name)
    whole = "".join(words)
    found = [place for place, clue in enumerate(clues) if clue in words or clue == whole]
    return found[0] if found else None


def find_missing_codes(column: ColumnProfile) -> tuple[str, ...]:
    """Texts that stand for missing: the usual ones, and 99, 999 or -9 far from all other numbers."""
    usual = [label for label in column.labels if label.strip().casefold() in UNKNOWN]
    return tuple(sorted({*(label.strip() for label in usual), *_find_far_numbers(column)}))


def _find_far_numbers(column: ColumnProfile) -> list[str]:
    if column.kind != "int" or not column.whole or column.distinct < 3:
        return []
    rows = {label.strip(): int(count) for label, count in zip(column.labels, column.counts.tolist(), strict=True)}
    numbers = {int(label): label for label in rows if re.fullmatch(r"[+-]?[0-9]+", label)}
    low, second = sorted(numbers)[:2]
    high, next_high = sorted(numbers)[-1], sorted(numbers)[-2]
    found = []
    if set(str(high)) == {"9"} and len(str(high)) > 1 and next_high < high / 2 and low >= 0:
        found.append(numbers[high])
    if low in (-1, -9, -99, -999, -9999) and second >= 0:
        found.append(numbers[low])
    return [label for label in found if rows[label] > 1]


def find_date_form(column: ColumnProfile, missing: Sequence[str]) -> str | None:
    """The form, other than yyyy-mm-dd, that every value of a column of text has; None if there is none."""
    values = [label.strip() for label in column.labels if label.strip() not in missing]
    for form, pattern in DATES.items():
        found = [re.fullmatch(pattern, value) for value in values]
        if form == ISO or not values or not all(found):
            continue
        parts = [match.groupdict() for match in found if match]
        if form == "yyyymmdd" and rank(column.name, ("date", "born", "birth", "dob")) is None:
            continue
        if all(1 <= int(part["month"]) <= 12 and 1 <= int(part["day"]) <= 31 for part in parts):
            return form
    return None


def has_commas(column: ColumnProfile, missing: Sequence[str]) -> bool:
    """Whether all values are numbers, some with a decimal comma."""
    values = [label.strip() for label in column.labels if label.strip() not in missing]
    return any("," in value for value in values) and all(COMMA.fullmatch(value) for value in values)


def are_icd(labels: Sequence[str]) -> bool:
    fits = sum(ICD.fullmatch(label.strip()) is not None for label in labels)
    return len(labels) > 5 and fits > 0.9 * len(labels) and any(label[0].isalpha() or "." in label for label in labels)


def is_free_text(column: ColumnProfile, rows: int) -> bool:
    words = [len(label.split()) for label in column.labels[:1000]]
    return column.distinct > max(100, rows // 50) and sum(words) >= 4 * len(words)
