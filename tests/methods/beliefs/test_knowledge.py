"""Knowledge files and estimates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reissue.errors import InputError, SettingsError
from reissue.methods.beliefs.attack import BackgroundKnowledge
from reissue.methods.beliefs.knowledge import (
    SUPPORT,
    Knowledge,
    ReadKnowledge,
    count_fragment,
    estimate_shares,
    find_moves,
    find_shares,
    hash_cells,
)
from reissue.methods.beliefs.knowledge_files import (
    load_knowledge,
    read_compromised,
    read_second,
    read_transitions,
    read_values,
)
from reissue.methods.beliefs.revision import MoveCounts
from reissue.model.domain import Domain
from reissue.model.fragment_counts import FragmentCounts, TableCounts, sum_counts
from reissue.model.release import Coded
from tests.methods.beliefs.names import TinyNames
from tests.support.histories import toy_domains, uniform_tree
from tests.support.refusals import names

NAMES = TinyNames()
DOMAINS = (Domain("age", 20, 59), Domain("sex", 0, 1, uniform_tree(2)))


def write(folder: Path, text: str, name: str = "k.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


TRANSITIONS = "from,to,probability\nflu,flu,0.5\nflu,ulcer,0.5\nulcer,ulcer,1\ncancer,cancer,0.9\ncancer,flu,0.1\n"
MATRIX = ";flu;ulcer;cancer\nflu;0.5;0.5;0\nulcer;0;1;0\ncancer;0.1;0;0.9\n"


def test_transitions_as_lines_as_a_matrix_and_in_parquet(tmp_path: Path) -> None:
    expected = [[0.5, 0.5, 0], [0, 1, 0], [0.1, 0, 0.9]]
    assert np.allclose(read_transitions(write(tmp_path, TRANSITIONS), NAMES), expected)
    assert np.allclose(read_transitions(write(tmp_path, MATRIX), NAMES), expected)
    lines = [line.split(",") for line in TRANSITIONS.splitlines()[1:]]
    table = {
        "from": [a for a, _, _ in lines],
        "to": [b for _, b, _ in lines],
        "probability": [float(p) for *_, p in lines],
    }
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    assert np.allclose(read_transitions(tmp_path / "t.parquet", NAMES), expected)


def test_every_mistake_of_transitions_is_named_at_once(tmp_path: Path) -> None:
    text = "from,to,probability\nflu,flu,0.5\nflu,grippe,0.2\nulcer,ulcer,1.5\n"
    with pytest.raises(InputError) as error:
        read_transitions(write(tmp_path, text), NAMES)
    for part in ("k.csv", "'grippe'", "line 4", "'1.5'", "'flu' sum to 0.7", "'cancer'"):
        assert part in str(error.value)


def test_unknown_values_can_be_dropped(tmp_path: Path) -> None:
    text = TRANSITIONS.replace("flu,ulcer,0.5", "flu,ulcer,0.25\nflu,rabies,0.25")
    with pytest.raises(InputError, match="rabies"):
        read_transitions(write(tmp_path, text), NAMES)
    assert np.allclose(read_transitions(write(tmp_path, text), NAMES, drop=True)[0], [2 / 3, 1 / 3, 0])


VALUES = """age,sex,disease,probability
*,*,flu,0.5
*,*,ulcer,0.3
*,*,cancer,0.2
20-39,F,flu,1.0
40-59,*,cancer,1.0
"""


def test_shares_by_category_the_narrowest_wins(tmp_path: Path) -> None:
    boxes, shares = read_values(write(tmp_path, VALUES), NAMES)
    codes = np.asfortranarray(np.array([[25, 0], [25, 1], [45, 0]], dtype=np.int32))
    given = ReadKnowledge(boxes=boxes, shares=shares)
    category, table = find_shares(Knowledge(), given, codes, np.zeros(3, np.int32), DOMAINS, 3)
    assert np.allclose(table[category], [[1, 0, 0], [0.5, 0.3, 0.2], [0, 0, 1]])
    partial = ReadKnowledge(boxes=boxes[1:], shares=shares[1:])
    with pytest.raises(InputError, match="1 rows belong to no category"):
        find_shares(Knowledge(), partial, codes, np.zeros(3, np.int32), DOMAINS, 3)


def test_a_star_is_any_code_there_can_be(tmp_path: Path) -> None:
    anything = [np.iinfo(np.int32).min, np.iinfo(np.int32).max]
    boxes, _ = read_values(write(tmp_path, VALUES), NAMES)
    assert boxes[0].tolist() == [anything, anything]
    assert boxes[2, 1].tolist() == anything
    alone, _ = read_values(write(tmp_path, "disease,probability\nflu,1.0\n"), NAMES)
    assert alone.tolist() == [[anything, anything]], "a column that is not there"


def test_mistakes_of_shares_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"age 20-39, sex F sum to 0\.4"):
        read_values(write(tmp_path, VALUES.replace("flu,1.0", "flu,0.4")), NAMES)
    with pytest.raises(InputError, match="'F9' is neither"):
        read_values(write(tmp_path, VALUES.replace("39,F,", "39,F9,")), NAMES)
    with pytest.raises(InputError, match="no column 'probability'"):
        read_values(write(tmp_path, "age,disease,p\n"), NAMES)
    with pytest.raises(InputError, match="cannot be read"):
        read_values(tmp_path / "absent.csv", NAMES)
    with pytest.raises(InputError, match=r"The knowledge file .* is empty; its first line must name the columns\."):
        read_values(write(tmp_path, ""), NAMES)
    with pytest.raises(InputError, match=r"line 3 has 3 cells, the header 4\."):
        read_values(write(tmp_path, VALUES.replace("*,*,ulcer,0.3", "*,ulcer,0.3")), NAMES)
    with pytest.raises(InputError, match=r"besides quasi-identifiers and probability it has: nothing\."):
        read_values(write(tmp_path, "age,probability\n20-39,1\n"), NAMES)
    with pytest.raises(InputError, match=r"besides quasi-identifiers and probability it has: a, b\."):
        read_values(write(tmp_path, "a,age,b,probability\nx,20-39,y,1\n"), NAMES)
    for wrong in ("one", "1.1", "-0.1", "nan"):
        with pytest.raises(InputError, match=rf"line 5: the probability is '{wrong}'; it must be a number from 0 to 1"):
            read_values(write(tmp_path, VALUES.replace("flu,1.0", f"flu,{wrong}")), NAMES)
    with pytest.raises(InputError, match=r"the probabilities of category everybody sum to 0\.9, not to 1"):
        read_values(write(tmp_path, "disease,probability\nflu,0.9\n"), NAMES)


def test_two_steps_back_off_to_one(tmp_path: Path) -> None:
    text = "before,from,to,probability\nflu,flu,cancer,1.0\n"
    second = read_second(write(tmp_path, text), NAMES)
    one = read_transitions(write(tmp_path, TRANSITIONS, "one.csv"), NAMES)
    moves = find_moves(Knowledge(), ReadKnowledge(one=one, second=second), MoveCounts.none(3), np.ones(3) / 3, 2, 3)
    dense = np.stack([one] * 3)  # [first, between, last]
    dense[0, 0] = [0, 0, 1]
    assert moves.two is not None
    assert np.allclose(moves.two, np.einsum("ab,abc->ac", one, dense))
    with pytest.raises(InputError, match=r"'flu' and then 'flu' sum to 0\.5"):
        read_second(write(tmp_path, text.replace("1.0", "0.5")), NAMES)


def test_values_that_are_dropped_leave_shares_of_the_rest(tmp_path: Path) -> None:
    """What is said of unknown values is spread over the others, pair by pair; a pair with nothing left has no share."""
    text = "\n".join(
        [
            "before,from,to,probability",
            *("flu,flu,flu,0.1", "flu,flu,cancer,0.3", "flu,flu,gout,0.6"),
            *("flu,ulcer,ulcer,1.0", "ulcer,flu,flu,0.5", "ulcer,flu,gout,0.5", "ulcer,ulcer,gout,1.0"),
            *("cancer,flu,flu,0.0", "cancer,flu,gout,1.0", "gout,flu,flu,1.0"),
        ]
    )
    second = read_second(write(tmp_path, text), NAMES, drop=True)
    found = dict(zip(zip(second.first, second.between, second.last, strict=True), second.shares, strict=True))
    assert found == pytest.approx({(0, 0, 0): 0.25, (0, 0, 2): 0.75, (0, 1, 1): 1.0, (1, 0, 0): 1.0, (2, 0, 0): 0.0})
    with pytest.raises(InputError, match="the series knows no value 'gout'"):
        read_second(write(tmp_path, text), NAMES)


def test_compromised_records(tmp_path: Path) -> None:
    text = "subject,value,release,confidence\nann,flu,1,0.9\nbob,cancer,2,1\nzoe,flu,1,0.5\n"
    claims, unmatched = read_compromised(write(tmp_path, text), NAMES)
    assert unmatched == 1
    assert (claims.subjects.tolist(), claims.values.tolist(), claims.releases.tolist()) == ([4, 7], [0, 2], [1, 2])
    for wrong, said in (
        ("ann,flu,1,0.9\nann,ulcer,1,0.2", "'ann' in release 1 sum to 1.1"),
        ("ann,flu,0,0.9", "the release is '0'"),
        ("ann,flu,1,1.9", "the confidence is '1.9'"),
        ("ann,mumps,1,0.9", "'mumps'"),
    ):
        with pytest.raises(InputError, match=said):
            read_compromised(write(tmp_path, text.replace("ann,flu,1,0.9", wrong)), NAMES)


def test_settings(tmp_path: Path) -> None:
    path = str(write(tmp_path, TRANSITIONS))
    knowledge = Knowledge(transitions=path)
    assert knowledge.files == (path,)
    with pytest.raises(SettingsError, match="has not been read"):
        _ = BackgroundKnowledge(knowledge=knowledge).given
    given = load_knowledge(knowledge, NAMES)
    assert BackgroundKnowledge(knowledge=knowledge).inform(given).given is given
    assert given.one is not None
    assert given.shares is None
    for wrong in ({"smoothing": 0.0}, {"unknown": "guess"}, {"values": ""}):
        with pytest.raises(SettingsError, match=names(wrong)):
            Knowledge(**wrong)  # type: ignore[arg-type]


# --- estimates -------------------------------------------------------------------------------------------------------


def test_estimated_shares_find_the_categories_that_differ() -> None:
    rng = np.random.default_rng(0)
    domains = toy_domains()
    codes = np.stack([rng.integers(d.lo, d.hi + 1, 20_000) for d in domains], axis=1).astype(np.int32)
    old = codes[:, 0] >= 40
    values = np.where(rng.random(20_000) < 0.8, old, ~old).astype(np.int32)
    category, shares = estimate_shares(codes, values, domains, 3, 10.0)
    assert np.allclose(shares.sum(axis=1), 1.0)
    assert (shares > 0).all()  # a value that was never seen stays possible
    assert np.abs(shares[category][old, 1] - 0.8).mean() < 0.05
    assert np.abs(shares[category][~old, 0] - 0.8).mean() < 0.05


@pytest.mark.parametrize("seed", range(30))
def test_a_category_is_smoothed_by_the_one_above_and_never_describes_a_few_people(seed: int) -> None:
    rng = np.random.default_rng(seed)
    domains, rows = toy_domains(), int(rng.integers(1, 600))
    codes = np.stack([rng.integers(d.lo, d.hi + 1, rows) for d in domains], axis=1).astype(np.int32)
    values = rng.integers(0, 4, rows).astype(np.int32)
    category, shares = estimate_shares(codes, values, domains, 4, 7.0)
    everybody = (np.bincount(values, minlength=4) + 7.0 / 4) / (rows + 7.0)
    assert np.allclose(shares[0], everybody)
    assert np.allclose(shares.sum(axis=1), 1.0)
    if rows < SUPPORT:
        assert (category == 0).all()
    made = len(shares)
    deeper = estimate_shares(np.repeat(codes, 50, axis=0), np.repeat(values, 50), domains, 4, 7.0)[1]
    assert len(deeper) >= made  # more rows, finer categories


@pytest.mark.parametrize("seed", range(20))
def test_fragments_that_count_for_each_other_estimate_the_shares_of_the_whole_table(seed: int) -> None:
    """Any division: by region, at random, or with a fragment that is empty."""
    rng = np.random.default_rng(seed)
    domains, rows = toy_domains(), int(rng.integers(50, 2_000))
    codes = np.stack([rng.integers(d.lo, d.hi + 1, rows) for d in domains], axis=1).astype(np.int32)
    codes[:, 0] = np.minimum(codes[:, 0], rng.integers(1, domains[0].hi + 1))
    values = rng.integers(0, 4, rows).astype(np.int32)
    home = codes[:, 0] % 4 if seed % 2 else rng.integers(0, 3, rows)
    parts = [np.flatnonzero(home == f) for f in range(5)]
    snapshots = [Coded(rows, codes[rows], values[rows], domains, 4) for rows in parts]
    tallies = [count_fragment(Knowledge(), one, MoveCounts.none(4), 1) for one in snapshots]
    category, shares = estimate_shares(codes, values, domains, 4, 7.0)
    for mine, whole in zip(parts, TableCounts.of(tallies), strict=True):
        own, table = find_shares(
            Knowledge(smoothing=7.0), ReadKnowledge(), codes[mine], values[mine], domains, 4, whole
        )
        assert np.array_equal(table[own], shares[category[mine]])


def test_moves_of_fragments_add_up() -> None:
    rng = np.random.default_rng(1)
    earlier, now, after = (rng.integers(low, 5, 300).astype(np.int32) for low in (-1, 0, 0))
    whole = MoveCounts.none(0).plus(earlier, now, after, 5)
    home = rng.integers(0, 3, 300)
    own = [MoveCounts.none(0).plus(earlier[home == f], now[home == f], after[home == f], 5) for f in range(3)]
    together = MoveCounts.sum(sum_counts([FragmentCounts(one.counts(2)) for one in own]), 5)
    table = np.full(5, 0.2)
    for steps in (1, 2):
        here, there = together.moves(table, steps, 10.0), whole.moves(table, steps, 10.0)
        assert np.array_equal(here.one, there.one)
        assert (here.two is None and there.two is None) or np.array_equal(here.two, there.two)


def test_estimated_moves_count_consecutive_releases() -> None:
    counts = MoveCounts.none(0).plus(*(np.array(x, dtype=np.int32) for x in ([-1, -1, 0], [0, 0, 1], [1, 0, 1])), 2)  # type: ignore[call-arg]
    counts = counts.plus(*(np.array(x, dtype=np.int32) for x in ([0, 0], [1, 1], [2, 1])), 3)  # type: ignore[call-arg]
    assert counts.pairs.tolist() == [[1, 1, 0], [0, 2, 1], [0, 0, 0]]
    triples = dict(
        zip(
            zip(counts.first.tolist(), counts.between.tolist(), counts.last.tolist(), strict=True),
            counts.times.tolist(),
            strict=True,
        )
    )
    assert triples == {(0, 1, 1): 2, (0, 1, 2): 1}
    table, smoothing = np.array([0.5, 0.3, 0.2]), 4.0
    one = counts.one_step(table, smoothing)
    assert np.allclose(one.sum(axis=1), 1.0)
    assert np.allclose(counts.one_step(np.array([1.0, 0.0, 0.0]), smoothing).sum(axis=1), 1.0), (
        "nobody has another value"
    )
    stay = (3 + smoothing) / (5 + 2 * smoothing)
    usual = [stay, (1 - stay) * 0.3 / 0.5, (1 - stay) * 0.2 / 0.5]
    assert np.allclose(one[0], (np.array([1, 1, 0]) + smoothing * np.array(usual)) / (2 + smoothing))
    second = np.empty((3, 3, 3))
    for a, b in np.ndindex(3, 3):
        seen = np.array([triples.get((a, b, c), 0) for c in range(3)])
        second[a, b] = (seen + smoothing * one[b]) / (seen.sum() + smoothing)
    assert np.allclose(counts.two_steps(one, smoothing), np.einsum("ab,abc->ac", one, second))


def test_with_many_moves_the_estimate_is_the_matrix() -> None:
    rng = np.random.default_rng(1)
    truth = rng.dirichlet(np.ones(4), 4)
    now = rng.integers(0, 4, 200_000).astype(np.int32)
    after = np.array([np.searchsorted(np.cumsum(truth[a]), u) for a, u in zip(now, rng.random(len(now)), strict=True)])
    counts = MoveCounts.none(4).plus(np.full(len(now), -1, np.int32), now, np.minimum(after, 3).astype(np.int32), 4)
    assert np.abs(counts.one_step(np.full(4, 0.25), 10.0) - truth).max() < 0.01


def test_labels_of_a_real_series(tmp_path: Path) -> None:
    import reissue as ri
    from reissue.coding import Coding, CodingNames
    from reissue.coding.learning import NumericSummary, SnapshotSummary

    schema = ri.Schema(
        identifier="name",
        quasi_identifiers={
            "age": ri.Numeric(type="int"),
            "sex": ri.Categorical(hierarchy=ri.Hierarchy.from_nested({"Person": ["M", "F"]})),
        },
        sensitive="disease",
    )
    seen = SnapshotSummary(
        categories={"sex": {"M": (1, 0), "F": (1, 1)}},
        numbers={"age": NumericSummary(kind="int", lowest=20, highest=59)},
        sensitive=[("flu",), ("ulcer",), ("cancer",)],
    )
    names = CodingNames(Coding.start(schema).learn(seen), lambda people: np.arange(len(people)))
    boxes, shares = read_values(write(tmp_path, VALUES), names)
    sex = names.coding.lookup("sex")["F"]
    assert boxes[1].tolist() == [[20, 39], [sex, sex]]
    assert shares[1, names.values.index("flu")] == 1.0
    with pytest.raises(InputError, match="Man"):
        read_values(write(tmp_path, VALUES.replace("39,F,", "39,Man,")), names)


def test_cells_of_numbers_part_their_range_evenly_and_nest() -> None:
    for low, high in ((0, 0), (0, 1), (-3, 9), (5, 68)):
        codes = np.arange(low, high + 1, dtype=np.int32)[:, None]
        place = {
            depth: [(code - low) * 2**depth // (high - low + 1) for code in codes[:, 0].tolist()] for depth in (1, 2, 6)
        }
        for depth, expected in place.items():
            cells = hash_cells(codes, np.arange(len(codes)), [Domain("a", low, high)], depth).tolist()
            assert [cells.index(cell) for cell in cells] == [expected.index(one) for one in expected]
