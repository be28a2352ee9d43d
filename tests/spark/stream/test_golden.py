"""State that an earlier build has written is read by this one, or its format has a new number.

`golden.json` holds what two buckets left in Spark's state store: one as a journal, one as a base, each for a pattern
whose partial matches are kept singly and for one whose are kept together. If a format changes on purpose, give it a new
number, and let `python tests/spark/stream/test_golden.py` write the file anew (see docs/checkpoint-format.md).
"""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from spark.stream.operator_stream import OperatorStream
from spark.stream.test_operator import event, milliseconds, stream_of, table

from cepheid import Pattern, StateError
from cepheid.engine.runs import snapshot
from cepheid.spark.cells import rows_of
from cepheid.spark.pack_workers import PAYLOAD, Pack
from cepheid.spark.stream.checkpoint import identity
from cepheid.spark.stream.state import format as state_format
from cepheid.spark.stream.state import store as streaming_store
from cepheid.spark.stream.state.saved import SavedValues
from cepheid.spark.stream.state.store import BucketStore
from cepheid.spark.stream.state.values import BASE
from cepheid.spark.stream.time import REASON

GOLDEN = Path(__file__).with_name("golden.json")
FORMATS = {"runs": snapshot.FORMAT, "state": state_format.FORMAT, "identity": identity.FORMAT}
PATTERNS = {
    "singly": Pattern.begin("a").where("name = 'a'").followed_by("b").where("name = 'b' AND price > a.price"),
    "together": Pattern.begin("a").where("name = 'a'").followed_by_any("b").where("name = 'b'"),
}
SMALL_JOURNALS = {"journal": 1 << 20, "base": 0}


class Kept(SavedValues):
    """The values of one bucket, which can be written."""

    def updateValue(self, place: tuple[int, int], value: tuple[bytes]) -> None:
        self.values[place] = value[0]

    def clear(self) -> None:
        self.values.clear()


def stream_for(name: str) -> OperatorStream:
    return stream_of(PATTERNS[name].within("10 seconds").tree, timeouts=name == "singly", buckets=1)


def rows(stream: OperatorStream, *events: Any) -> list[pa.RecordBatch]:
    return stream._prepared(table(list(events))).combine_chunks().to_batches() if events else []


def written(name: str, small_journal: int) -> Kept:
    """What a bucket leaves after two steps: two partial matches, and an event that waits."""
    kept, stream = Kept(), stream_for(name)
    streaming_store.SMALL_JOURNAL, before = small_journal, streaming_store.SMALL_JOURNAL
    try:
        for events, second in (
            ((event(1, 1, "a", price=1), event(2, 2, "a", price=5), event(6, 3, "b", price=3)), 0),
            ((), 3),
        ):
            store = BucketStore(kept, stream.work)
            streaming_store._MEMORY.clear()
            head, bucket = store.load(0)
            cells = [cell.as_py() for batch in Pack()(rows(stream, *events)) for cell in batch[PAYLOAD]]
            for cell in cells:
                bucket.receive(rows_of(pa.py_buffer(cell)).drop_columns([REASON]))
            bucket.advance(1000 * milliseconds(second) if second else -1)
            store.save(head, bucket, cells, None, False)
    finally:
        streaming_store.SMALL_JOURNAL = before
    return kept


@pytest.mark.parametrize("form", SMALL_JOURNALS)
@pytest.mark.parametrize("name", PATTERNS)
def test_state_of_an_earlier_build_is_read(name: str, form: str) -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert golden["formats"] == FORMATS, "a format has a new number: write the file anew, and say so in the CHANGELOG"
    kept = Kept()
    for place, value in golden["buckets"][f"{name}, {form}"].items():
        step, piece = map(int, place.split())
        kept.values[step, piece] = base64.b64decode(value)
    assert ((BASE, 0) in kept.values) is (form == "base")
    stream = stream_for(name)
    assert stream.tables.compact.is_compact is (name == "together")
    streaming_store._MEMORY.clear()
    head, bucket = BucketStore(kept, stream.work).load(0)
    assert (head.runs, head.pending, bucket.live_runs, bucket.pending_events) == (2, 1, 2, 1)
    found = bucket.advance(1000 * milliseconds(7)).matches
    taken = [(match["a"]["id"], match["b"]["id"]) for match in found.to_pylist()]
    assert sorted(taken) == ([(1, 3)] if name == "singly" else [(1, 3), (2, 3)])


def test_the_page_gives_the_numbers_of_the_formats() -> None:
    page = (Path(__file__).parents[3] / "docs" / "checkpoint-format.md").read_text(encoding="utf-8")
    for number, place in zip(FORMATS.values(), ("snapshot.py", "format.py", "identity.py"), strict=True):
        assert re.search(rf"\| {number} \| `[a-z_/]*/{place}` \|", page)


def test_another_format_is_refused_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = written("singly", 0)
    for module, what in ((state_format, "the state of bucket 0 has format"), (snapshot, "the saved state has format")):
        streaming_store._MEMORY.clear()
        with monkeypatch.context() as patched:
            patched.setattr(module, "FORMAT", module.FORMAT + 1)
            with pytest.raises(StateError, match=rf"{what} {module.FORMAT - 1}, (?s:.*)Use the version of Cepheid"):
                BucketStore(kept, stream_for("singly").work).load(0)


def main() -> None:
    buckets = {
        f"{name}, {form}": {
            f"{step} {piece}": base64.b64encode(value).decode()
            for (step, piece), value in written(name, small).values.items()
        }
        for name in PATTERNS
        for form, small in SMALL_JOURNALS.items()
    }
    GOLDEN.write_text(json.dumps({"formats": FORMATS, "buckets": buckets}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
