"""`cepheid check RULES` and `cepheid test RULES`."""

from __future__ import annotations

from pathlib import Path

import pytest

from cepheid.cli import main

RULES = Path(__file__).parents[2] / "examples" / "rules" / "rules"
WRONG = """\
pattern = "a[x = 1] ~> b[x = 2]"
[[examples]]
name = "mine"
events = [{ x = 1 }, { x = 3 }, { x = 2 }, { x = 2 }]
matches = [{ a = 1, b = 2 }]
"""


def test_the_example_rules_are_right_and_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(RULES)]) == 0
    assert "10 rules right, 0 wrong" in capsys.readouterr().out
    assert main(["test", str(RULES)]) == 0
    assert "11 examples passed, 0 failed" in capsys.readouterr().out


def test_a_failed_example_says_what_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.toml").write_text(WRONG)
    assert main(["check", str(tmp_path)]) == 0
    assert main(["test", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "expected, not found: { a = 1, b = 2 }" in said
    assert "found, not expected: { a = 1, b = 3 }" in said


def test_a_wrong_rule_fails_the_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.toml").write_text(WRONG)
    (tmp_path / "bad.toml").write_text('pattern = "a[x = "')
    assert main(["check", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "bad.toml, line 1" in said and "1 rule right, 1 wrong" in said
    assert main(["test", str(tmp_path)]) == 1
    assert main(["check", str(tmp_path / "nothing")]) == 2
    assert "there is no directory" in capsys.readouterr().err


def test_a_file_or_a_directory_without_rules_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path)]) == main(["test", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count(" has no rules.") == 2
    (tmp_path / "rows.csv").write_text("a,b")
    assert main(["check", str(tmp_path / "rows.csv")]) == 2
    assert "rows.csv' is a file.\n  Give a directory of rule files, or a pattern too" in capsys.readouterr().err
