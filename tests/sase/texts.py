"""Hypothesis strategies: SASE texts, right ones and damaged ones."""

from __future__ import annotations

from hypothesis import strategies as st

GOOD = (
    "EVENT SEQ(SHELF x, !(COUNTER y), EXIT z) WHERE [tag] AND z.price > x.price WITHIN 12 hours",
    "EVENT SEQ(A a, B b, ! (C c), D d)\nWHERE [ attr1 ] ∧ d. attr2 = '1'\nWITHIN 20 events",
    "PATTERN SEQ(Stock+ a[ ], Stock b)\nWHERE skip_till_next_match(a[ ], b) {\n  [symbol] and a[1].volume > 1000 and\n"
    "  a[i].price > avg(a[..i-1].price) and b.volume < 0.8 * a[a.LEN].volume }\nWITHIN 1 hour",
    "EVENT SEQ(A a, B+ b, C c) WHERE SUM(b.price) > 100 AND b[i].price > b[i-2].price AND c.t BETWEEN a.t AND b.t",
    "EVENT SEQ(!(A x), ANY(B, 'c d', 17) y, !(D z)) TYPED BY `my kind`\n"
    "WHERE (x.n = y.n OR x.m IS NULL) AND NOT y.name LIKE 'a%' -- why\nSTRATEGY strict WITHIN 1 day 2 hours",
    'EVENT ANY `odd one` WHERE CASE WHEN `odd one`.p > 1 AND TRUE THEN upper(`odd one`.s) = "Q" ELSE FALSE END',
    "EVENT SEQ(A, !B, C) /* c */ WITHIN 500ms STRATEGY skip-till-next",
)

_WORDS = """
    EVENT SEQ ( ) [ ] { } , ! + . .. i i-1 LEN x y a.b x.price x[i].p x[1].p x[..i-1].p SUM( AVG( COUNT(x.*)
    WHERE AND OR NOT WITHIN STRATEGY TYPED BY ANY ANY( 12 3.5 hours events skip_till_next_match strict ' " ` -- /* */ =
    < > <= 's' TRUE NULL IS IN BETWEEN CASE WHEN THEN END ; -> ∧ ∨ ¬ ≠ \\ % @ # $ ? : :: | ~ ^ & SELECT WITH RETURN
"""
_PIECES = _WORDS.split()


def damaged() -> st.SearchStrategy[str]:
    """Right texts with parts cut out, doubled, exchanged or put in between."""

    def damage(text: str, cuts: list[tuple[int, int, str]]) -> str:
        for start, length, piece in cuts:
            position = start % (len(text) + 1)
            text = text[:position] + piece + text[position + length :]
        return text

    piece = st.one_of(
        st.just(""), st.sampled_from(_PIECES), st.sampled_from(_PIECES).map(" {} ".format), st.text(max_size=3)
    )
    cut = st.tuples(st.integers(0, 400), st.sampled_from((0, 0, 1, 2, 5)), piece)
    return st.builds(damage, st.sampled_from(GOOD), st.lists(cut, min_size=1, max_size=4))


def soup() -> st.SearchStrategy[str]:
    """Words and signs of the language in any order, behind a right beginning or none."""
    words = st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=4)), max_size=25)
    starts = st.sampled_from(("", "EVENT SEQ(", "EVENT SEQ(A a, B+ x) WHERE ", "EVENT SEQ(A a, B+ x) WHERE [k] AND "))
    return st.builds(
        lambda start, words, glue: start + glue.join(words), starts, words, st.sampled_from((" ", "", "\n"))
    )
