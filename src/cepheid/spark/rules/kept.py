"""The plan of a set of rules as its checkpoint keeps it, so that its state can be moved without the program.

In: what a checkpoint keeps. Out: a plan like the one that wrote it. The rules are those that run on the checkpoint,
which `registry` keeps; the plan that is kept has what is no rule's. Called by the command line.
"""

from __future__ import annotations

import warnings

from cepheid.engine.tables.model import Options
from cepheid.errors import StateError
from cepheid.spark.rules.stream_plan import RulesStreamPlan, registry_of
from cepheid.spark.stream.checkpoint.layout import Checkpoint
from cepheid.spark.stream.checkpoint.saved_plan import damage_told, empty_rows, kept_text
from cepheid.spark.stream.time import Timing


def kept_rules_plan(place: Checkpoint) -> RulesStreamPlan:
    """The plan of the rules that run on a checkpoint."""
    kept, registry = kept_text(place), registry_of(place)
    if registry is None:
        raise StateError(f"nothing has been committed in {place.path!r} yet.\n  Start with a new checkpoint.")
    with damage_told(place), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whoever started the stream was told
        columns = None if kept["columns"] is None else tuple(kept["columns"])
        rows, order_by, timing = empty_rows(place, kept), tuple(kept["order_by"]), Timing(source=kept["time"])
        return RulesStreamPlan(registry.rules(), rows, order_by, columns, None, Options(), timing)
