"""Schema: which column plays which role, and how each quasi-identifier is coded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Literal, cast, get_args

from reissue.errors import SchemaError
from reissue.hierarchy import Hierarchy
from reissue.schema.bins import Bins

Missing = Literal["refuse", "value"]
"""What a null means: an error in the snapshot, or a value of its own."""

NumericType = Literal["numeric", "int", "float", "date"]

MOST_DECIMALS = 6


@dataclass(frozen=True)
class Numeric:
    """Any range of numbers or dates is a legal generalization.

    type:     "numeric" takes the kind (int, float or date) from the first snapshot, for the life of the series
    decimals: digits kept of a float; without it, as many as the first snapshot needs (at most 6)
    missing:  overrides the schema's `missing`
    """

    type: NumericType = "numeric"
    decimals: int | None = None
    missing: Missing | None = None

    def __post_init__(self) -> None:
        if self.type not in get_args(NumericType):
            raise SchemaError(f"type is {self.type!r}. Allowed: {', '.join(get_args(NumericType))}.")
        if self.decimals is not None:
            if (
                isinstance(self.decimals, bool)
                or not isinstance(self.decimals, int)
                or not 0 <= self.decimals <= MOST_DECIMALS
            ):
                raise SchemaError(f"decimals is {self.decimals!r}. Give a whole number from 0 to {MOST_DECIMALS}.")
            if self.type in ("int", "date") and self.decimals:
                raise SchemaError(f'decimals is {self.decimals}, but type is "{self.type}". Use type = "float".')
        _check_missing(self.missing)

    def to_dict(self) -> dict[str, object]:
        given: dict[str, object] = {"type": self.type}
        if self.decimals is not None:
            given["decimals"] = self.decimals
        return given if self.missing is None else {**given, "missing": self.missing}


@dataclass(frozen=True)
class Categorical:
    """Generalized along a hierarchy; without one, values stand directly under `*` and are learned from the data.

    hierarchy: a Hierarchy, the path of a file, or a nested mapping or list
    missing:   overrides the schema's `missing`
    """

    hierarchy: Hierarchy
    missing: Missing | None = None

    def __init__(
        self,
        hierarchy: Hierarchy | str | PathLike[str] | Mapping[str, object] | Sequence[object] | None = None,
        missing: Missing | None = None,
    ) -> None:
        if hierarchy is None:
            hierarchy = Hierarchy.flat()
        elif isinstance(hierarchy, str | PathLike):
            hierarchy = Hierarchy.from_file(hierarchy)
        elif not isinstance(hierarchy, Hierarchy):
            hierarchy = Hierarchy.from_nested(hierarchy)
        object.__setattr__(self, "hierarchy", hierarchy)
        object.__setattr__(self, "missing", missing)
        _check_missing(missing)

    def to_dict(self) -> dict[str, object]:
        """Self-contained: the hierarchy itself, not the path it came from."""
        hierarchy = self.hierarchy
        given: dict[str, object]
        if hierarchy.rule is None:
            given = {"taxonomy": hierarchy.to_dict()}
        else:
            given = dict(hierarchy.rule.to_dict())
            if hierarchy.leaves:
                given["values"] = list(hierarchy.leaves)
        return given if self.missing is None else {**given, "missing": self.missing}


Attribute = Numeric | Categorical


def _check_missing(missing: str | None) -> None:
    if missing not in (None, *get_args(Missing)):
        raise SchemaError(f"missing is {missing!r}. Allowed: {', '.join(get_args(Missing))}.")


@dataclass(frozen=True, init=False)
class Schema:
    """Roles of columns; a column that has no role is not published.

    identifier:        identifies a person over the series; never published
    quasi_identifiers: what an attacker may know of a person; published generalized, in this order
    sensitive:         what nobody may learn; several columns count jointly as one value
    insensitive:       published as they are
    missing:           "refuse" nulls, or take them as a "value" of their own; an attribute may override it
    bins:              bins of numeric sensitive columns
    """

    identifier: str
    quasi_identifiers: Mapping[str, Attribute]
    sensitive: tuple[str, ...]
    insensitive: tuple[str, ...]
    missing: Missing
    bins: Mapping[str, Bins]

    def __init__(
        self,
        *,
        identifier: str,
        quasi_identifiers: Mapping[str, Attribute | Mapping[str, object]],
        sensitive: str | Sequence[str],
        insensitive: str | Sequence[str] = (),
        missing: Missing = "refuse",
        bins: Mapping[str, Bins | Sequence[float] | Mapping[str, float]] | None = None,
    ) -> None:
        problems: list[str] = []
        attributes: dict[str, Attribute] = {}
        for name, given in quasi_identifiers.items():
            try:
                attributes[name] = _attribute(name, given)
            except SchemaError as error:
                problems.append(str(error))
        binned: dict[str, Bins] = {}
        for name, edges in (bins or {}).items():
            try:
                binned[name] = Bins.of(edges)
            except SchemaError as error:
                problems.append(f"bins.{name}: {error}")
        values = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
        others = (insensitive,) if isinstance(insensitive, str) else tuple(insensitive)
        problems += role_problems(identifier, tuple(quasi_identifiers), values, others, tuple(bins or {}))
        if missing not in get_args(Missing):
            problems.append(f"missing is {missing!r}. Allowed: {', '.join(get_args(Missing))}.")
        if problems:
            raise SchemaError(listed("The schema", problems))
        settings = {
            "identifier": identifier,
            "quasi_identifiers": attributes,
            "sensitive": values,
            "insensitive": others,
            "missing": missing,
            "bins": binned,
        }
        for field, value in settings.items():
            object.__setattr__(self, field, value)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column with a role, in the order identifier, quasi-identifiers, sensitive, insensitive."""
        return (self.identifier, *self.quasi_identifiers, *self.sensitive, *self.insensitive)

    def takes_missing(self, column: str) -> bool:
        """Whether a null of this column is a value of its own."""
        attribute = self.quasi_identifiers.get(column)
        chosen = attribute.missing if attribute is not None else None
        return (chosen or self.missing) == "value"

    @staticmethod
    def from_toml(path: str | PathLike[str]) -> Schema:
        """The [schema] of a config; paths of hierarchies are relative to the file."""
        from reissue.schema.config import read_config

        return read_config(path).schema

    @staticmethod
    def from_dict(given: Mapping[str, object], base: str | PathLike[str] = ".") -> Schema:
        """From the shape of the config's [schema], or from `to_dict`; paths of hierarchies are relative to `base`."""
        from reissue.schema.config import schema_of

        return schema_of(given, base)

    @staticmethod
    def from_stored(given: Mapping[str, object]) -> Schema:
        """From `to_dict` only: what Reissue itself has stored needs none of the checks of a file people write."""
        attributes = cast("Mapping[str, Mapping[str, object]]", given["quasi_identifiers"])
        return Schema(
            identifier=cast("str", given["identifier"]),
            quasi_identifiers={name: _stored(attribute) for name, attribute in attributes.items()},
            sensitive=cast("list[str]", given["sensitive"]),
            insensitive=cast("list[str]", given["insensitive"]),
            missing=cast("Missing", given["missing"]),
            bins=cast("Mapping[str, Mapping[str, float]]", given.get("bins", {})),
        )

    def to_dict(self) -> dict[str, object]:
        """Self-contained, for JSON or TOML: hierarchies are embedded."""
        given: dict[str, object] = {
            "identifier": self.identifier,
            "quasi_identifiers": {name: attribute.to_dict() for name, attribute in self.quasi_identifiers.items()},
            "sensitive": list(self.sensitive),
            "insensitive": list(self.insensitive),
            "missing": self.missing,
        }
        if self.bins:
            given["bins"] = {name: bins.to_dict() for name, bins in self.bins.items()}
        return given

    def __eq__(self, other: object) -> bool:
        # the order of the quasi-identifiers is the order of the codes, so it counts
        return (
            isinstance(other, Schema)
            and list(self.quasi_identifiers.items()) == list(other.quasi_identifiers.items())
            and all(
                getattr(self, role) == getattr(other, role)
                for role in ("identifier", "sensitive", "insensitive", "missing", "bins")
            )
        )

    __hash__ = None  # type: ignore[assignment]


def _stored(given: Mapping[str, object]) -> Attribute:
    """The inverse of an attribute's `to_dict`."""
    rest = {key: value for key, value in given.items() if key != "missing"}
    missing = cast("Missing | None", given.get("missing"))
    if "taxonomy" in rest:
        return Categorical(Hierarchy.from_dict(cast("Mapping[str, object]", rest["taxonomy"])), missing)
    if rest.get("type") in get_args(NumericType) and "levels" not in rest:
        return Numeric(cast("NumericType", rest["type"]), cast("int | None", rest.get("decimals")), missing)
    return Categorical(Hierarchy.from_dict(rest), missing)


def _attribute(name: str, given: Attribute | Mapping[str, object]) -> Attribute:
    if isinstance(given, Numeric | Categorical):
        return given
    from reissue.schema.written import attribute_of

    return attribute_of(name, given)


def role_problems(
    identifier: str,
    quasi_identifiers: tuple[str, ...],
    sensitive: tuple[str, ...],
    insensitive: tuple[str, ...],
    bins: tuple[str, ...],
) -> list[str]:
    """What is wrong with the roles: a column in two of them, a role without columns, bins of another column."""
    problems = []
    roles = {
        "identifier": (identifier,),
        "quasi_identifiers": quasi_identifiers,
        "sensitive": sensitive,
        "insensitive": insensitive,
    }
    for column, count in Counter(column for columns in roles.values() for column in columns).items():
        if count > 1:
            found = [role for role, columns in roles.items() for other in columns if other == column]
            problems.append(f"the column {column!r} has several roles: {', '.join(found)}. Keep one of them.")
    for role in ("identifier", "quasi_identifiers", "sensitive"):
        if not any(roles[role]):
            problems.append(f"{role} is empty. Name at least one column.")
    problems += [
        f"{role}: a column without a name is given. Name the column, here and in the first line of the table."
        for role, columns in roles.items()
        if any(columns) and "" in columns
    ]
    problems += [
        f"bins.{column}: is not a sensitive column. Bins are for: {', '.join(sensitive)}."
        for column in bins
        if column not in sensitive
    ]
    return problems


def listed(what: str, problems: Sequence[str]) -> str:
    """One message for one problem or many."""
    if len(problems) == 1:
        return f"{what}: {problems[0]}"
    return f"{what} has {len(problems)} problems:\n" + "\n".join(f"- {problem}" for problem in problems)
