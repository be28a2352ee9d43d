"""The page of each example shows the patterns of its script and what the script prints."""

from __future__ import annotations

import ast

import pytest
from examples.scripts import NAMES, ROOT, run
from markdown_it import MarkdownIt


def patterns_of(code: str) -> dict[str, str]:
    """The assignments of patterns in a piece of code, independent of its layout."""
    assigned = [node for node in ast.parse(code).body if isinstance(node, ast.Assign)]
    return {
        ast.unparse(node.targets[0]): ast.unparse(node.value)
        for node in assigned
        if ast.unparse(node.value).startswith(("Pattern.begin(", "RowPattern.parse("))
    }


@pytest.mark.parametrize("name", NAMES)
def test_page_and_script_say_the_same(name: str) -> None:
    page = ROOT / "docs" / "examples" / f"{name.replace('_', '-')}.md"
    blocks = [token for token in MarkdownIt().parse(page.read_text(encoding="utf-8")) if token.type == "fence"]
    shown = patterns_of("\n".join(block.content for block in blocks if block.info == "python"))
    script = (ROOT / "examples" / name / f"{name}.py").read_text(encoding="utf-8")
    assert shown and shown == patterns_of(script)
    [output] = [block.content for block in blocks if block.info == "text"]
    assert output.rstrip() == "\n".join(line.rstrip() for line in run(name)[1].splitlines()).rstrip()
