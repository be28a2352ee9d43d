"""Explanations and pictures of patterns and of what they found.

The chain: a tree and its automaton come in; `explaining` puts an `Explanation` together, `diagram` draws the pattern,
`timeline` draws matches on a time axis. Nothing here imports Spark: plans fill in an `Execution`.
"""

from cepheid.explain.diagram.formats import Diagram, draw
from cepheid.explain.text.document import Explanation
from cepheid.explain.text.execution import Execution, rows_that_travel
from cepheid.explain.text.explaining import explain
from cepheid.explain.timeline.timelines import Timeline, timeline

__all__ = ["Diagram", "Execution", "Explanation", "Timeline", "draw", "explain", "rows_that_travel", "timeline"]
