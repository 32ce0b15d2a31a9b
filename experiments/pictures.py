"""The pictures of the pages: what every attack concludes from a small series, how every strategy groups a clinic.

python experiments/pictures.py [folder of the pages]

The sentences below the attacks are those of the audit. The groups are those that the strategies made of two months of
the made-up clinic.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import wrap

import pyarrow as pa

import reissue as ri
from drawing import BLUE, FAINT, GREEN, GREY, ORANGE, RED, Picture, draw_lines
from group_pictures import SMALL, draw_groups
from learning_people import publish
from learning_strategies import read_clinic
from standing_risk import see

ROOT = Path(__file__).resolve().parents[1]
Class = Mapping[str, str]
AGES = {
    "Alice": 25,
    "Bob": 28,
    "Carl": 31,
    "Dora": 34,
    "Eve": 37,
    "Fay": 40,
    "Greg": 43,
    "Hank": 46,
    "Tom": 22,
    "Mike": 23,
}


@dataclass(frozen=True)
class Story:
    """Releases, each a list of classes: who is in it, with which value. settings: of the attack."""

    title: str
    releases: Sequence[Sequence[Class]]
    settings: Mapping[str, object] = field(default_factory=dict)


STORIES = {
    "intersection": Story(
        "What do all classes of a person have in common?",
        [[{"Bob": "Alzheimer", "Eve": "diabetes"}], [{"Bob": "Alzheimer", "Hank": "hepatitis"}]],
    ),
    "difference": Story(
        "Who is left when one class is taken out of another?",
        [[{"Tom": "flu", "Mike": "hepatitis"}], [{"Tom": "flu", "Mike": "hepatitis", "Alice": "cancer"}]],
    ),
    "association": Story(
        "Which values are left for a person?",
        [[{"Alice": "cancer", "Bob": "flu"}], [{"Alice": "cancer", "Carl": "measles"}]],
    ),
    "equivalence": Story(
        "Who must have the same value as whom?",
        [[{"Alice": "cancer", "Bob": "flu"}], [{"Alice": "cancer", "Greg": "flu"}]],
    ),
    "historical-correlation": Story(
        "What does one known value reveal about others?",
        [[{"Carl": "AIDS", "Dora": "flu", "Fay": "cough"}], [{"Eve": "AIDS", "Dora": "flu", "Fay": "cough"}]],
        {"compromised": ("Carl",), "n": 1},
    ),
    "possible-worlds": Story(
        "What is the same in every world that fits all releases?",
        [
            [{"Alice": "flu", "Bob": "cancer"}],
            [{"Bob": "cancer", "Carl": "flu"}],
            [{"Alice": "flu", "Carl": "flu", "Dora": "cancer"}],
        ],
        {"c": 0.9},
    ),
}  # fmt: skip
PLAIN = ri.Schema(identifier="name", quasi_identifiers={"age": {"type": "numeric"}}, sensitive="illness")


def ask(
    attack: str,
    releases: Sequence[pa.Table],
    schema: ri.Schema,
    snapshots: Sequence[pa.Table] | None,
    **settings: object,
) -> str:
    """The sentence of the worst breach that the audit finds."""
    audit = ri.audit(releases=releases, schema=schema, snapshots=snapshots, attacks=[attack], **settings)  # type: ignore[arg-type]
    return audit.breaches[0].sentence


def run_story(attack: str, story: Story) -> str:
    """What the attack says about it; classes are published with the range of their ages."""
    releases, snapshots = [], []
    for classes in story.releases:
        rows = [(name, AGES[name], value, _label(one)) for one in classes for name, value in one.items()]
        names, ages, values, labels = (list(column) for column in zip(*rows, strict=True))
        releases.append(pa.table({"age": labels, "illness": values}))
        snapshots.append(pa.table({"name": names, "age": ages, "illness": values}))
    return ask(attack, releases, PLAIN, snapshots, **story.settings)


def _label(people: Class) -> str:
    ages = [AGES[name] for name in people]
    return f"{min(ages)}-{max(ages)}"


def draw_story(attack: str, story: Story, path: Path) -> None:
    """A row of classes for every release; below, the conclusion."""
    said = wrap(run_story(attack, story), 84)
    picture = Picture(640, 62 + 66 * len(story.releases) + 18 * len(said), story.title)
    picture.text(16, 28, story.title, size=15, bold=True)
    for i, classes in enumerate(story.releases):
        y = 46 + 66 * i
        picture.text(16, y + 30, f"release {i + 1}", color=FAINT)
        for j, people in enumerate(classes):
            lines = [", ".join(people), ", ".join(sorted(people.values()))]
            picture.box(100 + 270 * j, y, 260 if len(classes) > 1 else 320, 52, lines)
    _conclude(picture, said)
    picture.write(path)


def _conclude(picture: Picture, said: Sequence[str]) -> None:
    for i, line in enumerate(said):
        picture.text(16, picture.height - 14 - 18 * (len(said) - 1 - i), line, color=RED, bold=True)


def draw_boxes_of_rows(
    path: Path,
    title: str,
    releases: Sequence[Sequence[tuple[str, str]]],
    lines: Sequence[tuple[int, int, str]],
    said: str,
) -> None:
    """Releases whose members are not known: label and values of each class. lines: which rows fit where."""
    words = wrap(said, 84)
    picture = Picture(640, 78 + 88 * len(releases) + 18 * (len(words) - 1), title)
    picture.text(16, 28, title, size=15, bold=True)
    for i, classes in enumerate(releases):
        y = 46 + 96 * i
        picture.text(16, y + 30, f"release {i + 1}", color=FAINT)
        for j, (label, values) in enumerate(classes):
            picture.box(100 + 230 * j, y, 210, 52, [label, values])
    for above, below, color in lines:
        picture.line([(205 + 230 * above, 98), (205 + 230 * below, 142)], color=color, wide=2, dashed=color == GREY)
    _conclude(picture, words)
    picture.write(path)


def draw_tracing(path: Path) -> None:
    """Two rows of one value, two places."""
    ages, later = {"Ann": 22, "Ben": 24, "Cleo": 26, "Dan": 38}, ("20-30", "20-30", "20-30", "31-40")
    first = {"age": ["20-24", "20-24", "22-40", "22-40"], "illness": ["HIV", "flu", "flu", "HIV"]}
    second = {"age": list(later), "illness": ["HIV", "flu", "flu", "HIV"]}
    people = pa.table({"name": list(ages), "age": list(ages.values()), "illness": first["illness"]})
    said = ask("record-tracing", [pa.table(first), pa.table(second)], PLAIN, [people, people])
    rows = [[(f"age {ages}", "1 row of HIV") for ages in pair] for pair in (("20-24", "22-40"), ("20-30", "31-40"))]
    draw_boxes_of_rows(path, "Where did this row go?", rows, [(0, 0, GREEN), (1, 0, GREY), (1, 1, GREEN)], said)


def draw_correspondence(path: Path) -> None:
    """The worked example of Fung et al.: tables 1 and 2."""
    birth = ri.Hierarchy.from_nested({"Europe": ["UK", "France"]})
    job = ri.Hierarchy.from_nested({"any": {"professional": ["lawyer", "engineer"]}})
    schema = ri.Schema(
        identifier="name",
        quasi_identifiers={"birthplace": ri.Categorical(hierarchy=birth), "job": ri.Categorical(hierarchy=job)},
        sensitive="illness",
    )

    def table(*groups: tuple[str, str, int, int]) -> pa.Table:
        rows = [(where, job, ill) for where, job, flu, hiv in groups for ill in ["flu"] * flu + ["HIV"] * hiv]
        return pa.table(dict(zip(("birthplace", "job", "illness"), map(list, zip(*rows, strict=True)), strict=True)))

    releases = [
        table(("Europe", "lawyer", 3, 2)),
        table(("UK", "professional", 3, 2), ("France", "professional", 2, 3)),
    ]
    said = ask("correspondence", releases, schema, None, k=5)
    rows = [
        [("Europe, lawyer", "3 flu, 2 HIV")],
        [("UK, professional", "3 flu, 2 HIV"), ("France, professional", "2 flu, 3 HIV")],
    ]
    draw_boxes_of_rows(path, "Which records can be ruled out?", rows, [(0, 0, GREY), (0, 1, GREEN)], said)


def draw_background(path: Path) -> None:
    """Six months of the clinic: how much closer to certainty than the class alone, on average, month by month."""
    months = read_clinic(2024, False, 6, 600)
    curves = {}
    for strategy, color in ((ri.Static(k=4, c=0.5), RED), (ri.Standing(), GREEN)):
        series = see(publish(strategy, iter(months)), months[0])
        found = ri.attacks.BackgroundKnowledge().run(series).measures
        curves[strategy.name] = color, [(float(i), found[f"gain_{i}"]) for i in range(1, 7)]
    title = "Knowledge gained about the made-up clinic's patients, on average"
    draw_lines(path, title, curves, "releases that the statistician has", ticks=range(1, 7), gutter=110)


def draw_choice(path: Path) -> None:
    """The questions of `choosing`, as a tree."""
    picture = Picture(
        640, 470, "Which strategy? A tree of questions that ends in standing unless you need something else"
    )
    picture.text(16, 28, "Which strategy?", size=15, bold=True)
    questions = [
        (["Will there ever be", "a second release?"], "no", ["static"], GREY),
        (["Must every row show", "its own true value?"], "no", ["standing"], GREEN),
        (["Do people leave, or", "do rows change?"], "no", ["checked-mondrian", "bcf: one recoding for all"], BLUE),
        (["Do sensitive", "values change?"], "yes", ["bay-frame", "(no promise)"], ORANGE),
        (["Must nobody prove that two", "small groups share values?"], "yes", ["e-equivalence"], BLUE),
        (["Are some people's", "values known already?"], "yes", ["cor-split"], BLUE),
    ]
    for i, (question, answer, takes, color) in enumerate(questions):
        y = 44 + 62 * i
        picture.box(40, y, 240, 44, question, GREY)
        picture.arrow(280, y + 22, 370, y + 22)
        picture.text(324, y + 15, answer, size=12, color=FAINT, anchor="middle")
        picture.box(374, y, 226, 44, takes, color, bold=0)
        picture.arrow(160, y + 44, 160, y + 60)
        picture.text(170, y + 57, "yes" if answer == "no" else "no", size=12, color=FAINT)
    picture.box(40, 44 + 62 * len(questions), 240, 40, ["m-invariance"], BLUE, bold=0)
    picture.write(path)


def main(pages: Path) -> None:
    for attack, story in STORIES.items():
        draw_story(attack, story, pages / "attacks" / f"{attack}.svg")
    draw_tracing(pages / "attacks" / "record-tracing.svg")
    draw_correspondence(pages / "attacks" / "correspondence.svg")
    draw_background(pages / "attacks" / "background-knowledge.svg")
    for name, strategy in SMALL.items():
        draw_groups(strategy, pages / "strategies" / f"{name}.svg")
    draw_choice(pages / "choosing.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs")
