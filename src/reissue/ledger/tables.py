"""The catalogue's tables, in SQL that SQLite and PostgreSQL both understand.

Every row names its series, so that several series can share one database.
"""

from __future__ import annotations

SERIES = "reissue_series"
FILES = "reissue_files"
RELEASES = "reissue_releases"
PUBLIC = "reissue_public"

CREATE = (
    f"""CREATE TABLE IF NOT EXISTS {SERIES} (
        id VARCHAR(32) NOT NULL PRIMARY KEY,
        format INTEGER NOT NULL,
        created VARCHAR(40) NOT NULL,
        seed TEXT NOT NULL, -- as text: it may exceed 64 bits
        next_subject BIGINT NOT NULL,
        key_check VARCHAR(64) NOT NULL, -- empty if the series is not encrypted
        pointer TEXT NOT NULL,
        config_sha256 VARCHAR(64) NOT NULL
    )""",
    f"""CREATE TABLE IF NOT EXISTS {FILES} (
        series VARCHAR(32) NOT NULL,
        role VARCHAR(16) NOT NULL,
        name VARCHAR(255) NOT NULL,
        release INTEGER NOT NULL,
        sha256 VARCHAR(64) NOT NULL,
        size BIGINT NOT NULL,
        salt VARCHAR(32) NOT NULL,
        PRIMARY KEY (series, role, name)
    )""",
    f"""CREATE TABLE IF NOT EXISTS {RELEASES} (
        series VARCHAR(32) NOT NULL,
        number INTEGER NOT NULL,
        created VARCHAR(40) NOT NULL,
        strategy TEXT NOT NULL,
        settings TEXT NOT NULL,
        seed TEXT NOT NULL,
        coding_version INTEGER NOT NULL,
        counts TEXT NOT NULL,
        steps TEXT NOT NULL,
        revealed BOOLEAN NOT NULL,
        PRIMARY KEY (series, number)
    )""",
    f"""CREATE TABLE IF NOT EXISTS {PUBLIC} (
        series VARCHAR(32) NOT NULL,
        release INTEGER NOT NULL,
        path VARCHAR(1000) NOT NULL,
        sha256 VARCHAR(64) NOT NULL,
        size BIGINT NOT NULL,
        PRIMARY KEY (series, release, path)
    )""",
)
