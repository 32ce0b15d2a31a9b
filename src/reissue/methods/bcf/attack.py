"""The correspondence attack: every old record is in the new release too, so records can be ruled out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from reissue.arrays.sets import distinct, lookup, union
from reissue.arrays.types import Bool, Int32, Int64
from reissue.methods.attack import Attack, Finding, Outcome, WorkDivision, count_people, list_names
from reissue.methods.bcf.attack_findings import CandidateLimits, WeakTargets, weaknesses
from reissue.methods.bcf.candidates import ReleaseChain, Targets, count_composed, known_targets, possible_targets
from reissue.methods.bcf.crossing import count_exchangeable
from reissue.methods.bcf.joint_candidates import JointCandidates, Work
from reissue.model.observed import Observed, ObservedRelease, Words
from reissue.model.overlap import GroupedRelease
from reissue.model.requirement import Ratio
from reissue.model.settings import RowCount, Share, ValueCount, Within

_Places = tuple[Int64, Int32, Int64 | None]

CALM = 10
"""How many findings short of a breach are told, beside all breaches up to the limit."""


@dataclass(frozen=True, kw_only=True)
class Correspondence(Attack):
    """Fung, Wang, Fu, Pei: Anonymity for continuous data publishing (EDBT 2008), for any number of releases.

    The attacker knows one person's quasi-identifiers and with which release they came, and that records are never
    deleted. Forward, cross and backward attacks and all their compositions leave the person's *candidates*.

    k:          fewer candidates than this is a breach; 2 means "singled out"
    confidence, alpha: largest share of one value among the candidates (confidence bounding, (alpha, k)-anonymity)
    entropy_l:  the candidates' values must have entropy of at least log l
    recursive_c, recursive_l: recursive (c, l)-diversity of the candidates' values
    seconds:    where classes of three and more releases cross, how much work integer programs may be: counted, about so
                many seconds on an ordinary processor, so that the answer is the same on every machine
    """

    name: ClassVar[str] = "correspondence"
    assumes: ClassVar[str] = (
        "The attacker knows one person's quasi-identifiers and arrival, and that records are only ever added."
    )
    needs_members: ClassVar[bool] = False
    divisions: ClassVar[Mapping[WorkDivision, str]] = {
        WorkDivision.COUNTS: "records are known by class and value only, and may be wherever boxes meet"
    }
    in_order: ClassVar[bool] = True

    limit: Annotated[int, Within("how many findings to list", least=0)] = 100
    k: RowCount = 2
    confidence: Share | None = None
    alpha: Share | None = None
    entropy_l: ValueCount | None = None
    recursive_c: Ratio | None = None
    recursive_l: int | None = None
    seconds: Annotated[float, Within("an amount of work in seconds", least=0)] = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._asked()

    def _asked(self) -> CandidateLimits:
        return CandidateLimits(**{asked.name: getattr(self, asked.name) for asked in fields(CandidateLimits)})

    def run(self, series: Observed, *, involving: int | None = None) -> Outcome:
        """Attack every chain of cumulative releases; `involving=n` only the chain of release n, up to it."""
        ends: dict[str, list[int]] = {}
        sight = _AttackTotals(series.words, self._asked(), self.seconds)
        for chained in find_chains(series, ends):
            if involving is None:
                sight.look(chained, only_last=False)
            elif involving in chained.numbers:
                sight.look(chained.until(involving), only_last=True)
        notes = [*_describe_ends(series.words, ends), *sight.notes]
        if sight.undecided:
            notes.append(
                f"Classes of three and more releases cross, and {self.seconds:g} seconds of work did not show whether "
                f"{count_people(sight.undecided)} keep enough candidates; more of it (seconds) would."
            )
        return Outcome(
            self.name,
            sight.findings(self.limit),
            sight.total,
            sight.at_risk(),
            sight.measures,
            (*dict.fromkeys(notes),),
            unfinished=sight.undecided,
        )


@dataclass(frozen=True, eq=False)
class ObservedChain:
    """A chain of releases, and what the attack keeps of each: its number, and who is in which class, if that is known.

    places: of each release subjects int64[people] ascending, classes int32[people], and how many people each stands for
    """

    chain: ReleaseChain
    numbers: tuple[int, ...]
    places: tuple[_Places | None, ...]

    def extend(self, chain: ReleaseChain, release: ObservedRelease) -> ObservedChain:
        """With one more release; `chain` has it already."""
        own = release.members
        place = None if own is None else (own.subjects, own.classes, release.amounts)
        return ObservedChain(chain, (*self.numbers, release.number), (*self.places, place))

    def until(self, number: int) -> ObservedChain:
        """The chain up to and including the release of this number."""
        last = self.numbers.index(number)
        return ObservedChain(self.chain.until(last), self.numbers[: last + 1], self.places[: last + 1])


_NOTHING = ObservedChain(ReleaseChain([]), (), ())


_EXACT = "publishes quasi-identifiers as they are; correspondence is not sought in it"
_NEW_CHAIN = "the attack treats it as the start of a new chain of releases"


def _describe_ends(words: Words, ends: Mapping[str, Sequence[int]]) -> Iterator[str]:
    """One note for every reason, with the releases that it is about."""
    for why, numbers in ends.items():
        where = [words.release(number) for number in numbers]
        yield f"{where[0]} {why}." if len(where) == 1 else f"Each of {list_names(where, 6, 'more releases')} {why}."


def find_chains(series: Observed, ends: dict[str, list[int]]) -> Iterator[ObservedChain]:
    """The longest runs in which each release can contain all before it; why a release does not go on, into `ends`.

    Every release is asked for once, in order, and let go when the next one has been compared with it.
    """
    chained, before = _NOTHING, None
    for release in series.releases:
        if release.anatomized:
            ends.setdefault(_EXACT, []).append(release.number)
            if chained.numbers:
                yield chained
            chained, before = _NOTHING, None
            continue
        longer = chained.chain.extend(GroupedRelease.from_release(release))
        why = None if before is None else _why_apart(before, release)
        if why is None and not longer.holds_last():
            why = "lacks records that earlier releases have"
        if why is not None:
            ends.setdefault(f"{why}; {_NEW_CHAIN}", []).append(release.number)
            yield chained
            chained, longer = _NOTHING, ReleaseChain(longer.releases[-1:])
        chained, before = chained.extend(longer, release), release
    if chained.numbers:
        yield chained


def _why_apart(earlier: ObservedRelease, later: ObservedRelease) -> str | None:
    """Why the later release does not continue the earlier one, as far as members tell; None if it does."""
    if earlier.members is None or later.members is None:
        return None
    old, new = earlier.members, later.members
    at, there = lookup(new.subjects, old.subjects)
    if not there.all():
        return "publishes only new people" if not there.any() else "lacks people of the release before"
    if any((new.codes[at, a] != old.codes[:, a]).any() for a in range(old.codes.shape[1])):
        return "changed quasi-identifiers of people of the release before"
    if (new.values[at] != old.values).any():
        return "changed sensitive values of people of the release before"
    return None


class _AttackTotals:
    """What the attack has seen so far: weak targets of every chain, measures, people at risk."""

    def __init__(self, words: Words, asked: CandidateLimits, seconds: float) -> None:
        self.words, self.asked, self.seconds = words, asked, seconds
        self.measures: dict[str, float] = {}
        self.notes: list[str] = []
        self.total = self.undecided = 0
        self._weak: list[WeakTargets] = []
        self._at_risk: dict[int, list[Int64]] = {}

    @cached_property
    def work(self) -> Work:
        """What programs may cost, for all chains together."""
        return Work(self.seconds)

    def look(self, chained: ObservedChain, only_last: bool) -> None:
        """Measure the pairs of a chain and the candidates of everyone who arrived with one of its releases."""
        chain = chained.chain
        for later in range(len(chain) - 1 if only_last else 1, len(chain)):
            for earlier in range(later):
                self._measure_pair(chain, earlier, later, chained.numbers)
        places = [place for place in chained.places if place is not None]
        people = _Arrivals() if len(places) == len(chain) else None
        if people is None:
            found = [possible_targets(chain, arrival) for arrival in chain.arrivals()]
        else:
            found = [known_targets(chain, arrival, people.paths(places, arrival)) for arrival in chain.arrivals()]
        if len(chain) > 2:  # of two releases the formula is exact
            found = self._settle(JointCandidates(chain, self.work), found, people)
        for targets in found:
            self._measure_targets(chained, targets, people)

    def _settle(self, joint: JointCandidates, found: list[Targets], people: _Arrivals | None) -> list[Targets]:
        """Whoever the formula may say too much of: first whether they keep enough, then who has the fewest."""
        if not joint.crossing:
            return found
        enough = None if self.asked.diverse else self.asked.k
        known = [None] * len(found) if people is None else people.count_known(joint.chain, found)
        found = [joint.settle(targets, enough, least) for targets, least in zip(found, known, strict=True)]
        found = [joint.settle_fewest(targets) for targets in found]
        if people is None:  # where nothing is left nobody can be
            found = [targets.keep(np.flatnonzero(targets.totals > 0)) for targets in found]
        for targets in found:
            open_ = self.asked.find_undecided(targets)
            self.undecided += int((open_ if people is None else people.counts(targets.arrival)[open_]).sum())
            if len(targets) and targets.least is not None and targets.least.min() < targets.totals.min():
                self.notes.append("Classes cross: the fewest candidates told are the most that these can be.")
        return found

    def _measure_pair(self, chain: ReleaseChain, earlier: int, later: int, numbers: Sequence[int]) -> None:
        names = f"{numbers[earlier]}, {numbers[later]}"
        pair = chain.pair(earlier, later)
        for letter, level in pair.anonymity().items():
            self.measures[f"{letter}({names})"] = level
            self.measures[letter] = min(self.measures.get(letter, level), level)
        if pair.newcomers == 0:
            word = self.words.release
            self.notes.append(
                f"{word(numbers[later])} has no new records beside {word(numbers[earlier])}: the same people, recoded. "
                "Only F and C apply."
            )
        if not pair.closed:
            self.measures["flows"] = self.measures.get("flows", 0) + 1

    def _measure_targets(self, chained: ObservedChain, targets: Targets, people: _Arrivals | None) -> None:
        if len(targets) == 0:
            return
        chain, numbers = chained.chain, chained.numbers
        came = numbers[targets.arrival]
        by_paper = count_composed(chain, targets)
        lowest = {"candidates": int(targets.totals.min()), "composed": int(by_paper.min())}
        lowest[f"candidates({came})"] = lowest["candidates"]
        for name, level in lowest.items():
            self.measures[name] = min(self.measures.get(name, level), level)
        broken = np.zeros(len(targets), dtype=np.bool_)
        for weakness in weaknesses(chain, targets, self.asked):
            self.total += len(weakness.which)
            if len(weakness.which):
                behind = people if weakness.breach.any() else None  # nobody is named where nothing is broken
                self._weak.append(WeakTargets(self.words, chain, numbers, targets, by_paper, weakness, behind))
            broken[weakness.which[weakness.breach]] = True
        if people is not None:
            subjects = people.subjects(targets.arrival, broken)
            for number in numbers[targets.arrival :]:
                self._at_risk.setdefault(number, []).append(subjects)

    def at_risk(self) -> dict[int, Int64]:
        return {number: union(*parts) for number, parts in self._at_risk.items()}

    def findings(self, limit: int) -> tuple[Finding, ...]:
        """The worst first: breaches before the rest, then by how far below what was asked."""
        if not self._weak:
            return ()
        weak = [seen.weakness for seen in self._weak]
        source = np.concatenate([np.full(len(w.which), s) for s, w in enumerate(weak)])
        entry = np.concatenate([np.arange(len(w.which)) for w in weak])
        calm = np.concatenate([~w.breach for w in weak])
        badness = np.concatenate([w.margin for w in weak])
        worst = np.lexsort((entry, source, badness, calm))[:limit]
        told = worst[: int(np.count_nonzero(~calm[worst])) + CALM]
        return tuple(self._weak[source[at]].finding(int(entry[at])) for at in told.tolist())


class _Arrivals:
    """Who came with which release of a chain."""

    def __init__(self) -> None:
        self._who: dict[int, tuple[Int64, Int32]] = {}
        self._sorted: dict[int, tuple[Int64, Int32]] = {}
        self._counts: dict[int, Int64] = {}

    def paths(self, places: Sequence[_Places], arrival: int) -> Int32:
        """int32[targets, releases from the arrival on]: the distinct paths of the people who came then.

        places: of each release, which are not kept
        """
        came, amounts = places[arrival][0], places[arrival][2]
        if arrival:
            new = ~lookup(places[arrival - 1][0], came)[1]
            came, amounts = came[new], None if amounts is None else amounts[new]
        columns = [classes[lookup(subjects, came)[0]] for subjects, classes, _ in places[arrival:]]
        one, target = distinct(columns)
        self._who[arrival] = (came, target)
        self._counts[arrival] = np.bincount(target, amounts, minlength=len(one)).astype(np.int64)
        return np.stack([column[one] for column in columns], axis=1)

    def counts(self, arrival: int) -> Int64:
        """int64[targets]: how many people are behind each target, all of whom are its candidates."""
        return self._counts[arrival]

    def count_known(self, chain: ReleaseChain, found: Sequence[Targets]) -> list[Int64]:
        """Of each arrival int64[targets]: so many candidates each target has in any case."""
        people = [sum(int(self._counts[t].sum()) for t in self._counts if t <= at) for at in range(len(chain))]
        exchanged = count_exchangeable(chain, found, people)
        counts = [self._counts[targets.arrival] for targets in found]
        return counts if exchanged is None else [np.maximum(*both) for both in zip(counts, exchanged, strict=True)]

    def subjects(self, arrival: int, which: Bool) -> Int64:
        """int64[]: the people behind the chosen targets."""
        came, target = self._who[arrival]
        return np.asarray(came[which[target]], dtype=np.int64)

    def behind(self, arrival: int, target: int) -> Int64:
        """int64[]: the people behind one target; sorted by target when first asked."""
        if arrival not in self._sorted:
            came, targets = self._who[arrival]
            order = np.argsort(targets, kind="stable")
            self._sorted[arrival] = (came[order], targets[order])
        came, targets = self._sorted[arrival]
        first, last = np.searchsorted(targets, [target, target + 1])
        return came[first:last]
