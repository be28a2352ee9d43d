"""Why a pattern matched, or did not: counts, the runs that came furthest, and the likely cause in words.

The chain: `counting` counts conditions over all rows, `following` traces the runs of some partitions with the reference
evaluator, `nearness` says which parts of a condition were false and with which values, `experiments` runs the pattern
again with one thing changed, `causes` puts the likely causes in order, and `asking` puts a `Why` together.
"""

from typing import TYPE_CHECKING

from cepheid.on_demand import on_demand

if TYPE_CHECKING:
    from cepheid.explain.why.document import Why
    from cepheid.explain.why.funnel import Funnel
    from cepheid.explain.why.model import Kind, Reason
    from cepheid.explain.why.of_match import WhyMatch
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "Funnel": "cepheid.explain.why.funnel",
            "Kind": "cepheid.explain.why.model",
            "Reason": "cepheid.explain.why.model",
            "Why": "cepheid.explain.why.document",
            "WhyMatch": "cepheid.explain.why.of_match",
        },
    )

__all__ = ["Funnel", "Kind", "Reason", "Why", "WhyMatch"]
