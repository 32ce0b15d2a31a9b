"""Fragments that must agree before a release stands, and what fails once it is out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import reissue as ri
from reissue.arrays.types import Int64
from reissue.errors import InfeasiblePolicy, InputError
from reissue.model.fragment_counts import Counts, TableCounts
from reissue.publish.embedded import Embedded
from reissue.publish.publishing import ATTEMPTS, publish_until_stable
from tests.support.hospital import FIGURE_1, frame, hospital_schema

NEEDS_AGREEMENT, NEEDS_NONE = ri.JSReduce(k=2, t=0.5, J=0.5), ri.Static(k=2)


def tables(*values: int) -> list[TableCounts]:
    whole = Counts.of_values(np.array(values, dtype=np.int64))
    return [TableCounts({"values": whole}), TableCounts({"values": whole})]


class Fragments:
    """Two fragments that publish what they are told to, and note what they were told was published before."""

    def __init__(self, *published: Sequence[int]) -> None:
        self.published, self.told = list(published), list[list[list[int]]]()

    def __call__(self, given: Sequence[TableCounts] | None) -> list[Int64]:
        assert given is not None
        self.told.append([one.tolist() for one in given[0].published])
        assert all(np.array_equal(a, b) for a, b in zip(given[0].published, given[1].published, strict=True))
        half = np.array(self.published[min(len(self.told), len(self.published)) - 1], dtype=np.int64)
        return [half, half]


def test_a_release_stands_once_all_is_published_that_was_announced() -> None:
    at_once = Fragments([2, 3])
    publish_until_stable(NEEDS_AGREEMENT, tables(4, 6), at_once)
    assert at_once.told == [[]]
    later = Fragments([2, 2], [1, 2], [1, 2])
    publish_until_stable(NEEDS_AGREEMENT, tables(4, 6), later)
    assert later.told == [[], [[4, 4]], [[4, 4], [2, 4]]]


def test_fragments_that_never_agree_are_refused() -> None:
    restless = Fragments(*([i, 0] for i in range(ATTEMPTS + 2)))
    with pytest.raises(InfeasiblePolicy, match=rf"The fragments did not come to rest in {ATTEMPTS} attempts: .* fewer"):
        publish_until_stable(NEEDS_AGREEMENT, tables(4, 6), restless)
    assert len(restless.told) == ATTEMPTS + 1
    content = Fragments([0, 0])
    publish_until_stable(NEEDS_NONE, tables(4, 6), content)
    assert len(content.told) == 1


def test_what_fails_after_the_commit_is_told_with_the_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise InputError("The catalogue is away.")

    with ri.Series.create(tmp_path / "s", hospital_schema(), ri.Static(k=2), seed=1) as series:
        with monkeypatch.context() as patch:
            patch.setattr(Embedded, "after", fail)
            release = series.publish(frame(FIGURE_1))
        assert release.warnings[-1] == (
            "Release 1 is committed, but what was to be done with it afterwards failed. The catalogue is away."
        )
        assert [one.number for one in series.releases] == [1]
        assert not series.verify()
