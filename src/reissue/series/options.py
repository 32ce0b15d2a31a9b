"""What a series is created and published with, checked: formats, on_change, engine, fragments, KEY=VALUE settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reissue.engine.settings import Format
from reissue.errors import SettingsError

FORMATS: tuple[Format, ...] = ("parquet", "csv")
ON_CHANGE = ("refuse", "new-subject")


def checked_fragments(fragments: int | None) -> int:
    """How many fragments are asked for; 0 leaves it to the first release."""
    if fragments is None:
        return 0
    if isinstance(fragments, bool) or fragments < 1:
        raise SettingsError(f"fragments is {fragments}; it must be a whole number of at least 1.")
    return fragments


def parsed_settings(settings: Sequence[str]) -> dict[str, object]:
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


def formats_of(output: Mapping[str, object]) -> Sequence[str]:
    """The formats of a config's [output], both by default."""
    formats = output.get("formats", FORMATS)
    return [formats] if isinstance(formats, str) else strings(formats)


def checked_formats(formats: Sequence[str]) -> list[Format]:
    """The formats, each once and in one order."""
    formats = [formats] if isinstance(formats, str) else formats
    if not formats or any(name not in FORMATS for name in formats):
        raise SettingsError(f"Releases are written as parquet, csv or both; received {list(formats)!r}.")
    return [name for name in FORMATS if name in formats]


def checked_on_change(on_change: str) -> str:
    """What is done with changed rows."""
    if on_change not in ON_CHANGE:
        raise SettingsError(f"on_change is {on_change!r}; it must be one of: {', '.join(ON_CHANGE)}.")
    return on_change


def strings(value: object) -> Sequence[str]:
    """A list as TOML or JSON gives it, as one of text."""
    assert isinstance(value, Sequence)
    return [str(item) for item in value]
