"""How tables write what Reissue reads otherwise: missing values, decimal commas, dates as dd/mm/yyyy, letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reissue.errors import SchemaError, did_you_mean

KEYS = ("missing", "decimal", "dates", "encoding", "labels")
EVERY = "*"
"""The key of codes that mean missing in every column."""

ISO = "yyyy-mm-dd"
DATES: Mapping[str, str] = {
    ISO: r"^(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})$",
    "yyyy/mm/dd": r"^(?P<year>[0-9]{4})/(?P<month>[0-9]{1,2})/(?P<day>[0-9]{1,2})$",
    "yyyymmdd": r"^(?P<year>[0-9]{4})(?P<month>[0-9]{2})(?P<day>[0-9]{2})$",
    "dd/mm/yyyy": r"^(?P<day>[0-9]{1,2})/(?P<month>[0-9]{1,2})/(?P<year>[0-9]{4})$",
    "dd.mm.yyyy": r"^(?P<day>[0-9]{1,2})\.(?P<month>[0-9]{1,2})\.(?P<year>[0-9]{4})$",
    "dd-mm-yyyy": r"^(?P<day>[0-9]{1,2})-(?P<month>[0-9]{1,2})-(?P<year>[0-9]{4})$",
    "mm/dd/yyyy": r"^(?P<month>[0-9]{1,2})/(?P<day>[0-9]{1,2})/(?P<year>[0-9]{4})$",
}
"""The forms of dates that can be declared, and how each is recognized."""

UTF_8, WINDOWS = "utf-8", "windows-1252"
ENCODINGS = (UTF_8, *(f"windows-125{n}" for n in range(9)), *(f"iso-8859-{n}" for n in (1, 2, 3, 4, 5, 7, 9, 13, 15)))
"""Of CSV files. All write the signs of ASCII in one byte each, as ASCII does."""


@dataclass(frozen=True)
class Spelling:
    """The spelling of quasi-identifiers and sensitive columns; identifiers and insensitive columns stay as they are.

    missing: column (or `*` for every one) to the texts that stand for a missing value
    decimal: the mark before the decimals, "." or ","
    dates:   one of DATES; dates as yyyy-mm-dd are always read
    encoding: of CSV files that are not UTF-8, one of ENCODINGS; what is UTF-8 is read as UTF-8
    labels:  of releases made elsewhere: column (or `*`) to what a label means, such as {"unknown": "*"}
    """

    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    decimal: str = "."
    dates: str = ISO
    encoding: str = UTF_8
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise SchemaError(f'spelling.decimal: received {self.decimal!r}. Allowed: "." and ",".')
        if self.dates not in DATES:
            near = did_you_mean(str(self.dates).lower(), DATES)
            raise SchemaError(f"spelling.dates: received {self.dates!r}.{near} Allowed: {', '.join(DATES)}.")
        if self.encoding not in ENCODINGS:
            near = did_you_mean(str(self.encoding).lower(), ENCODINGS)
            raise SchemaError(f"spelling.encoding: received {self.encoding!r}.{near} Allowed: {', '.join(ENCODINGS)}.")

    def missing_of(self, column: str) -> tuple[str, ...]:
        """The codes of a column: its own, and those of every column."""
        return (*self.missing.get(column, ()), *self.missing.get(EVERY, ()))

    def meaning(self, column: str, label: str) -> str | None:
        """What a label of a release made elsewhere means; None where nothing is declared."""
        return self.labels.get(column, {}).get(label) or self.labels.get(EVERY, {}).get(label)

    def to_dict(self) -> dict[str, object]:
        """What differs from the usual spelling, in the shape of the config."""
        given: dict[str, object] = {}
        if self.missing:
            given["missing"] = {column: list(codes) for column, codes in self.missing.items()}
        if self.decimal != ".":
            given["decimal"] = self.decimal
        if self.dates != ISO:
            given["dates"] = self.dates
        if self.encoding != UTF_8:
            given["encoding"] = self.encoding
        return {**given, "labels": {name: dict(some) for name, some in self.labels.items()}} if self.labels else given

    @staticmethod
    def of(given: object, columns: Sequence[str]) -> Spelling:
        """From what a config says; columns: those that may be spelled (quasi-identifiers and sensitive)."""
        if isinstance(given, Spelling):
            return given
        if not isinstance(given, Mapping):
            raise SchemaError(f'spelling: received {given!r}. Write a section [schema.spelling] with missing = ["NA"].')
        unknown = [key for key in given if key not in KEYS]
        if unknown:
            near = did_you_mean(unknown[0], KEYS)
            raise SchemaError(f"spelling.{unknown[0]}: unknown key.{near} Allowed: {', '.join(KEYS)}.")
        codes = given.get("missing", {})
        by_column = codes if isinstance(codes, Mapping) else {EVERY: codes}
        missing = {str(column): _read_codes(column, some, columns) for column, some in by_column.items()}
        labels = _read_labels(given.get("labels", {}), columns)
        return Spelling(
            missing, given.get("decimal", "."), given.get("dates", ISO), given.get("encoding", UTF_8), labels
        )


USUAL = Spelling()
"""The spelling that is read without being declared."""


def _read_codes(column: object, codes: object, columns: Sequence[str]) -> tuple[str, ...]:
    if column != EVERY and column not in columns:
        near = did_you_mean(column, columns)
        raise SchemaError(
            f"spelling.missing.{column}: is neither a quasi-identifier nor sensitive.{near} Allowed: "
            f"{', '.join((*columns, EVERY))}."
        )
    codes = [codes] if isinstance(codes, str) else codes
    if not isinstance(codes, list | tuple) or not all(isinstance(code, str) and code.strip() for code in codes):
        raise SchemaError(
            f'spelling.missing: received {codes!r}. Write the codes as text in quotes, such as ["NA", "99"]; an empty '
            "field is missing anyway."
        )
    return tuple(code.strip() for code in codes)


def _read_labels(given: object, columns: Sequence[str]) -> dict[str, dict[str, str]]:
    """Meanings of labels by column; what stands outside a column's table holds in every column."""
    if not isinstance(given, Mapping):
        raise SchemaError(f'labels: received {given!r}. Write a section [labels] with lines such as unknown = "*".')
    found: dict[str, dict[str, str]] = {}
    for name, meant in given.items():
        if isinstance(meant, Mapping) and name in (*columns, EVERY):
            found[str(name)] = {str(label).strip(): str(one) for label, one in meant.items()}
        elif isinstance(meant, str):
            found.setdefault(EVERY, {})[str(name).strip()] = meant
        else:
            near = did_you_mean(name, columns)
            raise SchemaError(
                f'labels.{name}: received {meant!r}.{near} Write what a label means as text (unknown = "*"), or a '
                "table of such lines for one column."
            )
    return found
