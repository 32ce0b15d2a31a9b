"""How a series comes to be: what is asked of it, in Python or in a config, checked and kept in a new ledger.

Its `reissue.toml` says what it was created with, for people to read.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from reissue.arguments import check_engine
from reissue.errors import SeriesError, SettingsError
from reissue.ledger import Ledger, read_events, read_key
from reissue.ledger.disk import remove_tree
from reissue.ledger.system import force_folder, move
from reissue.methods.registry import make_strategy, write_policy
from reissue.methods.strategy import Strategy
from reissue.schema import Attribute, Categorical, Schema
from reissue.schema.proposal import write_key, write_value
from reissue.series.release import FORMATS, check_formats, check_on_change, to_strings


def check_fragments(fragments: int | None) -> int:
    """How many fragments are asked for; 0 leaves it to the first release."""
    if fragments is None:
        return 0
    if isinstance(fragments, bool) or fragments < 1:
        raise SettingsError(f"fragments is {fragments}; it must be a whole number of at least 1.")
    return fragments


def parse_settings(settings: Sequence[str]) -> dict[str, object]:
    """`KEY=VALUE` arguments as TOML values: k=5, c=0.5, algorithm=incognito."""
    import tomllib

    parsed: dict[str, object] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise SettingsError(f"'{setting}' is not KEY=VALUE, for example k=5.")
        try:
            parsed[key] = tomllib.loads(f"value = {value}")["value"]
        except (tomllib.TOMLDecodeError, RecursionError):
            parsed[key] = value
    return parsed


def change_strategy(current: Strategy, name: str | None, settings: Sequence[str]) -> Strategy | None:
    """The strategy that `--strategy NAME --set KEY=VALUE` asks for; None if neither is given."""
    if name is None and not settings:
        return None
    changes, policy = parse_settings(settings), write_policy(current)
    if "strategy" in changes:
        raise SettingsError("'strategy' is not a setting of a strategy: use --strategy.")
    return make_strategy({**(policy if name in (None, policy["strategy"]) else {"strategy": name}), **changes})


def read_formats(output: Mapping[str, object]) -> Sequence[str]:
    """The formats of a config's [output], both by default."""
    formats = output.get("formats", FORMATS)
    return [formats] if isinstance(formats, str) else to_strings(formats)


@dataclass(frozen=True, kw_only=True)
class NewSeries:
    """What a new series is asked to be, as for `Series.create`; unfinished: see `Ledger.create`."""

    schema: Schema
    strategy: Strategy
    seed: int | None = None
    catalogue: str | None = None
    key: str | bytes | None = None
    formats: Sequence[str] = FORMATS
    on_change: str = "refuse"
    engine: str | Mapping[str, object] = "embedded"
    fragments: int | None = None
    audit: Mapping[str, object] = field(default_factory=dict)
    gates: Mapping[str, object] = field(default_factory=dict)
    utility: Mapping[str, object] = field(default_factory=dict)
    unfinished: bool = False

    @classmethod
    def from_config(
        cls,
        config: str | Path,
        *,
        seed: int | None,
        catalogue: str | None,
        key: str | bytes | None,
        engine: str | None,
    ) -> NewSeries:
        """As a TOML file says; what is given here wins over the file."""
        from reissue.schema import read_config

        read = read_config(config)
        policy = dict(read.policy)
        on_change = policy.pop("on_change", "refuse")
        try:
            strategy = make_strategy(policy)
            check_on_change(str(on_change))
        except SettingsError as error:
            raise SettingsError(f"{config}: [policy] {error}") from None
        try:
            _check_audit(read.audit)
            _check_gates(read.gates)
            _check_utility(read.utility, read.schema)
        except SettingsError as error:
            raise SettingsError(f"{config}: {error}") from None
        settings = dict(read.engine)
        fragments = settings.pop("fragments", None)
        return cls(
            schema=read.schema,
            strategy=strategy,
            seed=seed,
            catalogue=catalogue or _text(read.ledger, "catalogue"),
            key=key or _text(read.ledger, "key"),
            formats=read_formats(read.output),
            on_change=str(on_change),
            engine={**settings, "name": engine} if engine else settings,
            fragments=None if fragments is None else int(str(fragments)),
            audit=read.audit,
            gates=read.gates,
            utility=read.utility,
        )

    def replace(self, path: Path) -> Ledger:
        """The same, also where a series stands that has never had a release: nothing is lost with it."""
        if not (path / "private" / "series.json").exists():
            return self.create(path)
        with Ledger.open(path, key=find_key(self.key), catalogue_url=self.catalogue) as old:
            withdrawn = any(event.what == "withdraw" for event in read_events(old.shelf))
            if old.releases or withdrawn:
                what = f"published {len(old.releases)} releases" if old.releases else "withdrawn what it had published"
                raise SeriesError(
                    f"{path} has {what}, and must remember it. Publish with it, "
                    "change what may be changed (`reissue amend`), or choose another directory."
                )
            with old.publisher():
                aside = path.with_name(f"{path.name}.replaced-{secrets.token_hex(4)}")
                move(path, aside)
                force_folder(path.parent)
        try:
            made = self.create(path)
        except BaseException:
            move(aside, path)
            force_folder(path.parent)
            raise
        remove_tree(aside)
        return made

    def create(self, path: Path) -> Ledger:
        """Its ledger, in a new directory."""
        if self.seed is not None and self.seed < 0:
            raise SettingsError(f"seed is {self.seed}; it must be a whole number of at least 0.")
        policy = write_policy(self.strategy)
        engine = check_engine(self.engine)
        fragments = check_fragments(self.fragments)
        self.strategy.refuse_fragments(fragments)
        others: dict[str, Mapping[str, object]] = {
            "audit": _check_audit(self.audit),
            "gates": _check_gates(self.gates),
            "utility": _check_utility(self.utility, self.schema),
        }
        formats, on_change = check_formats(self.formats), check_on_change(self.on_change)
        meta = {
            "schema": self.schema.to_dict(),
            "policy": policy,
            "formats": list(formats),
            "on_change": on_change,
            "engine": engine,
            "fragments": fragments,
            **{name: section for name, section in others.items() if section},
        }
        return Ledger.create(
            path,
            config=write_config(self.schema, policy, formats, on_change, engine, fragments, others),
            meta=meta,
            seed=secrets.randbits(128) if self.seed is None else self.seed,
            catalogue_url=self.catalogue,
            key=find_key(self.key),
            unfinished=self.unfinished,
        )


def find_key(key: str | bytes | None) -> bytes | None:
    """The key itself, or the one found where `key` says."""
    return read_key(key) if isinstance(key, str) else key


def _check_audit(section: Mapping[str, object]) -> dict[str, object]:
    if not section:
        return {}  # attacks are imported only where they are asked for
    from reissue.audit.attacks import check_section

    return check_section(section)


def _check_gates(section: Mapping[str, object]) -> dict[str, float]:
    if not section:
        return {}
    from reissue.publish.gates import check_limits

    return check_limits(section)


def _check_utility(section: Mapping[str, object], schema: Schema) -> Mapping[str, object]:
    """What is measured of every release: pairs of attributes by which rates are."""
    if not section.get("rates"):
        return {}
    from reissue.audit.attacks import check_pairs

    check_pairs(cast("Sequence[str]", section["rates"]), list(schema.quasi_identifiers))
    return section


def _text(section: Mapping[str, object], key: str) -> str | None:
    value = section.get(key)
    return None if value is None else str(value)


def write_config(
    schema: Schema,
    policy: Mapping[str, object],
    formats: Sequence[str],
    on_change: str,
    engine: Mapping[str, object],
    fragments: int,
    others: Mapping[str, Mapping[str, object]],
) -> str:
    """The config as TOML; others: more sections. Hierarchies are named, not listed: their content is in the ledger."""
    lines = [
        "# What this series was created with, for people to read. Reissue itself reads the ledger in private/.",
        "",
        "[schema]",
        f"identifier = {write_value(schema.identifier)}",
        f"sensitive = {write_value(list(schema.sensitive))}",
        f"insensitive = {write_value(list(schema.insensitive))}",
        f"missing = {write_value(schema.missing)}",
        "",
        "[schema.quasi_identifiers]",
        *(
            f"{write_key(name)} = {write_value(summarize_attribute(attribute))}"
            for name, attribute in schema.quasi_identifiers.items()
        ),
        "",
        *_write_bins(schema),
        "[policy]",
        *(f"{write_key(key)} = {write_value(value)}" for key, value in policy.items() if value is not None),
        f"on_change = {write_value(on_change)}",
        "",
        "[output]",
        f"formats = {write_value(list(formats))}",
        "",
        "[engine]",
        *(f"{write_key(key)} = {write_value(value)}" for key, value in engine.items()),
        *([f"fragments = {fragments}"] if fragments else []),
    ]
    for name, section in others.items():
        if section:
            lines += ["", f"[{name}]", *(f"{write_key(key)} = {write_value(value)}" for key, value in section.items())]
    return "\n".join(lines) + "\n"


def _write_bins(schema: Schema) -> list[str]:
    bins = [f"{write_key(name)} = {write_value(bins.to_dict())}" for name, bins in schema.bins.items()]
    spelled = [f"{write_key(key)} = {write_value(value)}" for key, value in schema.spelling.to_dict().items()]
    return [
        *(["[schema.bins]", *bins, ""] if bins else []),
        *(["[schema.spelling]", *spelled, ""] if spelled else []),
    ]


def summarize_attribute(attribute: Attribute) -> Mapping[str, object]:
    """The attribute without the content of its hierarchy."""
    if isinstance(attribute, Categorical) and attribute.hierarchy.rule is None:
        return {"hierarchy": f"{len(attribute.hierarchy.leaves)} values, kept in the ledger"}
    return {key: value for key, value in attribute.to_dict().items() if key != "values"}
