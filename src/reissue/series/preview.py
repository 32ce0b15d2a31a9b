"""A release before it is published: what it costs, what it changes, and what the series would then give away."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reissue.documents import write_json
from reissue.publish.gates import Stop
from reissue.series.release import Release

if TYPE_CHECKING:
    from reissue.audit import Audit
    from reissue.history.past_releases import UnseenRelease
    from reissue.ledger import Ledger
    from reissue.methods.strategy import Strategy
    from reissue.publish.publishing import Draft

FORMAT = "reissue-preview/1"
SHOWN = 20
"""People newly exposed that are listed, at most."""


@dataclass(frozen=True, eq=False)
class Preview:
    """The next release, made and checked but neither written nor remembered.

    release: as it would be published; last: the one before it, None if there is none
    stops:   the gates that stop it, also those that are allowed
    audit:   what the series gives away with it; before: without it (None where nothing was published, or not asked)
    newly_exposed: people whom a successful attack puts at risk only with this release; the first of them by name
    """

    release: Release
    last: Release | None
    stops: tuple[Stop, ...]
    audit: Audit | None
    before: Audit | None
    newly_exposed: int | None
    exposed_names: tuple[str, ...]

    @property
    def stopped(self) -> tuple[Stop, ...]:
        """The gates that would stop publish."""
        return tuple(stop for stop in self.stops if not stop.allowed)

    @property
    def diff(self) -> dict[str, object]:
        """Against the last release: who is new, gone, back or changed, and what counts and measures differ by."""
        now, last = self.release, self.last
        people = {name: now.counts[name] for name in ("new", "gone", "back", "changed")}
        counts, cost = ({}, {}) if last is None else (last.counts, last.utility)
        shared = [name for name in now.counts if name in counts and name not in people]
        return {
            "last": None if last is None else last.number,
            "people": people,
            "counts": {name: now.counts[name] - counts[name] for name in shared},
            "utility": {name: now.utility[name] - cost[name] for name in cost},
            "newly_exposed": self.newly_exposed,
            "exposed": list(self.exposed_names),
        }

    def to_dict(self) -> dict[str, object]:
        """The document `reissue-preview/1`, JSON-able."""
        release = self.release.to_dict()
        for written in ("path", "created"):  # there is neither
            release.pop(written)
        return {
            "format": FORMAT,
            "release": release,
            "diff": self.diff,
            "gates": [stop.to_dict() for stop in self.stops],
            "would_publish": not self.stopped,
            "audit": None if self.audit is None else self.audit.to_dict(findings=SHOWN),
        }

    def to_json(self) -> str:
        return write_json(self.to_dict(), None)

    def describe(self) -> str:
        """The preview in a few lines, for a terminal."""
        steps = "\n  ".join([f"Release {self.release.name} would be published as follows:", *self.release.steps])
        parts = [steps, self._describe_cost(), "\n".join(self._describe_gates()), *self._describe_audit()]
        return "\n\n".join([*parts, "This was a preview: nothing was published, written or remembered."])

    def _describe_cost(self) -> str:
        """What readers lose by it, beside the last release."""
        now, last = self.release, self.last
        before = {} if last is None else last.utility
        beside = f" (release {last.name}: {before['gcp']:.1%})" if last is not None and "gcp" in before else ""
        told = f"It costs {now.utility['gcp']:.1%} of the detail{beside}."
        added = [
            f"{now.counts[name]:,} {what}"
            for name, what in (("suppressed", "rows withheld"), ("counterfeits", "counterfeits"))
            if now.counts.get(name)
        ]
        return f"{told} {' and '.join(added)}." if added else told

    def _describe_gates(self) -> list[str]:
        if not self.stops:
            return ["No gate stops it."]
        return [f"Gate {one.gate} {'is allowed' if one.allowed else 'stops it'}: {one.sentence}" for one in self.stops]

    def _describe_audit(self) -> list[str]:
        if self.audit is None:
            return []
        lines = ["With it, the series would give this away:", self.audit.describe()]
        if self.before is not None:
            more = f": {', '.join(self.exposed_names)}" if self.newly_exposed else ""
            more += ", ..." if (self.newly_exposed or 0) > len(self.exposed_names) else ""
            people = "1 person is" if self.newly_exposed == 1 else f"{self.newly_exposed:,} people are"
            lines.append(f"{people} exposed by this release who were not before{more}.")
        return ["\n".join(lines)]


def audit_twice(
    ledger: Ledger,
    draft: Draft,
    strategy: Strategy,
    unseen: UnseenRelease,
    attacks: Sequence[str] | None,
    names: bool,
    progress: Callable[[str], None],
) -> list[Audit]:
    """The audits of the series without the release, if it has others, and with it."""
    from reissue.audit import audit_series
    from reissue.audit.attacks import resolve_request

    section = ledger.meta.get("audit", {})
    assert isinstance(section, Mapping)
    chosen, settings = resolve_request(section, attacks, {})
    return [
        audit_series(
            ledger,
            draft.job.coding,
            strategy,
            {"name": "embedded"},
            attacks=chosen,
            names=names,
            progress=progress,
            unseen=one,
            **settings,  # type: ignore[arg-type]
        )
        for one in ([None, unseen] if ledger.releases else [unseen])
    ]


def make_preview(release: Release, last: Release | None, stops: tuple[Stop, ...], audits: Sequence[Audit]) -> Preview:
    """audits: without the release and with it; with it alone if it is the first; none if nobody asked."""
    if not audits:
        return Preview(release, last, stops, None, None, None, ())
    after, before = audits[-1], audits[0] if len(audits) > 1 else None
    exposed = after.at_risk if before is None else np.setdiff1d(after.at_risk, before.at_risk)
    names = tuple(after.observed.words.subject(int(number)) for number in exposed[:SHOWN])
    return Preview(release, last, stops, after, before, len(exposed), names)
