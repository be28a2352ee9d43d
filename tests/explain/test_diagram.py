"""Diagrams show what the pattern has, and no text leaves its card."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syntax.strategies import patterns

from cepheid import InputError, Pattern, PatternSet
from cepheid.explain.diagram.lettering import cells, mono_width, sans_width, wrapped
from cepheid.explain.diagram.picture import picture
from cepheid.explain.diagram.svg_drawing import to_svg
from cepheid.explain.diagram.svg_layout import Direction, Placed, lay_out
from cepheid.syntax.tree import Not, PatternTree, variables, walk

SVG = "{http://www.w3.org/2000/svg}"
FULL = (
    Pattern.not_before("login")
    .where("kind = 'login'")
    .begin("a")
    .where("x = 1")
    .fold("z", init="0", update="z + price")
    .followed_by(Pattern.begin("b").where("x = 2 AND z > 3").next("c").optional())
    .times_or_more(2)
    .until("x = 9")
    .followed_by_any("d")
    .where("x = 4 AND name <> '<&\"|>'")
    .one_or_more(within="5 minutes")
    .greedy()
    .not_followed_by("e")
    .where("a_function_with_a_very_long_name_and_no_space(first_column,second_column,third_column) > 10")
    .within("1 minute", since="previous")
    .within("1 hour")
    .skip("past_last_event")
)


def names_of(tree: PatternTree) -> list[str]:
    names = [before.name for before in tree.not_before]
    names += [variable.name for _, _, variable in variables(tree.body)]
    return names + [element.name for _, element in walk(tree.body) if isinstance(element, Not)]


@given(patterns())
def test_every_format_names_every_element(tree: PatternTree) -> None:
    pattern = Pattern.from_tree(tree)
    for form in ("svg", "mermaid", "dot", "text"):
        drawn = str(pattern.diagram(form))  # type: ignore[arg-type]
        for name in names_of(tree):
            assert re.search(rf"\b{re.escape(name)}\b", drawn), (form, name)


def test_everything_an_element_has_is_shown() -> None:
    said = ("2 or more times", "until x = 9", "optional", "greedy", "less than 5 minutes apart", "within 1 hour")
    said += ("z: 0, then z + price", "not before", "followed by any", "skip past last event")
    for form in ("svg", "mermaid", "dot", "text"):
        for words in said:
            assert words in str(FULL.diagram(form)), (form, words)  # type: ignore[arg-type]


@given(patterns(), st.sampled_from(Direction))
def test_shapes_lie_inside_the_picture_and_beside_each_other(tree: PatternTree, direction: Direction) -> None:
    layout = lay_out(picture(tree), direction)

    def check(chain: list[Placed], left: float, top: float, right: float, bottom: float) -> None:
        for placed in chain:
            assert left <= placed.x and placed.x + placed.width <= right + 1e-6
            assert top <= placed.y and placed.y + placed.height <= bottom + 1e-6
            check(placed.inside, placed.x, placed.y, placed.x + placed.body_width, placed.y + placed.body_height)
        for one, other in pairwise(chain):
            assert one.x + one.width < other.x or one.y + one.height < other.y

    check(list(layout.top), 0, 0, layout.width, layout.height)


@pytest.mark.parametrize("direction", Direction)
def test_text_stays_inside_its_card(direction: Direction) -> None:
    drawn = ElementTree.fromstring(to_svg(picture(FULL.tree), direction))
    width, height = float(drawn.get("width", "")), float(drawn.get("height", ""))
    seen = 0
    for group in drawn.iter(f"{SVG}g"):
        card = [rect for rect in group.findall(f"{SVG}rect") if rect.get("class") != "pill"][-1]
        right = float(card.get("x", "")) + float(card.get("width", ""))
        for text in group.findall(f"{SVG}text"):
            size = {"name": 15.0, "caption": 11.0, "pilltext": 11.0}.get(text.get("class", ""), 12.0)
            long = float(text.get("textLength") or sans_width(text.text or "", size, text.get("class") == "name"))
            start = float(text.get("x", "")) - (long / 2 if text.get("text-anchor") == "middle" else 0)
            assert start >= float(card.get("x", ""))
            assert start + long <= right
            seen += 1
    assert seen > 15
    for text in drawn.iter(f"{SVG}text"):
        assert 0 < float(text.get("x", "")) < width
        assert 0 < float(text.get("y", "")) < height


def test_a_long_pattern_runs_down() -> None:
    short = Pattern.begin("a").followed_by("b")
    long = short
    for number in range(12):
        long = long.followed_by(f"element_{number}").where("some_column = 'some value'")
    assert lay_out(picture(short.tree)).direction is Direction.RIGHT
    assert lay_out(picture(long.tree)).direction is Direction.DOWN


def test_signs_of_the_languages_are_escaped() -> None:
    assert "#lt;#amp;#quot;#124;#gt;" in str(FULL.diagram("mermaid"))
    assert '<&\\"|>' in str(FULL.diagram("dot"))
    assert "&lt;&amp;&quot;|&gt;" in str(FULL.diagram())


def test_the_automaton_can_be_drawn_too() -> None:
    automaton = FULL.automaton()
    mermaid = str(FULL.diagram("mermaid", of="automaton"))
    for number, position in enumerate(automaton.positions):
        for way in position.continuations:
            assert re.search(rf"p{number} \S+\|.*\| p{way.take.target}\n", mermaid)
    assert str(FULL.diagram("text", of="automaton")) == f"{automaton}\n"
    assert "digraph" in str(FULL.diagram("dot", of="automaton"))
    with pytest.raises(InputError, match="mermaid"):
        FULL.diagram(of="automaton")


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(InputError, match="'svg', 'mermaid', 'dot', 'text'"):
        FULL.diagram("png")  # type: ignore[arg-type]


def test_notebooks_and_files(tmp_path) -> None:  # type: ignore[no-untyped-def]
    drawn = FULL.diagram()
    assert drawn._repr_svg_() == str(drawn)
    assert str(drawn) in (drawn._repr_html_() or "")
    assert FULL.diagram("mermaid")._repr_svg_() is None
    assert (FULL.diagram("mermaid")._repr_markdown_() or "").startswith("```mermaid\nflowchart")
    assert drawn.save(tmp_path / "x.svg").read_text(encoding="utf-8") == str(drawn)
    with pytest.raises(InputError, match=r"x.PNG: a diagram is svg, not PNG"):
        drawn.save(tmp_path / "x.PNG")


def test_a_picture_does_not_restyle_the_page_around_it() -> None:
    [style] = re.findall("<style>(.*?)</style>", str(FULL.diagram()))
    for rules in (style.replace("@media (prefers-color-scheme:dark){", ""),):
        for rule in filter(None, rules.split("}")):
            assert all(selector.startswith(".cepheid-diagram") for selector in rule.split("{")[0].split(",")), rule


@given(st.text(alphabet="ab cd東é\u0301", max_size=60), st.integers(3, 20))
def test_wrapping_keeps_the_width_and_the_text(text: str, width: int) -> None:
    lines = wrapped(text, width, 99)
    assert all(cells(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert len(wrapped(text, width, 2)) <= 2


def test_widths() -> None:
    assert mono_width("東京", 10) == mono_width("abcd", 10)
    assert sans_width("wide", 10) > sans_width("ill", 10)


def test_choices_and_members_in_any_order() -> None:
    pattern = Pattern.parse(
        "(a[x = 1] | b[x = 2]+ | (c -> d)) ~> (e & f & g)<at least 2> ~> h+<whole; having [COUNT(h.*) > 2]; "
        "within 5 since e> within 9, once per 5"
    )
    for form in ("svg", "text", "mermaid", "dot"):
        drawn = str(pattern.diagram(form))  # type: ignore[arg-type]
        for words in (
            "one of",
            "at least 2 of 3, in any order",
            "or",
            "and",
            "whole",
            "once per 5",
        ):
            assert words in drawn, (form, words)
    lines = str(pattern.explain()).splitlines()
    assert lines[3:7] == [
        "  begin one of",
        "    either a: x = 1",
        "    or b: x = 2, one or more times",
        "    or a group",
    ]
    assert "  having of h" in lines and "  once per 5" in lines


def test_pictures_and_explanations_need_neither_numba_nor_pyspark() -> None:
    code = (
        "import sys; from cepheid import Pattern; pattern = Pattern.begin('a').where('x = 1').next('b');"
        "pattern.diagram(); str(pattern.explain()); print({'numba', 'pyspark'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# ── sets of rules ────────────────────────────────────────────────────────────────────────────────────────────────────

SHARING = (
    PatternSet({"one": "a[x > 1] ~> b[y = 'q']", "two": "c[x > 1] ~> d[y <> 'q']"}, partition_by="user")
    .add("three", "e[x > 1 ] ~> f[z < 1]", partition_by="device")
    .add("four <&>", "g[z > 1]")
)


def test_a_set_is_drawn_with_what_its_rules_share() -> None:
    text = str(SHARING.diagram("text"))
    assert text.startswith("4 rules, 3 keys, 7 conditions, 5 distinct, 1 shared\n")
    assert "│  one  [1]\n│  two  [1]\n" in text and "│  four <&>\n" in text
    assert "[1] x > 1  (3 rules)" in text
    mermaid, dot = str(SHARING.diagram("mermaid")), str(SHARING.diagram("dot"))
    assert mermaid.count(" --- c0") == dot.count("-> c0") == 3
    assert "four #lt;#amp;#gt;" in mermaid
    svg = ElementTree.fromstring(str(SHARING.diagram()))
    words = [element.text for element in svg.iter() if element.tag.endswith("text")]
    assert {"one", "two", "three", "four <&>", "user", "device", "x > 1", "3 rules"} <= set(words)
    assert len([element for element in svg.iter() if element.get("class") == "link"]) == 3


def test_hundreds_of_rules_are_drawn_in_few_boxes() -> None:
    texts = {f"rule {n}": f"a[kind = 'k{n % 17}'] ~> b[n = {n}] ~> c[kind = 'k{n % 5}']" for n in range(300)}
    rules = PatternSet(texts, partition_by="key")
    svg = ElementTree.fromstring(str(rules.diagram()))
    boxes = [element for element in svg.iter() if (element.get("class") or "").startswith("box")]
    assert 2 <= len(boxes) <= 12
    names = "\n".join(element.text or "" for element in svg.iter() if element.tag.endswith("title"))
    assert "rule 299" in names
    drawn = {element.get("class") for element in svg.iter()}
    assert {"frame", "box", "condition", "link"} <= drawn
    counts = [int(line.split()[1]) for line in str(rules.diagram("text")).splitlines() if " rules: " in line]
    assert sum(counts) == 300


def test_a_set_that_shares_nothing_says_so() -> None:
    alone = PatternSet({"one": "a[x > 1]"}).diagram()
    assert "no condition is in two rules" in str(alone)
    with pytest.raises(InputError, match="format='png' is not known"):
        SHARING.diagram("png")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the set has no rules"):
        PatternSet().diagram()
