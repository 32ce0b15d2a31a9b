"""What fragments say of themselves, small enough to travel, and what that makes of the release as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Int32, Int64
from reissue.coding import Coding
from reissue.history.public_files import Extent
from reissue.methods.strategy import Strategy
from reissue.model.domain import Domain
from reissue.model.release import Style
from reissue.model.standing_classes import StandingClasses
from reissue.publish.changes import ForbiddenChange, PermittedRows, renewal_sentence
from reissue.publish.fragment import FragmentRelease, SnapshotRows
from reissue.publish.self_check import CommonCheck
from reissue.utility.measure import Utility, measure


@dataclass(frozen=True, eq=False)
class FragmentChanges:
    """One fragment's rows compared with its past, and what cannot be protected.

    counts: rows, and how many subjects are new, gone, back, changed, renewed
    low, high: int32[attributes] the smallest and the largest code that occurs; None in a fragment without rows
    """

    counts: Mapping[str, int]
    problems: tuple[ForbiddenChange, ...]
    low: Int32 | None
    high: Int32 | None

    @property
    def new(self) -> int:
        return self.counts["new"]

    @staticmethod
    def of(permitted: PermittedRows, rows: SnapshotRows) -> FragmentChanges:
        compared = permitted.compared
        counts = {
            "rows": len(rows),
            "new": int((compared.numbers < 0).sum()),
            "gone": len(compared.gone),
            "back": int(compared.back.sum()),
            "changed": int((compared.updated | compared.moved.any(axis=1)).sum()),
            "renewed": permitted.renewed,
        }
        return FragmentChanges(
            counts=counts,
            problems=permitted.problems,
            low=rows.codes.min(axis=0) if len(rows) else None,
            high=rows.codes.max(axis=0) if len(rows) else None,
        )


@dataclass(frozen=True, eq=False)
class FragmentSummary:
    """One fragment of the release, in numbers and sentences. values: int64[values] how often each is published.

    totals: int64[values] what it adds to published totals; None if there are none
    """

    tally: Mapping[str, int]
    steps: tuple[str, ...]
    stopped: tuple[str, ...]
    utility: Utility
    extent: Extent
    style: Style
    values: Int64
    totals: Int64 | None = None

    @staticmethod
    def of(made: FragmentRelease, observed: Sequence[Domain]) -> FragmentSummary:
        tally = {
            "snapshot": len(made.candidate.classes),
            "published": len(made.facts.subjects),
            "classes": made.facts.class_count,
            "suppressed": int((made.candidate.classes < 0).sum()),
            "counterfeits": len(made.candidate.counterfeits),
        }
        utility = measure(made.facts, made.coded, observed)
        extent, style = Extent.of(made.facts), made.facts.style
        kept = StandingClasses.read(made.facts.extras)
        totals = None if kept is None else kept.totals
        return FragmentSummary(tally, made.steps, made.stopped, utility, extent, style, made.values, totals)


def number_new_subjects(next_subject: int, surveys: Sequence[FragmentChanges]) -> list[int]:
    """The number of each fragment's first new subject: fragment after fragment."""
    new = np.cumsum([0, *(survey.new for survey in surveys)])[:-1]
    return [next_subject + int(before) for before in new]


def narrow_domains(surveys: Sequence[FragmentChanges], coding: Coding) -> tuple[Domain, ...]:
    """The domains narrowed to the codes that occur in the snapshot."""
    lows = [survey.low for survey in surveys if survey.low is not None]
    highs = [survey.high for survey in surveys if survey.high is not None]
    if not lows:
        return coding.domains
    low, high = np.min(lows, axis=0), np.max(highs, axis=0)
    return tuple(Domain(d.name, int(low[a]), int(high[a]), d.tree) for a, d in enumerate(coding.domains))


def describe_cost(cost: Utility) -> dict[str, float]:
    """What the release cost, by measure, for the log."""
    return {
        "ail": cost.ail,
        "gcp": cost.gcp_share,
        "discernibility": cost.discernibility_share,
        "class_size": cost.class_size,
    }


def describe_steps(
    strategy: Strategy,
    surveys: Sequence[FragmentChanges],
    results: Sequence[FragmentSummary],
    check: CommonCheck | None,
) -> list[str]:
    """`release.steps`: what was done, in plain sentences. check: where classes are common to all fragments."""
    rows, new, gone, back, changed, renewed = (
        sum(survey.counts[name] for survey in surveys) for name in ("rows", "new", "gone", "back", "changed", "renewed")
    )
    steps = [
        f"Read {rows:,} rows: {new:,} new subjects, {gone:,} gone, {back:,} back again, {changed:,} changed.",
        *([renewal_sentence(strategy, renewed)] if renewed else []),
    ]
    if len(results) > 1:
        sizes = [survey.counts["rows"] for survey in surveys]
        how = "each anonymized by itself" if check is None else "counted by themselves and planned together"
        steps.append(
            f"Divided the rows into {len(results)} fragments of {min(sizes):,} to {max(sizes):,} rows, {how}; who is "
            "in which fragment never changes."
        )
    if len(results) == 1 or check is not None:
        steps += results[0].steps
    else:
        steps += [f"Fragment {i}: {step}" for i, one in enumerate(results, start=1) for step in one.steps]
    stopped = ", ".join(results[0].stopped if check is None else check.stopped)
    against = f", and against the attacks it claims to stop ({stopped})" if stopped else ""
    return [*steps, f"Checked the finished release against the policy{against}."]
