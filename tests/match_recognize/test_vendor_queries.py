"""What Flink and Databricks document of MATCH_RECOGNIZE gives the documented answers, in memory."""

from __future__ import annotations

import pytest
from match_recognize.vendor_queries import DATABRICKS, FLINK, FLINK_SKIPS_TO_THE_START, SKIPPED, VendorQuery

from cepheid import RowPattern, SkipError
from cepheid.match_recognize.queries import first_clause


def clause_of(query: str) -> RowPattern:
    found = first_clause(query, query, 0)
    assert found is not None
    return RowPattern(found.pattern)


@pytest.mark.parametrize("vendor", [*FLINK, *DATABRICKS], ids=lambda vendor: vendor.name)
def test_a_documented_query(vendor: VendorQuery) -> None:
    found = clause_of(vendor.query).match_events(vendor.rows).matches
    width = len(vendor.expected[0])
    assert [tuple(row.values())[-width:] for row in found] == vendor.expected


@pytest.mark.parametrize("query", FLINK_SKIPS_TO_THE_START)
def test_skipping_to_the_first_row_of_the_match_fails(query: str) -> None:
    with pytest.raises(SkipError, match="first row of the match"):
        clause_of(query).match_events(SKIPPED)
