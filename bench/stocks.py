"""The stock benchmark of the CORE, FlinkCEP, Esper and SASE comparisons. Its data has no licence: bring your own."""

from __future__ import annotations

import lzma
import re

import numpy as np
import pyarrow as pa
from engine_runs import tables_of
from measuring import Settings, median_cpu
from reporting import Column, Section

from cepheid import Pattern
from cepheid.engine.columns import columns
from cepheid.engine.matcher import match_partitions
from cepheid.rows.arrange import arrange

COUNTS = {500: 819, 1_000: 3_525, 2_000: 11_438, 5_000: 98_995, 10_000: 345_801}
"""Matches with last − first < W, by W in milliseconds."""
EVENT = re.compile(r"^(BUY|SELL)\(id=\d+,name=([^,]*),.*stock_time=(\d+)\)\s*$", re.MULTILINE)


def query(window: int) -> Pattern:
    """SELL INTC ; BUY RIMM ; BUY QQQ."""
    return (
        Pattern.begin("intc")
        .where("type = 'SELL' AND name = 'INTC'")
        .followed_by_any("rimm")
        .where("type = 'BUY' AND name = 'RIMM'")
        .followed_by_any("qqq")
        .where("type = 'BUY' AND name = 'QQQ'")
        .within(window)
    )


def measure(settings: Settings) -> Section:
    """One row a window."""
    section = Section(
        "stocks",
        "stocks: SELL INTC ; BUY RIMM ; BUY QQQ within W, one partition, followed by any, no skip",
        (
            Column("window", "W, ms"),
            Column("matches", "matches"),
            Column("expected", "expected"),
            Column("kernel", "kernel, CPU s", 4),
            Column("columns", "columns, CPU s", 4),
            Column("rate", "kernel, M events/s"),
            Column("right", "right"),
        ),
    )
    if settings.stocks is None:
        section.notes.append("Left out: name the file stocks.stream.xz with --stocks.")
        return section
    found = EVENT.findall(lzma.decompress(settings.stocks.read_bytes()).decode())
    if not found:
        raise SystemExit(f"{settings.stocks} holds no event of the form SELL(id=…,name=…,…,stock_time=…)")
    types, names, times = zip(*found, strict=True)
    table = pa.table(
        {"type": types, "name": names, "stock_time": np.array(times, np.int64), "line": np.arange(len(found))}
    )
    events = arrange(table, (), ("stock_time", "line"))
    section.notes.append(f"{len(found):,} events in the order of the file; median of {settings.repeat}.")
    for window, expected in COUNTS.items():
        tables = tables_of(query(window), table.schema)
        prepared, of_columns = median_cpu(settings.repeat, lambda tables=tables: columns(events, tables))  # type: ignore[misc]
        (matches, _), in_kernel = median_cpu(
            settings.repeat,
            lambda tables=tables, prepared=prepared: match_partitions(tables, prepared, events.bounds),  # type: ignore[misc]
        )
        section.rows.append(
            {
                "window": window,
                "matches": len(matches.at),
                "expected": expected,
                "kernel": in_kernel,
                "columns": of_columns,
                "rate": len(found) / in_kernel / 1e6,
                "right": len(matches.at) == expected,
            }
        )
    return section
