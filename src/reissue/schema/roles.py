"""Schema: which column plays which role, and how each quasi-identifier is coded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, cast, get_args

from reissue.arguments import check_arguments
from reissue.errors import SchemaError
from reissue.schema.attributes import Attribute, Bins, Categorical, Missing, Numeric, restore_attribute
from reissue.schema.spelling import USUAL, Spelling

if TYPE_CHECKING:
    from reissue.schema.proposal import Proposal


@dataclass(frozen=True, init=False)
class Schema:
    """Roles of columns; a column that has no role is not published.

    identifier:        identifies a person over the series; never published
    quasi_identifiers: what an attacker may know of a person; published generalized, in this order
    sensitive:         what nobody may learn; several columns count jointly as one value
    insensitive:       published as they are
    missing:           "refuse" nulls, or take them as a "value" of their own; an attribute may override it
    bins:              bins of numeric sensitive columns
    spelling:          how the tables write missing values, decimals and dates
    """

    identifier: str
    quasi_identifiers: Mapping[str, Attribute]
    sensitive: tuple[str, ...]
    insensitive: tuple[str, ...]
    missing: Missing
    bins: Mapping[str, Bins]
    spelling: Spelling

    @check_arguments
    def __init__(
        self,
        *,
        identifier: str,
        quasi_identifiers: Mapping[str, Attribute | Mapping[str, object]],
        sensitive: str | Sequence[str],
        insensitive: str | Sequence[str] = (),
        missing: Missing = "refuse",
        bins: Mapping[str, Bins | Sequence[float] | Mapping[str, float]] | None = None,
        spelling: Spelling | Mapping[str, object] | None = None,
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
        spelled = USUAL
        try:
            if not isinstance(spelling, Mapping | None) or spelling:
                spelled = Spelling.of(spelling, (*quasi_identifiers, *values))
        except SchemaError as error:
            problems.append(str(error))
        if problems:
            raise SchemaError(join_problems("The schema", problems))
        settings = {
            "identifier": identifier,
            "quasi_identifiers": attributes,
            "sensitive": values,
            "insensitive": others,
            "missing": missing,
            "bins": binned,
            "spelling": spelled,
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
    def suggest(
        *tables: object,
        identifier: str | None = None,
        sensitive: str | Sequence[str] | None = None,
        quasi_identifiers: Sequence[str] | None = None,
    ) -> Proposal:
        """A schema and policy proposed from one or more snapshots (paths or data frames), with a reason per column.

        What is given is taken as it is. `proposal.schema`, `proposal.to_toml()`, `proposal.write("clinic.toml")`.
        """
        from reissue.lazy import find

        proposal: Proposal = find("reissue.suggest.suggesting", "suggest")(
            tables, identifier=identifier, sensitive=sensitive, quasi_identifiers=quasi_identifiers
        )
        return proposal

    @staticmethod
    @check_arguments
    def from_toml(path: str | PathLike[str]) -> Schema:
        """The [schema] of a config; paths of hierarchies are relative to the file."""
        from reissue.schema.config import read_config

        return read_config(path).schema

    @staticmethod
    @check_arguments
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
            quasi_identifiers={name: restore_attribute(attribute) for name, attribute in attributes.items()},
            sensitive=cast("list[str]", given["sensitive"]),
            insensitive=cast("list[str]", given["insensitive"]),
            missing=cast("Missing", given["missing"]),
            bins=cast("Mapping[str, Mapping[str, float]]", given.get("bins", {})),
            spelling=cast("Mapping[str, object]", given.get("spelling", {})),
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
        return given if self.spelling is USUAL else {**given, "spelling": self.spelling.to_dict()}

    def __eq__(self, other: object) -> bool:
        # the order of the quasi-identifiers is the order of the codes, so it counts
        return (
            isinstance(other, Schema)
            and list(self.quasi_identifiers.items()) == list(other.quasi_identifiers.items())
            and all(
                getattr(self, role) == getattr(other, role)
                for role in ("identifier", "sensitive", "insensitive", "missing", "bins", "spelling")
            )
        )

    __hash__ = None  # type: ignore[assignment]


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


def join_problems(what: str, problems: Sequence[str]) -> str:
    """One message for one problem or many."""
    if len(problems) == 1:
        return f"{what}: {problems[0]}"
    return f"{what} has {len(problems)} problems:\n" + "\n".join(f"- {problem}" for problem in problems)
