"""What every strategy is: frozen settings that make the next release from a snapshot and the history."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from reissue.model.fragment_counts import Conversation, Counted, Said, Tally
from reissue.model.release import Candidate, Coded, Facts, History, Table


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What may change between snapshots."""

    new: bool = True
    gone: bool
    back: bool
    quasi_identifiers: bool
    sensitive: bool


ANYTHING = Changes(gone=True, back=True, quasi_identifiers=True, sensitive=True)
INSERT_ONLY = Changes(gone=False, back=False, quasi_identifiers=False, sensitive=False)
VALUES_PERSIST = Changes(gone=True, back=True, quasi_identifiers=True, sensitive=False)


@runtime_checkable
class Strategy(Protocol):
    """A frozen, keyword-only dataclass of settings.

    name:     as in the config ("m-invariance")
    supports: which changes between snapshots it can protect
    stops:    names of the attacks it claims to stop; publish runs them on every finished release

    Optional, where a strategy needs it: `requirement`, what each class must satisfy on its own (checked by
    `core.requirements`); `prepare(names) -> Strategy`, called before publishing to read knowledge files in the
    series' terms; `check(release, history) -> str | None`, an independent test of a promise that is no attack;
    `private_settings`, names of settings that must not be published; `left_out(subjects, history) -> bool[rows]`, who
    will not be published in any case, so that it does not matter what has changed about them (new subjects are -1).

    Where a table is made fragment by fragment (see docs/spark.md):
    `survey(snapshot, history) -> Tally`, called for every fragment before any is published: what all fragments need to
    know of the whole table. The sums are in the `history.whole` that `publish` and `check` get. Subjects of the
    snapshot who are new are -1 there. `settles`, true if the check needs the values that all fragments together
    publish: the release is made again, each time with `history.whole.published` grown by what was published last, until
    the same is published twice. `follows`, names of the strategies whose earlier releases it can build on (default:
    any). Strategies whose classes cannot be divided are `Planner`s; those that choose something for all fragments are
    `Chooser`s.
    """

    name: ClassVar[str]
    supports: ClassVar[Changes]
    stops: ClassVar[tuple[str, ...]]

    def publish(self, snapshot: Coded, history: History) -> Candidate:
        """Propose the next release. Raises InfeasiblePolicy when none exists under these settings."""
        ...

    def remember(self, caches: Mapping[str, Table], release: Facts) -> Mapping[str, Table]:
        """The caches after `release`, given those before it: a pure fold over facts, so they can be rebuilt."""
        ...

    def thresholds(self) -> Mapping[str, float]:
        """The promises by name (k, c, m, e, n, ...): what the self-check and the audit measure against."""
        ...


@runtime_checkable
class Planner(Strategy, Protocol):
    """A strategy whose guarantee would not hold if each fragment were made by itself.

    Fragments only count; one plan is made for all of them, on the sums of their counts; then each puts its own rows
    into the classes of the plan, which are common to all. The promise must be one that the attacks of `stops` measure,
    and these must be able to do so on counts (see `attacks.base`): `requirement` and `check` see single fragments.
    """

    def survey(self, snapshot: Coded, history: History) -> Tally:
        """What the planner needs to know of one fragment, as `Tally.planned`; new subjects are -1."""
        ...

    def plan(self, counted: Counted, history: History) -> Candidate:
        """The next release without its rows. Of `history`, which is one fragment's, only what all have alike is read.

        `publish` finds it in `history.whole.plan`.
        """
        ...


@runtime_checkable
class Chooser(Strategy, Protocol):
    """A strategy that makes every fragment by itself, but with something that is chosen for all of them.

    Fragments answer questions about their own rows, and the choice is made from all answers: small arrays, whatever the
    number of rows. `publish` finds it in `history.whole.chosen`. Where a table is not divided nobody is asked.
    """

    def survey(self, snapshot: Coded, history: History) -> Tally:
        """What `choosing` needs to begin is in `Tally.said`; new subjects are -1."""
        ...

    def choosing(self, said: Sequence[Said]) -> Conversation:
        """Choose for all fragments, which said this; without a question if there is nothing to choose."""
        ...

    def answering(self, snapshot: Coded, history: History) -> Callable[[Said], Said]:
        """One fragment, to be asked; it raises InfeasiblePolicy if it can publish nothing, whatever is chosen."""
        ...
