"""Every Python example of README.md, CONTRIBUTING.md and docs/ is run and compared with the output that the page shows.

The blocks of a page run in order in one namespace, in an empty directory. A ```text block directly after a
```python block shows what that block prints; `...` in it stands for any text. A block cannot opt out; a page whose
examples import pyspark is skipped where pyspark is not installed.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib.util
import io
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
PAGE_NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]


@dataclass(frozen=True, slots=True)
class Example:
    """A Python block, the line of the page on which its code begins, and the output shown after it."""

    code: str
    line: int
    shown: str | None

    def imports(self, package: str) -> bool:
        for node in ast.walk(ast.parse(self.code)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.split(".")[0] == package for name in names):
                return True
        return False


def examples_of(text: str) -> list[Example]:
    """The Python blocks of a page, in order. A mark after `python` is refused: there is no way to opt out."""
    tokens = MarkdownIt().parse(text)
    found = []
    for position, token in enumerate(tokens):
        words = token.info.split()
        if token.type != "fence" or not words or words[0].lower() not in {"python", "py", "python3", "pycon"}:
            continue
        line = token.map[0] + 2 if token.map else 1
        if words != ["python"]:
            raise ValueError(f"line {line - 1}: ```{token.info} is not run; write ```python")
        behind = tokens[position + 1] if position + 1 < len(tokens) else None
        shows_output = behind is not None and behind.type == "fence" and behind.info.strip() == "text"
        found.append(Example(token.content, line, behind.content if shows_output and behind else None))
    return found


def run(example: Example, page: str, namespace: dict[str, object]) -> str:
    """Runs one block and gives what it printed. Empty lines in front keep the line numbers of tracebacks true."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n" * (example.line - 1) + example.code, page, "exec"), namespace)
    return printed.getvalue()


def same_output(shown: str, printed: str) -> bool:
    wanted, got = (re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE).rstrip("\n") + "\n" for text in (shown, printed))
    return doctest.OutputChecker().check_output(wanted, got, doctest.ELLIPSIS)


@pytest.mark.parametrize("page", PAGES, ids=PAGE_NAMES)
def test_examples_run_and_print_what_the_page_shows(
    page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    name = page.relative_to(ROOT).as_posix()
    examples = examples_of(page.read_text(encoding="utf-8"))
    if any(example.imports("pyspark") for example in examples) and importlib.util.find_spec("pyspark") is None:
        pytest.skip(f"{name} needs pyspark")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for example in examples:
        printed = run(example, name, namespace)
        if example.shown is not None and not same_output(example.shown, printed):
            pytest.fail(f"{name}, line {example.line} prints\n{printed}\nwhere the page shows\n{example.shown}")


@pytest.mark.parametrize("page", PAGES, ids=PAGE_NAMES)
def test_links_inside_the_project_lead_to_a_file(page: Path) -> None:
    inline = [child for token in MarkdownIt().parse(page.read_text(encoding="utf-8")) for child in token.children or []]
    targets = [str(child.attrs.get("href") or child.attrs.get("src") or "") for child in inline]
    inside = [target.split("#")[0] for target in targets if "://" not in target and not target.startswith("#")]
    assert [target for target in inside if target and not (page.parent / target).exists()] == []


def test_a_block_cannot_opt_out() -> None:
    with pytest.raises(ValueError, match="line 3: ```python no-run is not run"):
        examples_of("# Title\n\n```python no-run\n1 / 0\n```\n")


def test_only_a_text_block_directly_behind_is_the_output() -> None:
    text = "```python\nprint(1)\n```\n\n```text\n1\n```\n\n```python\nprint(2)\n```\nand so on\n```text\nelse\n```\n"
    assert [(example.line, example.shown) for example in examples_of(text)] == [(2, "1\n"), (10, None)]


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a b\n", "a b\n", True),
        ("a b\n", "a  b\n", False),
        ("a ... d\n", "a b c d\n", True),
        ("a\n", "a\nb\n", False),
        ("a\n", "", False),
        ("a\n\n  b\n", "a   \n\n  b\n\n", True),
    ],
)
def test_output_is_compared_exactly_but_for_dots_and_trailing_space(shown: str, printed: str, same: bool) -> None:
    assert same_output(shown, printed) is same
