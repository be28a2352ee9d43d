"""What runs in Spark's Python workers for a set of rules: packing rows by key and bucket, and matching each rule.

In: Arrow batches. Out: Arrow batches. Rows are packed once for each distinct key for which a rule wants them; a bucket
is unpacked and sorted once, and each rule's engine call sees only the rows that concern it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.engine.matcher import match_partitions
from cepheid.rows.arrange import Arranged, arrange
from cepheid.rows.columns import check_range
from cepheid.rows.rule_matches import assemble_rule, in_schema
from cepheid.rows.views import Words, integers
from cepheid.rule import named
from cepheid.spark.cells import cells_of, narrowed
from cepheid.spark.rules.bound import RuleWork
from cepheid.spark.rules.conditions import Bits, word_name
from cepheid.spark.rules.row_rules import RowRuleWork
from cepheid.spark.workers import BUCKET, PAYLOAD, encoded_keys, gathered, refuse_nulls, unpacked

GROUP = b"cepheid.key"
"""Of the rows of a cell: the number of the key by which they were packed."""


def group_name(group: int) -> str:
    """The column that holds the bucket of a row by one of the keys."""
    return f"__group_{group}"


@dataclass(frozen=True, slots=True)
class Group:
    """The rules of one key."""

    partition_by: tuple[str, ...]
    first_bucket: int
    words: tuple[int, ...]
    """The words that have bits of its rules."""
    wanted: tuple[int, ...] | None
    """Those bits, word by word; None where a rule sees every row."""
    columns: tuple[str, ...]
    """The columns that travel."""

    def rows(self, words: Words, count: int, unordered: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """The rows that some rule wants, and those that are to be refused."""
        if self.wanted is None:
            return np.arange(count)
        kept = unordered.copy()
        for word, mask in zip(self.words, self.wanted, strict=True):
            kept |= (words[word] & np.uint64(mask)) != 0
        return np.flatnonzero(kept)


@dataclass(frozen=True)
class PackRules:
    """Makes binary cells of rows: for each key, one for each bucket."""

    bits: Bits
    groups: tuple[Group, ...]
    order_by: tuple[str, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in gathered(batches):
            words = self.bits.words_of(table)
            for number, group in enumerate(self.groups):
                rows = self.rows(table, words, number)
                if len(rows):
                    yield self._packed(table, words, number, group, rows)

    def rows(self, table: pa.Table, words: Words, number: int) -> npt.NDArray[np.int64]:
        """The rows that are packed for a key: those that some rule wants, and those without a place in the order."""
        unordered = np.zeros(table.num_rows, bool)
        for name in self.order_by:
            if table[name].null_count:
                unordered |= table[name].is_null().to_numpy()
        return self.groups[number].rows(words, table.num_rows, unordered)

    def columns(self, table: pa.Table, number: int) -> pa.Table:
        """What travels of a table for a key, beside the words."""
        return table.select(list(self.groups[number].columns))

    def once(self, group: Group) -> tuple[str, ...]:
        """The columns whose strings are written once a cell."""
        return group.partition_by

    def _packed(
        self, table: pa.Table, words: Words, number: int, group: Group, rows: npt.NDArray[np.int64]
    ) -> pa.RecordBatch:
        buckets = table[group_name(number)].to_numpy()[rows]
        small = buckets.astype(np.int16) if buckets.max() < 1 << 15 else buckets  # numpy sorts those by radix
        order = np.argsort(small, kind="stable")
        names, begins = np.unique(buckets[order], return_index=True)
        places = rows[order]
        travelling = self.columns(table, number).take(pa.array(places))
        for word in group.words:
            travelling = travelling.append_column(word_name(word), pa.array(words[word][places].view(np.int64)))
        packed = narrowed(travelling).combine_chunks().replace_schema_metadata({GROUP: str(number)})
        cells = cells_of(packed, [*begins, len(order)], self.once(group))
        return pa.RecordBatch.from_arrays([pa.array(names + group.first_bucket, pa.int32()), cells], [BUCKET, PAYLOAD])


@dataclass(frozen=True)
class MatchRules:
    """Matches the rules of each key on the rows that were packed by it."""

    groups: tuple[Group, ...]
    rules: tuple[tuple[RuleWork, ...], ...]
    """The rules of each key."""
    row_rules: tuple[tuple[RowRuleWork, ...], ...]
    """Those that are row patterns."""
    order_by: tuple[str, ...]
    schema: pa.Schema
    timeouts: bool
    max_bucket_bytes: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, cells in _by_group(batches).items():
            group = self.groups[number]
            table = unpacked([cells], group.partition_by, self.max_bucket_bytes)
            if table is None:
                continue
            refuse_nulls(table, group.partition_by, self.order_by)
            encoded = encoded_keys(table, group.partition_by)
            events = arrange(table, group.partition_by, self.order_by, by_all_columns=True, encoded=encoded)
            words = {word: integers(events.column(word_name(word))) for word in group.words}
            for rule in self.rules[number]:
                found = self._matches(rule, events, words)
                if found is not None:
                    yield from found.combine_chunks().to_batches(max_chunksize=10_000)
            for row_rule in self.row_rules[number]:
                with named(f"rule {row_rule.shape.rule!r}"):
                    found = row_rule.matches(events, words, self.schema)
                if found is not None:
                    yield from found.combine_chunks().to_batches(max_chunksize=10_000)

    def _matches(self, rule: RuleWork, events: Arranged, words: dict[int, npt.NDArray[np.uint64]]) -> pa.Table | None:
        rows = rule.view.rows(words, len(events.time))
        if not len(rows):
            return None
        own = events.restricted(rows)
        tables = rule.view.tables
        with named(f"rule {rule.shape.rule!r}"):
            check_range(own.time, tables.automaton)
            values = [own.column(name) for name in rule.values]
            columns = rule.view.columns(words, rows, own.time, values)
            found = match_partitions(tables, columns, own.bounds, where=own.where)[self.timeouts]
            return in_slots(assemble_rule(own, found, rule.shape), rule, self.schema) if len(found.at) else None


def in_slots(table: pa.Table, rule: RuleWork, schema: pa.Schema) -> pa.Table:
    """A rule's matches with the columns that all rules have."""
    slots = dict(rule.renamed)
    table = table.rename_columns([slots.get(name, name) for name in table.column_names])
    return in_schema(table, schema)


def _by_group(batches: Iterable[pa.RecordBatch]) -> dict[int, pa.RecordBatch]:
    """The cells of each key."""
    cells: dict[int, list[pa.Scalar]] = {}
    for batch in batches:
        for cell in batch.column(PAYLOAD):
            schema = pa.ipc.open_stream(cell.as_buffer()).schema
            cells.setdefault(int(schema.metadata[GROUP]), []).append(cell)
    return {
        group: pa.RecordBatch.from_arrays([pa.array(listed, pa.binary())], [PAYLOAD]) for group, listed in cells.items()
    }
