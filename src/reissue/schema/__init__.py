"""Roles of columns and the coding of each quasi-identifier, as a steward writes them."""

from typing import TYPE_CHECKING

from reissue.schema.attributes import Attribute, Bins, Categorical, Missing, Numeric
from reissue.schema.roles import Schema
from reissue.schema.spelling import Spelling

if TYPE_CHECKING:
    from reissue.schema.config import Config, read_config

__all__ = ["Attribute", "Bins", "Categorical", "Config", "Missing", "Numeric", "Schema", "Spelling", "read_config"]


def __getattr__(name: str) -> object:
    if name in ("Config", "read_config"):  # pydantic is only loaded to read a config
        from reissue.schema import config

        return getattr(config, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
