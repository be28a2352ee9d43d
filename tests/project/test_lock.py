"""The lock holds what pyproject.toml asks for, exactly and checkably, and ties nobody to one package index."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
ENTRIES = re.findall(r"^(?![#\s])(.+?)((?: \\\n\s+--hash=sha256:[0-9a-f]{64})*)$", LOCK, flags=re.MULTILINE)
LOCKED = [Requirement(entry) for entry, _ in ENTRIES]


def asked_for() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    texts = [
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["spark"],
        *project["project"]["optional-dependencies"]["cli"],
        *project["dependency-groups"]["dev"],
        *project["build-system"]["requires"],
    ]
    return [Requirement(text) for text in texts]


def test_everything_asked_for_is_locked_within_its_bounds() -> None:
    unmet = [
        str(requirement)
        for requirement in asked_for()
        if not any(
            canonicalize_name(locked.name) == canonicalize_name(requirement.name)
            and all(requirement.specifier.contains(pin.version) for pin in locked.specifier)
            for locked in LOCKED
        )
    ]
    assert unmet == [], "run `make lock`"


def test_every_entry_is_one_exact_version_with_a_hash() -> None:
    loose = [entry for entry, hashes in ENTRIES if not hashes or not re.search(r"==[\w.]+( ;|$)", entry)]
    assert ENTRIES and loose == []


def test_no_address_of_a_package_index() -> None:
    assert re.findall(r"\S*://\S*|--(?:extra-)?index-url.*|--find-links.*", LOCK) == []
