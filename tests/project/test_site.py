"""The documentation builds as a site without a warning, and pages fetch nothing from the network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(place)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "true"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return place


def test_every_page_of_the_documentation_is_reachable(site: Path) -> None:
    menu = (site / "index.html").read_text(encoding="utf-8")
    pages = [page.relative_to(ROOT / "docs").with_suffix("") for page in (ROOT / "docs").rglob("*.md")]
    addresses = [page.parent.as_posix() if page.name == "index" else page.as_posix() for page in pages]
    assert [page for page in addresses if page != "." and f'href="{page}/"' not in menu] == []


def test_the_reference_holds_the_methods_of_patterns(site: Path) -> None:
    reference = (site / "api" / "index.html").read_text(encoding="utf-8")
    for name in ("begin", "followed_by", "not_followed_by", "within", "match", "match_events", "to_sase"):
        assert f'id="cepheid.Pattern.{name}"' in reference


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    loads = re.compile(
        r"<(?:script|img)[^>]+src=\"(https?:[^\"]+)|<link[^>]+rel=\"stylesheet\"[^>]+href=\"(https?:[^\"]+)"
    )
    assert [found for page in site.rglob("*.html") for found in loads.findall(page.read_text(encoding="utf-8"))] == []
