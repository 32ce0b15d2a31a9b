"""Words for workers: people, values and boxes by number, to be named where the names are.

An attack on a part of a series may run anywhere. What it says then holds marks such as `{subject:123}`; only the
auditor's own process puts in what people call them, so neither identities nor labels travel.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Int32
from reissue.model.observed import Words

_MARK = re.compile(r"\{(subject|value|release|box):([-0-9,]*)\}")


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
