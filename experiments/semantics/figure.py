"""The paper's figure 3: one point a query, our time across, FlinkCEP's upwards.

In: queries and answers. Out: a matplotlib figure. Called by `run.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from ours import Answer
from query_groups import GROUPS, Query

COLOURS = {"NOGP": "#0072b2", "SLGP": "#009e73", "LGP": "#d55e00", "SLGGP": "#cc79a7"}
FLOOR = 0.02
"""Milliseconds at which queries that FlinkCEP never finishes are drawn."""


def draw(queries: Sequence[Query], ours: dict[str, Answer], theirs: dict[str, dict[str, Answer]]) -> Figure:
    """One picture a version of Flink, side by side."""
    figure = Figure(figsize=(5.2 * len(theirs), 4.8), layout="constrained", dpi=150)
    every = figure.subplots(1, len(theirs), squeeze=False, sharey=True)[0]
    for axes, (version, answers) in zip(every, theirs.items(), strict=True):
        _scatter(axes, queries, ours, answers)
        axes.set_title(f"FlinkCEP {version}", fontsize=10)
    every[0].set_ylabel("FlinkCEP's automaton, CPU ms (warm JVM, no job)")
    every[0].legend(loc="upper left", fontsize=8, markerscale=2)
    return figure


def _scatter(axes: Axes, queries: Sequence[Query], ours: dict[str, Answer], theirs: dict[str, Answer]) -> None:
    for group in reversed(GROUPS):
        points = [
            (ours[query.id].milliseconds, FLOOR if theirs[query.id].endless else theirs[query.id].milliseconds)
            for query in queries
            if query.group == group
        ]
        across, upwards = zip(*points, strict=True)
        axes.scatter(across, upwards, s=3, alpha=0.5, linewidths=0, color=COLOURS[group], label=group)
    axes.set_xscale("log")
    axes.set_yscale("log")
    ends = (0.5, 50)
    axes.plot(ends, ends, "--", color="black", linewidth=0.8, label="y = x")
    axes.text(0.98, 0.02, "lowest row: FlinkCEP never ends", transform=axes.transAxes, ha="right", fontsize=7)
    axes.set_xlabel("Cepheid, CPU ms (from text to rows)")
    axes.grid(visible=True, which="major", linewidth=0.3)
