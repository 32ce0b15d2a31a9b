"""With a key, nothing about a person is in clear in any private file; without the right key, nothing opens."""

from __future__ import annotations

import base64
import os
import secrets
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from reissue.errors import KeyMissing, SeriesError
from reissue.ledger import Ledger, read_key, sealing
from reissue.ledger.keys import SALT_BYTES, file_key
from tests.ledger.support import assert_is_whole, create, identifiers, publish

KEY = bytes(range(32))


def contents(path: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in (path / "private").rglob("*") if file.is_file()}


def test_an_encrypted_series_works_like_any_other(tmp_path: Path, catalogue_url: str | None) -> None:
    path = tmp_path / "s"
    with create(path, catalogue_url, key=KEY) as ledger:
        publish(ledger, 1)
        publish(ledger, 2)
    with Ledger.open(path, key=KEY) as ledger:
        assert_is_whole(ledger, 2)
        assert ledger.forget([identifiers(1)[0]]).people == 1
        assert ledger.verify() == []
        assert identifiers(1)[0] not in ledger.identities()[0].to_pylist()


def test_no_private_file_shows_an_identifier_or_a_label(tmp_path: Path) -> None:
    with create(tmp_path / "clear") as clear, create(tmp_path / "secret", key=KEY) as secret:
        publish(clear, 1)
        publish(secret, 1)
    words = [b"patient-", "gastritis-präfix".encode(), b"diagnosis"]

    def shown(path: Path) -> set[bytes]:
        return {word for word in words for content in contents(path).values() if word in content}

    assert shown(tmp_path / "clear") == set(words)  # the words are searched in a way that can find them
    assert shown(tmp_path / "secret") == set()
    for path, content in contents(tmp_path / "secret").items():
        if path.suffix == ".parquet":
            assert content[:4] == b"PARE"  # the footer is encrypted too
            with pytest.raises(OSError, match=r"[Ee]ncrypt|decrypt"):
                pq.read_table(path)
        assert KEY not in content
        assert KEY.hex().encode() not in content


def test_every_file_has_its_own_key(tmp_path: Path) -> None:
    with create(tmp_path / "s", key=KEY) as ledger:
        publish(ledger, 1)
        before = ledger._state.files["cache", "beliefs"]
        ledger.replace_caches(ledger.caches())
        after = ledger._state.files["cache", "beliefs"]
        assert before.sha256 != after.sha256  # the same content, other bytes
        salts = [file.salt for file in ledger._state.files.values()]
        assert len(set(salts)) == len(salts)
        assert {len(salt) for salt in salts} == {32}


def test_the_derivation_is_hkdf() -> None:
    for _ in range(5):
        master, salt = secrets.token_bytes(32), secrets.token_bytes(16)
        expected = HKDF(SHA256(), 32, salt, b"reissue ledger file").derive(master)
        assert file_key(master, salt) == expected


def test_the_wrong_key_no_key_and_a_needless_key_are_told_apart(tmp_path: Path, series: Path) -> None:
    create(tmp_path / "s", key=KEY).close()
    with pytest.raises(KeyMissing, match=r"is encrypted\. Give its key: env:NAME or file:PATH"):
        Ledger.open(tmp_path / "s")
    with pytest.raises(KeyMissing, match="made with another key"):
        Ledger.open(tmp_path / "s", key=bytes(32))
    with pytest.raises(SeriesError, match="is not encrypted, but a key was given"):
        Ledger.open(series, key=KEY)
    Ledger.open(tmp_path / "s", key=KEY).close()


@pytest.mark.parametrize(
    "content",
    [
        KEY,
        KEY.hex().encode(),
        KEY.hex().upper().encode() + b"\n",
        base64.b64encode(KEY) + b"\n",
        base64.urlsafe_b64encode(bytes([255] * 32)),
    ],
)
def test_a_key_is_read_in_any_usual_form(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "key").write_bytes(content)
    expected = bytes([255] * 32) if content.startswith(b"__") else KEY
    assert read_key(f"file:{tmp_path / 'key'}") == expected


def test_a_key_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REISSUE_KEY", KEY.hex())
    assert read_key("env:REISSUE_KEY") == KEY


@pytest.mark.parametrize("content", [b"", b"short", b"g" * 64, b"0" * 63, b"x" * 33, base64.b64encode(bytes(16))])
def test_what_is_no_key_is_refused_without_showing_it(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "key").write_bytes(content)
    with pytest.raises(KeyMissing, match=r"is not a key\. A key is 32 raw bytes") as refused:
        read_key(f"file:{tmp_path / 'key'}")
    assert len(content) < 5 or content.decode() not in str(refused.value)


def test_a_key_must_be_named_by_its_place(tmp_path: Path) -> None:
    for spec in (KEY.hex(), "env:", "vault:x"):
        with pytest.raises(KeyMissing, match="named by its place, env:NAME or file:PATH") as refused:
            read_key(spec)
        assert KEY.hex() not in str(refused.value)
    with pytest.raises(KeyMissing, match="REISSUE_NO_SUCH is not set"):
        read_key("env:REISSUE_NO_SUCH")
    with pytest.raises(KeyMissing, match="cannot be read: No such file"):
        read_key(f"file:{tmp_path / 'absent'}")


def all_identifiers(path: Path) -> set[str]:
    """Every identifier in any file of an unencrypted ledger, by decoding whatever is Parquet."""
    found: set[str] = set()
    for file in contents(path):
        if file.suffix == ".parquet":
            table = pq.read_table(file)
            if "identifier" in table.column_names:
                found |= set(table["identifier"].to_pylist())
    return found


def test_a_forgotten_person_leaves_no_trace(tmp_path: Path, catalogue_url: str | None) -> None:
    path = tmp_path / "s"
    with create(path, catalogue_url) as ledger:
        publish(ledger, 1)
        publish(ledger, 2)
        who = identifiers(2)[7]
        assert who in all_identifiers(path)
        facts = ledger.facts(2)
        assert ledger.forget([who]).people == 1
        assert (ledger.forget([who]).people, ledger.forget([who]).before) == (0, 1)
        assert who not in all_identifiers(path)
        assert not any(who.encode() in content for content in contents(path).values())
        assert all_identifiers(path) == {*identifiers(1), *identifiers(2)} - {who}
        names, numbers = ledger.identities()
        assert len(names) == len(numbers) == 19
        assert dict(zip(names.to_pylist(), numbers.tolist(), strict=True))[identifiers(2)[8]] == 18
        assert ledger.next_subject == 20  # the number is not given again
        assert ledger.facts(2) is facts
        assert ledger.verify() == []
        publish(ledger, 3)
        assert ledger.verify() == []


def test_a_part_whose_people_are_all_forgotten_is_gone(series: Path) -> None:
    ledger = Ledger.open(series)
    before = {key for key in ledger._state.files if key[0] != "identities"}
    for name in identifiers(1):
        assert ledger.forget([name], erase=True).people == 1
    names, numbers = ledger.identities()
    assert (len(names), len(numbers), names.type) == (0, 0, pa.string())
    assert ledger._state.of_role("identities") == []
    assert ledger.next_subject == 10
    assert Ledger.open(series).verify() == []
    left = ledger._state.files
    assert {key for key in left if key[0] != "event"} == {*before, ("receipts", "receipts")}
    assert set(os.listdir(series / "private" / "files")) == {file.path for file in left.values()}
    assert all_identifiers(series) == set()
    assert not any(b"patient-" in content for content in contents(series).values())


@pytest.mark.parametrize("name", ["January.csv", "a.b.parquet", "no ending", "sealed.sealed"])
def test_a_sealed_file_is_called_by_its_own_name(name: str, tmp_path: Path) -> None:
    sealed = sealing.name_sealed(name, secrets.token_bytes(SALT_BYTES))
    assert sealed.endswith(sealing.ENDING)
    assert sealing.read_name(tmp_path / sealed) == name
    assert sealing.read_name(tmp_path / "January.csv") == "January.csv"
