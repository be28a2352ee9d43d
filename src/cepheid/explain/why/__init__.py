"""Why a pattern matched, or did not: counts, the runs that came furthest, and the likely cause in words.

The chain: `counting` counts conditions over all rows, `following` traces the runs of some partitions with the reference
evaluator, `nearness` says which parts of a condition were false and with which values, `experiments` runs the pattern
again with one thing changed, `causes` puts the likely causes in order, and `asking` puts a `Why` together.
"""

from cepheid.explain.why.document import Why
from cepheid.explain.why.funnel import Funnel
from cepheid.explain.why.model import Kind, Reason
from cepheid.explain.why.of_match import WhyMatch

__all__ = ["Funnel", "Kind", "Reason", "Why", "WhyMatch"]
