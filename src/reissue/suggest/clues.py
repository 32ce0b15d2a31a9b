"""What names and values of columns hint at: whom they mean, who knows them, and what stands for missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

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
    ends = _find_ends(column)
    if len(ends) < 2:
        return []
    (low, _), (second, _), *_ = ends
    *_, (next_high, _), (high, _) = ends
    found = []
    if set(str(high)) == {"9"} and len(str(high)) > 1 and next_high < high / 2 and low >= 0:
        found.append(high)
    if low in (-1, -9, -99, -999, -9999) and second >= 0:
        found.append(low)
    seen = dict(ends)
    return [label for label, count in map(seen.__getitem__, found) if count > 1]


def _find_ends(column: ColumnProfile) -> list[tuple[int, tuple[str, int]]]:
    """The two lowest and the two highest whole numbers, ascending, each with its label and its rows."""
    kept: dict[int, tuple[str, int]] = {}
    for label, count in zip(column.labels, map(int, column.counts), strict=True):
        text = label.strip()
        if re.fullmatch(r"[+-]?[0-9]+", text):
            kept[int(text)] = (text, count)
        if len(kept) > 1000:
            kept = dict(_keep_ends(kept))
    return _keep_ends(kept)


def _keep_ends(numbers: Mapping[int, tuple[str, int]]) -> list[tuple[int, tuple[str, int]]]:
    ordered = sorted(numbers.items())
    return ordered if len(ordered) < 4 else ordered[:2] + ordered[-2:]


def find_date_form(column: ColumnProfile, missing: Sequence[str]) -> str | None:
    """The form, other than yyyy-mm-dd, that every value of a column of text has; None if there is none."""
    for form, pattern in DATES.items():
        if form == ISO:
            continue
        if form == "yyyymmdd" and rank(column.name, ("date", "born", "birth", "dob")) is None:
            continue
        if _all_fit(column, missing, lambda value, pattern=pattern: _is_day(re.fullmatch(pattern, value))):  # type: ignore[misc]
            return form
    return None


def _is_day(found: re.Match[str] | None) -> bool:
    return found is not None and 1 <= int(found["month"]) <= 12 and 1 <= int(found["day"]) <= 31


def _all_fit(column: ColumnProfile, missing: Sequence[str], fits: Callable[[str], bool]) -> bool:
    """Whether there are values, missing ones aside, and all fit; the first that does not ends it."""
    values = (label.strip() for label in column.labels)
    any_known = False
    for value in values:
        if value in missing:
            continue
        if not fits(value):
            return False
        any_known = True
    return any_known


def has_commas(column: ColumnProfile, missing: Sequence[str]) -> bool:
    """Whether all values are numbers, some with a decimal comma."""
    return _all_fit(column, missing, lambda value: COMMA.fullmatch(value) is not None) and any(
        "," in label for label in column.labels if label.strip() not in missing
    )


def are_icd(labels: Sequence[str]) -> bool:
    fits = sum(ICD.fullmatch(label.strip()) is not None for label in labels)
    return len(labels) > 5 and fits > 0.9 * len(labels) and any(label[0].isalpha() or "." in label for label in labels)


def is_free_text(column: ColumnProfile, rows: int) -> bool:
    words = [len(label.split()) for label in column.labels[:1000]]
    return column.distinct > max(100, rows // 50) and sum(words) >= 4 * len(words)
