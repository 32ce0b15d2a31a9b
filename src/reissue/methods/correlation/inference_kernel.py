"""The fixed point of ct-pvr and hc-pvr, compiled. `inference` explains the arrays and the rules."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np

from reissue.arrays.compiled import njit

GIVEN, CT, HC = 4, 1, 2


@njit(cache=True)
def _seek(wanted, start, stop, numbers):  # pragma: no cover - compiled
    """Where a number is among numbers[start:stop], which ascend; -1 if it is not. Binary search."""
    low, high = start, stop
    while low < high:
        middle = (low + high) // 2
        if numbers[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < stop and numbers[low] == wanted else -1


@njit(cache=True)
def _count(cls, value, value_start, values, counts):  # pragma: no cover - compiled
    """Rows of a value in a class."""
    at = _seek(value, value_start[cls], value_start[cls + 1], values)
    return counts[at] if at >= 0 else 0


@njit(cache=True)
def _entry(person, value, entry_start, entries):  # pragma: no cover - compiled
    """Where a person's value is in the entries, -1 if the person's classes do not all show it."""
    for e in range(entry_start[person], entry_start[person + 1]):
        if entries[e] == value:
            return e
    return -1


@njit(cache=True)
def _is_in(person, cls, trail_start, trail):  # pragma: no cover - compiled
    """Whether a person was in a class."""
    return _seek(cls, trail_start[person], trail_start[person + 1], trail) >= 0


@njit(cache=True)
def shown_everywhere(trail_start, trail, value_start, values):  # pragma: no cover - compiled
    """(start int64[people + 1], int32[]): the values that all classes of a person show, ascending."""
    people = len(trail_start) - 1
    room = 0
    for person in range(people):
        cls = trail[trail_start[person]]
        room += value_start[cls + 1] - value_start[cls]
    start, kept = np.zeros(people + 1, dtype=np.int64), np.empty(room, dtype=np.int32)
    ones = np.ones(len(values), dtype=np.int32)
    number = 0
    for person in range(people):
        first = trail[trail_start[person]]
        for at in range(value_start[first], value_start[first + 1]):
            everywhere = True
            for t in range(trail_start[person] + 1, trail_start[person + 1]):
                if _count(trail[t], values[at], value_start, values, ones) == 0:
                    everywhere = False
                    break
            if everywhere:
                kept[number] = values[at]
                number += 1
        start[person + 1] = number
    return start, kept[:number].copy()


@njit(cache=True)
def _apply_ct(cls, value, world, read, write):  # pragma: no cover - compiled
    """ct-pvr in one class: if all its rows of the value are known to be somebody's, nobody else has it."""
    class_start, members, _, _, value_start, values, counts, _, entry_start, entries = world
    possible, left = read
    wanted = _count(cls, value, value_start, values, counts)
    known = 0
    for i in range(class_start[cls], class_start[cls + 1]):
        person = members[i]
        if left[person] == 1:
            e = _entry(person, value, entry_start, entries)
            if e >= 0 and possible[e]:
                known += 1
    if known < wanted:
        return
    for i in range(class_start[cls], class_start[cls + 1]):
        person = members[i]
        e = _entry(person, value, entry_start, entries)
        if e >= 0 and not (left[person] == 1 and possible[e]):
            _rule_out(e, person, CT, cls, -1, write)


@njit(cache=True)
def _apply_hc(second, value, world, read, write, scratch, rules):  # pragma: no cover - compiled
    """hc-pvr from class `second` to every class that holds (nearly) all who can still have the value there.

    Whoever can have the value must be in Q1 but for at most count2 - count1 people, so one of any count2 of them is.
    """
    class_start, members, trail_start, trail, value_start, values, counts, unknown, entry_start, entries = world
    possible, left = read
    able, seen, turn = scratch
    turn[0] += 1
    wanted = _count(second, value, value_start, values, counts)
    number = unsure = 0
    for i in range(class_start[second], class_start[second + 1]):
        e = _entry(members[i], value, entry_start, entries)
        if e >= 0 and possible[e]:
            able[number] = members[i]
            number += 1
            unsure += left[members[i]] > 1
    if rules & CT and number == wanted and unsure == 0:
        return  # all of them are known to have the value: ct-pvr in their other classes says the same
    for k in range(min(number, wanted)):
        for t in range(trail_start[able[k]], trail_start[able[k] + 1]):
            first = trail[t]
            if first == second or seen[first] == turn[0]:
                continue
            seen[first] = turn[0]
            surplus = _count(first, value, value_start, values, counts) - wanted
            outside = unknown[second] + surplus
            for j in range(number):
                if outside > 0:
                    break
                if not _is_in(able[j], first, trail_start, trail):
                    outside += 1
            if outside > 0:
                continue
            for i in range(class_start[first], class_start[first + 1]):
                if not _is_in(members[i], second, trail_start, trail):
                    e = _entry(members[i], value, entry_start, entries)
                    if e >= 0:
                        _rule_out(e, members[i], HC, first, second, write)


@njit(cache=True)
def _rule_out(e, person, rule, first, second, write):  # pragma: no cover - compiled
    """Remove one value of one person, once, and remember why; new facts are queued."""
    possible, left, why, why_first, why_second, at, queue, owners, size = write
    if not possible[e]:
        return
    possible[e] = False
    left[person] -= 1
    why[e], why_first[e], why_second[e], at[e] = rule, first, second, size[0]
    queue[size[0]], owners[size[0]] = e, person
    size[0] += 1


@njit(cache=True)
def _follow_loss(person, value, world, read, write, scratch, rules, told):  # pragma: no cover - compiled
    """All that follows from one person having lost one value, and from the one that is left if it is the last."""
    trail_start, trail, entry_start, entries = world[2], world[3], world[8], world[9]
    possible, left = read
    if rules & HC:
        for t in range(trail_start[person], trail_start[person + 1]):
            _apply_hc(trail[t], value, world, read, write, scratch, rules)
    if rules & CT and left[person] == 1 and not told[person]:
        told[person] = True
        for e in range(entry_start[person], entry_start[person + 1]):
            if possible[e]:
                for t in range(trail_start[person], trail_start[person + 1]):
                    _apply_ct(trail[t], entries[e], world, read, write)


@njit(cache=True)
def restrict(
    given,
    owner,
    class_start,
    members,
    trail_start,
    trail,
    value_start,
    values,
    counts,
    unknown,
    entry_start,
    entries,
    rules,
    cascade,
):  # pragma: no cover - compiled
    """(possible, left, rule, first, second, at, contradiction): see `inference.Restricted`.

    given: int64[] entries that are known to be wrong; owner: int64[entries] the person of each.
    """
    world = (class_start, members, trail_start, trail, value_start, values, counts, unknown, entry_start, entries)
    people, total = len(trail_start) - 1, len(entries)
    possible, left = np.ones(total, dtype=np.bool_), np.empty(people, dtype=np.int32)
    for person in range(people):
        left[person] = entry_start[person + 1] - entry_start[person]
    why, at = np.zeros(total, dtype=np.int8), np.full(total, -1, dtype=np.int32)
    why_first, why_second = np.full(total, -1, dtype=np.int32), np.full(total, -1, dtype=np.int32)
    queue, owners = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int32)
    size = np.zeros(1, dtype=np.int64)
    write = (possible, left, why, why_first, why_second, at, queue, owners, size)
    told = np.zeros(people, dtype=np.bool_)
    seen = np.zeros(len(class_start), dtype=np.int64)
    scratch = (np.empty(people + 1, dtype=np.int32), seen, np.zeros(1, dtype=np.int64))
    for e in given:
        _rule_out(e, owner[e], GIVEN, -1, -1, write)
    known = size[0]
    if cascade:
        read = (possible, left)
        _sweep(world, read, write, scratch, rules)
    else:
        read = (possible.copy(), left.copy())
    done = 0
    while done < (size[0] if cascade else known):
        _follow_loss(owners[done], entries[queue[done]], world, read, write, scratch, rules, told)
        done += 1
    contradiction = False
    for person in range(people):
        if left[person] == 0:
            contradiction = True
    return possible, left, why, why_first, why_second, at, contradiction


@njit(cache=True)
def _sweep(world, read, write, scratch, rules):  # pragma: no cover - compiled
    """Both rules on every class and value once: what holds before anything is queued."""
    class_start, value_start, values = world[0], world[4], world[5]
    for cls in range(len(class_start) - 1):
        for at in range(value_start[cls], value_start[cls + 1]):
            if rules & HC:
                _apply_hc(cls, values[at], world, read, write, scratch, rules)
            if rules & CT:
                _apply_ct(cls, values[at], world, read, write)
