"""Any schema, any hierarchy, any history: what is published is whole, inside its boxes, within the policy, readable."""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from hypothesis import given, settings
from hypothesis import strategies as st

import reissue as ri
from tests.support.public import read_public

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=6).map(str.strip)
LEAVES = st.lists(TEXT.filter(lambda text: text not in ("", "*")), min_size=1, max_size=5, unique=True)


@st.composite
def taxonomies(draw: st.DrawFn) -> tuple[ri.Hierarchy, list[str]]:
    """A hierarchy of one or two levels of groups, and its leaves."""
    leaves = draw(LEAVES)
    cut = draw(st.integers(0, len(leaves)))
    groups = {"group <a>": leaves[:cut], "group;b": leaves[cut:]}
    nested = {name: members for name, members in groups.items() if members}
    if any(name in leaves for name in nested):
        nested = {"only group": leaves}
    return ri.Hierarchy.from_nested(nested), leaves


@st.composite
def histories(draw: st.DrawFn) -> tuple[ri.Schema, list[pa.Table], int]:
    """A schema with a number, a taxonomy and a growing category, and two to four snapshots of changing people."""
    hierarchy, leaves = draw(taxonomies())
    schema = ri.Schema(
        identifier="id",
        quasi_identifiers={
            "number": ri.Numeric(),
            "place": ri.Categorical(hierarchy=hierarchy),
            "free": ri.Categorical(),
        },
        sensitive="value",
        insensitive=("note",),
    )
    whole = draw(st.booleans())
    k = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    pool = k * draw(st.integers(1, 6)) + 4

    def people(ids: np.ndarray) -> dict[int, tuple[float, str, str, str]]:  # type: ignore[type-arg]
        number = rng.integers(-20, 20, len(ids)) if whole else np.round(rng.normal(0, 9, len(ids)), 2)
        return {
            int(i): (n, str(rng.choice(leaves)), f"f{rng.integers(0, 3)}", f"v{rng.integers(0, 4)}")
            for i, n in zip(ids, number.tolist(), strict=True)
        }

    everybody = people(np.arange(pool))
    snapshots = []
    for _ in range(draw(st.integers(2, 4))):
        changed = rng.choice(pool, max(1, pool // 4), replace=False)  # moves, updates
        everybody |= people(changed)
        here = rng.permutation(pool)[: int(rng.integers(k, pool + 1))]  # arrivals, leavers, returns
        rows = [everybody[int(i)] for i in here]
        number, place, free, value = (list(column) for column in zip(*rows, strict=True))
        columns = {"id": here, "number": number, "place": place, "free": free, "value": value}
        snapshots.append(pa.table({**columns, "note": [f"n{i}" for i in here]}))
    return schema, snapshots, k


@given(case=histories(), algorithm=st.sampled_from(["mondrian", "incognito"]))
@settings(max_examples=40)
def test_whatever_is_published_is_whole_and_within_the_policy(
    case: tuple[ri.Schema, list[pa.Table], int], algorithm: str
) -> None:
    schema, snapshots, k = case
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s"
        with ri.Series.create(path, schema, ri.Static(k=k, algorithm=algorithm)) as series:  # type: ignore[arg-type]
            for snapshot in snapshots:
                release = series.publish(snapshot)
                check_release(series, release, snapshot, k)
            assert series.verify(rebuild=True) == []


def check_release(series: ri.Series, release: ri.Release, snapshot: pa.Table, k: int) -> None:
    coding = series.coding
    members = series.membership(release.number).to_pylist()
    assert sorted(row["subject"] for row in members) == sorted(str(i) for i in snapshot["id"].to_pylist())
    assert min(Counter(row["class"] for row in members).values()) >= k
    published = pa.parquet.read_table(release.path / "release.parquet").to_pylist()
    labels = {row["class"]: row for row in published}
    raw = {str(row["id"]): row for row in snapshot.to_pylist()}
    values = defaultdict(Counter)  # type: ignore[var-annotated]
    for member in members:
        row, label = raw[member["subject"]], labels[member["class"]]
        assert member["value"] == row["value"]
        values[member["class"]][row["value"], row["note"]] += 1
        for name in ("number", "place", "free"):
            lo, hi = coding.parse(name, label[name])
            text = row[name]
            code = coding.lookup(name)[text] if name != "number" else coding.numeric(name).code(text)
            assert lo <= code <= hi, f"{name} {text} is outside {label[name]}"
    for row in published:
        assert all(row[name] == labels[row["class"]][name] for name in ("number", "place", "free"))
        values[row["class"]][row["value"], row["note"]] -= 1
    assert not any(count for counts in values.values() for count in counts.values()), "rows of a class were altered"
    again = read_public(release.path, coding)
    facts = series._ledger.facts(release.number)
    np.testing.assert_array_equal(again.boxes, facts.boxes)
    for a in range(len(coding.domains)):
        relabelled = coding.labels(a, again.boxes[:, a, 0], again.boxes[:, a, 1])
        name = coding.domains[a].name
        assert [labels[c][name] for c in range(len(relabelled))] == list(relabelled), "labels do not round-trip"
