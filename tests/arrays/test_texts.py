"""Tables of texts against plain dictionaries."""

from __future__ import annotations

import numpy as np

from reissue.arrays.text_index import highest, index


def packed(texts: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    data = np.frombuffer(b"".join(texts), dtype=np.uint8)
    starts = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    starts.flags.writeable = False
    return data, starts


def test_texts_are_found_exactly() -> None:
    rng = np.random.default_rng(2)
    for _ in range(400):
        letters = rng.choice([b"", b"a", b"b", b"ab", b"\xc3\xa9", b"\x00", b"abcdefghijk"], int(rng.integers(1, 9)))
        known = [b"".join(rng.choice(letters, int(rng.integers(0, 4)))) for _ in range(int(rng.integers(0, 40)))]
        wanted = [b"".join(rng.choice(letters, int(rng.integers(0, 4)))) for _ in range(int(rng.integers(0, 40)))]
        numbers = rng.permutation(len(known)).astype(np.int64)
        latest: dict[bytes, int] = {}
        for text, number in zip(known, numbers.tolist(), strict=True):
            latest[text] = max(number, latest.get(text, -1))
        table, first = index(*packed(wanted))
        assert first.tolist() == [wanted.index(text) for text in wanted]
        found = highest(table, *packed(wanted), *packed(known), numbers)[first]
        assert found.tolist() == [latest.get(text, -1) for text in wanted]
