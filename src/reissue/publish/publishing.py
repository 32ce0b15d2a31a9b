"""How the next release comes about, in order: read, compare, divide, survey, refuse, make, check, write, commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from reissue.arrays.types import Int64
from reissue.coding import Coding, SnapshotSummary
from reissue.engine.output import Format
from reissue.errors import InfeasiblePolicy, ReissueError, refuse_release
from reissue.history.past_releases import codes_agree
from reissue.history.public_files import write_description
from reissue.ledger import Ledger, ReleaseRecord, Stage, find_user
from reissue.ledger.disk import explain_os_errors
from reissue.methods.registry import ADOPTED, restore_strategy, write_policy
from reissue.methods.strategy import Strategy
from reissue.model.domain import Domain
from reissue.model.fragment_counts import TableCounts
from reissue.model.release import derive_seed
from reissue.publish.changes import SnapshotTraits, refuse
from reissue.publish.division import (
    FragmentChanges,
    FragmentSummary,
    TableDivision,
    describe_cost,
    describe_steps,
    narrow_domains,
    number_new_subjects,
    sum_extents,
    sum_shared,
    sum_tallies,
)
from reissue.publish.executor import Executor
from reissue.publish.fragment import FragmentJob, name_subjects
from reissue.publish.gates import GateInput, Stop, find_stops, refuse_stops
from reissue.publish.self_check import CommonCheck
from reissue.utility.measure import sum_measures

if TYPE_CHECKING:
    from reissue.engine.read import Source

ATTEMPTS = 50
"""How often a release is made at most. Each attempt but the last undoes a class somewhere; two or three are usual."""


@dataclass(frozen=True, eq=False)
class Draft:
    """A finished release that nobody has seen yet. job: of its first fragment; stops: also gates that are allowed."""

    job: FragmentJob
    division: TableDivision
    surveys: Sequence[FragmentChanges]
    firsts: Sequence[int]
    results: Sequence[FragmentSummary]
    check: CommonCheck | None
    record: ReleaseRecord
    stops: tuple[Stop, ...]


@dataclass(frozen=True, eq=False)
class Publishing:
    """One attempt to publish. Everything before the commit can fail without a trace.

    coding: the codes of the series before this release; executor: where the release is made
    limits: thresholds of gates; allow: names of gates that may not stop it; label: what people call the release
    """

    coding: Coding
    ledger: Ledger
    strategy: Strategy
    on_change: str
    formats: Sequence[Format]
    progress: Callable[[str], None]
    executor: Executor
    limits: Mapping[str, float] = field(default_factory=dict)
    allow: Sequence[str] = ()
    label: str | None = None

    def run(self, source: Source) -> tuple[ReleaseRecord, Coding]:
        """Publish `source` as the next release: (its record, the codes of the series from now on)."""
        try:
            record, coding = self._publish(source)
        finally:
            self.executor.close()
        try:
            self.executor.after(record)
        except ReissueError as error:  # the release is out: what comes after it has not made it fail
            said = f"Release {record.name} is committed, but what was to be done with it afterwards failed. {error}"
            record = replace(record, warnings=(*record.warnings, said))
        return record, coding

    def draft(self, source: Source) -> Draft:
        """The next release, finished and checked, with every gate that would stop it; nothing is written."""
        return self._draft(source, staged=False)[0]

    def _publish(self, source: Source) -> tuple[ReleaseRecord, Coding]:
        draft, stage = self._draft(source, staged=True)
        assert stage is not None
        self.progress("write")
        self._write(stage, draft)
        self._note(stage, draft.division, draft.job.coding)
        for first, survey in zip(draft.firsts, draft.surveys, strict=True):
            stage.number_subjects(np.arange(first, first + survey.new))
        self.progress("commit")
        return stage.commit(draft.record), draft.job.coding

    def _draft(self, source: Source, staged: bool) -> tuple[Draft, Stage | None]:
        """staged: for a release that is to be published; a gate that is not allowed then stops it at once."""
        executor = self.executor
        executor.start(self.progress)
        self.progress("read")
        seen = executor.read(source, self.coding.schema)
        coding = self.coding.learn(seen)
        self.progress("compare")
        rows = executor.encode(coding)
        division = TableDivision.read(self.ledger, self.strategy, coding)
        if division is None:
            division = TableDivision.new(self.ledger, self.strategy, rows, executor.cut)
        jobs = self._jobs(division.count, coding)
        stage = self.ledger.stage(jobs[0].number, division.count) if staged else None
        surveys = executor.survey(jobs, division, stage)
        executor.refuse_lookalikes(surveys)
        self._refuse_changes(surveys, coding)
        case = self._look(seen, surveys)
        stops = find_stops(case, self.limits, self.allow, "snapshot")
        if staged:
            refuse_stops(stops)
        self.progress("anonymize")
        firsts = number_new_subjects(self.ledger.next_subject, surveys)
        check = self._make(jobs[0].common, firsts, narrow_domains(surveys, coding))
        results = executor.summarize()
        fault = self.strategy.check_shared(list(sum_shared(results).values()))
        if fault:
            refuse_release(fault)
        lost = next((one.lost.sentence for one in results if one.lost is not None), "")
        made = replace(case, counts={**case.counts, **sum_tallies(results)}, lost=lost)
        late = find_stops(made, self.limits, self.allow, "release")
        stops = [stop for stop in stops if stop.gate not in {one.gate for one in late}] + late
        if staged:
            refuse_stops(stops)
        record = self._record(jobs[0], surveys, results, firsts, check, stops, case.fingerprint)
        return Draft(jobs[0], division, surveys, firsts, results, check, record, tuple(stops)), stage

    def _look(self, seen: SnapshotSummary, surveys: Sequence[FragmentChanges]) -> GateInput:
        """What gates look at before the release is made."""
        counts = {name: sum(one.counts[name] for one in surveys) for name in surveys[0].counts}
        traits = SnapshotTraits.sum([one.traits for one in surveys])
        fingerprint = traits.fingerprint(counts["rows"], self.ledger.seed)
        releases = self.ledger.releases
        return GateInput(
            counts={**counts, "snapshot": counts["rows"], "suppressed": 0},
            fingerprint=fingerprint,
            values=seen.sensitive if isinstance(seen.sensitive, Mapping) else {},
            sensitive=self.coding.schema.sensitive,
            columns=self.executor.measure_columns(),
            respelled=traits.respelled,
            changed=traits.changed,
            same=next((one for one in reversed(releases) if one.counts.get("fingerprint") == fingerprint), None),
            last=releases[-1] if releases else None,
            stands=self.strategy.stands,
        )

    def _jobs(self, fragments: int, coding: Coding) -> list[FragmentJob]:
        """What is to be done in each fragment."""
        number = self.ledger.shelf.state.next_number
        kept = self._caches_fit(coding)
        return [
            FragmentJob(
                shelf=shelf,
                coding=coding,
                strategy=self.strategy,
                number=number,
                seed=derive_seed(self.ledger.seed, number),
                fragment=fragment,
                fragments=fragments,
                kept_caches=kept,
                first_new=self.ledger.next_subject,
                on_change=self.on_change,
            )
            for fragment, shelf in enumerate(self.ledger.shelf.divided(fragments))
        ]

    def _caches_fit(self, coding: Coding) -> bool:
        """Whether the caches of the last release are those of this strategy and of these codes."""
        if not self.ledger.releases:
            return False
        last = self.ledger.releases[-1]
        return (
            last.strategy != ADOPTED
            and restore_strategy(last.strategy, last.settings) == self.strategy
            and codes_agree(coding, self.coding)
            and last.coding_version == self.coding.version
        )

    def _refuse_changes(self, surveys: Sequence[FragmentChanges], coding: Coding) -> None:
        """Stop here if the snapshot changed in ways that the strategy cannot protect."""
        problems = [problem for survey in surveys for problem in survey.problems]
        refuse(self.strategy, problems, coding.schema, lambda text: name_subjects(text, self.executor.find_name))

    def _make(self, common: bool, firsts: Sequence[int], observed: Sequence[Domain]) -> CommonCheck | None:
        """Every fragment of the release: by one plan, then checked together; or made until they agree."""
        make = partial(self.executor.make, firsts, observed)
        if not common:
            publish_until_stable(self.strategy, self.executor.sum_counts(), make)
            return None
        self.executor.plan()
        make(None)
        return self.executor.check_plan()

    def _write(self, stage: Stage, draft: Draft) -> None:
        """The files, private and public, and what a recipient needs to read the latter."""
        job, results, check = draft.job, draft.results, draft.check
        extent = sum_extents(results) if check is None else check.extent
        with explain_os_errors("Writing the release"):
            names = self.executor.write(stage, self.formats, extent)
            style = results[0].style
            write_description(stage.public, job.number, style, extent, job.coding, self.strategy, names)

    def _note(self, stage: Stage, division: TableDivision, coding: Coding) -> None:
        """Keep the coding and the division, if they are new."""
        if coding.version not in self.ledger.coding_versions:
            stage.coding(coding.version, coding.to_dict())
        if division.count > 1 and self.ledger.fragments is None:
            stage.fragments(division.document(coding.version))

    def _record(
        self,
        job: FragmentJob,
        surveys: Sequence[FragmentChanges],
        results: Sequence[FragmentSummary],
        firsts: Sequence[int],
        check: CommonCheck | None,
        stops: Sequence[Stop],
        fingerprint: str,
    ) -> ReleaseRecord:
        """What the catalogue will say of the release. check: as a whole, where classes are common to fragments."""
        policy = write_policy(self.strategy)
        rows = sum_tallies(results)
        rows |= {key: sum(one.counts[key] for one in surveys) for key in ("new", "gone", "back", "changed")}
        costs = [one.utility for one in results]
        if check is None:
            cost = sum_measures(costs)
        else:
            rows["classes"] = check.extent.classes
            cost = sum_measures(costs, check.extent.classes, check.squares)
        counts: dict[str, object] = {"rows": rows, "utility": describe_cost(cost), "fingerprint": fingerprint}
        counts |= {"allowed": [stop.gate for stop in stops if stop.allowed], "user": find_user(), "label": self.label}
        absent = Counter[int]()
        for one in results:
            absent.update(one.left_out)
        counts |= {"left_out": {str(code): rows for code, rows in sorted(absent.items())}} if absent else {}
        if job.fragments > 1:
            counts |= {"fragments": [int(first) for first in firsts], "common_classes": job.common}
        steps = describe_steps(self.strategy, surveys, results, check)
        return ReleaseRecord(
            number=job.number,
            strategy=str(policy.pop("strategy")),
            settings=policy,
            seed=job.seed,
            coding_version=job.coding.version,
            counts=counts,
            steps=[f"{i}. {step}" for i, step in enumerate(steps, start=1)],
        )


def publish_until_stable(
    strategy: Strategy,
    tables: Sequence[TableCounts] | None,
    make: Callable[[Sequence[TableCounts] | None], Sequence[Int64]],
) -> None:
    """Make a release until its fragments agree on what is published, if the strategy needs that.

    make: all fragments, each with what it is told of the whole table; int64[values] of each, how often it would publish
    each value. The release stands once all together publish what every class has been compared with.
    """
    while True:
        published = np.sum(make(tables), axis=0)
        if tables is None or not strategy.repeats_until_stable:
            return
        if np.array_equal(published, tables[0].announced(len(published))):
            return
        if len(tables[0].published) == ATTEMPTS:
            raise InfeasiblePolicy(
                f"The fragments did not come to rest in {ATTEMPTS} attempts: rows that fit no class change the table "
                "that all classes are compared with. Raise beta (t) or J, or make fewer fragments."
            )
        tables = [table.announcing(published) for table in tables]
