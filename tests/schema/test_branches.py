"""A hierarchy as a tree with rows: every group has the rows of its values."""

from __future__ import annotations

from reissue.hierarchy import Hierarchy
from reissue.schema import Schema
from reissue.schema.proposal import Branch, count_branches


def test_a_group_has_the_rows_of_its_values_in_the_order_of_the_hierarchy() -> None:
    hierarchy = Hierarchy.from_nested({"Europe": ["France", "Spain"], "Asia": ["Japan"]})
    tree = count_branches(hierarchy, {"Spain": 3, "Japan": 4, "Mars": 9})
    assert tree == Branch("*", 7, (Branch("Europe", 3, (Branch("France", 0), Branch("Spain", 3))), Branch("Japan", 4)))
    assert tree.trace() == ("Japan", "*")


def test_a_rule_takes_in_the_values_that_fit_it() -> None:
    tree = count_branches(Hierarchy.prefix([2]), {"12a": 5, "12b": 1, "13c": 2})
    assert [(one.label, one.rows) for one in tree.inside] == [("12*", 6), ("13c", 2)]
    assert tree.trace() == ("12a", "12*", "*")


def test_a_proposal_counts_the_rows_of_each_hierarchy(tmp_path: object) -> None:
    import pyarrow as pa

    table = pa.table(
        {
            "person": [f"p{one}" for one in range(60)],
            "sex": ["F", "M"] * 30,
            "age": list(range(20, 80)),
            "diagnosis": ["flu", "asthma", "gout", "hiv"] * 15,
        }
    )
    proposal = Schema.suggest(table)
    trees = {one.name: proposal.count_branches(one) for one in proposal.of_role("quasi-identifier")}
    assert trees["age"] is None
    assert trees["sex"] == Branch("*", 60, (Branch("F", 30), Branch("M", 30)))
