"""Makes the notebook of each example from its script, and runs it, so that it opens with results.

In: `examples/<name>/<name>.py`, cut into cells by `# %%` and `# %% [markdown]`. Out: `<name>.ipynb` beside it. Run by
`make notebooks`; the tests compare the code of notebooks and scripts.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(script for script in EXAMPLES.glob("*/*.py") if script.stem == script.parent.name)
MARK = "# %%"


def cells_of(script: str) -> list[NotebookNode]:
    """The cells of a script, in order; each begins with a mark on a line of its own."""
    cells = []
    for part in ("\n" + script).split("\n" + MARK)[1:]:
        kind, _, body = part.partition("\n")
        body = body.strip("\n")
        number = len(cells)
        if kind.strip() == "[markdown]":
            text = "\n".join(line.removeprefix("#").removeprefix(" ") for line in body.split("\n"))
            cells.append(new_markdown_cell(text, id=f"cell-{number}"))
        else:
            cells.append(new_code_cell(body, id=f"cell-{number}"))
    return cells


def notebook_of(script: Path) -> NotebookNode:
    """The notebook of a script, with the output of every cell."""
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = new_notebook(cells=cells_of(script.read_text(encoding="utf-8")), metadata=metadata)
    where = {"metadata": {"path": str(script.parent)}}
    quiet = ["--Application.log_level=40"]  # it would warn that others on this machine might listen
    NotebookClient(notebook, resources=where, timeout=600, extra_arguments=quiet).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when each cell ran: another time in every run
    notebook.metadata.pop("language_info", None)
    return notebook


def main() -> None:
    source = str(EXAMPLES.parent / "src")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    chosen = sys.argv[1:]
    for script in SCRIPTS:
        if not chosen or script.stem in chosen:
            nbformat.write(notebook_of(script), script.with_suffix(".ipynb"))
            print(script.with_suffix(".ipynb").relative_to(EXAMPLES.parent))


if __name__ == "__main__":
    main()
