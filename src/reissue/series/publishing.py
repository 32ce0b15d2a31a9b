"""How the next release comes about: read, compare, anonymize, check, write, commit."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from reissue.coding import Coding, CodingWords
from reissue.core.observed import Words
from reissue.core.snapshot import Candidate, Coded, Facts, History, Table
from reissue.engine.base import Format
from reissue.engine.snapshot import Snapshot, load
from reissue.errors import InfeasiblePolicy
from reissue.ledger import Ledger, ReleaseRecord
from reissue.ledger.disk import telling
from reissue.series.changes import Compared, compare, permit
from reissue.series.checks import check_attacks, check_classes, check_promise, check_rows
from reissue.series.identities import Identities
from reissue.series.past import ABSENT, PastReleases, fold, rebuild, same_codes
from reissue.series.publication import write_public
from reissue.series.settings import ADOPTED, policy_of, strategy_of
from reissue.strategies.base import Strategy

if TYPE_CHECKING:
    from reissue.engine.read import Source
    from reissue.series.series import Series


@dataclass(frozen=True, eq=False)
class Publishing:
    """One attempt to publish. `run` does it; everything before the commit can fail without a trace."""

    series: Series
    ledger: Ledger
    strategy: Strategy
    on_change: str
    formats: Sequence[Format]
    progress: Callable[[str], None]

    def run(self, source: Source) -> ReleaseRecord:
        """Publish `source` as the next release and return its record."""
        number = len(self.ledger.releases) + 1
        self.progress("read")
        before = self.series.coding
        snapshot = load(source, before.schema)
        coding = before.learn(snapshot.seen)
        self.progress("compare")
        past = PastReleases(self.ledger, coding)
        identities = Identities.read(self.ledger)
        caches = self._caches(before, coding, past)
        coded, compared, steps = self._compared(snapshot, coding, past, caches, identities)
        self.progress("anonymize")
        strategy = self._prepared(coding, identities.including(snapshot.identifiers, coded.subjects))
        seed = release_seed(self.ledger.seed, number)
        caches_of_strategy = {name: table for name, table in caches.items() if name != ABSENT}
        history = History(past, caches_of_strategy, seed, self.ledger.next_subject)
        words = CodingWords(coding, identities.naming(snapshot.identifiers, coded.subjects))
        candidate = anonymized(strategy, coded, history, words)
        facts = candidate.facts(number, coded)
        self.progress("check")
        steps = (*steps, *candidate.steps, checked(strategy, candidate, facts, history, coded, words))
        self.progress("write")
        stage = self.ledger.stage(number)
        new = np.flatnonzero(compared.numbers < 0)
        with ThreadPoolExecutor() as pool:  # writing releases the interpreter, so the files are written side by side
            jobs = [
                pool.submit(stage.facts, facts),
                pool.submit(stage.identities, snapshot.identifiers_at(new), coded.subjects[new]),
            ]
            public = snapshot, coded, candidate, facts, coding
            with telling("Writing the release"):
                cost = write_public(stage.public, *public, strategy, seed, self.formats)
            stage.caches(fold(strategy, caches, past[-1] if len(past) else None, facts))
        for job in jobs:
            job.result()
        if coding.version not in self.ledger.coding_versions:
            stage.coding(coding.version, coding.to_dict())
        self.progress("commit")
        return stage.commit(self._record(number, seed, coding, candidate, facts, compared, steps, cost))

    def _prepared(self, coding: Coding, identities: Identities) -> Strategy:
        """The strategy with its knowledge read in the series' terms, if it wants any."""
        prepare = getattr(self.strategy, "prepare", None)
        if prepare is None:
            return self.strategy
        from reissue.beliefs.names import CodingNames

        return cast("Strategy", prepare(CodingNames(coding, identities.of)))

    def _caches(self, before: Coding, coding: Coding, past: PastReleases) -> Mapping[str, Table]:
        """The caches of the last release, or rebuilt ones if the strategy or the codes are no longer theirs."""
        if len(past) == 0:
            return {}
        last = self.ledger.releases[-1]
        if (
            last.strategy != ADOPTED
            and strategy_of(last.strategy, last.settings) == self.strategy
            and same_codes(coding, before)
            and last.coding_version == before.version
        ):
            return self.ledger.caches()
        return rebuild(self.strategy, past)

    def _compared(
        self,
        snapshot: Snapshot,
        coding: Coding,
        past: PastReleases,
        caches: Mapping[str, Table],
        identities: Identities,
    ) -> tuple[Coded, Compared, tuple[str, ...]]:
        """The coded snapshot with a subject number in every row, after changes were compared and permitted."""
        codes, values = snapshot.encode(coding)
        last = past[-1] if len(past) else None
        compared = compare(identities.numbers(snapshot.identifiers), codes, values, last, caches.get(ABSENT))
        compared, step = permit(
            self.strategy,
            compared,
            codes,
            values,
            coding,
            snapshot.identifier_at,
            identities.name,
            self.on_change,
        )
        new = compared.numbers < 0
        subjects = compared.numbers.copy()
        subjects[new] = np.arange(self.ledger.next_subject, self.ledger.next_subject + new.sum())
        coded = Coded(subjects, codes, values, coding.domains, len(coding.values))
        return coded, compared, (_changes_sentence(snapshot, compared), *([step] if step else []))

    def _record(
        self,
        number: int,
        seed: int,
        coding: Coding,
        candidate: Candidate,
        facts: Facts,
        compared: Compared,
        steps: Sequence[str],
        cost: Mapping[str, float],
    ) -> ReleaseRecord:
        rows = {
            "snapshot": len(candidate.classes),
            "published": len(facts.subjects),
            "classes": facts.class_count,
            "suppressed": int((candidate.classes < 0).sum()),
            "counterfeits": len(candidate.counterfeits),
            "new": int((compared.numbers < 0).sum()),
            "gone": len(compared.gone),
            "back": int(compared.back.sum()),
            "changed": int((compared.updated | compared.moved.any(axis=1)).sum()),
        }
        policy = policy_of(self.strategy)
        return ReleaseRecord(
            number=number,
            strategy=str(policy.pop("strategy")),
            settings=policy,
            seed=seed,
            coding_version=coding.version,
            counts={"rows": rows, "utility": dict(cost)},
            steps=[f"{i}. {step}" for i, step in enumerate(steps, start=1)],
        )


def anonymized(strategy: Strategy, coded: Coded, history: History, words: Words) -> Candidate:
    """What the strategy proposes, its classes renumbered at random so that numbers say nothing."""
    try:
        candidate = strategy.publish(coded, history)
    except InfeasiblePolicy as error:
        raise InfeasiblePolicy(named(str(error), words)) from error
    numbers = np.random.default_rng([history.seed, 1]).permutation(len(candidate.boxes)).astype(np.int32)
    steps = tuple(named(step, words) for step in candidate.steps)
    return replace(candidate.renumbered(numbers), steps=steps)


def checked(
    strategy: Strategy, candidate: Candidate, facts: Facts, history: History, coded: Coded, words: CodingWords
) -> str:
    """Test the finished release; a sentence that says against what, or GuaranteeBroken."""
    check_rows(facts, coded, int((candidate.classes < 0).sum()))
    check_classes(strategy, facts, coded)
    check_promise(strategy, facts, history)
    passed = check_attacks(strategy, facts, history, coded, words)
    against = f", and against the attacks it claims to stop ({', '.join(passed)})" if passed else ""
    return f"Checked the finished release against the policy{against}."


def release_seed(series_seed: int, number: int) -> int:
    """The seed of one release: every choice for it derives from this one number."""
    low, high = np.random.SeedSequence([series_seed, number]).generate_state(2, np.uint64)
    return int(low) | int(high) << 64


def named(text: str, words: Words) -> str:
    """The text with `{value:CODE}` and `{subject:NUMBER}` replaced by what people call them: strategies know codes."""
    text = re.sub(r"\{value:(\d+)\}", lambda match: f"'{words.value(int(match[1]))}'", text)
    return re.sub(r"\{subject:(\d+)\}", lambda match: words.subject(int(match[1])), text)


def _changes_sentence(snapshot: Snapshot, compared: Compared) -> str:
    rows = len(compared.numbers)
    changed = compared.updated | compared.moved.any(axis=1)
    return (
        f"Read {rows:,} rows: {(compared.numbers < 0).sum():,} new subjects, {len(compared.gone):,} gone, "
        f"{compared.back.sum():,} back again, {changed.sum():,} changed."
    )
