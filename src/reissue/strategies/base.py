"""What every strategy is: frozen settings that make the next release from a snapshot and the history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from reissue.core.snapshot import Candidate, Coded, Facts, History, Table


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
    `private_settings`, names of settings that must not be published.

    Where a table is made fragment by fragment (see docs/spark.md):
    `survey(snapshot, history) -> Tally`, called for every fragment before any is published: what all fragments need to
    know of the whole table. The sums are in the `history.whole` that `publish` and `check` get. Subjects of the
    snapshot who are new are -1 there. `settles`, true if the check needs the values that all fragments together
    publish: the release is made again, each time with `history.whole.published` grown by what was published last, until
    the same is published twice. `follows`, names of the strategies whose earlier releases it can build on (default:
    any). `apart`, true if boxes of different fragments must never meet: then fragments are cut along numeric attributes
    only, and the snapshot's domains are those of the fragment. `whole_table`, true if the guarantee would not hold for
    a table made in fragments.
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
