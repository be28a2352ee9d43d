"""What is said of a stream that runs: every event in one class, and the likely cause."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cepheid.explain.why.model import Kind
from cepheid.reference.tracing import EventClass
from cepheid.spark.stream.accounts import Account
from cepheid.spark.stream.why import why_stream


def _account(batch: int = 0, matches: int = 0, runs: int = 0, **classes: int) -> Account:
    given = dict.fromkeys(("irrelevant", "late", "rejected", "handled", "pending_change"), 0) | classes
    return Account(
        batch,
        sum(given.values()),
        matches=matches,
        timeouts=0,
        runs_change=runs,
        state_bytes=0,
        written_bytes=0,
        **given,
    )


counts = st.integers(0, 9)


@given(st.lists(st.builds(_account, irrelevant=counts, late=counts, rejected=counts, handled=counts, matches=counts)))
def test_every_event_is_in_one_class(accounts: list[Account]) -> None:
    why = why_stream(accounts)
    assert sum(why.events.values()) == sum(one.rows for one in accounts)
    assert why.events.get(EventClass.LATE, 0) == sum(one.late for one in accounts)
    assert str(why) and why._repr_html_()


def test_late_and_rejected_events_are_named_by_their_number() -> None:
    why = why_stream([_account(handled=3, late=40, rejected=2), _account(1, handled=5, matches=1)])
    assert [reason.kind for reason in why.reasons] == [Kind.LATE, Kind.REJECTED]
    assert str(why).splitlines()[:2] == [
        "1 match in 50 events of 2 micro-batches",
        "  1. 40 of 50 events came after the watermark had passed them. Give match(..., watermark=...) more time; the "
        "output late has these events.",
    ]


def test_causes_of_no_match() -> None:
    def first(account: Account) -> Kind:
        return why_stream([account]).reasons[0].kind

    assert first(_account()) is Kind.NO_ROWS
    assert first(_account(irrelevant=9)) is Kind.NEVER
    assert first(_account(pending_change=2, irrelevant=1)) is Kind.WAITING
    assert first(_account(handled=2, runs=1)) is Kind.WAITING
    assert why_stream([_account(handled=2, matches=1)]).reasons == ()
