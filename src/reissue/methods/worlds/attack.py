"""One adversary over all: what holds in every world that is consistent with all releases at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from reissue.arrays.sets import intersection, sorted_unique, union
from reissue.arrays.types import Bool, Float64, Int64
from reissue.errors import SettingsError
from reissue.methods.attack import (
    Attack,
    Finding,
    Outcome,
    WorkDivision,
    begin_sentence,
    call_people,
    count_people,
    count_rows,
    list_names,
    name_releases,
    name_subjects,
)
from reissue.methods.worlds.solver import Inconsistent, Settled, settle
from reissue.methods.worlds.worlds import Paths, Worlds, build_worlds, find_paths, narrow, truth
from reissue.model.observed import Observed, ObservedRelease
from reissue.model.settings import Share, SignatureSize, Within, as_fraction


@dataclass(frozen=True, eq=False)
class SettledSeries:
    """A settled series, by path."""

    releases: list[ObservedRelease]
    paths: Paths
    worlds: Worlds
    settled: Settled

    @property
    def order(self) -> Int64:
        return np.arange(len(self.paths.size), dtype=np.int64)

    @property
    def _asked(self) -> Bool:
        """bool[paths]: paths of people whose value the attacker does not know beforehand."""
        return np.asarray((self.order < self.paths.people) & (self.paths.known < 0), dtype=np.bool_)

    @cached_property
    def _first(self) -> Int64:
        """int64[paths of people]: the first subject of each."""
        return self.paths.subjects[np.unique(self.paths.of, return_index=True)[1]]

    @cached_property
    def share(self) -> Float64:
        """float64[paths]: the largest share of one value that is certain."""
        top = np.zeros(len(self.paths.size))
        np.maximum.at(top, self.worlds.path, self.settled.least / self.paths.size[self.worlds.path])
        return top

    @cached_property
    def possible(self) -> Int64:
        """int64[paths]: how many values remain."""
        return np.bincount(self.worlds.path, self.settled.most > 0, len(self.paths.size)).astype(np.int64)

    def broken(self, c: float, m: int) -> Bool:
        limit = as_fraction(c)
        size = self.paths.size[self.worlds.path]
        over = (self.settled.least * limit.denominator > size * limit.numerator) | (self.settled.least == size)
        any_over = np.bincount(self.worlds.path, over, len(self.paths.size)) > 0
        return np.asarray(self._asked & (any_over | (self.possible < m)), dtype=np.bool_)

    def ruled_out(self) -> Bool:
        """bool[paths]: some value that all its classes show is in no world."""
        never = np.bincount(self.worlds.path, self.settled.most == 0, len(self.paths.size)) > 0
        return np.asarray(self._asked & never, dtype=np.bool_)

    def worst(self, chosen: Bool, limit: int) -> Int64:
        """The worst of the chosen paths: the surest first, then those with the fewest values left."""
        which = np.flatnonzero(chosen)
        rank = np.lexsort((self._first[which], self.possible[which], -self.share[which]))
        return which[rank[: max(limit, 0)]]

    def subjects(self, chosen: Bool) -> Int64:
        return self.paths.subjects[chosen[self.paths.of]]

    def about(self, path: int) -> tuple[Int64, tuple[tuple[int, int], ...], Int64]:
        """(subjects, (release, class) pairs, entries) of one path."""
        way = self.paths.classes[path]
        classes = tuple((r.number, r.called(c)) for r, c in zip(self.releases, way, strict=True) if c >= 0)
        first, last = np.searchsorted(self.worlds.path, [path, path + 1])
        return self.paths.subjects[self.paths.of == path], classes, np.arange(first, last)

    def measures(self, at_risk: int) -> dict[str, float]:
        asked = self._asked
        share, possible = self.share[asked], self.possible[asked]
        sure = share >= 1.0
        single = np.bincount(self.worlds.path, minlength=len(self.paths.size))[asked] == 1
        size = self.paths.size[asked]
        return {
            "paths": float(asked.sum()),
            "highest_certain_share": float(share.max(initial=0.0)),
            "fewest_possible_values": float(possible.min()) if len(possible) else 0.0,
            "subjects_at_risk": float(at_risk),
            "certain_subjects": float(size[sure].sum()),
            "certain_only_jointly": float(size[sure & ~single].sum()),
            "values_ruled_out_jointly": float((self.settled.most == 0)[asked[self.worlds.path]].sum()),
            "components": float(self.settled.components),
            "paths_left_out": float(len(self._people_of(~self.settled.looked))),
            "paths_undecided": float(len(self._people_of(self.settled.looked & ~self.settled.whole))),
        }

    def _people_of(self, entries: Bool) -> Int64:
        """int64[]: the paths of people with one of these entries."""
        paths = sorted_unique(self.worlds.path[entries])
        return np.asarray(paths[paths < self.paths.people], dtype=np.int64)

    @cached_property
    def tallies(self) -> dict[str, int]:
        """Rows of nobody known, people whom the time did not reach, people for whom it reached in part."""
        left, open_ = self._people_of(~self.settled.looked), self._people_of(self.settled.looked & ~self.settled.whole)
        size = self.paths.size
        return {
            "nobody": int(size[self.paths.people :].sum()),
            "left_out": int(size[left].sum()),
            "undecided": int(size[open_].sum()),
        }


CHANGED = "No assignment of values to people fits all releases: values have changed, and nothing can be concluded."


@dataclass(frozen=True, kw_only=True)
class PossibleWorlds(Attack):
    """Count, over all consistent assignments of values to people, what no assignment avoids.

    People with the same path through the classes are exchangeable, so an assignment is a table of counts, path by
    value, with one equation per class and value; integer programs settle each connected part of it.

    c:           the largest share of one value that may be certain among people who shared all their classes
    m:           fewer possible values than this for a person is a breach
    compromised: people whose value the attacker knows (surrogate numbers, or names as the series' words give them)
    seconds:     how much work integer programs may be: counted, about so many seconds on an ordinary processor, so that
                 the same series gives the same answer everywhere; what is not reached is told in the notes
    """

    c: Share = 0.5
    m: SignatureSize = 2
    compromised: tuple[int | str, ...] = ()
    seconds: Annotated[float, Within("an amount of work in seconds", least=0)] = 5.0

    name: ClassVar[str] = "possible-worlds"
    assumes: ClassVar[str] = (
        "The attacker knows who is in which class of every release, that values do not change, and reasons about "
        "everybody at once."
    )
    divisions: ClassVar[Mapping[WorkDivision, str]] = {
        WorkDivision.PARTS: "worlds of the whole are all combinations of worlds of the parts"
    }
    combines: ClassVar[Mapping[str, str]] = {
        "paths": "sum",
        "highest_certain_share": "max",
        "fewest_possible_values": "min",
        "subjects_at_risk": "sum",
        "certain_subjects": "sum",
        "certain_only_jointly": "sum",
        "values_ruled_out_jointly": "sum",
        "components": "sum",
        "paths_left_out": "sum",
        "paths_undecided": "sum",
    }

    def divides(self, division: WorkDivision) -> bool:
        """Compromised people are looked up among everybody."""
        return not self.compromised and super().divides(division)

    @property
    def looks_for_names(self) -> bool:
        return any(isinstance(person, str) for person in self.compromised)

    def run(self, series: Observed, *, involving: int | None = None) -> Outcome:
        """Settle all paths; `involving=n`: the releases up to n, without what those before n tell already."""
        until = len(series) if involving is None else involving
        releases = list(series.releases[:until])
        view = self._seen(series, releases)
        if view is None:
            return Outcome(attack=self.name, findings=(), total=0, notes=(CHANGED,))
        broken = view.broken(self.c, self.m)
        if involving is not None and until > 1:
            before = self._seen(series, releases[:-1])
            told = np.empty(0, np.int64) if before is None else before.subjects(before.broken(self.c, self.m))
            broken &= np.isin(view.order, view.paths.of[~np.isin(view.paths.subjects, told)])
        ruled_out = view.ruled_out() & ~broken if involving is None else np.zeros_like(broken)
        findings = [self._finding(series, view, int(p)) for p in view.worst(broken, self.limit)]
        left = self.limit - len(findings)
        findings += [self._excluded(series, view, int(p)) for p in view.worst(ruled_out, left)]
        exposed = view.subjects(broken)
        return Outcome(
            attack=self.name,
            findings=tuple(findings),
            total=int(broken.sum() + ruled_out.sum()),
            at_risk={r.number: intersection(_list_subjects(r), exposed) for r in releases},
            measures=view.measures(len(exposed)),
            notes=self.notes(view.tallies),
            tallies=view.tallies,
            unfinished=view.tallies["left_out"] + view.tallies["undecided"],
        )

    def notes(self, tallies: Mapping[str, int]) -> tuple[str, ...]:
        notes, seconds = [], self.seconds
        if tallies["nobody"]:
            notes.append(
                f"{count_rows(tallies['nobody'])} {'matches' if tallies['nobody'] == 1 else 'match'} no known person "
                "(counterfeits, perhaps) and may hold any value."
            )
        more = f"More may be found with `--set seconds={12 * max(seconds, 1):g}`."
        if tallies["left_out"]:
            notes.append(
                f"{seconds:g} seconds of work did not reach the parts of {count_people(tallies['left_out'])}: for them "
                f"only what single equations imply was found. {more}"
            )
        if tallies["undecided"]:
            notes.append(
                f"Work ran out for {count_people(tallies['undecided'])}, so that they were checked only in part: what "
                f"is said of them holds. {more}"
            )
        return tuple(notes)

    def _seen(self, series: Observed, releases: list[ObservedRelease]) -> SettledSeries | None:
        """The settled series; None if no world fits it."""
        paths = find_paths(releases, self._known(series, releases))
        worlds = build_worlds(releases, paths)
        bounds = narrow(worlds)
        if bounds is None:
            return None
        try:
            settled = settle(worlds, bounds, truth(worlds, releases, paths), float(as_fraction(self.c)), self.seconds)
        except Inconsistent:
            return None
        return SettledSeries(releases, paths, worlds, settled)

    def _known(self, series: Observed, releases: list[ObservedRelease]) -> Int64:
        """int64[]: the numbers of the compromised."""
        everyone = union(*(_list_subjects(r) for r in releases))
        numbers = [person for person in self.compromised if isinstance(person, int)]
        named = {person for person in self.compromised if isinstance(person, str)}
        if named:
            found = {series.words.subject(number): number for number in everyone.tolist()}
            missing = sorted(named - set(found))
            if missing:
                raise SettingsError(f"'{missing[0]}' is in no release; compromised must name people of the series.")
            numbers += [found[person] for person in named]
        return np.array(sorted(numbers), dtype=np.int64)

    def _finding(self, series: Observed, view: SettledSeries, path: int) -> Finding:
        words, who, classes, entries = series.words, *view.about(path)
        size = int(view.paths.size[path])
        top = entries[np.argmax(view.settled.least[entries])]
        certain, most = int(view.settled.least[top]), int(view.settled.most[top])
        possible = entries[view.settled.most[entries] > 0]
        share, value = certain / size, words.value(int(view.worlds.value[top]))
        few = share <= self.c and certain < size
        which = call_people(name_subjects(words, who), size)
        if few:
            left = list_names(words.value(int(view.worlds.value[e])) for e in possible)
            says = f"can only have {left}, fewer than m = {self.m} values"
        elif certain == size:
            says = f"certainly {'has' if size == 1 else 'have'} {value}"
        else:
            which, says = f"at least {certain} of {which}", f"certainly have {value} (limit: {100 * self.c:.0f}%)"
        joint = len(entries) > 1
        whose = "this person's" if size == 1 else "their"
        single = f"no other value appears in all {whose} classes"
        why = "no other assignment of values fits all classes" if joint else single
        used = tuple(r.number for r in view.releases) if joint else tuple(number for number, _ in classes)
        alone = len(used) == 1
        together = f"{'On its own' if alone else 'Taken together'}, {name_releases(words, used)}"
        return Finding(
            attack=self.name,
            releases=used,
            subjects=name_subjects(words, who),
            classes=classes,
            value=None if few else value,
            level=float(len(possible)) if few else share,
            unit="possible values" if few else "share of one value",
            threshold=float(self.m) if few else self.c,
            sentence=f"{together} {'shows' if alone else 'show'} that {which} {says}: {why}.",
            details={"people": size, "share": (share, most / size), "joint": joint},
            rank=(0, -float(view.share[path]), len(possible), int(who[0])),
        )

    def _excluded(self, series: Observed, view: SettledSeries, path: int) -> Finding:
        words, subjects, classes, entries = series.words, *view.about(path)
        who = name_subjects(words, subjects)
        never = entries[view.settled.most[entries] == 0]
        left = entries[view.settled.most[entries] > 0]
        out, stay = ([words.value(int(view.worlds.value[e])) for e in part] for part in (never, left))
        size = int(view.paths.size[path])
        does, whose = ("does", "this person's") if size == 1 else ("do", "their")
        return Finding(
            attack=self.name,
            releases=tuple(r.number for r in view.releases),
            subjects=who,
            classes=classes,
            level=float(len(left)),
            unit="possible values",
            threshold=float(self.m),
            breach=False,
            sentence=begin_sentence(
                f"{call_people(who, size)} certainly {does} not have {' or '.join(out)}, although all {whose} "
                f"classes show {'it' if len(out) == 1 else 'them'}; what is left: {list_names(stay)}."
            ),
            details={"people": size, "joint": True},
            rank=(1, -float(view.share[path]), len(left), int(subjects[0])),
        )


def _list_subjects(release: ObservedRelease) -> Int64:
    assert release.members is not None, "needs_members: the auditor skips the attack otherwise"
    return release.members.subjects
