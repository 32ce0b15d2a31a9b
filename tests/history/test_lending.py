"""Counterfeits' insensitive columns: plausible beside all that a row shows, and kept as people keep theirs."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from reissue.errors import InfeasiblePolicy
from reissue.history.lending import _contradict, lend
from reissue.model.dependences import Dependence
from reissue.model.domain import Domain
from reissue.model.release import Coded, Facts

PLACES, AGES, VALUES = 12, 60, 6
DOMAINS = (Domain("place", 0, PLACES - 1), Domain("age", 0, AGES - 1))


def people(bond: float, rows: int = 600, seed: int = 0) -> tuple[Coded, pa.Table]:
    """bond: how often a column says what follows from another one: the ward from the place, the maker from the device,
    the drug from the sensitive value; otherwise anything."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(PLACES, size=rows), rng.integers(AGES, size=rows)], axis=1).astype(np.int32)
    values, device = rng.integers(VALUES, size=rows).astype(np.int32), rng.integers(rows // 8, size=rows)

    def follow(what: np.ndarray, many: int) -> list[str]:
        return [str(one) for one in np.where(rng.random(rows) < bond, what % many, rng.integers(many, size=rows))]

    columns = {"ward": follow(codes[:, 0] // 4, 3), "maker": follow(device, 7), "drug": follow(values, VALUES)}
    table = pa.table({**columns, "device": device, "visits": rng.poisson(2, rows)})
    return Coded(np.arange(rows, dtype=np.int64), np.asfortranarray(codes), values, DOMAINS, VALUES), table


def with_fakes(coded: Coded, fakes: int, number: int = 1, first: int = -1, seed: int = 3) -> Facts:
    """Everybody and so many counterfeits, each with the codes of somebody and any age."""
    rng = np.random.default_rng(seed)
    codes = coded.codes[rng.integers(len(coded), size=fakes)].copy()
    codes[:, 1] = rng.integers(AGES, size=fakes)
    return Facts(
        number=number,
        boxes=np.array([[[d.lo, d.hi] for d in DOMAINS]], dtype=np.int32),
        subjects=np.concatenate([np.arange(first - fakes + 1, first + 1), coded.subjects]),
        classes=np.zeros(fakes + len(coded), dtype=np.int32),
        values=np.concatenate([rng.integers(VALUES, size=fakes).astype(np.int32), coded.values]),
        codes=np.asfortranarray(np.concatenate([codes, coded.codes])),
    )


def again(coded: Coded, known: Facts, fakes: int) -> Facts:
    """The next release, with other people and the same counterfeits."""
    subjects = np.concatenate([known.subjects[:fakes], coded.subjects])
    values, codes = (
        np.concatenate([known.values[:fakes], coded.values]),
        np.concatenate([known.codes[:fakes], coded.codes]),
    )
    classes = np.zeros(len(subjects), dtype=np.int32)
    return Facts(2, known.boxes, subjects, classes, values, np.asfortranarray(codes))


def read_rows(
    coded: Coded, facts: Facts, table: pa.Table, previous: Facts | None = None
) -> tuple[list[dict[str, Any]], Facts]:
    lent, kept = lend(coded, facts, previous, table, seed=5)
    columns = lent.table.take(pa.array(lent.rows)).to_pylist()
    own = zip(facts.codes[:, 0].tolist(), facts.codes[:, 1].tolist(), facts.values.tolist(), strict=True)
    rows = [{"place": p, "age": a, "value": v} | c for (p, a, v), c in zip(own, columns, strict=True)]
    return rows, kept


@pytest.mark.parametrize("bond", [1.0, 0.7, 0.0])
def test_pairs_of_columns_are_as_rare_as_those_of_people(bond: float) -> None:
    unseen, expected, made = Counter[tuple[str, str]](), Counter[tuple[str, str]](), 0
    for seed in range(4):
        coded, table = people(bond, seed=seed)
        rows, _ = read_rows(coded, with_fakes(coded, 40, seed=seed), table)
        fakes, real, made = rows[:40], rows[40:], made + 40
        lent = table.column_names
        for a, b in [*combinations(lent, 2), *((a, b) for a in ("place", "age", "value") for b in lent)]:
            many = Counter((row[a], row[b]) for row in real)
            unseen[a, b] += sum(many[row[a], row[b]] == 0 for row in fakes)
            expected[a, b] += sum(count == 1 for count in many.values()) * 40 / len(real)
    for pair, count in unseen.items():
        room = 4 * (expected[pair] + 1) ** 0.5
        assert abs(count - expected[pair]) <= room, (
            f"{pair}: {count} of {made} are like nobody, {expected[pair]:.1f} of people"
        )
    if bond == 1.0:
        assert unseen["place", "ward"] + unseen["maker", "device"] + unseen["drug", "value"] <= 3 * made // 50


def test_columns_follow_each_other_as_often_as_among_people() -> None:
    """A ward that follows from the place in three of four people does so in three of four counterfeits."""

    def count_strange(rows: list[dict[str, Any]]) -> np.ndarray:
        """float64[3]: how often ward, drug and maker are not those of the place, the value and the device."""
        told = [
            (r["ward"] != str(r["place"] // 4), r["drug"] != str(r["value"]), r["maker"] != str(r["device"] % 7))
            for r in rows
        ]
        return np.mean(told, axis=0)

    strange, among_people = np.zeros(3), np.zeros(3)
    for seed in range(4):
        coded, table = people(0.6, seed=seed)
        rows, _ = read_rows(coded, with_fakes(coded, 100, seed=seed), table)
        strange += count_strange(rows[:100]) / 4
        among_people += count_strange(rows[100:]) / 4
    assert (np.abs(strange - among_people) < [0.07, 0.07, 0.18]).all(), (strange, among_people)


def test_no_row_repeats_anothers_columns_more_often_than_people_do() -> None:
    for bond in (1.0, 0.0):
        coded, table = people(bond)
        rows, _ = read_rows(coded, with_fakes(coded, 60), table)
        shown = [tuple(row[name] for name in table.column_names) for row in rows]
        alone = Counter(shown[60:])
        like_people = sum(alone[row] > 1 for row in shown[60:]) / len(coded)
        assert abs(sum(Counter(shown)[row] > 1 for row in shown[:60]) / 60 - like_people) <= 0.15


def test_counterfeits_keep_their_columns_and_change_with_who_lent_them() -> None:
    coded, table = people(1.0)
    first, known = read_rows(coded, with_fakes(coded, 20), table)
    stay = coded.part(np.arange(300, 600))  # half of those who lent are gone
    facts = again(stay, known, 20)
    later, then = read_rows(stay, facts, table.slice(300), known)
    assert later[:20] == first[:20]
    more = table.set_column(4, "visits", pa.array([int(v) + 1 for v in table["visits"].to_pylist()]))
    changed, _ = read_rows(stay, facts, more.slice(300), then)
    assert 0 < (known.extras["lent_by"][:, 4] >= 300).sum() < 20
    said = set(table.slice(300)["visits"].to_pylist())  # somebody who says the same lends in the place of who is gone
    rises = [row["visits"] - old["visits"] for row, old in zip(changed[:20], first[:20], strict=True)]
    assert rises == [int(old["visits"] in said) for old in first[:20]]
    assert sum(rises) > 15


def test_columns_that_change_at_each_release_follow_from_each_other_as_among_people() -> None:
    """This month everybody has any device, and the maker that goes with it in three of five rows: so has who stays."""
    strange = among_people = 0
    for seed in range(3):
        coded, table = people(0.6, seed=seed)
        facts = with_fakes(coded, 60, seed=seed)
        _, known = read_rows(coded, facts, table)
        _, other = people(0.6, seed=seed + 10)
        for name in ("device", "maker"):
            table = table.set_column(table.column_names.index(name), name, other[name])
        rows, _ = read_rows(coded, again(coded, known, 60), table, known)
        odd = [row["maker"] != str(row["device"] % 7) for row in rows]
        strange, among_people = strange + sum(odd[:60]), among_people + sum(odd[60:]) / 10
    assert abs(strange - among_people) < 0.2 * 180, (strange, among_people)


def test_counterfeits_keep_their_columns_whatever_kind_of_table_they_come_from() -> None:
    """Categories of another frame, columns in another order: the same cells."""
    coded, table = people(1.0)
    first, known = read_rows(coded, with_fakes(coded, 20), table)
    wards = table["ward"].combine_chunks().dictionary_encode().cast(pa.dictionary(pa.uint32(), pa.string()))  # polars
    other = table.select(table.column_names[::-1]).set_column(4, "ward", wards)
    few = coded.part(np.arange(400, 600))
    later, _ = read_rows(few, again(few, known, 20), other.slice(400), known)
    assert later[:20] == first[:20]


def test_what_nobody_says_any_more_is_not_kept() -> None:
    """Devices got other names, so those of whoever is gone would show."""
    coded, table = people(1.0)
    _, known = read_rows(coded, with_fakes(coded, 20), table)
    few = coded.part(np.arange(300, 600))
    renamed = pa.array([f"device {one}" for one in table["device"].to_pylist()])
    rows, _ = read_rows(few, again(few, known, 20), table.set_column(3, "device", renamed).slice(300), known)
    assert {row["device"] for row in rows[:20]} <= {row["device"] for row in rows[20:]}


def test_who_was_written_by_an_earlier_version_gets_columns_anew() -> None:
    coded, table = people(1.0)
    facts = with_fakes(coded, 5)
    rows, kept = read_rows(coded, facts, table, previous=facts)
    assert len(rows) == 605
    assert set(kept.extras) == {"lent_by", "lent_cells"}


def priced(rows: int, seed: int = 0, rise: int = 0) -> tuple[Coded, pa.Table]:
    """A price by drug and dose, a fee by place and drug, a tax by price and visits: each only by both together."""
    coded, table = people(1.0, rows, seed)
    rng = np.random.default_rng(seed + 100)
    drug, dose, visits = rng.integers(6, size=rows), rng.integers(5, size=rows), rng.integers(4, size=rows)
    price = (drug * 7 + dose * 3 + drug * dose + rise) % 23
    fee, tax = (coded.codes[:, 0] * 5 + drug * 3) % 11, (price * 3 + visits * 5) % 17
    return coded, pa.table(
        {"ward": table["ward"], "drug": drug, "dose": dose, "price": price, "fee": fee, "visits": visits, "tax": tax}
    )


CAUSES = {"price": ("drug", "dose"), "fee": ("place", "drug"), "tax": ("price", "visits")}


def count_contradictions(rows: list[dict[str, Any]], fakes: int) -> int:
    """How often counterfeits show the causes of somebody, and then another price than all who do."""
    found = 0
    for name, causes in CAUSES.items():
        known = {tuple(row[one] for one in (*causes, name)) for row in rows[fakes:]}
        seen = {key[:-1] for key in known}
        said = [tuple(row[one] for one in (*causes, name)) for row in rows[:fakes]]
        found += sum(key[:-1] in seen and key not in known for key in said)
    return found


def test_what_follows_from_several_columns_together_follows_in_counterfeits() -> None:
    for seed in range(4):
        coded, table = priced(800, seed)
        facts = with_fakes(coded, 40, seed=seed)
        rows, _ = read_rows(coded, facts, table)
        assert count_contradictions(rows, 40) == 0
        steps = " ".join(lend(coded, facts, None, table, seed=5)[0].steps)
        assert "'price' follows from 'drug' and 'dose' together" in steps
        assert "'fee' follows from 'place' and 'drug' together" in steps


def test_who_keeps_to_what_follows_from_several_columns_is_no_copy_of_somebody() -> None:
    copies = like_people = 0.0
    for seed in range(4):
        coded, table = priced(800, seed)
        rows, _ = read_rows(coded, with_fakes(coded, 40, seed=seed), table.drop_columns(["fee", "tax"]))
        shown = [tuple(row[name] for name in ("ward", "drug", "dose", "price", "visits")) for row in rows]
        many, alone = Counter(shown), Counter(shown[40:])
        copies += sum(many[row] > 1 for row in shown[:40]) / 160
        like_people += sum(alone[row] > 1 for row in shown[40:]) / 3_200
    assert abs(copies - like_people) <= 0.1


def test_nothing_is_said_where_nothing_follows() -> None:
    coded, table = people(1.0)
    assert lend(coded, with_fakes(coded, 40), None, table, seed=5)[0].steps == ()


def test_counterfeits_that_stay_follow_a_new_list_of_prices() -> None:
    """They would show prices of last month, which nobody has any more."""
    coded, table = priced(800)
    first, known = read_rows(coded, with_fakes(coded, 40), table)
    stay = coded.part(np.arange(400, 800))
    later, _ = read_rows(stay, again(stay, known, 40), priced(800, rise=5)[1].slice(400), known)
    assert count_contradictions(later, 40) == 0
    same, _ = read_rows(stay, again(stay, known, 40), table.slice(400), known)
    assert same[:40] == first[:40], "with the prices of before they stay as they are"


def test_who_cannot_keep_to_it_is_refused_by_the_names_of_the_columns() -> None:
    """A place that follows from ward and age: a counterfeit of another place has no ward that fits its age."""
    coded, table = people(0.0)
    ward = np.array([int(one) % 2 for one in table["ward"].to_pylist()])
    codes = coded.codes.copy()
    codes[:, 0] = (ward * 5 + codes[:, 1] * 7) % PLACES
    bound = Coded(coded.subjects, np.asfortranarray(codes), coded.values, DOMAINS, VALUES)
    with pytest.raises(InfeasiblePolicy, match="'place' follows from 'age' and 'ward' together") as caught:
        lend(bound, with_fakes(bound, 20), None, table.set_column(0, "ward", pa.array(ward)), seed=5)
    assert "of the 20 counterfeits" in str(caught.value)
    assert "Take one of these columns out" in str(caught.value)


def test_a_row_may_contradict_any_of_several_dependences() -> None:
    """Three columns; the third follows from the first two, and the second from the other two."""
    said = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 2]], dtype=np.int32)
    rows = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1], [2, 2, 2], [1, 0, 1]], dtype=np.int32)
    third, second = Dependence((0, 1), 2), Dependence((0, 2), 1)
    assert _contradict([third], said, rows).tolist() == [False, True, True, False, False]
    assert _contradict([second], said, rows).tolist() == [False, True, True, False, False]
    assert _contradict([second, third], said, rows[[4, 1]]).tolist() == [False, True]
    ward = np.array([[0, 0, 5], [1, 0, 6], [0, 1, 7]], dtype=np.int32)
    alone = np.array([[0, 0, 6], [0, 0, 5], [1, 1, 5]], dtype=np.int32)
    assert _contradict([Dependence((0, 1), 2), Dependence((2,), 0)], ward, alone).tolist() == [True, False, True]
    assert _contradict([], ward, alone).tolist() == [False] * 3
