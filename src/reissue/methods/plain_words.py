"""What each attack does, who could carry it out, and which of the regulators' three risks it shows, in plain words.

The three are those of the Article 29 Working Party's opinion 05/2014 on anonymisation techniques: to single somebody
out, to link records about somebody, to infer something about somebody.
"""

from __future__ import annotations

from dataclasses import dataclass

SINGLING_OUT, LINKABILITY, INFERENCE = "singling out", "linkability", "inference"


@dataclass(frozen=True)
class AttackWords:
    """does: one sentence; who: who could be this attacker, one sentence; shows: risks in the regulators' words."""

    does: str
    who: str
    shows: tuple[str, ...]


_WORDS = {
    "intersection": AttackWords(
        "Keeps, for each person, only the values that appear beside this person in every release.",
        "A neighbour or colleague who knows that somebody is in the data, and roughly who this is.",
        (INFERENCE,),
    ),
    "difference": AttackWords(
        "Takes the people of one release away from those of another: the few who are left stand alone with their "
        "values.",
        "A colleague or relative who knows when somebody joined or left.",
        (SINGLING_OUT, INFERENCE),
    ),
    "record-tracing": AttackWords(
        "Follows a row with a striking value from release to release until only a few people can be behind it.",
        "A journalist or insurer who looks for cases and does not care whose they are.",
        (SINGLING_OUT, LINKABILITY),
    ),
    "correspondence": AttackWords(
        "Rules out, in a table that only grows, the rows that cannot be a person's, because they were there before or "
        "came later.",
        "Anybody who knows one person's age, place and the like, and when this person came.",
        (SINGLING_OUT, LINKABILITY),
    ),
    "association": AttackWords(
        "Counts which values are still possible for a person once all releases are laid side by side.",
        "A neighbour or employer who knows that somebody is in the data, and roughly who this is.",
        (INFERENCE,),
    ),
    "equivalence": AttackWords(
        "Finds people who must have the same value as each other: who knows one of them knows all.",
        "A patient, relative or colleague who knows his or her own value or that of a friend.",
        (INFERENCE, LINKABILITY),
    ),
    "historical-correlation": AttackWords(
        "Uses the values of people who are already known to rule out values for others who shared a group with them.",
        "Somebody who knows a few people's values: an insurer, a colleague, a member of the staff.",
        (INFERENCE,),
    ),
    "background-knowledge": AttackWords(
        "Starts from statistics about kinds of people and sharpens a guess about each person with every release.",
        "An insurer, a researcher or a data broker who has statistics about how common values are.",
        (INFERENCE,),
    ),
    "possible-worlds": AttackWords(
        "Asks what is true in every possible table that fits all the releases at once.",
        "A skilled analyst with time and a computer who knows roughly who is in the data.",
        (SINGLING_OUT, INFERENCE),
    ),
    "learning": AttackWords(
        "Learns from the releases themselves which people tend to have which values, and guesses each person's.",
        "A data scientist or data broker who knows roughly who is in the data, and nothing else.",
        (INFERENCE,),
    ),
    "known-algorithm": AttackWords(
        "Uses how the groups were formed to tell who cannot have the same value as whom.",
        "A specialist who has read how the releases were made.",
        (INFERENCE,),
    ),
}


def describe_attack(name: str) -> AttackWords:
    """The words of an attack, by its name on the command line."""
    return _WORDS[name]
