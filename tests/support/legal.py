"""What every release must be, whatever its strategy: checked on the facts, by definition."""

from __future__ import annotations

from collections.abc import Sequence

from reissue.arrays.types import Int32
from reissue.model.boxes import contain
from reissue.model.domain import Domain
from reissue.model.release import Coded, Facts


def assert_nodes(boxes: Int32, domains: Sequence[Domain]) -> None:
    """In an attribute with a hierarchy every interval is one of its nodes."""
    for a, domain in enumerate(domains):
        if domain.tree is not None:
            nodes = set(zip(domain.tree.lo.tolist(), domain.tree.hi.tolist(), strict=True))
            assert set(map(tuple, boxes[:, a].tolist())) <= nodes, domain.name


def assert_legal(releases: Sequence[Facts], snapshots: Sequence[Coded]) -> None:
    """Rows lie in their boxes, boxes are legal, and a counterfeit keeps its value for life."""
    fakes: dict[int, int] = {}
    for facts, taken in zip(releases, snapshots, strict=True):
        assert contain(facts.boxes, facts.codes, facts.classes).all()
        assert_nodes(facts.boxes, taken.domains)
        for subject, value in zip(
            facts.subjects[~facts.real].tolist(), facts.values[~facts.real].tolist(), strict=True
        ):
            assert fakes.setdefault(subject, value) == value
