"""The notebook of each example is its script, cell by cell, and opens with results."""

from __future__ import annotations

import runpy

import nbformat
import pytest
from examples.scripts import NAMES, ROOT, run

cells_of = runpy.run_path(str(ROOT / "scripts" / "make_notebooks.py"))["cells_of"]


@pytest.mark.parametrize("name", NAMES)
def test_the_notebook_is_the_script(name: str) -> None:
    place = ROOT / "examples" / name
    notebook = nbformat.read(place / f"{name}.ipynb", as_version=4)
    wanted = cells_of((place / f"{name}.py").read_text(encoding="utf-8"))
    have = [(cell.cell_type, cell.source) for cell in notebook.cells]
    assert have == [(cell.cell_type, cell.source) for cell in wanted], "run `make notebooks`"


@pytest.mark.parametrize("name", NAMES)
def test_the_notebook_shows_what_the_script_prints_and_a_picture(name: str) -> None:
    notebook = nbformat.read(ROOT / "examples" / name / f"{name}.ipynb", as_version=4)
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    printed = "".join(output.text for output in outputs if output.output_type == "stream" and output.name == "stdout")
    assert printed == run(name)[1], "run `make notebooks`"
    assert any("<svg" in output.data.get("text/html", "") for output in outputs if "data" in output)


def test_text_and_code_are_told_apart() -> None:
    cells = cells_of("# %% [markdown]\n# # Title\n# words\n\n# %%\nx = 1\n\n\ny = 2\n")
    assert [(cell.cell_type, cell.source) for cell in cells] == [
        ("markdown", "# Title\nwords"),
        ("code", "x = 1\n\n\ny = 2"),
    ]
