"""What is handed to others: the wheel, the locks, the image, the changelog."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_string
from email.message import Message
from pathlib import Path

import pytest

import reissue

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [path] = folder.iterdir()
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def about(wheel: zipfile.ZipFile) -> Message:
    [name] = [name for name in wheel.namelist() if name.endswith("/METADATA")]
    return message_from_string(wheel.read(name).decode())


def test_the_wheel_has_every_file_of_the_package_and_no_other(wheel: zipfile.ZipFile) -> None:
    source = ROOT / "src"
    ours = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    ours = {name for name in ours if not re.search(r"__pycache__|\.egg-info|\.nb[ic]$", name)}
    assert {name for name in wheel.namelist() if ".dist-info/" not in name} == ours
    assert "reissue/py.typed" in ours


def test_the_wheel_carries_its_licence(wheel: zipfile.ZipFile, about: Message) -> None:
    [name] = [name for name in wheel.namelist() if name.endswith("/licenses/LICENSE")]
    assert wheel.read(name) == (ROOT / "LICENSE").read_bytes()
    assert about["License-Expression"] == "Apache-2.0"


def test_the_wheel_says_who_made_it_for_whom_and_where_to_ask(about: Message) -> None:
    assert about["Version"] == reissue.__version__ == PROJECT["version"]
    assert about["Author"]
    assert {url.partition(",")[0] for url in about.get_all("Project-URL", [])} == {
        "Changelog", "Documentation", "Issues", "Source",
    }  # fmt: skip
    classifiers = set(about.get_all("Classifier", []))
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13, 14)} <= classifiers
    assert {"Operating System :: MacOS", "Operating System :: POSIX :: Linux", "Typing :: Typed"} <= classifiers
    assert about.get_payload() == (ROOT / "README.md").read_text(encoding="utf-8")


def test_a_base_install_is_small() -> None:
    """At most 14 packages with all that they need; each costs those who install us."""
    lock = (ROOT / "requirements-demo.lock").read_text(encoding="utf-8")
    pinned = {line.partition("==")[0] for line in lock.splitlines() if re.match(r"[a-z]", line)}
    report = {re.split("[><=]", one)[0] for one in PROJECT["optional-dependencies"]["report"]}
    brought = {"attrs", "jsonschema", "jsonschema-specifications", "markupsafe", "narwhals", "packaging", "referencing"}
    base = pinned - report - brought - {"rpds-py"}
    assert {re.split("[><=]", one)[0] for one in PROJECT["dependencies"]} <= base
    assert len(base) + 1 <= 14, sorted(base)


def test_both_locks_pin_the_same_and_name_no_index() -> None:
    whole, small = (
        (ROOT / name).read_text(encoding="utf-8") for name in ("requirements.lock", "requirements-demo.lock")
    )
    pins = [set(re.findall(r"^([a-z0-9-]+==\S+)(.*?) \\", text, flags=re.MULTILINE)) for text in (whole, small)]
    assert pins[1] <= pins[0]
    assert "http" not in whole + small


def test_the_lock_installs_on_intel_macs() -> None:
    lock = (ROOT / "requirements-demo.lock").read_text(encoding="utf-8")
    intel = r"numba==0\.62\.\d+ ; platform_machine == 'x86_64' and sys_platform == 'darwin'"
    assert re.search(intel, lock), "numba has no wheels for Intel Macs after 0.62"


def test_the_image_copies_what_is_there_and_installs_by_the_lock() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    copied = [name for line in re.findall(r"^COPY (.+) \S+$", text, flags=re.MULTILINE) for name in line.split()]
    assert copied
    assert all((ROOT / name).exists() for name in copied)
    assert "--require-hashes -r requirements-demo.lock" in text


def test_the_changelog_knows_the_version() -> None:
    assert f"\n## [{PROJECT['version']}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
