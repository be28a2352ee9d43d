"""Rules from a table: a row each, with the name and the text of a pattern.

In: a Spark DataFrame, a pandas DataFrame, an Arrow table or dicts. Out: rules, or an `InputError` that names the row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cepheid.errors import InputError
from cepheid.rows.given import to_table
from cepheid.rule import AnyRule, named
from cepheid.rules.pattern_set import made_rule
from cepheid.rules.texts import pattern_of

NEEDED, KNOWN = ("name", "text"), ("name", "text", "partition_by", "severity", "tags", "type_column")


def rules_of(rows: object) -> Iterator[AnyRule]:
    """The rules of a table, in the order of their names where the rows come from Spark."""
    is_spark = type(rows).__module__.startswith("pyspark.") and hasattr(rows, "toArrow")
    table = to_table(rows.toArrow() if is_spark else rows)  # type: ignore[attr-defined]
    missing = [name for name in NEEDED if name not in table.column_names]
    if missing:
        raise InputError(
            f"a table of rules has no column {missing[0]!r}; it has {', '.join(table.column_names) or 'none'}.\n"
            f"  Needed are {' and '.join(NEEDED)}; {', '.join(KNOWN[2:])} are read if they are there."
        )
    listed = table.to_pylist()
    if is_spark:
        listed.sort(key=lambda row: str(row["name"]))
    for number, row in enumerate(listed, start=1):
        yield _rule(row, number)


def _rule(row: dict[str, Any], number: int) -> AnyRule:
    name, text = row["name"], row["text"]
    if not isinstance(name, str) or not isinstance(text, str):
        raise InputError(f"row {number} of the table of rules has the name {name!r} and the text {text!r}.")
    with named(f"rule {name!r}"):
        pattern = pattern_of(text, row.get("type_column"))
    keys, tags = _listed(row.get("partition_by")), _listed(row.get("tags"))
    return made_rule(name, pattern, keys or None, severity=row.get("severity"), tags=tags)


def _listed(given: Any) -> list[str]:
    if given is None:
        return []
    if isinstance(given, str):
        return [part.strip() for part in given.split(",") if part.strip()]
    return list(given)
