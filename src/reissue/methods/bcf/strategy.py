"""BCF-anonymity: global cuts that stay safe from correspondence attacks, for tables that only grow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, ClassVar

import numpy as np

from reissue.arrays.sets import Combinations, are_among, distinct
from reissue.arrays.types import NO_CODES, Bool, Int32, Int64
from reissue.errors import ChangeError, InfeasiblePolicy
from reissue.methods.bcf.certification import SECONDS, Certifier, reach_diversity, specialize_certified
from reissue.methods.bcf.joint_candidates import Work
from reissue.methods.bcf.memory import ChainLog, Records
from reissue.methods.bcf.search import Score, SearchRules, TopDown, make_task
from reissue.methods.bcf.second_check import find_breach
from reissue.methods.strategy import INSERT_ONLY, Changes, Planner
from reissue.model.fragment_counts import CountedSnapshot, FragmentCounts
from reissue.model.observed import Observed
from reissue.model.release import Candidate, Coded, Counterfeits, Facts, History, Table
from reissue.model.requirement import Ratio, Requirement
from reissue.model.settings import Share, Spare, ValueCount, Within
from reissue.partition.global_recoding import Cut, Frontier, clip_boxes, labels_of, limits_of
from reissue.partition.outliers import find_outliers, say_left_out, sum_lost_detail, try_leaving_out

OUTLIERS = "outlier_codes"
"""In the extras of a plan: int32[n, attributes], the codes of newcomers who are left out."""


@dataclass(frozen=True, kw_only=True)
class BCF(Planner):
    """Everyone keeps at least k candidates, whatever releases are laid side by side (Fung et al. 2008).

    Every attribute has one global cut: a value is published under the same label everywhere. Starting from the most
    general cut, the label that promises most is specialized as long as everyone, whenever they arrived, keeps k
    candidates and the further requirements hold for the values of those candidates.

    k:      candidates at least, FA, CA and BA of every pair of releases included
    score:  "discernibility" (specialize what most records share) or "information-gain" (what tells most about the
            sensitive value, per loss of anonymity)
    confidence, alpha: the largest share of one value among anyone's candidates
    entropy_l, recursive: entropy l-diversity, recursive (c, l)-diversity of anyone's candidates
    start_new_chain: True publishes only the new records, as a new chain, when the running chain cannot hold the
            requirement; a number does so at that release. People of earlier chains are not published again.
    suppress: the share of the records that may be left out, because fewer than k are like them: only newcomers, so that
            whoever was published stays; they arrive with the first release that shows them. 0: nobody
    """

    name: ClassVar[str] = "bcf"
    supports: ClassVar[Changes] = INSERT_ONLY
    stops: ClassVar[tuple[str, ...]] = ("correspondence",)

    k: Annotated[int, Within("a whole number of candidates", least=2, why="since with 1 everyone is alone")]
    score: Score = "discernibility"
    confidence: Share | None = None
    alpha: Share | None = None
    entropy_l: ValueCount | None = None
    recursive: Annotated[tuple[Ratio, ValueCount] | None, Within("two numbers (c, l), for example (2.0, 3)")] = None
    start_new_chain: bool | Annotated[int, Within("true, false, or the number of a release", least=2)] = False
    suppress: Spare = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._requirements()

    def _requirements(self) -> tuple[Requirement, Requirement]:
        shares = [share for share in (self.confidence, self.alpha) if share is not None]
        first = Requirement(k=self.k, c=min(shares, default=1.0), l=self.entropy_l, diversity="entropy")
        if self.recursive is None:
            return first, Requirement()
        c, l = self.recursive  # noqa: E741 (the literature's names)
        return first, Requirement(l=l, diversity="recursive", recursive_c=c)

    def publish(self, snapshot: Coded, history: History) -> Candidate:
        """Propose the next release; the running chain is continued unless a new one is asked for or needed.

        Planned on counts, then applied to rows: where the rows are only a fragment of the table, the plan is given.
        """
        number, log = len(history) + 1, self._log(history)
        arrival = log.arrivals(snapshot.subjects, number)
        if not self._starts_anew(number):
            _refuse_gone(log, arrival, number)
        if history.whole is not None and history.whole.plan is not None:
            plan = history.whole.plan
            first, home = distinct([*snapshot.codes.T])
            return _place_rows(plan, snapshot.codes[first], home, arrival)
        rows = None if log.start == 1 else np.flatnonzero(arrival >= log.start)
        part = snapshot if rows is None else snapshot.part(rows)
        since = arrival if rows is None else arrival[rows]
        records, home = Records.of_rows(part.codes, part.values, since, log.start, number)
        plan = self._plan_release(
            records, log, number, CountedSnapshot(len(snapshot), snapshot.domains, snapshot.value_count, {})
        )
        if rows is not None:
            everyone = np.zeros(len(snapshot), dtype=np.int32)  # who came before the chain is left out, wherever it is
            everyone[rows] = home
            home = everyone
        return _place_rows(plan, records.codes, home, arrival)

    def left_out(self, subjects: Int64, history: History) -> Bool:
        """People of earlier chains: every release of the running one left them out."""
        log = self._log(history)
        return np.asarray(log.arrivals(subjects, len(history) + 1) < log.start, dtype=np.bool_)

    def survey(self, snapshot: Coded, history: History) -> FragmentCounts:
        """The records of the running chain in counts, and what its releases showed of these rows' people."""
        log = self._log(history)
        arrival = log.arrivals(snapshot.subjects, len(history) + 1)
        rows = np.flatnonzero(arrival >= log.start)
        what = [snapshot.values, *snapshot.codes.T, arrival]
        return FragmentCounts(planned={"records": Combinations.of([c[rows] for c in what]), "groups": log.groups()})

    def plan(self, counted: CountedSnapshot, history: History) -> Candidate:
        """The next release without its rows, for all fragments. Of `history` only what is common to all is read."""
        number = len(history) + 1
        log = self._log(history).with_groups(counted.combinations["groups"])
        records = Records.of_counts(counted.combinations["records"], log.start, number)
        return self._plan_release(records, log, number, counted)

    def _starts_anew(self, number: int) -> bool:
        """Whether the settings want a new chain to start with this release."""
        return not isinstance(self.start_new_chain, bool) and self.start_new_chain == number

    def _plan_release(self, records: Records, log: ChainLog, number: int, of: CountedSnapshot) -> Candidate:
        """The release without its rows; the running chain is continued unless a new one is asked for or needed."""
        if number > 1 and self._starts_anew(number):
            return self._make(records.newest(), log.renew(number), number, of, "as asked")
        try:
            return self._make(records, log, number, of, None)
        except InfeasiblePolicy:
            if self.start_new_chain is not True or number == 1:
                raise
            why = "since the running chain cannot hold k"
            return self._make(records.newest(), log.renew(number), number, of, why)

    def remember(self, caches: Mapping[str, Table], release: Facts) -> Mapping[str, Table]:
        return ChainLog.read(caches).after(release).tables()

    def thresholds(self) -> Mapping[str, float]:
        c, l = self.recursive or (None, None)  # noqa: E741
        asked = {
            "k": self.k,
            "confidence": self.confidence,
            "alpha": self.alpha,
            "entropy_l": self.entropy_l,
            "recursive_c": c,
            "recursive_l": l,
        }
        return {name: limit for name, limit in asked.items() if limit is not None}

    def second_check(self, series: Observed, seed: int) -> str | None:
        """The candidates of some people by plain counting."""
        return find_breach(series, self.thresholds(), seed)

    def _log(self, history: History) -> ChainLog:
        if len(history) == 0 or "chain" in history.caches:
            return ChainLog.read(history.caches)
        log = ChainLog.empty()
        for facts in history.releases:
            log = log.after(facts)
        return log

    def _make(
        self, records: Records, log: ChainLog, number: int, of: CountedSnapshot, renewed: str | None
    ) -> Candidate:
        """The release that continues the chain of `log`, without its rows."""
        _refuse_plain(log)
        if records.total == 0:
            raise InfeasiblePolicy(
                f"k = {self.k} cannot hold: there are no {'new ' if renewed else ''}records to publish. Wait for some."
            )
        stays = np.asarray(records.counts[:-1].sum(axis=0) > 0, dtype=np.bool_)
        amounts, spare = records.counts.sum(axis=0), int(self.suppress * records.total)
        outliers = find_outliers(records.codes, of.domains, self.k, spare, stays, amounts)
        made, left = try_leaving_out(
            outliers, records.codes, lambda out: self._specialize(records.without(out), log, number, of)
        )
        steps = self._steps(made, records.total, of.rows, number, log, renewed)
        return Candidate(
            boxes=made.boxes,
            classes=NO_CODES,
            counterfeits=Counterfeits.none(len(of.domains)),
            steps=(*steps, *say_left_out(int(amounts[left].sum()), self.k)),
            extras={**_cut(made.search.frontiers, made.limits, log.start).table(), OUTLIERS: records.codes[left]},
        )

    def _specialize(self, records: Records, log: ChainLog, number: int, of: CountedSnapshot) -> _Specialized:
        """The classes of these records that continue the chain of `log`."""
        cuts = [cut for cut in log.cuts if cut is not None]
        limits = limits_of(of.domains, records.codes, cuts)
        task = make_task(records, log, self._requirements(), of.value_count, limits)

        def make(rules: SearchRules) -> TopDown:
            last = cuts[-1] if cuts else None
            frontiers = [Frontier(labels_of(domain, last, a), domain.weight) for a, domain in enumerate(of.domains)]
            return TopDown(task, frontiers, self.score, int(records.counts[-1].sum()), rules)

        def start(rules: SearchRules) -> TopDown:
            search = self._begin_search(make, rules, number - log.start)
            search.run()
            return search

        clip = partial(clip_boxes, limits=limits)
        certifier = Certifier(log.chain(), self._requirements(), of.value_count, clip, Work(SECONDS))
        search = specialize_certified(start, certifier) if log.releases else start(SearchRules())
        if search is None:
            raise InfeasiblePolicy(
                f"{self._asked()} cannot hold: the classes of the {len(log.releases)} earlier releases cross, and "
                "together they leave someone fewer candidates, whatever is published next. Lower the requirement, or "
                "publish the new records alone as a new chain (start_new_chain)."
            )
        boxes, sizes = clip_boxes(search.boxes(), limits), search.state.size[: search.classes]
        lost = sum_lost_detail(boxes, sizes, of.domains, of.rows - records.total)
        return _Specialized(search, limits, boxes, records.total, lost)

    def _begin_search(self, make: Callable[[SearchRules], TopDown], rules: SearchRules, newest: int) -> TopDown:
        """A search whose release holds what is asked so far; refused if there is none.

        Corollary 5.1: if the most general release leaves someone too few candidates, every one does. Values of fewer
        candidates may be more diverse, so that is sought in more special releases, too.
        """
        search = make(rules)
        holds, fewest = search.fewest()
        if holds:
            return search
        reached, feasible = _describe_anonymity(fewest, np.array(search.task.arrivals), newest), int(fewest.min())
        remedy = self._remedy(search, newest)
        if feasible < self.k:
            largest = f"The largest feasible k is {feasible}: lower k" if feasible > 1 else "No k is feasible"
            raise InfeasiblePolicy(
                f"k = {self.k} cannot hold: even the most general release reaches only {reached}. {largest}, {remedy}"
            )
        found = reach_diversity(make, rules)
        if found is None:
            raise InfeasiblePolicy(
                f"{self._asked()}: no release was found that holds it. The most general one, which reaches {reached}, "
                "and those that were tried below it leave candidates whose values are not diverse enough. Relax the "
                f"requirement, {remedy}"
            )
        return found

    def _remedy(self, search: TopDown, newest: int) -> str:
        """What to do beside lowering k; a new chain is of use only once it has k records of its own."""
        if newest == 0:
            return "or wait for more records."
        if search.newcomers < self.k:
            return f"or wait until at least {self.k} records are new (a new chain, start_new_chain, needs as many)."
        return "wait for more new records, or publish the new records alone as a new chain (start_new_chain)."

    def _asked(self) -> str:
        return ", ".join(f"{name} = {limit:g}" for name, limit in self.thresholds().items())

    def _steps(
        self, made: _Specialized, published: int, rows: int, number: int, log: ChainLog, renewed: str | None
    ) -> tuple[str, ...]:
        """published: records of the chain, with those of them that are left out."""
        search = made.search
        steps = [f"Counted {len(search.task.items.values):,} distinct combinations of {made.records:,} records."]
        if renewed:
            steps.append(
                f"Started a new chain with this release, {renewed}: {rows - published:,} records of earlier chains are "
                "left out."
            )
        elif published < rows:
            steps.append(f"Left out {rows - published:,} records of earlier chains.")
        if search.task.check is not None:
            steps.append("Earlier releases are not global cuts of these taxonomies: every step was checked by flows.")
        steps.append(
            f"Specialized {len(search.taken)} labels by {self.score}; everyone keeps {self._asked()} over the "
            f"{number - log.start + 1} releases of the chain."
        )
        steps.append(f"Made {search.classes:,} classes.")
        return tuple(steps)


@dataclass(frozen=True, eq=False)
class _Specialized:
    """A search that has ended: its classes' boxes, int32[classes, attributes, 2], clipped to `limits`, of how many
    records they are, and what they lose (see `sum_lost_detail`)."""

    search: TopDown
    limits: Int64
    boxes: Int32
    records: int
    lost: float


def _describe_anonymity(fewest: Int64, arrivals: Int64, newest: int) -> str:
    """FA and BA in the paper's words; a chain's first release has only its size."""
    old, new = fewest[arrivals < newest], fewest[arrivals == newest]
    parts = [f"FA = CA = {int(old.min())}"] if len(old) else []
    if len(new):
        parts.append(f"BA = {int(new[0])}" if newest else f"{int(new[0])} records in all")
    return " and ".join(parts)


def _place_rows(plan: Candidate, codes: Int32, home: Int32, arrival: Int32) -> Candidate:
    """The plan with rows: int32[rows] the combination of each, of which int32[n, attributes] are the codes."""
    cut = Cut.read(plan.extras)
    assert cut is not None
    cells, outlying = cut.classes_of(codes, plan.boxes), are_among(codes, np.asarray(plan.extras[OUTLIERS], np.int32))
    cells[outlying] = -1
    classes, earlier = cells[home], None if cut.chain == 1 else arrival < cut.chain
    homeless = ((cells < 0) & ~outlying)[home if earlier is None else home[~earlier]]
    if homeless.any():
        raise AssertionError("a record has no place in the plan that was made from the counts of all")
    if earlier is not None:
        classes[earlier] = -1
    return replace(plan, classes=classes, extras=cut.table())


def _refuse_gone(log: ChainLog, arrival: Int32, number: int) -> None:
    """Records never leave: everyone of the running chain must be in the snapshot."""
    expected = int(np.count_nonzero(log.arrival >= log.start))
    here = int(np.count_nonzero((arrival >= log.start) & (arrival < number)))
    if here < expected:
        raise ChangeError(
            f"{expected - here:,} subjects of earlier releases are not in the snapshot. BCF protects tables that only "
            "grow; keep them, or use a strategy for deletions such as m-invariance."
        )


def _refuse_plain(log: ChainLog) -> None:
    """No release that continues one with exact quasi-identifiers can hold anything."""
    if not log.plain:
        raise InfeasiblePolicy(
            "An earlier release publishes quasi-identifiers as they are, so its records can be told apart. Start a new "
            "chain (start_new_chain), or go on with the strategy that made it."
        )


def _cut(frontiers: Sequence[Frontier], limits: Int64, chain: int) -> Cut:
    intervals = [frontier.intervals() for frontier in frontiers]
    return Cut(
        tuple(lo for lo, _ in intervals),
        tuple(hi for _, hi in intervals),
        tuple(frontier.labels.splits() for frontier in frontiers),
        limits,
        chain,
    )
