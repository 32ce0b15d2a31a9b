"""Which counterfeits stay, what new ones look like, and what the steps tell: against the same said row by row."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.methods.invariance.buckets import BucketPlan
from reissue.methods.invariance.signatures import PastSignatures, Signatures
from reissue.methods.invariance.strategy import NEAR, MInvariance, find_kept_fakes, make_counterfeits
from reissue.model.boxes import hilbert_keys
from reissue.model.domain import Domain
from reissue.model.release import Coded, History
from tests.support.histories import CHURN, generate, run_series

SIGNATURES = Signatures(np.array([0, 2, 4, 7]), np.array([0, 1, 0, 2, 0, 1, 2], dtype=np.int32))
NEARBY = range(-NEAR, NEAR + 1)
NO_SETS = np.empty((0, 3), np.int64)
DOMAINS = (Domain("a", 0, 99), Domain("b", 0, 9))


def plan(rng: np.random.Generator) -> tuple[BucketPlan, Coded, np.ndarray]:
    """(a plan, a snapshot that fits it, the bucket of each row, -1 for a new one)."""
    height = rng.integers(0, 5, len(SIGNATURES))
    entries = height[SIGNATURES.owner]
    counterfeits = np.minimum(rng.integers(0, 3, len(entries)) * (rng.random(len(entries)) < 0.3), entries)
    alive = np.minimum(rng.integers(0, 4, len(entries)), entries - counterfeits)
    made = BucketPlan(SIGNATURES, height, alive, counterfeits, NO_SETS)
    bucket = np.concatenate([np.repeat(SIGNATURES.owner, alive), np.full(int(made.quota.sum()), -1)]).astype(np.int32)
    values = np.concatenate([np.repeat(SIGNATURES.values, alive), np.repeat(SIGNATURES.values, made.quota)])
    order = rng.permutation(len(bucket))
    codes = np.asfortranarray(
        np.stack([rng.integers(0, 100, len(order)), rng.integers(0, 10, len(order))], 1), np.int32
    )
    snapshot = Coded(np.arange(len(order)), codes.astype(np.int32), values[order].astype(np.int32), DOMAINS, 3)
    return made, snapshot, bucket[order]


def past(rng: np.random.Generator, number: int) -> PastSignatures:
    """Some counterfeits of the last release."""
    entry = rng.integers(0, len(SIGNATURES.values), number)
    fakes = {
        "subject": -1 - rng.permutation(number).astype(np.int64),
        "signature": SIGNATURES.owner[entry],
        "value": SIGNATURES.values[entry],
    }
    codes = rng.integers(0, 10, (number, 2)).astype(np.int32)
    nobody = np.empty(0, dtype=np.int64)
    return PastSignatures(SIGNATURES, nobody, nobody.astype(np.int32), fakes, codes, -number, nobody)


def test_counterfeits_stay_while_they_are_needed_and_new_ones_stand_near_people_of_their_bucket() -> None:
    rng = np.random.default_rng(4)
    stayed = made_new = strangers = 0
    for _ in range(200):
        made, snapshot, bucket = plan(rng)
        known = past(rng, int(rng.integers(0, 6)))
        bucket = np.where(bucket < 0, 0, bucket).astype(np.int32)
        if not len(snapshot):
            continue
        fakes = make_counterfeits(made, known, snapshot, bucket, exact=False, rng=rng)
        entries = made.signatures.entries(fakes.signature, fakes.value)
        assert np.bincount(entries, minlength=len(made.counterfeits)).tolist() == made.counterfeits.tolist()
        before = list(zip(known.fakes["subject"].tolist(), known.fakes["signature"].tolist(),
                          known.fakes["value"].tolist(), known.fake_codes.tolist(), strict=True))  # fmt: skip
        every = list(zip(fakes.subjects.tolist(), fakes.signature.tolist(), fakes.value.tolist(), fakes.codes.tolist(),
                         strict=True))  # fmt: skip
        kept = [one for one, old in zip(every, fakes.kept.tolist(), strict=True) if old]
        assert all(one in before for one in kept), "who stays is as before"
        had = made.signatures.entries(known.fakes["signature"], known.fakes["value"])
        most = np.minimum(np.bincount(had, minlength=len(made.counterfeits)), made.counterfeits)
        assert len(kept) == most.sum() == len(find_kept_fakes(made, known)), "as many stay as can"
        curve = np.argsort(hilbert_keys(snapshot.codes, snapshot.domains), kind="stable")
        fresh = [one for one, old in zip(every, fakes.kept.tolist(), strict=True) if not old]
        assert [one[0] for one in fresh] == [known.lowest - 1 - i for i in range(len(fresh))], "never a number again"
        for _, signature, _, codes in fresh:
            home = bucket == signature
            strangers += not home.any()
            near = {(row + step) % len(curve) for row in np.flatnonzero((home | ~home.any())[curve]) for step in NEARBY}
            assert codes in snapshot.codes[curve[list(near)]].tolist()
        stayed, made_new = stayed + len(kept), made_new + len(fresh)
    assert min(stayed, made_new, strangers) > 10


def test_without_anybody_to_copy_codes_are_drawn_from_the_domains() -> None:
    rng, drawn = np.random.default_rng(5), set()
    nobody = Coded(np.empty(0, np.int64), np.empty((0, 2), np.int32), np.empty(0, np.int32), DOMAINS, 3)
    made = BucketPlan(SIGNATURES, np.array([0, 0, 2]), np.zeros(7, np.int64), np.array([0, 0, 0, 0, 2, 2, 2]), NO_SETS)
    for _ in range(300):
        codes = make_counterfeits(made, past(rng, 0), nobody, np.empty(0, np.int32), exact=False, rng=rng).codes
        assert codes.shape == (6, 2)
        drawn |= set(codes[:, 1].tolist())
    assert drawn == set(range(10)), "all of the domain, and nothing else"


@pytest.mark.parametrize("seed", range(3))
def test_steps_tell_the_figures_of_the_release(seed: int) -> None:
    snapshots = generate(np.random.default_rng(seed), releases=3, rows=200, values=5, turnover=CHURN)
    strategy = MInvariance(m=3, on_ineligible="counterfeit")
    releases = run_series(strategy, snapshots)
    caches = {}
    for facts in releases[:2]:
        caches = strategy.remember(caches, facts)
    last = strategy.publish(snapshots[2], History(releases[:2], caches, 3))
    before, now = releases[1], releases[2]
    ever = np.union1d(releases[0].subjects, before.subjects)
    old = int(np.isin(snapshots[2].subjects, ever).sum())
    fakes = last.counterfeits.subjects
    kept = len(np.intersect1d(fakes, before.subjects))
    gone = int((before.subjects < 0).sum()) - kept
    told = dict(step.split(": ", 1) for step in last.steps)
    assert told["Division"] == f"{old} rows keep the signature they had, {len(snapshots[2]) - old} rows are new."
    assert told["Counterfeits"] == f"{len(fakes)} ({kept} from the last release, {gone} retired)."
    assert told["Split"] == f"{now.class_count} classes."
    shown = {tuple(sorted(now.values[now.classes == number].tolist())) for number in range(now.class_count)}
    assert told["Balancing and assignment"].startswith(f"{len(shown)} buckets, ")
