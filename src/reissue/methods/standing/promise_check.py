"""The finished release against the promise, by code that did not make it.

It shares nothing with the maker but the names under which facts are kept, and the caches of places and tokens, which
`verify --rebuild` proves from the facts: those who were in the last release are compared with that release itself, only
returners with the caches. Everything is recounted from rows and tokens by sorting. Values are told as `{value:CODE}`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np

from reissue.arrays.types import Bool, Int32, Int64
from reissue.model.release import Facts, History, Table
from reissue.model.standing_classes import StandingClasses, Tokens


class StandingPromise(Protocol):
    """The settings that are checked."""

    @property
    def k(self) -> int: ...
    @property
    def c(self) -> float: ...
    @property
    def l(self) -> int: ...  # noqa: E743
    @property
    def known(self) -> int: ...
    @property
    def row_k(self) -> int: ...
    @property
    def row_l(self) -> int: ...
    @property
    def form(self) -> str: ...
    @property
    def totals(self) -> float | None: ...


class PromiseCase:
    """A release laid beside what was known before it.

    last: the release before; before: its standing classes, if it has any; first: the lowest number that a new class
    may have; returned: int64[] rows of people who were published, but not in the last release
    """

    def __init__(self, release: Facts, facts: StandingClasses, history: History) -> None:
        self.release, self.facts = release, facts
        self.last = history.releases[-1] if len(history) else None
        self.before = None if self.last is None else StandingClasses.read(self.last.extras)
        self.caches = history.caches
        state = self.caches.get("standing/state", {})
        if "next" in state:
            self.first = int(state["next"][0])
        else:
            self.first = (
                max((int(one["standing"].max(initial=-1)) for one in self.read("standing/tokens")), default=-1) + 1
            )
        self.fresh = facts.standing >= self.first
        there = np.zeros(len(release.subjects), dtype=np.bool_)
        if self.last is not None and self.before is not None:
            there = np.isin(release.subjects, self.last.subjects)
        if history.first_new is not None:
            there |= release.subjects >= history.first_new
        self.returned = np.flatnonzero(~there)

    def read(self, name: str) -> list[Table]:
        """The segments of a cache, the newest first: `name`/2.50, `name`/1.100, ..., `name`."""
        own = [one for one in self.caches if one == name or one.startswith(name + "/")]
        return [
            self.caches[one] for one in sorted(own, key=lambda one: (len(one.partition(".")[0]), one), reverse=True)
        ]


def find_fault(promise: StandingPromise, release: Facts, history: History) -> str | None:
    """What is wrong with the release, in a sentence; None if nothing is. O(n log n)."""
    facts = StandingClasses.read(release.extras)
    if facts is None:
        return "it has no standing classes"
    if len(facts.standing) != len(release.subjects) or len(facts.dealt) != len(release.subjects):
        return "somebody has no standing class or no dealt value"
    case = PromiseCase(release, facts, history)
    checks: tuple[Callable[[StandingPromise, PromiseCase], Iterator[str]], ...] = (
        _check_boxes,
        _check_new_classes,
        _check_places,
        _check_tokens,
        _check_dealing,
        _check_totals,
    )
    return next((fault for check in checks for fault in check(promise, case)), None)


def _check_boxes(promise: StandingPromise, case: PromiseCase) -> Iterator[str]:
    """Every box of its own has row_k rows and, where rows show dealt values, row_l of them."""
    boxes, shared = case.release.class_count, case.facts.shared
    if shared is not None and (len(shared) != boxes or shared.sum() > 1):
        yield "it is not said which box other fragments share, or more than one is"
        return
    own = np.ones(boxes, dtype=np.bool_) if shared is None else ~shared
    sizes = np.bincount(case.release.classes, minlength=boxes)[own]
    shown = np.bincount(_distinct(case.release.classes, case.facts.dealt)[:, 0], minlength=boxes)[own]
    fault = _find_small_box(promise, sizes, shown)
    if fault:
        yield fault


def find_shared_fault(promise: StandingPromise, shared: Sequence[Int64]) -> str | None:
    """What is wrong with boxes that several fragments show. shared: of each, int64[values] the rows by dealt value."""
    sizes, shown = (np.array([measure(rows) for rows in shared]) for measure in (np.sum, np.count_nonzero))
    return _find_small_box(promise, sizes, shown)


def _find_small_box(promise: StandingPromise, sizes: Int64, shown: Int64) -> str | None:
    """sizes, shown: int64[boxes] the rows and the different dealt values of each."""
    if (sizes < promise.row_k).any():
        return f"a box has only {int(sizes.min()):,} rows, where row_k is {promise.row_k}"
    if promise.form == "flat" and (shown < promise.row_l).any():
        return f"a box shows only {int(shown.min()):,} different values, where row_l is {promise.row_l}"
    return None


class _ClassSizes:
    """Classes by their tokens. label: int32[classes]; size, most, kinds: int64[classes] all, of one value, values."""

    def __init__(self, tokens: Tokens) -> None:
        self.label, home = np.unique(tokens.standing, return_inverse=True)
        count = tokens.count.astype(np.int64)
        self.size = np.bincount(home, count, len(self.label)).astype(np.int64)
        self.most = np.zeros(len(self.label), dtype=np.int64)
        np.maximum.at(self.most, home, count)
        self.kinds = np.bincount(home[count > 0], minlength=len(self.label))

    def are_small(self, promise: StandingPromise) -> Bool:
        return np.asarray(self.size < promise.k)

    def are_uneven(self, promise: StandingPromise) -> Bool:
        share = Fraction(promise.c).limit_denominator(1_000_000)
        return np.asarray(self.most * share.denominator > share.numerator * (self.size - promise.known))

    def are_alike(self, promise: StandingPromise) -> Bool:
        return np.asarray(self.kinds < promise.l)


def count_weaker(promise: StandingPromise, release: Facts) -> int:
    """How many people of the release are in classes that do not meet the promise, since settings were weaker then."""
    facts = StandingClasses.read(release.extras)
    if facts is None:
        return 0
    sizes = _ClassSizes(facts.tokens)
    weaker = sizes.label[sizes.are_small(promise) | sizes.are_uneven(promise) | sizes.are_alike(promise)]
    return int(np.isin(facts.standing[release.real], weaker).sum())


def _check_new_classes(promise: StandingPromise, case: PromiseCase) -> Iterator[str]:
    """Every new class meets k, c, l and known, and its tokens are its people's values and the made-up ones."""
    tokens = case.facts.tokens
    new = tokens.standing >= case.first
    sizes = _ClassSizes(tokens.part(new))
    if sizes.are_small(promise).any():
        yield f"a class is formed of {int(sizes.size.min()):,} tokens, where k is {promise.k}"
    uneven = sizes.are_uneven(promise)
    if uneven.any():
        worst = tokens.part(tokens.standing == sizes.label[np.flatnonzero(uneven)[0]])
        value = worst.value[worst.count.argmax()]
        yield f"a class is formed in which one value has a share above c = {promise.c:g}: {{value:{value}}}"
    if sizes.are_alike(promise).any():
        yield f"a class is formed with fewer than l = {promise.l} values"
    entered = _counted(case.facts.standing[case.fresh], case.release.values[case.fresh])
    own = np.stack([tokens.standing[new], tokens.value[new], tokens.count[new] - tokens.made_up[new]], axis=1)
    if not np.array_equal(entered, own[own[:, 2] > 0]):
        yield f"the tokens of a new class are not the values of its people{_name_difference(own, entered)}"


def _check_places(promise: StandingPromise, case: PromiseCase) -> Iterator[str]:
    """Nobody changes class or dealt value unless the true value changed; then the class is a new one."""
    if case.last is not None and case.before is not None:
        real = case.last.subjects >= 0
        places = (case.last.subjects[real], case.before.standing[real], case.last.values[real], case.before.dealt[real])
        yield from _compare_places(case, *places)
    left = case.returned
    for people in case.read("standing/people") if len(left) else ():
        subject, *place = (people[name] for name in ("subject", "standing", "value", "dealt"))
        back = np.isin(subject, case.release.subjects[left])  # nobody else: who stayed may have an older place here
        yield from _compare_places(case, subject[back], *(column[back] for column in place))  # type: ignore[arg-type]
        left = left[~np.isin(case.release.subjects[left], subject[back])]
    if not case.fresh[left].all():
        yield "somebody who was never published has an old class"


def _compare_places(case: PromiseCase, subject: Int64, standing: Int32, value: Int32, dealt: Int32) -> Iterator[str]:
    release, facts = case.release, case.facts
    place = np.minimum(np.searchsorted(subject, release.subjects), max(len(subject) - 1, 0))
    now = np.flatnonzero(subject[place] == release.subjects) if len(subject) else place[:0]
    then = place[now]
    same = release.values[now] == value[then]
    moved = now[same][(facts.standing[now] != standing[then])[same]]
    if len(moved):
        yield f"somebody would change class although the value did not change, {{value:{release.values[moved[0]]}}}"
    other = np.flatnonzero(same & (facts.dealt[now] != dealt[then]))
    if len(other):
        shown, before = facts.dealt[now[other[0]]], dealt[then[other[0]]]
        yield f"somebody would show another dealt value than before: {{value:{shown}}} in place of {{value:{before}}}"
    old = np.flatnonzero(~same & ~case.fresh[now])
    if len(old):
        was, is_ = value[then[old[0]]], release.values[now[old[0]]]
        yield f"somebody whose value changed is not in a new class, from {{value:{was}}} to {{value:{is_}}}"


def _check_tokens(promise: StandingPromise, case: PromiseCase) -> Iterator[str]:
    """The classes told are those of the people present, and an old class tells what it always told."""
    tokens = case.facts.tokens
    told, inhabited = (np.flatnonzero(np.bincount(each)) for each in (tokens.standing, case.facts.standing))
    if not np.array_equal(told, inhabited):
        yield "the classes with tokens are not the classes of the people present"
    left = tokens.part(tokens.standing < case.first)
    earlier = [] if case.before is None else [case.before.tokens]
    for told_before in itertools.chain(earlier, (Tokens.read(one) for one in case.read("standing/tokens"))):
        if not len(left):
            break
        same = np.isin(left.standing, told_before.standing)
        now, then = left.part(same), told_before.part(np.isin(told_before.standing, left.standing))
        if not _same_tokens(now, then):
            yield f"the tokens of a class would change{_name_difference(_as_rows(now), _as_rows(then))}"
        left = left.part(~same)
    if len(left):
        yield f"the tokens of a class would change{_name_difference(_as_rows(left), _as_rows(left)[:0])}"


def _check_dealing(promise: StandingPromise, case: PromiseCase) -> Iterator[str]:
    """Dealt values are different tokens of the class; all of them in a new class without made-up ones."""
    tokens = case.facts.tokens
    dealt = _counted(case.facts.standing, case.facts.dealt)
    own = np.stack([tokens.standing, tokens.value], axis=1).astype(np.int64)
    width = int(max(own[:, 1].max(initial=0), dealt[:, 1].max(initial=0))) + 1
    token_key, dealt_key = own[:, 0] * width + own[:, 1], dealt[:, 0] * width + dealt[:, 1]
    at = np.minimum(np.searchsorted(token_key, dealt_key), max(len(token_key) - 1, 0))
    none = np.flatnonzero(token_key[at] != dealt_key) if len(own) else np.arange(len(dealt))
    if len(none):
        yield f"somebody was dealt a value that is no token of the class: {{value:{dealt[none[0], 1]}}}"
        return
    twice = np.flatnonzero(dealt[:, 2] > tokens.count[at])
    if len(twice):
        yield f"a token was dealt to two people: {{value:{dealt[twice[0], 1]}}}"
    blended = np.unique(tokens.standing[tokens.made_up > 0])
    whole = (tokens.standing >= case.first) & ~np.isin(tokens.standing, blended)
    full = np.stack([tokens.standing[whole], tokens.value[whole], tokens.count[whole]], axis=1)
    shown = dealt[(dealt[:, 0] >= case.first) & ~np.isin(dealt[:, 0], blended)]
    if not np.array_equal(full, shown):
        yield f"a new class without made-up tokens has tokens that were dealt to nobody{_name_difference(full, shown)}"


def _check_totals(promise: StandingPromise, case: PromiseCase) -> Iterator[str]:
    """Totals are between what classes let expect and the people present with the noise on record, if there is any."""
    facts, real = case.facts, case.release.subjects >= 0
    if facts.totals is None or facts.expected is None or (promise.totals is None) != (facts.noise is None):
        yield "true totals are published although they were not asked for, or the other way round"
        return
    if int(facts.expected.sum()) != int(real.sum()) or not _are_possible(facts, facts.expected):
        yield "the expected totals are not those of the people present, whatever tokens of their classes they have"
    noisy = facts.expected
    if facts.noise is not None:
        noisy = facts.noise + np.bincount(case.release.values[real], minlength=len(facts.noise))
    if not _are_mixed(facts.totals, facts.expected, noisy):
        yield "the totals are no mixture of those expected and those of the people present with the noise on record"


def _are_mixed(totals: Int64, one: Int64, other: Int64) -> bool:
    """Whether all totals, before they were rounded, lie equally far on the way from one to the other."""
    apart = other - one
    same = apart == 0
    ends = (totals - one + np.array([[-0.5], [0.5]]))[:, ~same] / apart[~same]
    begin, end = ends.min(axis=0).max(initial=0.0), ends.max(axis=0).min(initial=1.0)
    return bool((totals == one)[same].all()) and bool(begin <= end + 1e-9)


def _are_possible(facts: StandingClasses, totals: Int64) -> bool:
    """Whether each total lies between the least and the most people present who can have the value."""
    tokens, width = facts.tokens, int(facts.tokens.standing.max(initial=-1)) + 1
    people = np.bincount(facts.standing, minlength=width)[tokens.standing]
    size = np.bincount(tokens.standing, tokens.count, width)[tokens.standing]
    least = np.bincount(tokens.value, np.maximum(people + tokens.count - size, 0), len(totals))
    most = np.bincount(tokens.value, np.minimum(people, tokens.count), len(totals))
    return bool(((least - 1 <= totals) & (totals <= most + 1)).all())


def _name_difference(now: np.ndarray, then: np.ndarray) -> str:
    """The first value of which classes have more or fewer; both int64[n, 3]: class, value, how many."""
    one, other = ({(own, value): count for own, value, count in rows.tolist()} for rows in (now, then))
    for place in sorted({*one, *other}):
        here, there = one.get(place, 0), other.get(place, 0)
        if here != there:
            return f": {here:,} of {{value:{place[1]}}} in place of {there:,}"
    return ""


def _as_rows(tokens: Tokens) -> np.ndarray:
    """int64[n, 3]: class, value, count."""
    return np.stack([tokens.standing, tokens.value, tokens.count], axis=1).astype(np.int64)


def _distinct(one: Int32, other: Int32) -> np.ndarray:
    """int64[n, 2]: the different pairs, ascending."""
    return _counted(one, other)[:, :2]


def _counted(one: Int32, other: Int32) -> np.ndarray:
    """int64[n, 3]: the different pairs and how often each occurs, ascending."""
    width = int(other.max(initial=0)) + 1
    key, count = np.unique(one.astype(np.int64) * width + other, return_counts=True)
    return np.stack([key // width, key % width, count], axis=1)


def _same_tokens(one: Tokens, other: Tokens) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("standing", "value", "count", "made_up")
    )
