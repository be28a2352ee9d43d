"""Explanations and pictures of patterns and of what they found.

The chain: a tree and its automaton come in; `explaining` puts an `Explanation` together, `diagram` draws the pattern,
`timeline` draws matches on a time axis. Nothing here imports Spark: plans fill in an `Execution`.
"""

from cepheid.explain.diagram import Diagram, draw
from cepheid.explain.document import Explanation
from cepheid.explain.execution import Execution, rows_that_travel
from cepheid.explain.explaining import explain
from cepheid.explain.timelines import Timeline, timeline

__all__ = ["Diagram", "Execution", "Explanation", "Timeline", "draw", "explain", "rows_that_travel", "timeline"]
