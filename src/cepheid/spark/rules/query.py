"""The query of a set of rules, which may follow a source of rules that changes.

In: a plan, how to start it, and a source of rules. Out: `RulesQuery`. Made by `found`.

The plan of a query of Spark is fixed. So a change of the rules ends the query between two micro-batches and starts it
again on the same checkpoint, in the same process: offsets and state go on, and nothing is lost or doubled.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any, Protocol

from pyspark.sql.streaming.query import StreamingQuery

from cepheid.errors import CepheidError, InputError
from cepheid.rule import AnyRule
from cepheid.spark.rules.choosing import choose
from cepheid.spark.rules.registry import Changes
from cepheid.spark.rules.stream_plan import RULES, RulesStreamPlan, registry_of
from cepheid.spark.stream.checkpoint.layout import Checkpoint
from cepheid.spark.stream.query import Starting, started
from cepheid.spark.stream.sinks import Output, Sink, writer

logger = logging.getLogger(RULES)
LOOKS = 1.0
"""Seconds between two looks at the source of rules."""
CALM = 0.3
"""Seconds without a change after which a change is taken up."""
PATIENCE = 60.0
"""Seconds that a change waits for the end of a micro-batch; after that the query is stopped in its midst, and Spark
replays the micro-batch."""
REJECTED_RULES = "rejected_rules"


class Source(Protocol):
    """Rules that may change, such as a directory of files."""

    def fingerprint(self) -> object:
        """Something that is another one if the rules may have changed."""

    def current(self) -> tuple[Sequence[AnyRule], Sequence[tuple[str, str]]]:
        """The rules that can be used, and what cannot: where it is from, and the reason."""


class RulesQuery:
    """A running query of a set of rules. What a `StreamingQuery` has, it has too: that of the query at present."""

    def __init__(
        self, plan: RulesStreamPlan, how: Starting, source: Source | None, rejected_rules: Sink | None
    ) -> None:
        if source is not None and how.flush:
            raise InputError("flush=True ends the input, so there is nothing to follow.\n  Leave rules= out.")
        if rejected_rules is not None and source is None:
            raise InputError("rejected_rules= is for rules that are followed.\n  Give rules=directory(…) as well.")
        self.rejected: tuple[tuple[str, str], ...] = ()
        """Rules that are left out at present: where each is from, and the reason."""
        self.changes: list[Changes] = []
        """What became of rules at each start of the query."""
        self._how = how
        self._source = source
        self._plan = plan
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._is_restarting = False
        self._error: BaseException | None = None
        self._write = None
        if rejected_rules is not None:
            schema = plan.session.createDataFrame([], "file string, reason string").schema
            output = Output(REJECTED_RULES, schema, ("file", "reason"))
            self._write = writer(plan.session, output, rejected_rules, how.checkpoint)
        self._seen = None if source is None else source.fingerprint()
        if source is not None:
            self._plan = self._planned(*source.current()) or plan
        self.query = self._start(self._plan)
        if source is not None:
            threading.Thread(target=self._follow, name=f"cepheid rules of {self.query.id}", daemon=True).start()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.query, name)

    @property
    def is_followed(self) -> bool:
        """Whether the query follows a source of rules."""
        return self._source is not None

    @property
    def isActive(self) -> bool:
        """Whether the query runs. It does while it is restarted for a change of rules."""
        return bool(self.query.isActive) or self._is_restarting

    def stop(self) -> None:
        """Stop the query, and follow the rules no longer."""
        self._stopped.set()
        with self._lock:
            self.query.stop()

    def awaitTermination(self, timeout: float | None = None) -> bool | None:
        """Wait until the query ends; a restart for a change of rules is no end."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            with self._lock:
                query = self.query
            query.awaitTermination(1)
            with self._lock:
                is_over = query is self.query and not query.isActive
            if is_over:
                if self._error is not None:
                    raise self._error
                query.awaitTermination(1)  # it is over: this only tells why, if it failed
                return True
            if end is not None and time.monotonic() >= end:
                return False

    def processAllAvailable(self) -> None:
        """Wait until all that the source of events has is processed; for tests."""
        with self._lock:
            self.query.processAllAvailable()

    def look(self) -> bool:
        """Look at the source of rules now, and take up a change; returns whether there was one."""
        if self._source is None:
            return False
        with self._lock:
            return self._look(self._source)

    def _follow(self) -> None:
        while not self._stopped.wait(LOOKS) and self.query.isActive:
            try:
                self.look()
            except Exception as error:  # whoever waits for the query is told
                self._error = error
                logger.exception("the rules could not be taken up")
                self.query.stop()
                return

    def _look(self, source: Source) -> bool:
        seen = source.fingerprint()
        if seen == self._seen or self._stopped.is_set():
            return False
        while True:  # files that are being written are not read by halves
            time.sleep(CALM)
            before, seen = seen, source.fingerprint()
            if seen == before:
                break
        self._seen = seen
        try:
            rules, wrong = source.current()
        except CepheidError as error:  # a directory that is being replaced is away for a moment
            self._reject(((str(source), str(error)),))
            return False
        rejected = self._plan.rejected
        plan = self._planned(rules, wrong)
        if plan is None or (plan is self._plan and plan.rejected == rejected):
            return False
        self._is_restarting = True
        try:
            self._pause()
            self._plan = plan
            self.query = self._start(plan)
        finally:
            self._is_restarting = False
        return True

    def _planned(self, rules: Sequence[AnyRule], wrong: Sequence[tuple[str, str]]) -> RulesStreamPlan | None:
        """The plan of the rules that run; None if there are none."""
        registry = registry_of(Checkpoint(self._plan.session, self._how.checkpoint))
        choice = choose(rules, wrong, self._plan, registry)
        rejected = choice.rejected
        if choice.plan is None:
            rejected = (*rejected, (str(self._source), "there is no rule: the query goes on with those that it has."))
        else:
            choice.plan.rejected = len(rejected)
        self._reject(rejected)
        return choice.plan

    def _reject(self, rejected: tuple[tuple[str, str], ...]) -> None:
        fresh = [one for one in rejected if one not in self.rejected]
        self.rejected = rejected
        for place, reason in fresh:
            logger.warning("rejected: %s: %s", place, reason)
        if fresh and self._write is not None:
            rows = self._plan.session.createDataFrame(fresh, "file string, reason string")
            self._write(rows, time.time_ns() // 1000)

    def _pause(self) -> None:
        """End the query between two micro-batches."""
        end = time.monotonic() + PATIENCE
        while self.query.isActive and self.query.status["isTriggerActive"] and time.monotonic() < end:
            time.sleep(0.05)
        self.query.stop()

    def _start(self, plan: RulesStreamPlan) -> StreamingQuery:
        plan.at(Checkpoint(plan.session, self._how.checkpoint))
        query = started(plan, self._how)
        self.changes.append(plan.changes)
        return query
