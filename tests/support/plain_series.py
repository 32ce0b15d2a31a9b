"""A series as plain sets, to evaluate on it what findings say; and tiny series to find something in."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reissue.model.boxes import bounding_boxes
from reissue.model.domain import Domain
from reissue.model.observed import Members, Observed, ObservedRelease
from tests.support.words import PlainWords

DOMAINS = (Domain("a0", 0, 9), Domain("a1", 0, 4))


class Words(PlainWords):
    """Boxes that are everything are called so, as the words of a series do."""

    def box(self, box: np.ndarray) -> str:
        everything = all(lo <= d.lo and hi >= d.hi for (lo, hi), d in zip(box.tolist(), DOMAINS, strict=False))
        return "everyone" if everything and len(box) == len(DOMAINS) else super().box(box)


def tiny_series(rng: np.random.Generator, *, people: int = 7, grows: bool = False) -> Observed:
    """Three releases of a few people in classes of neighbours; rows of nobody here and there, boxes that overlap."""
    codes = np.stack([rng.integers(d.lo, d.hi + 1, people) for d in DOMAINS], axis=1).astype(np.int32)
    value = rng.integers(0, 3, people).astype(np.int32)
    came, made = rng.integers(0, 3, people) * (rng.random(people) < 0.6), []
    for number in range(1, 4):
        here = np.flatnonzero(came < number) if grows else np.flatnonzero(rng.random(people) < 0.8)
        order = here[np.argsort(codes[here, rng.integers(2)], kind="stable")]
        parts = np.array_split(order, max(1, len(here) // 3))
        classes = np.empty(people, dtype=np.int32)
        for c, part in enumerate(parts):
            classes[part] = c
        extra = [] if grows or rng.random() < 0.5 else [(int(rng.integers(len(parts))), int(rng.integers(3)))]
        own, shown = classes[here], value[here]
        members = Members(here.astype(np.int64), own, codes[here], shown)
        boxes = bounding_boxes(codes[here], own, len(parts))
        both = np.array([*own, *(c for c, _ in extra)], np.int32), np.array([*shown, *(v for _, v in extra)], np.int32)
        made.append(ObservedRelease(number, boxes, *both, members))
    return Observed(made, DOMAINS, 3, Words())


@dataclass(frozen=True)
class Truth:
    """A series as plain sets: who is in which class, what the classes show, what people have."""

    series: Observed

    @cached_property
    def members(self) -> dict[tuple[int, int], set[str]]:
        found: dict[tuple[int, int], set[str]] = {}
        for release in self.series.releases:
            assert release.members is not None
            for s, c in zip(release.members.subjects, release.members.classes, strict=True):
                found.setdefault((release.number, int(c)), set()).add(f"#{s}")
        return found

    @cached_property
    def rows(self) -> dict[tuple[int, int], Counter[str]]:
        found: dict[tuple[int, int], Counter[str]] = {}
        for release in self.series.releases:
            for c, v in zip(release.classes, release.values, strict=True):
                found.setdefault((release.number, int(c)), Counter())[f"v{v}"] += 1
        return found

    @cached_property
    def value(self) -> dict[str, str]:
        return {
            f"#{s}": f"v{v}"
            for r in self.series.releases
            for s, v in zip(r.members.subjects, r.members.values, strict=True)  # type: ignore[union-attr]
        }

    @cached_property
    def codes(self) -> dict[tuple[int, str], list[int]]:
        return {
            (r.number, f"#{s}"): own.tolist()
            for r in self.series.releases
            for s, own in zip(r.members.subjects, r.members.codes, strict=True)  # type: ignore[union-attr]
        }

    def of(self, number: int) -> set[str]:
        return {who for r, who in self.codes if r == number}

    def classes_of(self, who: str, until: int = 99) -> list[tuple[int, int]]:
        return sorted(key for key, people in self.members.items() if who in people and key[0] <= until)

    def nobody(self, key: tuple[int, int]) -> int:
        return self.rows[key].total() - len(self.members.get(key, set()))

    def counterfeits(self, key: tuple[int, int]) -> set[int]:
        """Those that can be followed from release to release."""
        fakes = self.series.releases[key[0] - 1].counterfeits
        return set() if fakes is None else set(fakes.subjects[fakes.classes == key[1]].tolist())

    def lies_in(self, number: int, who: str, box: str) -> bool:
        sides = [tuple(map(int, side)) for side in re.findall(r"a\d (-?\d+)-(\d+)", box)]
        return all(lo <= code <= hi for code, (lo, hi) in zip(self.codes[number, who], sides, strict=True))


def read_people(text: str) -> list[str]:
    return re.findall(r"#-?\d+", text)


def read_releases(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"release (\d+)", text)]


def count_nobody(text: str) -> int:
    return sum(map(int, re.findall(r"(\d+) rows? of nobody known", text)))
