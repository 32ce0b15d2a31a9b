"""Who has which number: the few people whom attacks find, looked up by workers in the identity map.

An attack on a part of a series may run anywhere. What it says then holds marks such as `{subject:123}`; only the
auditor's own process puts in what people call them, so neither identities nor labels travel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reissue.arrays.types import Int32, Int64
from reissue.history.past_releases import Identities
from reissue.ledger import Marks, Shelf
from reissue.ledger.parquet import numbers_of
from reissue.ledger.records import PrivateFile
from reissue.methods.attack import Finding, Outcome, begin_sentence
from reissue.model.observed import Words

if TYPE_CHECKING:
    from reissue.engine.spark.verbs import Spark


_MARK = re.compile(r"\{(subject|value|release|box):([-0-9,]*)\}")
_PERSON = re.compile(r"\{subject:(-?\d+)\}")


@dataclass(frozen=True)
class TokenWords:
    """Words that know nothing: every name is a mark for it."""

    def box(self, box: Int32) -> str:
        return "{box:" + ",".join(str(code) for code in box.reshape(-1).tolist()) + "}"

    def value(self, code: int) -> str:
        return f"{{value:{code}}}"

    def subject(self, number: int) -> str:
        return f"{{subject:{number}}}"

    def release(self, number: int) -> str:
        return f"{{release:{number}}}"


def fill_in_words(text: str, words: Words) -> str:
    """The text with every mark replaced by what people call it, in one pass: names are not searched for marks."""

    def name(mark: re.Match[str]) -> str:
        kind, of = mark[1], mark[2]
        if kind == "box":
            codes = np.array([int(code) for code in of.split(",") if code], dtype=np.int32)
            return words.box(codes.reshape(-1, 2))
        return str(getattr(words, kind)(int(of)))

    return _MARK.sub(name, text)


def fill_in_all_words(thing: object, words: Words) -> object:
    """The same for all texts within tuples, lists and mappings, such as the details of a finding."""
    if isinstance(thing, str):
        return fill_in_words(thing, words)
    if isinstance(thing, tuple):
        return tuple(fill_in_all_words(one, words) for one in thing)
    if isinstance(thing, list):
        return [fill_in_all_words(one, words) for one in thing]
    if isinstance(thing, Mapping):
        return {fill_in_all_words(key, words): fill_in_all_words(one, words) for key, one in thing.items()}
    return thing


class SparkNames:
    """The identity map of a series, which nobody reads as a whole."""

    def __init__(self, spark: Spark, shelf: Shelf) -> None:
        self._spark, self._shelf = spark, shelf
        self._known: dict[int, str] = {}

    def learn(self, numbers: Iterable[int]) -> None:
        """Look up these people, all at once."""
        wanted = np.array(sorted(set(numbers) - set(self._known)), dtype=np.int64)
        if len(wanted) == 0:
            return
        self._known |= {int(number): f"subject {number}" for number in wanted}  # who was forgotten
        for names in self._spark.each(self._files, partial(_find_names, self._shelf, wanted)):
            self._known |= names

    def name(self, number: int) -> str:
        """The identifier of a subject; its number if it has been forgotten."""
        self.learn([number])
        return self._known[number]

    def of(self, identifiers: Sequence[str]) -> Int64:
        """The latest number of each identifier, -1 if it has none."""
        wanted = [str(one) for one in identifiers]
        found = self._spark.each(self._files, partial(_find_numbers, self._shelf, wanted)) if wanted else []
        numbers = np.full(len(wanted), -1, dtype=np.int64)
        for some in found:
            np.maximum(numbers, some, out=numbers)
        return Marks.read(self._shelf).fill(pa.array(wanted, pa.string()), numbers)

    @property
    def _files(self) -> list[PrivateFile]:
        return self._shelf.state.of_role("identities")


def _find_names(shelf: Shelf, wanted: Int64, file: PrivateFile) -> dict[int, str]:
    """The wanted people of one part of the identity map."""
    table = shelf.read(file)
    numbers = np.asarray(table["subject"]).astype(np.int64)
    rows = np.flatnonzero(np.isin(numbers, wanted))
    names = table["identifier"].take(pa.array(rows)).to_pylist()
    return dict(zip(numbers[rows].tolist(), map(str, names), strict=True))


def _find_numbers(shelf: Shelf, wanted: Sequence[str], file: PrivateFile) -> Int64:
    """As `Identities.of`, of one part of the identity map."""
    table = shelf.read(file)
    return Identities(table["identifier"].combine_chunks(), numbers_of(table["subject"])).of(wanted)


# -- What workers told by number


def name_outcome(outcome: Outcome, words: Words) -> Outcome:
    """The outcome with people, values, boxes and releases called by name."""
    findings = tuple(_name_finding(finding, words) for finding in outcome.findings)
    return replace(outcome, findings=findings, notes=tuple(fill_in_words(note, words) for note in outcome.notes))


def _name_finding(finding: Finding, words: Words) -> Finding:
    return replace(
        finding,
        subjects=tuple(fill_in_words(subject, words) for subject in finding.subjects),
        value=None if finding.value is None else fill_in_words(finding.value, words),
        sentence=begin_sentence(fill_in_words(finding.sentence, words)),  # a mark has no capital letter
        details={key: fill_in_all_words(detail, words) for key, detail in finding.details.items()},
    )


def find_mentioned(outcome: Outcome) -> set[int]:
    """The people whom the findings and notes of a worker's outcome name."""
    told = [(one.subjects, one.value, one.sentence, dict(one.details)) for one in outcome.findings]
    return {int(number) for number in _PERSON.findall(repr((told, outcome.notes)))}
