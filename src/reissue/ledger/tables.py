"""The catalogue's tables. Every row names its series, so that several series can share one database."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Integer, MetaData, String, Table, Text

METADATA = MetaData()

SERIES = Table(
    "reissue_series",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("format", Integer, nullable=False),
    Column("created", String(40), nullable=False),
    Column("seed", Text, nullable=False),  # as text: it may exceed 64 bits
    Column("next_subject", BigInteger, nullable=False),
    Column("key_check", String(64), nullable=False),  # empty if the series is not encrypted
    Column("pointer", Text, nullable=False),
    Column("config_sha256", String(64), nullable=False),
)

FILES = Table(
    "reissue_files",
    METADATA,
    Column("series", String(32), primary_key=True),
    Column("role", String(16), primary_key=True),
    Column("name", String(255), primary_key=True),
    Column("release", Integer, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("salt", String(32), nullable=False),
)

RELEASES = Table(
    "reissue_releases",
    METADATA,
    Column("series", String(32), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("created", String(40), nullable=False),
    Column("strategy", Text, nullable=False),
    Column("settings", Text, nullable=False),
    Column("seed", Text, nullable=False),
    Column("coding_version", Integer, nullable=False),
    Column("counts", Text, nullable=False),
    Column("steps", Text, nullable=False),
    Column("revealed", Boolean, nullable=False),
)

PUBLIC = Table(
    "reissue_public",
    METADATA,
    Column("series", String(32), primary_key=True),
    Column("release", Integer, primary_key=True),
    Column("path", String(1000), primary_key=True),
    Column("sha256", String(64), nullable=False),
    Column("size", BigInteger, nullable=False),
)
