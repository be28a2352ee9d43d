"""Every dependency has its reason: those of the package in README.md, those of development in CONTRIBUTING.md."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import cepheid

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGE = [
    *PROJECT["project"]["dependencies"],
    *[text for extra in PROJECT["project"]["optional-dependencies"].values() for text in extra],
]


def test_the_version_is_written_in_one_place() -> None:
    assert "version" not in PROJECT["project"] and PROJECT["project"]["dynamic"] == ["version"]
    place = ROOT / PROJECT["tool"]["hatch"]["version"]["path"]
    assert f'VERSION = "{cepheid.__version__}"' in place.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("page", "asked_for"), [("README.md", PACKAGE), ("CONTRIBUTING.md", PROJECT["dependency-groups"]["dev"])]
)
def test_every_dependency_is_in_the_table(page: str, asked_for: list[str]) -> None:
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    named = {re.split(r"[\s\[(]", word.strip())[0] for row in rows for word in row.split(",")}
    names = {Requirement(text).name for text in asked_for} - {PROJECT["project"]["name"]}
    assert names - named == set()
