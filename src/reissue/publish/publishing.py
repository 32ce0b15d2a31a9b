"""How the next release comes about: read, compare, anonymize, check, write, commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reissue.arrays.combinations import Combinations
from reissue.arrays.types import Int64
from reissue.coding import Coding
from reissue.engine.ahead import Ahead
from reissue.engine.settings import Format
from reissue.engine.snapshot import Snapshot, load
from reissue.history.identities import Identities
from reissue.history.lookalikes import refuse_lookalikes
from reissue.history.past_releases import same_codes
from reissue.history.public_files import source_rows, write_public
from reissue.ledger import Ledger, ReleaseRecord, Stage
from reissue.ledger.disk import telling
from reissue.methods.registry import ADOPTED, policy_of, strategy_of
from reissue.methods.strategy import Strategy
from reissue.model.fragment_counts import TableCounts
from reissue.model.fragments import Fragments, derive_seed, divide, draw_sample, number_globally
from reissue.model.joined_fragments import join_facts
from reissue.publish.agreement import agreed, planned_together, wholes_of
from reissue.publish.changes import Compared, refuse
from reissue.publish.common_classes import Checked
from reissue.publish.division import Division
from reissue.publish.fragment import Made, Rows, Work, with_subjects
from reissue.publish.summary import Result, Survey, numbered, observed_together, shown_cost, told
from reissue.utility.measure import together

if TYPE_CHECKING:
    from reissue.engine.read import Source
    from reissue.model.requirement import Requirement


@dataclass(frozen=True, eq=False)
class Publishing:
    """One attempt to publish, in this process. Everything before the commit can fail without a trace.

    coding: the codes of the series before this release
    ahead:  the snapshot, where somebody has begun to read it already
    """

    coding: Coding
    ledger: Ledger
    strategy: Strategy
    on_change: str
    formats: Sequence[Format]
    progress: Callable[[str], None]
    ahead: Ahead | None = None

    def run(self, source: Source) -> ReleaseRecord:
        """Publish `source` as the next release and return its record."""
        self.progress("read")
        before = self.coding
        snapshot = load(source, before.schema) if self.ahead is None else self.ahead.result()
        coding = before.learn(snapshot.seen)
        self.progress("compare")
        identities = Identities.read(self.ledger)
        rows = _rows(snapshot, coding, identities)
        division = self._division(rows, coding)
        parts = division.parts(rows)
        works = self.works(division, before, coding)
        permitted = [work.compared(part) for work, part in zip(works, parts, strict=True)]
        gone = np.concatenate([one.compared.gone for one in permitted])
        place = f"{snapshot.name}: column '{coding.schema.identifier}'"
        refuse_lookalikes(rows.identifiers, rows.numbers < 0, gone, identities, place)
        surveys = [Survey.of(one, part) for one, part in zip(permitted, parts, strict=True)]
        self.refuse(surveys, coding, identities.name)
        self.progress("anonymize")
        firsts = numbered(self.ledger.next_subject, surveys)
        compared = [one.compared for one in permitted]
        made, checked = self._made(works, parts, compared, firsts)
        self.progress("write")
        observed = observed_together(surveys, coding)
        results = [Result.of(one, observed) for one in made]
        stage = self.ledger.stage(works[0].number, division.count)
        self._write(stage, works, parts, compared, made)
        self.note(stage, division, coding)
        self.progress("commit")
        return stage.commit(self.record(works[0], surveys, results, firsts, checked, identities.name))

    def _made(
        self, works: Sequence[Work], parts: Sequence[Rows], compared: Sequence[Compared], firsts: Sequence[int]
    ) -> tuple[list[Made], Checked | None]:
        """Every fragment of the release: by one plan, or made until they agree. The first are checked together."""
        tallies = [work.tally(part, one) for work, part, one in zip(works, parts, compared, strict=True)]

        def make(told: Sequence[TableCounts] | None) -> list[Made]:
            known: Sequence[TableCounts | None] = told or [None] * len(works)
            each = zip(works, parts, compared, firsts, known, strict=True)
            return [work.made(part, one, first, whole) for work, part, one, first, whole in each]

        if not works[0].common:
            return agreed(self.strategy, wholes_of(tallies), make, lambda one: one.values), None
        plan = works[0].planned(sum(map(len, parts)), planned_together(tallies))
        made = make([TableCounts({}, plan=plan)] * len(works))
        ways = Combinations.together([one.ways for one in made if one.ways is not None])
        return made, works[0].checked(plan, ways)

    def refuse(self, surveys: Sequence[Survey], coding: Coding, name: Callable[[int], str]) -> None:
        """Stop here if the snapshot changed in ways that the strategy cannot protect."""
        problems = [problem for survey in surveys for problem in survey.problems]
        refuse(self.strategy, problems, coding.schema, lambda text: with_subjects(text, name))

    def works(self, division: Division, before: Coding, coding: Coding) -> list[Work]:
        """What is to be done in each fragment."""
        number = len(self.ledger.releases) + 1
        shelves = self.ledger.shelf.divided(division.count)
        return [
            Work(
                shelf=shelves[fragment],
                coding=coding,
                strategy=self.strategy,
                number=number,
                seed=derive_seed(self.ledger.seed, number),
                fragment=fragment,
                fragments=division.count,
                kept_caches=self._caches_fit(before, coding),
                first_new=self.ledger.next_subject,
                on_change=self.on_change,
            )
            for fragment in range(division.count)
        ]

    def _caches_fit(self, before: Coding, coding: Coding) -> bool:
        """Whether the caches of the last release are those of this strategy and of these codes."""
        if not self.ledger.releases:
            return False
        last = self.ledger.releases[-1]
        return (
            last.strategy != ADOPTED
            and strategy_of(last.strategy, last.settings) == self.strategy
            and same_codes(coding, before)
            and last.coding_version == before.version
        )

    def _division(self, rows: Rows, coding: Coding) -> Division:
        division = Division.read(self.ledger, self.strategy, coding)
        if division is not None:
            return division

        def cuts(count: int, side: Requirement) -> Fragments:
            some = np.flatnonzero(draw_sample(np.arange(len(rows)), len(rows), self.ledger.seed))
            return divide(rows.codes[some], rows.values[some], coding.domains, count, side)

        return Division.new(self.ledger, self.strategy, len(rows), cuts)

    def _write(
        self,
        stage: Stage,
        works: Sequence[Work],
        parts: Sequence[Rows],
        compared: Sequence[Compared],
        made: Sequence[Made],
    ) -> None:
        """Private files beside the public ones: writing releases the interpreter."""
        with ThreadPoolExecutor() as pool:
            jobs = []
            for work, rows, one, done in zip(works, parts, compared, made, strict=True):
                writer = stage.writer(work.fragment)
                new = np.flatnonzero(one.numbers < 0)
                stage.number_subjects(done.coded.subjects[new])
                jobs += [
                    pool.submit(writer.facts, done.facts),
                    pool.submit(writer.identities, rows.identifiers.take(new), done.coded.subjects[new]),
                    pool.submit(writer.caches, done.caches),
                ]
            with telling("Writing the release"):
                self._write_public(stage, works, parts, made)
        for job in jobs:
            stage.take(job.result())

    def _write_public(self, stage: Stage, works: Sequence[Work], parts: Sequence[Rows], made: Sequence[Made]) -> None:
        seed, coding = works[0].seed, works[0].coding
        facts = join_facts([one.facts for one in made], seed, works[0].common)
        insensitive = parts[0].insensitive
        rows: Int64 | None = None
        if insensitive is not None:
            rows, insensitive = _sources(works, parts, made)
        write_public(stage.public, facts, insensitive, rows, coding, self.strategy, seed, self.formats)

    def note(self, stage: Stage, division: Division, coding: Coding) -> None:
        """Keep the coding and the division, if they are new."""
        if coding.version not in self.ledger.coding_versions:
            stage.coding(coding.version, coding.to_dict())
        if division.count > 1 and self.ledger.fragments is None:
            stage.fragments(division.document(coding.version))

    def record(
        self,
        work: Work,
        surveys: Sequence[Survey],
        results: Sequence[Result],
        firsts: Sequence[int],
        checked: Checked | None,
        name: Callable[[int], str],
    ) -> ReleaseRecord:
        """What the catalogue will say of the release. checked: as a whole, where classes are common to fragments."""
        policy = policy_of(self.strategy)
        rows = {key: sum(one.tally[key] for one in results) for key in results[0].tally}
        rows |= {key: sum(getattr(one, key) for one in surveys) for key in ("new", "gone", "back", "changed")}
        costs = [one.utility for one in results]
        if checked is None:
            cost = together(costs)
        else:
            rows["classes"] = checked.extent.classes
            cost = together(costs, checked.extent.classes, checked.squares)
        counts: dict[str, object] = {"rows": rows, "utility": shown_cost(cost)}
        if work.fragments > 1:
            counts |= {"fragments": [int(first) for first in firsts], "common_classes": work.common}
        steps = [with_subjects(step, name) for step in told(self.strategy, surveys, results, checked)]
        return ReleaseRecord(
            number=work.number,
            strategy=str(policy.pop("strategy")),
            settings=policy,
            seed=work.seed,
            coding_version=work.coding.version,
            counts=counts,
            steps=[f"{i}. {step}" for i, step in enumerate(steps, start=1)],
        )


def _rows(snapshot: Snapshot, coding: Coding, identities: Identities) -> Rows:
    codes, values = snapshot.encode(coding)
    numbers = identities.numbers(snapshot.identifiers)
    return Rows(snapshot.identifiers, numbers, codes, values, snapshot.insensitive)


def _sources(works: Sequence[Work], parts: Sequence[Rows], made: Sequence[Made]) -> tuple[Int64, pa.Table]:
    """(int64[published] where each row of the joined facts has its insensitive columns, those of all fragments)."""
    offset, own, subjects = 0, [], []
    for work, rows, one in zip(works, parts, made, strict=True):
        own.append(source_rows(one.coded, one.candidate, one.facts, work.own_seed) + offset)
        subjects.append(number_globally(one.facts.subjects, work.fragment, work.fragments))
        offset += len(rows)
    order = np.argsort(np.concatenate(subjects), kind="stable") if len(works) > 1 else slice(None)
    return np.concatenate(own)[order], pa.concat_tables([rows.insensitive for rows in parts])
