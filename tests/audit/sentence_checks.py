"""Is what a finding says true of the series? A check for each attack, by plain counting."""

from __future__ import annotations

import re
from collections import Counter
from functools import reduce
from operator import and_

from reissue.methods.attack import Finding
from tests.methods.worlds.tiny_worlds import enumerated
from tests.support.plain_series import Truth, count_nobody, read_people, read_releases


def check_intersection(truth: Truth, finding: Finding, _: object) -> None:
    sure = re.fullmatch(
        r"(.+?) certainly ha(?:s|ve) (v\d+): no other value appears in (?:this person's|their) class in "
        r"(?:both|all of) (.+) \(limit: \d+%\)\.",
        finding.sentence,
    )
    likely = re.fullmatch(
        r"(.+?) ha(?:s|ve) (v\d+) with a chance of (\d+)%: (\d+) of the (\d+) rows that (?:this person's|their) class "
        r"has in common in (?:both|all of) (.+) \(limit: \d+%\)\.",
        finding.sentence,
    )
    told = sure or likely
    assert told
    assert set(read_people(told[1])) <= set(finding.subjects)
    for who in finding.subjects:
        classes = truth.classes_of(who, max(finding.releases))
        assert tuple(number for number, _ in classes) == finding.releases
        common = reduce(and_, (truth.rows[key] for key in classes))
        if sure:
            assert set(common) == {told[2]}
            assert truth.value[who] == told[2]
        else:
            assert (common[told[2]], common.total()) == (int(told[4]), int(told[5]))  # type: ignore[index]
            assert round(100 * common[told[2]] / common.total()) == int(told[3])
    assert read_releases(told.groups()[-1]) == list(finding.releases)


def check_difference(truth: Truth, finding: Finding, attack: object) -> None:
    told = re.fullmatch(
        r"Everyone who is in classe?s? ([\d, .]+) of release (\d+)(?: \((.+?)\))? but not in "
        r"(?:classe?s? ([\d, .]+) of )?release (\d+): (only )?(\d+) pe(?:rson|ople)( and \d+ rows? of nobody "
        r"known)?(.*)",
        finding.sentence,
    )
    assert told
    right, left = int(told[2]), int(told[5])
    around = [(right, int(c)) for c in told[1].split(", ")]
    people = set().union(*(truth.members.get(key, set()) for key in around))
    inside = [(left, int(c)) for c in told[4].split(", ")] if told[4] else []
    people -= set().union(*(truth.members[key] for key in inside)) if inside else truth.of(left)
    assert people == set(finding.subjects)
    assert len(people) == int(told[7])
    assert count_nobody(told[8] or "") == sum(map(truth.nobody, around))
    assert all(truth.lies_in(right, who, told[3]) for who in people if told[3])
    lefts = [(left, c) for c in finding.details["inside"]]  # type: ignore[attr-defined]
    rest = sum((truth.rows[key] for key in around), Counter()) - sum((truth.rows[key] for key in lefts), Counter())
    assert rest.total() == len(people) + count_nobody(told[8] or "")
    value = re.search(r"; (?:the 1 row|(\d+) of the (\d+) rows) ha(?:s|ve) (v\d+) \(limit", told[9])
    if value:
        assert (rest[value[3]], rest.total()) == (int(value[1] or 1), int(value[2] or 1))
    assert bool(value) == (not told[6])
    assert ("fewer than k" in told[9]) == (rest.total() < attack.k)  # type: ignore[attr-defined]


def check_tracing(truth: Truth, finding: Finding, attack: object) -> None:
    told = re.fullmatch(
        r"(\d+) rows? with (v\d+) in class (\d+) of release (\d+) (?:must be in class (\d+) of release (\d+)|can be "
        r"only in some classes of release (\d+)|must come from release (\d+)): (?:nobody|only (\d+) pe(?:rson|ople) "
        r"\((.*)\)) of release (\d+) fits? (.*), fewer than k = (\d+)\.",
        finding.sentence,
    )
    assert told
    older = int(told[11])
    assert older == finding.releases[0]
    assert truth.rows[int(told[4]), int(told[3])][told[2]] >= int(told[1])
    people = read_people(told[10] or "")
    assert len(people) == int(told[9] or 0) < attack.k  # type: ignore[attr-defined]
    assert set(people) == set(finding.subjects)
    if not told[12].startswith("one of these"):
        boxes = told[12].split(" or ")
        fits = {
            who for who in truth.of(older) if boxes == ["there"] or any(truth.lies_in(older, who, b) for b in boxes)
        }
        assert fits == set(people)


def check_correspondence(truth: Truth, finding: Finding, _: object) -> None:
    told = re.search(
        r"someone (?:in (a.+?)|anywhere) who is in release (\d+)(?: but not in release (\d+))?", finding.sentence
    )
    assert told
    came, before = int(told[2]), int(told[3]) if told[3] else None
    for who in finding.subjects:
        assert who in truth.of(came)
        assert before is None or who not in truth.of(before)
        assert told[1] is None or truth.lies_in(came, who, told[1])
        assert set(finding.classes) <= set(truth.classes_of(who))
    count = re.match(
        r"(\d+) of the (\d+) records of release (\d+) that match .* ruled out; (\d+) remain", finding.sentence
    )
    only = re.match(r"Only (\d+) records? of release (\d+) match", finding.sentence)
    assert count or only
    size, number = (int(count[2]), int(count[3])) if count else (int(only[1]), int(only[2]))  # type: ignore[index]
    assert size == truth.rows[number, dict(finding.classes)[number]].total()
    assert not count or int(count[1]) + int(count[4]) == size


def check_association(truth: Truth, finding: Finding, attack: object) -> None:
    m: int = attack.m  # type: ignore[attr-defined]
    person = re.fullmatch(
        r"(?:Taken together|On its own), (.+) leaves? (only )?(.+) for (#\d+)\.( This person's classes show "
        r"different sets of values\.)?",
        finding.sentence,
    )
    if person:
        sets = [set(truth.rows[key]) for key in truth.classes_of(person[4])]
        left = set.intersection(*sets)
        assert set(re.findall(r"v\d+", person[3])) == left
        assert bool(person[2]) == (len(left) < m)
        assert bool(person[5]) == (len(set(map(frozenset, sets))) > 1)
        assert len(read_releases(person[1])) == len(sets)
        return
    told = re.fullmatch(
        r"In release (\d+), (\d+) of the (\d+) rows? of class (\d+)(?: \(.*\))? ha(?:s|ve) (v\d+); (?:with m = \d+ "
        r"(no) value may have more than \d+%|it shows (.*) values?, which are not equally frequent)\.",
        finding.sentence,
    )
    assert told
    rows = truth.rows[int(told[1]), int(told[4])]
    assert (rows[told[5]], rows.total()) == (int(told[2]), int(told[3]))
    assert bool(told[6]) == (rows[told[5]] * m > rows.total())
    assert told[6] or len(set(rows.values())) > 1


def check_equivalence(truth: Truth, finding: Finding, _: object) -> None:
    told = re.fullmatch(
        r"(?:From|However the values are dealt to people, from) (.+): (.+) (?:has|have, together,) the same "
        r"sensitive values? "
        r"as (.+)\.",
        finding.sentence,
    )
    assert told
    left, right = ([*finding.details[side]] for side in ("left", "right"))  # type: ignore[misc]
    assert set(read_people(told[2])) == {who for who in left if who.startswith("#")}
    assert set(read_people(told[3])) == {who for who in right if who.startswith("#")}
    nobody = [sum(not who.startswith("#") for who in side) for side in (left, right)]
    assert bool(any(nobody)) <= any(truth.nobody(key) for key in finding.classes), "rows of nobody that are not there"
    if not any(nobody):
        assert Counter(map(truth.value.get, left)) == Counter(map(truth.value.get, right))
    assert len(left) == len(right) == finding.level


def check_correlation(truth: Truth, finding: Finding, _: object) -> None:
    same = r"[cC]lass (\d+) of release (\d+)(?: \([^)]*\))?"
    apart = re.fullmatch(
        rf"{same} and {same} differ (only )?in (.+) on the one side and (.+) on the other(?:, who have (?:the "
        rf"same value: "
        r"whoever knows one knows the other|together the same values)|: what they show differently is what these have "
        r"differently)\.",
        finding.sentence,
    )
    within = re.fullmatch(
        rf"{same} holds the same rows as {same}, but it (also holds|lacks) (.+): what it shows differently is "
        rf"about these\.",
        finding.sentence,
    )
    if apart or within:
        told = apart or within
        assert told
        one, two = ((int(told[i + 1]), int(told[i])) for i in (1, 3))
        mine, theirs = truth.members.get(one, set()), truth.members.get(two, set())
        if within:
            more = mine - theirs if told[5] == "also holds" else theirs - mine
            less = theirs - mine if told[5] == "also holds" else mine - theirs
            assert (set(read_people(told[6])), less) == (more, set())
            assert truth.nobody(one) - truth.nobody(two) == count_nobody(told[6]) * (
                1 if told[5] == "also holds" else -1
            )
            return
        assert (set(read_people(told[6])), set(read_people(told[7]))) == (mine - theirs, theirs - mine)
        kept = len(truth.counterfeits(one) & truth.counterfeits(two))
        assert (count_nobody(told[6]), count_nobody(told[7])) == (truth.nobody(one) - kept, truth.nobody(two) - kept)
        if told[5]:
            assert truth.rows[one] == truth.rows[two]
        if told[5] and not count_nobody(finding.sentence):
            assert Counter(truth.value[w] for w in mine - theirs) == Counter(truth.value[w] for w in theirs - mine)
        return
    for who, value in re.findall(r"(#\d+) has (v\d+)", finding.sentence):
        assert truth.value[who] == value
    for who, values in re.findall(r"(#\d+) does not have ((?:v\d+)(?: or v\d+)*)", finding.sentence):
        assert truth.value[who] not in values.split(" or ")
    for value, who in re.findall(r"only (v\d+) is left for (#\d+)", finding.sentence):
        assert truth.value[who] == value
    for holders, value, losers in re.findall(
        r"([^;]+?) ha(?:s|ve) (v\d+), so ([^;]+?) (?:does|do) not(?:;|\.)", finding.sentence
    ):
        assert {truth.value[who] for who in read_people(holders)} == {value}
        assert value not in {truth.value[who] for who in read_people(losers)}


def check_beliefs(truth: Truth, finding: Finding, _: object) -> None:
    told = re.fullmatch(
        r"After release (\d+) an attacker is (\d+)% sure that (#\d+) has (v\d+); the class alone gives "
        r"(\d+)%\. The rest "
        r"comes from (earlier releases and )?statistics\.",
        finding.sentence,
    )
    assert told
    number, who = int(told[1]), told[3]
    (key,) = finding.classes
    assert who in truth.members[key]
    assert key[0] == number
    assert round(100 * truth.rows[key][told[4]] / truth.rows[key].total()) == int(told[5])
    assert truth.value[who] == told[4]
    assert bool(told[6]) == (truth.classes_of(who)[0][0] < number)


def check_worlds(truth: Truth, finding: Finding, attack: object) -> None:
    _, worlds = enumerated(list(truth.series.releases), set())
    told = re.fullmatch(
        r"(?:Taken together|On its own), (.+) shows? that (?:at least (\d+) of )?(.+?) (?:(certainly) ha(?:s|ve) (v\d+)"
        r"(?: \(limit: \d+%\))?|can only have (.+), fewer than m = \d+ values): (.+)\.",
        finding.sentence,
    )
    if told is None:
        out = re.fullmatch(
            r"(.+) certainly do(?:es)? not have (.+), although all (?:this person's|their) classes show "
            r"(?:it|them); what is "
            r"left: (.+)\.",
            finding.sentence,
        )
        assert out
        for who in finding.subjects:
            possible = {f"v{world[int(who[1:])]}" for world in worlds}
            shown = set.intersection(*(set(truth.rows[key]) for key in truth.classes_of(who)))
            assert possible == set(re.findall(r"v\d+", out[3]))
            assert shown - possible == set(re.findall(r"v\d+", out[2]))
        return
    people = [int(who[1:]) for who in finding.subjects]
    assert set(read_people(told[3])) <= set(finding.subjects)
    assert len(people) == 1 or f"{len(people)} people" in told[3]
    if told[4]:
        fewest = min(sum(f"v{world[p]}" == told[5] for p in people) for world in worlds)
        assert fewest == int(told[2] or len(people))
    else:
        assert {f"v{world[p]}" for world in worlds for p in people} == set(re.findall(r"v\d+", told[6]))
    if "no other value appears" in told[7]:
        common = set.intersection(*(set(truth.rows[key]) for key in truth.classes_of(f"#{people[0]}")))
        assert len(common) == 1


def check_learning(truth: Truth, finding: Finding, _: object) -> None:
    told = re.match(
        r"(?:Taken together, the classes of (.+) leave|The class of (.+) leaves) (.+) for (#\d+); weighed "
        r"together with "
        r"everybody else's, (?:they make|it makes) an attacker (?:more than )?\d+% sure that it is (v\d+), rightly\. "
        r"(?:One of them alone gives at most|Alone it gives) ",
        finding.sentence,
    )
    assert told
    classes = truth.classes_of(told[4])
    assert finding.classes == tuple(classes)
    assert set(finding.details["values"]) == set.intersection(*(set(truth.rows[key]) for key in classes))  # type: ignore[call-overload]
    assert truth.value[told[4]] == told[5]
    assert (len(classes) > 1) == bool(told[1])


def check_known_algorithm(truth: Truth, finding: Finding, _: object) -> None:
    told = re.match(
        r"Knowing how the classes of (.+) were (?:cut|dealt), an attacker is (?:more than )?\d+% sure that (#\d+) "
        r"has (v\d+), rightly; "
        r"one class alone gives at most ",
        finding.sentence,
    )
    assert told
    assert truth.value[told[2]] == told[3]
    assert finding.classes == tuple(truth.classes_of(told[2]))
