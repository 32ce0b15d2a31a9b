"""How a series comes to be: what is asked of it, in Python or in a config, checked and kept in a new ledger."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from reissue.errors import SeriesError, SettingsError
from reissue.ledger import Ledger, read_events, read_key
from reissue.ledger.disk import remove_tree
from reissue.ledger.system import force_folder, move
from reissue.methods.registry import make_strategy, write_policy
from reissue.methods.strategy import Strategy
from reissue.schema import Schema
from reissue.series.release import FORMATS, check_engine, check_formats, check_on_change, to_strings


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
            _checked_audit(read.audit)
            _checked_gates(read.gates)
            _checked_utility(read.utility, read.schema)
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
        from reissue.series.configuration import write_config

        if self.seed is not None and self.seed < 0:
            raise SettingsError(f"seed is {self.seed}; it must be a whole number of at least 0.")
        policy = write_policy(self.strategy)
        engine = check_engine(self.engine)
        fragments = check_fragments(self.fragments)
        self.strategy.refuse_fragments(fragments)
        others: dict[str, Mapping[str, object]] = {
            "audit": _checked_audit(self.audit),
            "gates": _checked_gates(self.gates),
            "utility": _checked_utility(self.utility, self.schema),
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


def _checked_audit(section: Mapping[str, object]) -> dict[str, object]:
    if not section:
        return {}  # attacks are imported only where they are asked for
    from reissue.audit.attacks import check_section

    return check_section(section)


def _checked_gates(section: Mapping[str, object]) -> dict[str, float]:
    if not section:
        return {}
    from reissue.publish.gates import check_limits

    return check_limits(section)


def _checked_utility(section: Mapping[str, object], schema: Schema) -> Mapping[str, object]:
    """What is measured of every release: pairs of attributes by which rates are."""
    if not section.get("rates"):
        return {}
    from reissue.audit.rates import check_pairs

    check_pairs(cast("Sequence[str]", section["rates"]), list(schema.quasi_identifiers))
    return section


def _text(section: Mapping[str, object], key: str) -> str | None:
    value = section.get(key)
    return None if value is None else str(value)
