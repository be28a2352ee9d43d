"""Conditions: SQL text → expressions with types → what Spark evaluates and what the run must.

The chain: `parser` reads text, `binding` gives names and types a meaning, `evaluation` computes, and `registers` or
`taken` hold what a run has taken. The names below are what other rooms use.
"""

from typing import TYPE_CHECKING

from cepheid.on_demand import on_demand

if TYPE_CHECKING:
    from cepheid.conditions.binding import BoundConditions, bind
    from cepheid.conditions.evaluation import Taken, compile_expression, compile_predicate
    from cepheid.conditions.folding import BoundFold
    from cepheid.conditions.parser import check_text, parse
    from cepheid.conditions.predicate import Predicate
    from cepheid.conditions.registers import Registers
    from cepheid.conditions.taken import ListedTaken
    from cepheid.conditions.types import DataType, Schema
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "BoundConditions": "cepheid.conditions.binding",
            "BoundFold": "cepheid.conditions.folding",
            "DataType": "cepheid.conditions.types",
            "ListedTaken": "cepheid.conditions.taken",
            "Predicate": "cepheid.conditions.predicate",
            "Registers": "cepheid.conditions.registers",
            "Schema": "cepheid.conditions.types",
            "Taken": "cepheid.conditions.evaluation",
            "bind": "cepheid.conditions.binding",
            "check_text": "cepheid.conditions.parser",
            "compile_expression": "cepheid.conditions.evaluation",
            "compile_predicate": "cepheid.conditions.evaluation",
            "parse": "cepheid.conditions.parser",
        },
    )

__all__ = [
    "BoundConditions",
    "BoundFold",
    "DataType",
    "ListedTaken",
    "Predicate",
    "Registers",
    "Schema",
    "Taken",
    "bind",
    "check_text",
    "compile_expression",
    "compile_predicate",
    "parse",
]
