"""What every strategy is: frozen settings that make the next release from a snapshot and the history."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from reissue.arrays.types import Bool, Int64
from reissue.errors import SettingsError
from reissue.model.fragment_counts import CountedSnapshot, FragmentCounts
from reissue.model.observed import Names, Observed
from reissue.model.release import Candidate, Coded, Facts, History, Table
from reissue.model.settings import check_settings

if TYPE_CHECKING:  # kernels, which opening a series does not need
    from reissue.model.requirement import Requirement


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


@dataclass(frozen=True, kw_only=True)
class Strategy(ABC):
    """A frozen, keyword-only dataclass of settings; what it does not say itself is as here.

    name:     as in the config ("m-invariance")
    supports: which changes between snapshots it can protect
    stops:    names of all attacks it promises to stop: pages, audit and compare say this and nothing else
    proved:   those of `stops` that cannot succeed where all releases passed its other checks, as its page proves;
              publish runs the others on every finished release, and these beside releases that others made
    stands:   whether classes are kept for life and values dealt inside them (`model.standing_classes`): then no other
              strategy can go on from its releases
    private_settings: names of settings that must not be published

    Where a table is made fragment by fragment (see docs/spark.md):
    follows:  names of the strategies whose earlier releases it can build on; None: any
    repeats_until_stable: whether its check needs the values that all fragments together publish. The release is then
              made again, each time with `history.whole.published` grown by what was published last, until the same is
              published twice.
    plans_for_all: whether one plan is made for all fragments: then it is a `Planner`.
    """

    name: ClassVar[str]
    supports: ClassVar[Changes]
    stops: ClassVar[tuple[str, ...]] = ()
    proved: ClassVar[tuple[str, ...]] = ()
    stands: ClassVar[bool] = False
    private_settings: ClassVar[tuple[str, ...]] = ()
    follows: ClassVar[tuple[str, ...] | None] = None
    repeats_until_stable: ClassVar[bool] = False
    plans_for_all: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self)
        _ = self.requirement  # which checks what settings mean together

    @abstractmethod
    def publish(self, snapshot: Coded, history: History) -> Candidate:
        """Propose the next release. Raises InfeasiblePolicy when none exists under these settings."""

    @abstractmethod
    def remember(self, caches: Mapping[str, Table], release: Facts) -> Mapping[str, Table]:
        """The caches after `release`, given those before it: a pure fold over facts, so they can be rebuilt."""

    @property
    def promised(self) -> tuple[str, ...]:
        """Those of `stops` that are promised under these settings: all, unless a limit is too weak for one."""
        return self.stops

    @abstractmethod
    def thresholds(self) -> Mapping[str, float]:
        """The promises by name (k, c, m, e, n, ...): what the self-check and the audit measure against."""

    def measured_thresholds(self) -> Mapping[str, float]:
        """What an audit measures besides the promises, by name: publish tells it, and does not refuse."""
        return {}

    @property
    def requirement(self) -> Requirement | None:
        """What each class must satisfy on its own; `model.requirement_check` checks it on the finished release."""
        return None

    def reading_notes(self) -> Sequence[str]:
        """What a recipient must know to read the release, beyond what its columns say; for `release.json`."""
        return ()

    def audit_notes(self) -> Sequence[str]:
        """What the reader of an audit must know of what the strategy leaves open, and what would close it."""
        return ()

    @classmethod
    def list_attacks_to_run(cls) -> list[str]:
        """The attacks that publish runs on every finished release."""
        return [name for name in cls.stops if name not in cls.proved]

    def prepare(self, names: Names) -> Self:
        """The strategy with its knowledge files read in the series' terms: called before publishing."""
        return self

    def check(self, release: Facts, history: History) -> str | None:
        """An independent test of a promise that is no attack: why the finished release breaks it, None if not."""
        return None

    def count_weaker(self, release: Facts) -> int:
        """How many people of the release keep what weaker settings of an earlier release gave them for life."""
        return 0

    def check_shared(self, shared: Sequence[Int64]) -> str | None:
        """Why boxes that several fragments show break a promise, None if they do not.

        shared: of each box int64[values], how many rows of all fragments show each value.
        """
        return None

    def second_check(self, series: Observed, seed: int) -> str | None:
        """What a second, slow and obvious form of the attacks of `stops` finds in the newest release; None: nothing.

        For strategies that plan with a kernel by which these attacks measure: it shares no code with them, looks at all
        that is small and at a seeded sample of what is not, and costs at most a tenth of publishing.
        """
        return None

    def left_out(self, subjects: Int64, history: History) -> Bool | None:
        """bool[rows]: who will not be published in any case, so that it does not matter what has changed about them.

        None: nobody. New subjects are -1.
        """
        return None

    def survey(self, snapshot: Coded, history: History) -> FragmentCounts | None:
        """What all fragments need to know of this one; None: nothing. Called before any fragment is published.

        The sums are in the `history.whole` that `publish` and `check` get. New subjects are -1 here.
        """
        return None

    @property
    def undivided(self) -> str | None:
        """Why this strategy cannot make a table in fragments, and what to use instead; None where it can."""
        return None

    def refuse_fragments(self, count: int) -> None:
        """Raise SettingsError if a table of so many fragments cannot be made."""
        if count > 1 and self.undivided:
            raise SettingsError(f"{self.undivided} The table is to be made in {count} fragments.")

    def side_of_a_cut(self, room: float) -> Requirement:
        """What a fragment must satisfy as one class: the promises, a share `room` of each limit, to stay feasible."""
        from reissue.model.requirement import Requirement

        limits = self.thresholds()
        t, beta = limits.get("t"), limits.get("beta")
        return Requirement(
            c=room * min(limits.get("c", 1.0), 1 / limits.get("m", 1.0)),
            t=None if t is None else room * t,
            beta=None if beta is None else room * beta,
        )


class Planner(Strategy):
    """A strategy whose guarantee would not hold if each fragment were made by itself.

    Fragments only count; one plan is made for all of them, on the sums of their counts; then each puts its own rows
    into the classes of the plan, which are common to all. The promise must be one that the attacks of `stops` measure,
    and these must be able to do so on counts (see `methods.attack`): `requirement` and `check` see single fragments.
    """

    plans_for_all: ClassVar[bool] = True

    @abstractmethod
    def survey(self, snapshot: Coded, history: History) -> FragmentCounts:
        """What the planner needs to know of one fragment, as `Tally.planned`; new subjects are -1."""

    @abstractmethod
    def plan(self, counted: CountedSnapshot, history: History) -> Candidate:
        """The next release without its rows. Of `history`, which is one fragment's, only what all have alike is read.

        `publish` finds it in `history.whole.plan`.
        """
