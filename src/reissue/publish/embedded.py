"""Making a release in this process, fragment after fragment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reissue.arrays.compiled import processors
from reissue.arrays.sets import Combinations
from reissue.arrays.types import Int64
from reissue.coding import Coding, SnapshotSummary
from reissue.engine.identifiers import Identifiers, refuse_lookalikes
from reissue.engine.output import Format, write_release
from reissue.engine.snapshot import load
from reissue.engine.text import text_of
from reissue.history.lending import LentColumns
from reissue.history.past_releases import Identities, UnseenRelease
from reissue.history.public_files import Extent, add_standing, make_public_tables
from reissue.ledger import Ledger, PartWriter, ReleaseRecord, Stage
from reissue.model.domain import Domain
from reissue.model.fragment_counts import TableCounts
from reissue.model.fragments import Fragments, divide, draw_sample, join_facts, number_globally
from reissue.model.release import Facts
from reissue.publish.changes import ColumnTraits, ComparedRows, measure_columns
from reissue.publish.division import FragmentChanges, FragmentSummary, TableDivision
from reissue.publish.executor import Executor
from reissue.publish.fragment import FragmentJob, FragmentRelease, SnapshotRows
from reissue.publish.self_check import CommonCheck
from reissue.schema import Schema

if TYPE_CHECKING:
    from reissue.engine.read import Source
    from reissue.engine.snapshot import Ahead
    from reissue.ledger.store import Staged
    from reissue.model.requirement import Requirement


class Embedded(Executor):
    """Everything in memory. ahead: the snapshot, where somebody has begun to read it already."""

    def __init__(self, ledger: Ledger, ahead: Ahead | None = None) -> None:
        self._ledger, self._ahead = ledger, ahead
        self._plan: TableCounts | None = None

    def start(self, progress: Callable[[str], None]) -> None:
        pass

    def read(self, source: Source, schema: Schema) -> SnapshotSummary:
        snapshot = load(source, schema) if self._ahead is None else self._ahead.take()
        self._read, self._name = [snapshot], snapshot.name
        return snapshot.seen

    def encode(self, coding: Coding) -> int:
        snapshot, self._identities = self._read.pop(), Identities.read(self._ledger)  # its columns are not kept
        codes, values = snapshot.encode(coding)
        numbers = self._identities.numbers(snapshot.identifiers)
        self._coding = coding
        self._rows = SnapshotRows(Identifiers.of(snapshot.identifiers), numbers, codes, values, snapshot.insensitive)
        return len(self._rows)

    def cut(self, count: int, side: Requirement) -> Fragments:
        rows = self._rows
        some = np.flatnonzero(draw_sample(np.arange(len(rows)), len(rows), self._ledger.seed))
        return divide(rows.codes[some], rows.values[some], self._coding.domains, count, side)

    def survey(
        self, jobs: Sequence[FragmentJob], division: TableDivision, stage: Stage | None
    ) -> list[FragmentChanges]:
        rows = self._rows
        self._text, self._new, self._insensitive = rows.identifiers.text, rows.numbers < 0, rows.insensitive
        self._jobs, self._parts = jobs, division.parts(rows)
        del rows, self._rows  # its columns would lie beside those of its parts
        permitted = [job.compare_with_past(part) for job, part in zip(jobs, self._parts, strict=True)]
        self._compared = [one.compared for one in permitted]
        pairs = zip(jobs, self._parts, self._compared, strict=True)
        self._counts = [job.count_for_others(part, compared) for job, part, compared in pairs]
        each = zip(jobs, self._parts, permitted, strict=True)
        return [FragmentChanges.of(one, part, job.coding) for job, part, one in each]

    def measure_columns(self) -> list[ColumnTraits]:
        return measure_columns(self._insensitive, self._text)

    def refuse_lookalikes(self, surveys: Sequence[FragmentChanges]) -> None:
        place = f"{self._name}: column '{self._coding.schema.identifier}'"
        gone = np.concatenate([compared.gone for compared in self._compared])
        refuse_lookalikes(self._text, self._new, gone, (self._identities.identifiers, self._identities.known), place)

    def find_name(self, number: int) -> str:
        return self._identities.name(number)

    def sum_counts(self) -> list[TableCounts] | None:
        told = [counts for counts in self._counts if counts is not None]
        return TableCounts.of(told) if told else None

    def plan(self) -> None:
        told = [counts.planned for counts in self._counts if counts is not None]
        sums = {name: Combinations.sum([one[name] for one in told]) for name in told[0]}
        self._plan = TableCounts({}, plan=self._jobs[0].plan(sum(map(len, self._parts)), sums))

    def make(
        self, firsts: Sequence[int], observed: Sequence[Domain], tables: Sequence[TableCounts] | None
    ) -> list[Int64]:
        known: Sequence[TableCounts | None] = tables or [self._plan] * len(self._jobs)
        each = zip(self._jobs, self._parts, self._compared, firsts, known, strict=True)
        self._observed = observed
        self._made = [job.make(part, compared, first, table) for job, part, compared, first, table in each]
        return [made.values for made in self._made]

    def check_plan(self) -> CommonCheck:
        assert self._plan is not None
        assert self._plan.plan is not None
        paths = Combinations.sum([made.paths for made in self._made if made.paths is not None])
        return self._jobs[0].check_plan(self._plan.plan, paths)

    def summarize(self) -> list[FragmentSummary]:
        return [FragmentSummary.of(made, self._observed) for made in self._made]

    def write(self, stage: Stage, formats: Sequence[Format], extent: Extent) -> list[str]:
        """Private files beside the public ones: writing releases the interpreter."""
        with ThreadPoolExecutor(processors()) as pool:  # of each a few fragments at a time, or all would be copied
            written = []
            for job, rows, compared, made in zip(self._jobs, self._parts, self._compared, self._made, strict=True):
                writer = stage.writer(job.fragment)
                written += [
                    pool.submit(writer.facts, made.facts),
                    pool.submit(_write_identities, writer, rows, compared, made),
                    pool.submit(writer.caches, made.caches),
                ]
            names = self._write_public(stage, formats, extent)
        for files in written:
            stage.take(files.result())
        return names

    def after(self, record: ReleaseRecord) -> None:
        pass

    def close(self) -> None:
        pass

    def show_unseen(self, record: ReleaseRecord) -> UnseenRelease:
        """The release that was made last, as it would be known."""
        facts, lent = self._join(coded=True)
        new = [np.flatnonzero(compared.numbers < 0) for compared in self._compared]
        each = list(zip(self._parts, self._made, new, strict=True))
        identifiers = pa.chunked_array([part.identifiers.take(some) for part, _, some in each])
        columns = {}
        if lent is not None:
            shown = lent.table.take(pa.array(lent.rows))
            columns = {name: text_of(shown.column(name)) for name in shown.column_names}
        numbers = np.concatenate([made.coded.subjects[some] for _, made, some in each])
        return UnseenRelease(record, facts, identifiers.combine_chunks(), numbers, columns)

    def _join(self, coded: bool) -> tuple[Facts, LentColumns | None]:
        """(the facts of all fragments, whence their rows have their insensitive columns)."""
        job, facts = self._jobs[0], self._made[0].facts
        if job.fragments > 1:
            facts = join_facts([made.facts for made in self._made], job.seed, job.common, coded=coded)
        lent = [made.lent for made in self._made if made.lent is not None]
        if not lent:
            return facts, None
        own = [number_globally(one.facts.subjects, i, job.fragments) for i, one in enumerate(self._made)]
        order = np.argsort(np.concatenate(own), kind="stable") if job.fragments > 1 else None
        return facts, LentColumns.join(lent, order)

    def _write_public(self, stage: Stage, formats: Sequence[Format], extent: Extent) -> list[str]:
        """The files that may be handed out, rows in random order."""
        job, (facts, lent) = self._jobs[0], self._join(coded=self._made[0].facts.anatomized)
        order = np.random.default_rng([job.seed, 2]).permutation(len(facts.subjects))
        tables = make_public_tables(facts, lent, order, job.coding)
        add_standing(tables, facts, extent.classes, job.seed, job.coding)
        del facts, lent, order  # while the files are written, others copy fragments
        return [path.name for path in write_release(stage.public, tables, formats)]


def _write_identities(
    writer: PartWriter, rows: SnapshotRows, compared: ComparedRows, made: FragmentRelease
) -> list[Staged]:
    """The new people of a fragment and their numbers."""
    new = np.flatnonzero(compared.numbers < 0)
    return writer.identities(rows.identifiers.take(new), made.coded.subjects[new])
