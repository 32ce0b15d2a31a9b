"""Encryption at rest: one master key per series, a fresh key per file.

The key of a file is HKDF-SHA256 (RFC 5869) of the master key with the file's own random salt. AES-GCM is only safe
while no key meets the same nonce twice; with a key per file that holds for any number of files.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import secrets
from pathlib import Path

from reissue.errors import KeyMissing

KEY_BYTES, SALT_BYTES = 32, 16
_MOST = 4096
_FORMS = "A key is 32 raw bytes, or 64 hexadecimal digits, or 32 bytes in base64 (openssl rand -hex 32 makes one)."


def read_key(spec: str) -> bytes:
    """The master key named by "env:NAME" (an environment variable) or "file:PATH" (a file): 32 bytes."""
    kind, _, place = spec.partition(":")
    if kind not in ("env", "file") or not place:
        raise KeyMissing("A key is named by its place, env:NAME or file:PATH; what was given is neither.")
    if kind == "env":
        content = os.environb.get(os.fsencode(place))
        if content is None:
            raise KeyMissing(f"The environment variable {place} is not set, and the key was to be read from it.")
        return parse_key(content, f"the environment variable {place}")
    try:
        with Path(place).open("rb") as file:  # it may be a pipe, but not an endless one
            return parse_key(file.read(_MOST), f"the file {place}")
    except OSError as error:
        raise KeyMissing(f"The key file {place} cannot be read: {error.strerror}.") from error


def parse_key(content: bytes, place: str) -> bytes:
    """32 bytes from their raw, hexadecimal or base64 form. The message never shows the content."""
    if len(content) == KEY_BYTES:
        return content
    text = content.strip()
    if len(text) == 2 * KEY_BYTES:
        try:
            return binascii.unhexlify(text)
        except binascii.Error:
            pass
    try:
        key = base64.b64decode(text, altchars=b"-_" if b"-" in text or b"_" in text else None, validate=True)
    except binascii.Error:
        key = b""
    if len(key) != KEY_BYTES:
        more = " or more" if len(content) == _MOST else ""
        raise KeyMissing(f"What {place} holds ({len(content)} bytes{more}) is not a key. {_FORMS}")
    return key


def new_salt() -> bytes:
    return secrets.token_bytes(SALT_BYTES)


def file_key(master: bytes, salt: bytes) -> bytes:
    """The key of one file: HKDF-SHA256 with the file's salt, one block of output."""
    return _hkdf(master, salt, b"reissue ledger file")


def key_check(master: bytes, series: str) -> str:
    """A value by which a wrong key is noticed before any file is read; it tells nothing about the key."""
    return _hkdf(master, series.encode(), b"reissue ledger key check").hex()


def mark_key(master: bytes | None, seed: int) -> bytes:
    """The key of the marks of forgotten people: from the master key, or from the series' seed where there is none."""
    own = str(seed).encode()
    return _hkdf(own if master is None else master, own, b"reissue forgotten people")


def same_check(one: str, other: str) -> bool:
    return hmac.compare_digest(one, other)


def _hkdf(master: bytes, salt: bytes, purpose: bytes) -> bytes:
    extracted = hmac.digest(salt, master, hashlib.sha256)
    return hmac.digest(extracted, purpose + b"\x01", hashlib.sha256)
