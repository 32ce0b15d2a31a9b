"""The self-check of publish: is the finished release what the strategy promises? Written apart from every strategy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from reissue.arrays.sets import Combinations
from reissue.arrays.types import Bool, Int32, Int64
from reissue.errors import InfeasiblePolicy, refuse_release
from reissue.history.public_files import Extent
from reissue.ledger import ReleaseRecord
from reissue.methods.attack import Outcome, WorkDivision
from reissue.methods.registry import ADOPTED, find_strategy, make_attack
from reissue.methods.strategy import Planner, Strategy
from reissue.model.boxes import contain
from reissue.model.domain import Domain
from reissue.model.fragment_counts import TableCounts
from reissue.model.observed import LazySequence, Listing, Observed, ObservedRelease, Words, put_names
from reissue.model.paths import make_counted_releases
from reissue.model.release import Coded, Facts, History
from reissue.model.standing_view import EpisodeWords, observe_classes


def check_rows(facts: Facts, snapshot: Coded, suppressed: int, words: Words, common: bool = False) -> None:
    """Every row in exactly one class, inside its box, its value unchanged; boxes are taxonomy nodes; none is empty.

    common: whether the classes are those of all fragments, so that this one need not have rows in each.
    """
    real = slice(int(np.searchsorted(facts.subjects, 0)), None)  # counterfeits come first
    people = len(facts.subjects[real])
    if people + suppressed != len(snapshot):
        refuse_release(f"{len(snapshot):,} rows came in, {people:,} would go out and {suppressed:,} are suppressed")
    source = _source_rows(facts.subjects[real], snapshot.subjects)
    if source is None or (np.diff(facts.subjects) <= 0).any():
        refuse_release("a subject would be published twice, or one who is not in the snapshot")
    was, now = snapshot.values[source], facts.values[real]
    if not np.array_equal(was, now):
        row = int(np.flatnonzero(was != now)[0])
        became = f"{{value:{now[row]}}}" if 0 <= now[row] < snapshot.value_count else "no value at all"
        refuse_release(put_names(f"a sensitive value would be altered: {{value:{was[row]}}} would be {became}", words))
    for a in range(facts.codes.shape[1]):
        codes, shown = snapshot.codes[source, a], facts.codes[real, a]
        if not np.array_equal(codes, shown):
            row = int(np.flatnonzero(codes != shown)[0])
            left, right = (_name_code(words, snapshot, a, int(code[row])) for code in (codes, shown))
            refuse_release(f"a quasi-identifier would be altered: {left} would be {right}")
    if len(facts.classes) and (facts.classes.min() < 0 or facts.classes.max() >= facts.class_count):
        refuse_release("a row lies in no class")
    inside = contain(facts.boxes, facts.codes, facts.classes)
    if not inside.all():
        refuse_release(f"a row lies outside the box of its class: {_name_outside(words, snapshot, facts, inside)}")
    if not common and (np.bincount(facts.classes, minlength=facts.class_count) == 0).any():
        refuse_release("a class is empty")
    for a, domain in enumerate(snapshot.domains):
        known = _are_nodes(facts.boxes[:, a], domain)
        if not known.all():
            low, high = (_name_code(words, snapshot, a, int(end)) for end in facts.boxes[~known][0, a])
            refuse_release(f"a box is not a node of its hierarchy: from {low} to {high}")


def _name_code(words: Words, snapshot: Coded, attribute: int, code: int) -> str:
    """The name of a column, and what it says where it has this code."""
    box = np.tile(np.array([-(2**31), 2**31 - 1], dtype=np.int32), (len(snapshot.domains), 1))
    known = snapshot.codes[:, attribute]
    there = bool((known == code).any()) or snapshot.domains[attribute].lo <= code <= snapshot.domains[attribute].hi
    box[attribute] = code if there else known[0]
    return words.box(box) if there else f"something that {words.box(box).rpartition(' ')[0]} never says"


def _name_outside(words: Words, snapshot: Coded, facts: Facts, inside: Bool) -> str:
    """What the first row outside its box says in the first column in which it is outside."""
    row = int(np.flatnonzero(~inside)[0])
    own, box = facts.codes[row], facts.boxes[facts.classes[row]]
    attribute = int(np.flatnonzero((own < box[:, 0]) | (own > box[:, 1]))[0])
    return _name_code(words, snapshot, attribute, int(own[attribute]))


def _are_nodes(intervals: Int32, domain: Domain) -> Bool:
    """bool[classes]: which of int32[classes, 2] are the interval of a node; looked up: strategies widen theirs."""
    if domain.nodes is None:
        return np.ones(len(intervals), dtype=np.bool_)
    nodes = domain.nodes.lo.astype(np.int64) << 32 | domain.nodes.hi
    return np.asarray(np.isin(intervals[:, 0].astype(np.int64) << 32 | intervals[:, 1], nodes), dtype=np.bool_)


def _source_rows(subjects: Int64, snapshot: Int64) -> Int64 | slice | None:
    """Where each subject stands in the snapshot; None if one does not."""
    if np.array_equal(subjects, snapshot):
        return slice(None)
    order = np.argsort(snapshot, kind="stable")
    where = np.searchsorted(snapshot, subjects, sorter=order)
    source = order[np.minimum(where, len(order) - 1)] if len(order) else where
    return source if np.array_equal(snapshot[source], subjects) else None


def check_classes(
    strategy: Strategy, facts: Facts, snapshot: Coded, words: Words, whole: TableCounts | None = None
) -> None:
    """Every class meets the strategy's own requirement on its value counts, if it states one.

    whole: where the facts are of one fragment, what classes are compared with.
    """
    requirement = strategy.requirement
    if requirement is None:
        return
    from reissue.model.requirement import distribution
    from reissue.model.requirement_check import violations

    values = snapshot.value_count
    table = distribution(whole.values(values)) if whole is not None and requirement.needs_table else None
    for found in violations(requirement, facts.classes, facts.values, values, table):
        of = "" if found.value is None else f", of {{value:{found.value}}}"
        refuse_release(
            f"{found.classes:,} classes break {found.condition} "
            + put_names(f"({found.measured:g} against {found.limit:g}{of})", words)
        )


def check_promise(strategy: Strategy, facts: Facts, history: History, words: Words) -> None:
    """The strategy's own independent test, if it has one."""
    reason = strategy.check(facts, history)
    if reason:
        refuse_release(put_names(reason, words))


def check_attacks(strategy: Strategy, facts: Facts, history: History, snapshot: Coded, words: Words) -> list[str]:
    """Run the attacks that the strategy promises to stop, without those that are proved to fail where these do.

    Only what the new release adds is looked at.
    """
    if not strategy.list_attacks_to_run():
        return []
    releases = _Observing(history.releases, facts)
    observed = Observed(releases, snapshot.domains, snapshot.value_count, words, history.first_new)
    passed = []
    for name in strategy.list_attacks_to_run():
        outcome = make_attack(name, strategy.thresholds()).run(observed, involving=facts.number)
        if outcome.breaches:
            refuse_release(f"the {name} attack would succeed. {outcome.breaches[0].sentence}")
        refuse_unfinished(name, outcome)
        passed.append(name)
    check_again(strategy, observed, history.seed)
    return passed


def refuse_unfinished(name: str, outcome: Outcome) -> None:
    """A promise is kept only if the attack looked at everybody: what a limit left out may be a breach."""
    if outcome.unfinished:
        raise InfeasiblePolicy(
            f"The {name} attack, which this strategy promises to stop, could not look at everybody: "
            f"{outcome.unfinished:,} were left out. {' '.join(outcome.notes)} Nothing was published."
        )


def check_again(strategy: Strategy, series: Observed, seed: int) -> None:
    """The strategy's second form of the attacks: where a kernel is at fault that maker and attack share, it tells."""
    reason = strategy.second_check(series, seed)
    if reason:
        refuse_release(f"{put_names(reason, series.words)}, although the attack itself found nothing")


_SEEN: WeakKeyDictionary[Facts, ObservedRelease] = WeakKeyDictionary()
"""Facts that are still in use as outsiders see them, with what attacks have counted of them."""


class _Observing(LazySequence[ObservedRelease]):
    """Past and new facts as outsiders see them, each turned when first asked for."""

    def __init__(self, past: Sequence[Facts], new: Facts) -> None:
        super().__init__(new.number)
        self._past, self._new = past, new
        self._seen: dict[int, ObservedRelease] = {}

    def at(self, position: int) -> ObservedRelease:
        if position not in self._seen:
            facts = self._new if position == len(self) - 1 else self._past[position]
            if facts not in _SEEN:
                _SEEN[facts] = ObservedRelease.of(facts)
            self._seen[position] = _SEEN[facts]
        return self._seen[position]

    def subjects(self, position: int) -> Int64:
        """As `model.observed.Listing`."""
        if position == len(self) - 1:
            return self._new.subjects
        return self._past.subjects(position) if isinstance(self._past, Listing) else self._past[position].subjects


@dataclass(frozen=True)
class CommonCheck:
    """The release as a whole, found sound. squares: sum of squared class sizes; stopped: the attacks that failed."""

    extent: Extent
    squares: int
    stopped: tuple[str, ...]


def check_common(
    strategy: Planner,
    boxes: Sequence[Int32],
    paths: Combinations,
    domains: tuple[Domain, ...],
    value_count: int,
    words: Words,
) -> CommonCheck:
    """No class is empty, and the attacks that the strategy claims to stop find nobody.

    boxes: int32[classes, attributes, 2] of each release, the new one last; paths: of all fragments, added up
    """
    releases = make_counted_releases(boxes, paths, np.arange(len(paths)))
    sizes = releases[-1].sizes
    if (sizes == 0).any():
        refuse_release("a class is empty")
    observed = Observed(releases, domains, value_count, words)
    for name in strategy.stops:
        attack = make_attack(name, strategy.thresholds())
        if not attack.divides(WorkDivision.COUNTS):
            refuse_release(f"the {name} attack cannot be tried on counts")
        outcome = attack.run(observed, involving=len(releases))
        if outcome.breaches:
            refuse_release(f"the {name} attack would succeed. {outcome.breaches[0].sentence}")
        refuse_unfinished(name, outcome)
    check_again(strategy, observed, len(releases))
    return CommonCheck(Extent.of_sizes(sizes), int((sizes**2).sum()), tuple(strategy.stops))


LOOKED_AT = ("intersection", "difference")
"""What standing is tried by beside other releases: attacks that lay a person's classes side by side."""


@dataclass(frozen=True)
class EarlierLoss:
    """What standing classes cannot keep of people whom earlier releases gave less: how many, and in words."""

    people: int
    sentence: str


def check_joint_series(
    strategy: Strategy,
    records: Sequence[ReleaseRecord],
    facts: Facts,
    history: History,
    snapshot: Coded,
    words: Words,
) -> tuple[list[str], EarlierLoss | None]:
    """(the attacks that are proved to fail, or were run and failed; what is lost beside earlier releases).

    Beside releases that the proof does not cover attacks are run: measured is c (of a strategy without c: 1/m),
    whatever the number of people left. Of standing classes the loss is returned, for the steward to decide; any other
    strategy then raises InfeasiblePolicy. Classes that weaker settings formed are a loss, too. records: of the earlier
    releases, which are read only if some are of another kind.
    """
    weaker = strategy.count_weaker(facts)
    weakened = EarlierLoss(weaker, _describe_weaker(strategy)) if weaker else None
    if not strategy.proved or all(_is_covered(strategy, one.strategy) for one in records):
        proved = [f"{name} by proof" for name in strategy.proved if name in strategy.promised]
        return ([], weakened) if weakened else (proved, None)
    whole = [*(history.releases[position] for position in range(len(history))), facts]
    releases = observe_classes(whole, snapshot.domains) if strategy.stands else map(ObservedRelease.of, whole)
    words = EpisodeWords(words) if strategy.stands else words
    observed = Observed([*releases], snapshot.domains, snapshot.value_count, words, history.first_new)
    names, limits = LOOKED_AT if strategy.stands else strategy.proved, strategy.thresholds()
    c = limits.get("c", 1 / limits.get("m", 1.0))
    losses: dict[str, EarlierLoss] = {}
    for name in names:
        outcome = make_attack(name, {**limits, "c": c, "k": 1.0}).run(observed, involving=facts.number)
        if outcome.breaches:
            people = max((len(ids) for ids in outcome.at_risk.values()), default=0)
            lost, remedy = (
                (f"c = {c:g}", "Raise c") if "c" in limits else (f"m = {1 / c:g}", "Lower m if it is above 2")
            )
            sentence = (
                f"Earlier releases of this series were not made by '{strategy.name}', and beside them {lost} is "
                f"lost for good: the {name} attack succeeds against {people:,} people. "
                f"{outcome.breaches[0].sentence} {remedy}, or begin a new series with people who were not published "
                "before."
            )
            if not strategy.stands:
                raise InfeasiblePolicy(sentence)
            more = f" {outcome.unfinished:,} more were not looked at in full." if outcome.unfinished else ""
            losses[name] = EarlierLoss(people, sentence + more)
        else:
            refuse_unfinished(name, outcome)
    worst = max([*losses.values(), *([weakened] if weakened else [])], key=lambda loss: loss.people, default=None)
    return [name for name in names if name not in losses and not weakened], worst


def _describe_weaker(strategy: Strategy) -> str:
    limits = ", ".join(f"{name} = {limit:g}" for name, limit in strategy.thresholds().items())
    return (
        f"The settings are stricter than those of earlier releases ({limits} now). People keep the class that they "
        "have for life: newcomers get what the settings promise, others only what was promised when they came."
    )


def _is_covered(strategy: Strategy, earlier: str) -> bool:
    """Whether what is proved of the strategy's releases is proved of those of `earlier`, too."""
    if earlier == ADOPTED:
        return False
    kind = find_strategy(earlier)
    return kind.stands == strategy.stands and set(strategy.proved) <= set(kind.proved)
