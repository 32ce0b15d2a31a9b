"""Compromised records: what an attacker holds to know about single people, with a confidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Bool, Float64, Int32, Int64


@dataclass(frozen=True, eq=False)
class Claims:
    """CR(v, s, t): one entry per subject, value and release.

    subjects: int64[n]; values: int32[n]; releases: int32[n] numbers; confidences: float64[n] in 0..1
    """

    subjects: Int64
    values: Int32
    releases: Int32
    confidences: Float64

    @staticmethod
    def none() -> Claims:
        empty = np.empty(0, dtype=np.int32)
        return Claims(np.empty(0, dtype=np.int64), empty, empty, np.empty(0))

    def __len__(self) -> int:
        return len(self.subjects)

    def take(self, which: Bool | Int64) -> Claims:
        return Claims(self.subjects[which], self.values[which], self.releases[which], self.confidences[which])

    def at(self, release: int) -> Claims:
        """Those about one release."""
        return self.take(self.releases == release)

    def about(self, subjects: Int64) -> tuple[Int64, Int32, Float64]:
        """CSR over int64[people] (any order): start int64[people+1], values and confidences of each one's claims."""
        order = np.argsort(subjects, kind="stable")
        sorted_subjects = subjects[order]
        place = np.searchsorted(sorted_subjects, self.subjects)
        inside = place < len(subjects)
        inside[inside] = sorted_subjects[place[inside]] == self.subjects[inside]
        person = order[place[inside]]
        rank = np.argsort(person, kind="stable")
        start = np.zeros(len(subjects) + 1, dtype=np.int64)
        np.cumsum(np.bincount(person, minlength=len(subjects)), out=start[1:])
        return start, self.values[inside][rank].astype(np.int32), self.confidences[inside][rank].astype(np.float64)


def mix_claims(prior: Float64, start: Int64, values: Int32, confidences: Float64) -> Float64:
    """float64[people, values]: CR_RPD (equation 5): every claim with its confidence, the prior with the rest.

    The law of total probability over "the claim is right": c on the claimed value, (1 - c) times the prior on all.
    """
    if len(values) == 0:
        return prior
    person = np.repeat(np.arange(len(prior)), np.diff(start))
    total = np.bincount(person, weights=confidences, minlength=len(prior))
    revised = prior * np.maximum(0.0, 1.0 - total)[:, None]
    np.add.at(revised, (person, values), confidences)
    return np.asarray(revised / np.maximum(1.0, total)[:, None], dtype=np.float64)
