"""What runs in Spark's Python workers for a set of rules: packing rows by key and bucket, and matching each rule.

In: Arrow batches. Out: Arrow batches. Rows are packed once for each distinct key for which a rule wants them; a bucket
is unpacked and sorted once, and each rule's engine call sees only the rows that concern it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.engine.matcher import match_partitions, no_assignments
from cepheid.rows.arrange import Arranged, arrange
from cepheid.rows.columns import check_range
from cepheid.rows.rule_matches import RuleFound, assemble_rules, in_schema
from cepheid.rows.views import Signed, Words
from cepheid.rule import named
from cepheid.spark.cells import cells_of, cut, narrowed, opened
from cepheid.spark.pack_workers import BUCKET, PAYLOAD, gathered
from cepheid.spark.rules.bound import RuleWork
from cepheid.spark.rules.conditions import BITS, Bits, bits_of, numbered_bits
from cepheid.spark.rules.row_rules import RowRuleWork
from cepheid.spark.workers import encoded_keys, refuse_nulls, together

GROUP = b"cepheid.key"
"""Of the rows of a cell: the number of the key by which they were packed."""
TOGETHER = 1 << 20
"""Events of matches that are made into rows of the result in one go."""


def group_name(group: int) -> str:
    """The column that holds the bucket of a row by one of the keys."""
    return f"__group_{group}"


@dataclass(frozen=True, slots=True)
class Group:
    """The rules of one key."""

    partition_by: tuple[str, ...]
    first_bucket: int
    wanted: Mapping[int, int]
    """The bits of its rules, as masks by word."""
    sees_all_rows: bool
    """Whether one of its rules does."""
    columns: tuple[str, ...]
    """The columns that travel."""

    def rows(self, signed: Signed, count: int, unordered: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """The rows that some rule wants, and those that are to be refused."""
        if self.sees_all_rows:
            return np.arange(count)
        sorts = signed.holding(self.wanted)
        if sorts is None:
            return np.flatnonzero(unordered)
        return np.flatnonzero(unordered | (sorts if signed.sorts is None else sorts[signed.sorts]))


@dataclass(frozen=True)
class PackRules:
    """Makes binary cells of rows: for each key, one for each bucket, or several where `cell_bytes` is given."""

    bits: Bits
    groups: tuple[Group, ...]
    order_by: tuple[str, ...]
    cell_bytes: int | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in gathered(batches):
            table = part.combine_chunks()
            signed = self.bits.signed(table)
            for number, group in enumerate(self.groups):
                rows = self.rows(table, signed, number)
                if len(rows):
                    yield self._packed(table, signed, number, group, rows)

    def rows(self, table: pa.Table, signed: Signed, number: int) -> npt.NDArray[np.int64]:
        """The rows that are packed for a key: those that some rule wants, and those without a place in the order."""
        unordered = np.zeros(table.num_rows, bool)
        for name in self.order_by:
            if table[name].null_count:
                unordered |= table[name].is_null().to_numpy()
        return self.groups[number].rows(signed, table.num_rows, unordered)

    def columns(self, table: pa.Table, number: int) -> pa.Table:
        """What travels of a table for a key, beside the words."""
        return table.select(list(self.groups[number].columns))

    def bits_of(self, signed: Signed, group: Group, places: npt.NDArray[np.int64]) -> dict[str, pa.Array]:
        """The columns that hold the bits of some rows."""
        return {BITS: bits_of(signed, group.wanted, places)} if group.wanted else {}

    def once(self, group: Group) -> tuple[str, ...]:
        """The columns whose strings are written once a cell."""
        return group.partition_by

    def _packed(
        self, table: pa.Table, signed: Signed, number: int, group: Group, rows: npt.NDArray[np.int64]
    ) -> pa.RecordBatch:
        buckets = table[group_name(number)].to_numpy()[rows]
        small = buckets.astype(np.int16) if buckets.max() < 1 << 15 else buckets  # numpy sorts those by radix
        order = np.argsort(small, kind="stable")
        names, counts = np.unique(buckets, return_counts=True)
        places = rows[order]
        travelling = self.columns(table, number).take(pa.array(places))
        for name, column in self.bits_of(signed, group, places).items():
            travelling = travelling.append_column(name, column)
        packed = narrowed(travelling).combine_chunks().replace_schema_metadata({GROUP: str(number)})
        names, bounds = cut(names, np.cumsum(counts), packed.nbytes, self.cell_bytes)
        cells = cells_of(packed, bounds, self.once(group))
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
            table = together(map(opened, cells), group.partition_by, self.max_bucket_bytes)
            assert table is not None
            refuse_nulls(table, group.partition_by, self.order_by)
            words: Words = {}
            if group.wanted:
                table, words = numbered_bits(table, group.wanted)
            encoded = encoded_keys(table, group.partition_by)
            events = arrange(table, group.partition_by, self.order_by, by_all_columns=True, encoded=encoded)
            signed = Signed(events.column(BITS).to_numpy() if words else None, words)
            yield from self._patterns(number, events, signed)
            for row_rule in self.row_rules[number]:
                with named(f"rule {row_rule.shape.rule!r}"):
                    found = row_rule.matches(events, signed, self.schema)
                if found is not None:
                    yield from found.combine_chunks().to_batches(max_chunksize=10_000)

    def _patterns(self, number: int, events: Arranged, signed: Signed) -> Iterator[pa.RecordBatch]:
        """The matches of the rules that are patterns, those of many rules together."""
        found: list[RuleFound] = []
        for rule in self.rules[number]:
            one = self._found(rule, events, signed)
            if len(one.found.at):
                found.append(one)
            if sum(len(one.found.row) for one in found) > TOGETHER:
                yield from self._assembled(events, found)
                found = []
        if found:
            yield from self._assembled(events, found)

    def _assembled(self, events: Arranged, found: list[RuleFound]) -> Iterator[pa.RecordBatch]:
        table = in_schema(assemble_rules(events, found), self.schema)
        yield from table.combine_chunks().to_batches(max_chunksize=10_000)

    def _found(self, rule: RuleWork, events: Arranged, signed: Signed) -> RuleFound:
        rows = rule.view.rows(signed, len(events.time))
        if not len(rows):
            return RuleFound(rule.shape, no_assignments())
        own = events.restricted(rows)
        tables = rule.view.tables
        with named(f"rule {rule.shape.rule!r}"):
            check_range(own.time, tables.automaton)
            values = [own.column(name) for name in rule.values]
            columns = rule.view.columns(signed, rows, own.time, values)
            found = match_partitions(tables, columns, own.bounds, where=own.where)[self.timeouts]
        return RuleFound(rule.shape, replace(found, row=rows[found.row]), own.ordinals[found.row])


def _by_group(batches: Iterable[pa.RecordBatch]) -> dict[int, list[pa.Buffer]]:
    """The cells of each key."""
    cells: dict[int, list[pa.Buffer]] = {}
    for batch in batches:
        for cell in batch.column(PAYLOAD):
            schema = pa.ipc.open_stream(cell.as_buffer()).schema
            cells.setdefault(int(schema.metadata[GROUP]), []).append(cell.as_buffer())
    return cells
