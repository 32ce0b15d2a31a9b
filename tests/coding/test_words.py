"""Words for sentences."""

from __future__ import annotations

import numpy as np

from reissue.coding import MISSING_CODE, Coding, CodingWords, NumericSummary
from reissue.model.observed import Words
from tests.coding.support import clinic, snapshot


def test_words_for_sentences() -> None:
    coding = Coding.start(clinic()).learn(snapshot())
    words: Words = CodingWords(coding, lambda number: f"patient {number}")
    box = np.array([[21, 30], [0, 1], [0, 3]], dtype=np.int32)
    assert words.box(box) == "age 21-30, zip 120*"
    everything = np.array([[20, 60], [0, 2], [0, 3]], dtype=np.int32)
    assert words.box(everything) == "everyone"
    assert (words.value(1), words.subject(7), words.release(2)) == ("flu", "patient 7", "release 2")
    with_nulls = Coding.start(clinic(missing="value")).learn(
        snapshot(NumericSummary(kind="int", lowest=20, highest=60, nulls=1))
    )
    box = np.array([[20, 60], [0, 3], [0, 4]], dtype=np.int32)
    assert CodingWords(with_nulls, str).box(box) == "age 20-60"
    box[0, 0] = MISSING_CODE
    assert CodingWords(with_nulls, str).box(box) == "everyone"
