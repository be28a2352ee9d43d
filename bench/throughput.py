"""Events a second on one core: many partitions, five types of events, one query a row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from engine_runs import is_as_reference, tables_of
from measuring import Settings, cpu, median_cpu
from reporting import Column, Section

from cepheid import Pattern, all_of
from cepheid.engine.columns import columns
from cepheid.engine.matcher import match_partitions
from cepheid.rows.arrange import Arranged
from cepheid.syntax.tree import SpanUnit

PER_PARTITION = 100
WINDOW = 10
BARS = {
    "seq": 10.0,
    "kleene": 5.0,
    "negation": 5.0,
    "iterative": 5.0,
    "iterative sum": 5.0,
    "all of 5": 5.0,
    "having": 5.0,
    "whole": 5.0,
    "distinct": 5.0,
}
"""Millions of events a second that must be reached."""


def queries() -> dict[str, Pattern]:
    """The queries that FlinkCEP was measured with, and two variants."""
    start = Pattern.begin("a").where("name = 'a'")
    seq = start.followed_by("b").where("name = 'b'").followed_by("c").where("name = 'c'")
    kleene = start.followed_by("b").where("name = 'b'").one_or_more().followed_by("c").where("name = 'c'")
    rising = (
        start.followed_by("b")
        .where("name = 'b' AND price > LAST(a.price)")
        .followed_by("c")
        .where("name = 'c' AND price > LAST(b.price)")
    )
    bounded = (
        start.followed_by("b")
        .where("name = 'b' AND SUM(b.price) + price <= 120")
        .one_or_more()
        .followed_by("c")
        .where("name = 'c'")
    )
    absent = start.not_followed_by("c").where("name = 'c'").followed_by_any("d").where("name = 'd'")
    every = start.followed_by_any("b").where("name = 'b'").followed_by_any("c").where("name = 'c'")
    members = [Pattern.begin(name).where(f"name = '{name}'") for name in "abcde"]
    b_loop = start.followed_by("b").where("name = 'b'").one_or_more()
    return {
        "seq": seq.skip("past_last_event"),
        "strict": start.next("b").where("name = 'b'").next("c").where("name = 'c'").skip("past_last_event"),
        "kleene": kleene.within(WINDOW).skip("past_last_event"),
        "negation": absent.within(WINDOW).skip("past_last_event"),
        "iterative": rising.within(WINDOW).skip("past_last_event"),
        "iterative sum": bounded.within(WINDOW).skip("past_last_event"),
        "all of 5": Pattern.begin(all_of(*members)).within(WINDOW).skip("past_last_event"),
        "having": b_loop.having("SUM(b.price) >= 100").within(WINDOW).skip("past_last_event"),
        "whole": b_loop.whole().within(WINDOW).skip("past_last_event"),
        "distinct": b_loop.having("COUNT(DISTINCT b.price) >= 3").within(WINDOW).skip("past_last_event"),
        "seq no skip": seq.within(WINDOW),
        "kleene no skip": kleene.within(WINDOW),
        "negation no skip": absent.within(WINDOW),
        "any": every.within(WINDOW),
    }


def stream(count: int) -> Arranged:
    """Events of five types, in partitions of the same length."""
    random = np.random.default_rng(1)
    partitions = count // PER_PARTITION
    names = pa.DictionaryArray.from_arrays(pa.array(random.integers(0, 5, count), pa.int8()), pa.array(list("abcde")))
    partition = np.repeat(np.arange(partitions), PER_PARTITION)
    time = np.tile(np.arange(PER_PARTITION), partitions)
    table = pa.table(
        {
            "key": partition,
            "t": time,
            "name": names.dictionary_decode(),
            "price": random.integers(0, 100, count),
        }
    )
    return Arranged(table, ("key",), ("t",), partition, time, SpanUnit.ORDER)


def measure(settings: Settings) -> Section:
    """One row a query."""
    count = settings.events or (2_000 if settings.smoke else 10_000_000)
    count = max(PER_PARTITION, count - count % PER_PARTITION)
    events = stream(count)
    bounds = events.bounds
    section = Section(
        "throughput",
        f"throughput: {count:,} events, {count // PER_PARTITION:,} partitions of {PER_PARTITION}, 5 types of events",
        (
            Column("query", "query"),
            Column("matches", "matches"),
            Column("kernel", "kernel, CPU s", 3),
            Column("columns", "columns, CPU s", 3),
            Column("match_events", "match_events, CPU s", 2),
            Column("rate", "kernel, M events/s"),
            Column("bar", "bar"),
            Column("reached", "reached"),
            Column("right", "as reference"),
        ),
        notes=[
            f"Median of {settings.repeat}; match_events once: sort, tests, kernel with timeouts, matches as structs.",
            "kernel: from columns to arrays of matches. columns: the tests on the events' own columns, here by Arrow.",
            f"Windows: {WINDOW} events; seq and strict have none. Skip: past last event unless said otherwise.",
        ],
    )
    for name, pattern in queries().items():
        tables = tables_of(pattern, events.table.schema)
        prepared, of_columns = median_cpu(settings.repeat, lambda tables=tables: columns(events, tables))  # type: ignore[misc]
        (found, _), in_kernel = median_cpu(
            settings.repeat,
            lambda tables=tables, prepared=prepared: match_partitions(tables, prepared, bounds),  # type: ignore[misc]
        )
        whole, of_match_events = cpu(
            lambda pattern=pattern: pattern.match_events(events.table, partition_by="key", order_by="t")  # type: ignore[misc]
        )
        rate = count / in_kernel / 1e6
        right = is_as_reference(tables, events, found)
        if whole.matches_table.num_rows != len(found.at):
            right = False
        section.rows.append(
            {
                "query": name,
                "matches": len(found.at),
                "kernel": in_kernel,
                "columns": of_columns,
                "match_events": of_match_events,
                "rate": rate,
                "bar": BARS.get(name),
                "reached": None if name not in BARS or settings.smoke else rate >= BARS[name],
                "right": right,
            }
        )
    return section
