"""Words that the sentences of attacks share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reissue.arrays.types import Int64
from reissue.model.observed import Words


def name_subjects(words: Words, subjects: Int64, most: int = 200) -> tuple[str, ...]:
    """The first subjects as people call them; longer lists stay in `at_risk`."""
    return tuple(words.subject(int(subject)) for subject in subjects[:most].tolist())


def name_releases(words: Words, numbers: Sequence[int]) -> str:
    """ "release 1 and release 2"; of more than three the first and the last."""
    where = [words.release(number) for number in numbers]
    return list_names(where) if len(where) < 4 else f"the {len(where)} releases from {where[0]} to {where[-1]}"


def name_all_of(words: Words, numbers: Sequence[int]) -> str:
    """ "both release 1 and release 2", "all of the 5 releases from ...": for what is so in each of them."""
    where = name_releases(words, numbers)
    return f"both {where}" if len(numbers) == 2 else f"all of {where}" if len(numbers) > 2 else where


def put_in_brackets(box: str) -> str:
    """ " (age 21-30)"; nothing where the box is everything."""
    return "" if box in ("", "everyone") else f" ({box})"


OUR_WORDS = ("the ", "only ", "subject ", "what ", "release ")


def begin_sentence(text: str) -> str:
    """With a capital letter, unless it begins with a name, which stays as it is: p1 and P1 may be two people."""
    return text[:1].upper() + text[1:] if text.startswith(OUR_WORDS) else text


def list_names(names: Iterable[str], most: int | None = None, rest: str = "others") -> str:
    """ "a, b and c"; lists longer than `most` are cut with the number of the rest."""
    shown = list(names)
    if most is not None and len(shown) > most:
        shown = [*shown[: most - 1], f"{len(shown) - most + 1} {rest}"]
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else "".join(shown)


def count_people(count: int) -> str:
    return "1 person" if count == 1 else f"{count:,} people"


def count_rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def call_nobody(count: int) -> str:
    """Rows that stand for nobody whom the attacker knows."""
    return f"{count_rows(count)} of nobody known"


def call_people(names: Sequence[str], count: int) -> str:
    """One person by name; of more their number, and the first names."""
    some = ", ".join([*names[:3], "..."] if len(names) > 3 else names)
    return names[0] if count == 1 else f"{count_people(count)} ({some})"
