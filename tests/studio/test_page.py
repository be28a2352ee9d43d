"""The studio's page in a real Chromium: type, see matches, see an error, see why; narrow and wide, light and dark."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from explain.mistakes import SHOP
from studio.browser import Browser, Page, chromium

pytest.importorskip("starlette", reason="the extra `studio` is not installed")
pytest.importorskip("uvicorn", reason="the extra `studio` is not installed")
PROGRAM = chromium()
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed")

CART = "cart[kind = 'cart'] ~> buy[kind = 'buy'] within 100"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a studio that the command line has started."""
    path = tmp_path_factory.mktemp("studio") / "shop.csv"
    pa.csv.write_csv(pa.Table.from_pylist(SHOP), path)
    command = [sys.executable, "-m", "cepheid.cli", "studio", str(path), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().split()[-1]
        server.terminate()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert PROGRAM is not None
    browser = Browser(PROGRAM)
    yield browser
    browser.close()


def _opened(browser: Browser, address: str, width: int = 1200, dark: bool = False) -> Page:
    page = browser.open(address, width, 900, dark)
    page.wait("document.querySelectorAll('#order option').length > 1")
    page.value("for (const one of document.querySelectorAll('#keys option')) one.selected = one.value === 'id'")
    return page


def _typed(page: Page, text: str) -> None:
    page.value("document.getElementById('text').focus(); document.getElementById('text').select()")
    page.type(text)


def _text(page: Page, name: str) -> str:
    return str(page.value(f"document.getElementById('{name}').innerText"))


def test_a_pattern_grows(browser: Browser, address: str) -> None:
    page = _opened(browser, address)
    assert "shop.csv: 64 rows, 5 columns" in _text(page, "sample")
    assert page.value("document.getElementById('order').value") == "t"
    _typed(page, "cart[kind = ")
    page.wait("!document.getElementById('error').hidden")
    assert "^" in _text(page, "error")
    _typed(page, CART)
    page.wait("document.getElementById('status').innerText.startsWith('8 matches')")
    assert page.value("document.getElementById('error').hidden")
    assert page.value("document.querySelectorAll('#matches tbody tr').length") == 8
    assert page.value("document.querySelector('#diagram svg') !== null")
    page.value("document.querySelector('[data-panel=timeline]').click()")
    assert page.value("document.querySelectorAll('#timeline .panel').length") == 3
    page.value("document.querySelector('#copies button').click()")
    assert "from cepheid import Pattern" in page.wait("document.getElementById('copied').innerText")


def test_why_is_said(browser: Browser, address: str) -> None:
    page = _opened(browser, address)
    _typed(page, CART.replace("'cart'", "'Cart'"))
    page.wait("document.getElementById('status').innerText.startsWith('0 matches')")
    assert "'cart' on 8 rows" in _text(page, "cause")
    page.value("document.querySelector('[data-panel=why]').click()")
    assert "Likely cause" in _text(page, "why")
    assert page.value("document.getElementById('matches').hidden")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [420, 1200])
def test_it_fits_every_width_and_light(browser: Browser, address: str, width: int, dark: bool, tmp_path: Path) -> None:
    page = _opened(browser, address, width, dark)
    _typed(page, CART.replace("~>", "->"))
    page.wait("document.getElementById('status').innerText.startsWith('0 matches')")
    page.value("document.querySelector('[data-panel=why]').click()")
    assert page.value("document.documentElement.scrollWidth") <= width
    colour = page.value("getComputedStyle(document.body).backgroundColor")
    assert colour == ("rgb(20, 24, 31)" if dark else "rgb(255, 255, 255)")
    page.screenshot(tmp_path / "studio.png")
    assert (tmp_path / "studio.png").stat().st_size > 10_000
