"""Figures 6 and 7 of the PNCEP paper, redrawn with our numbers and the paper's ratios.

In: the results. Out: two SVG files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from experiments.negation.query import BETWEEN
from experiments.negation.report import Results, counted, rate, reduction, speedup, windows

COLOURS = {2: "#1b6ca8", 3: "#d1761b", 4: "#2f8f5b"}
PUSHED, AFTER = {"linestyle": "-", "marker": "o"}, {"linestyle": "--", "marker": "s"}


def draw(results: Results, place: Path) -> None:
    """Write `negation-throughput.svg` and `negation-intermediate.svg`."""
    matplotlib.rcParams.update({"svg.hashsalt": "negation", "font.size": 10, "axes.grid": True, "grid.alpha": 0.3})
    _throughput(results, place / "negation-throughput.svg")
    _intermediate(results, place / "negation-intermediate.svg")


def _throughput(results: Results, path: Path) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    over = windows(results)
    for negated in BETWEEN:
        colour = COLOURS[negated]
        pushed = [rate(results, "engine", "pushed", negated, window) for window in over]
        after = [rate(results, "engine", "after", negated, window) for window in over]
        left.plot(over, pushed, color=colour, label=f"pushed in, !E{negated}", **PUSHED)
        left.plot(over, after, color=colour, label=f"after, !E{negated}", **AFTER)
        ratios = [speedup(results, "engine", negated, window) for window in over]
        right.plot(over, ratios, color=colour, label=f"engine, !E{negated}", **PUSHED)
    left.set_ylabel("events per CPU second")
    left.set_title("Figure 6: throughput")
    right.set_ylabel("pushed in : after")
    right.set_title("Ratio, engine")
    _paper(right, results, "throughput")
    _finish(figure, left, right, over, path)


def _intermediate(results: Results, path: Path) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    over = windows(results)
    for negated in BETWEEN:
        colour = COLOURS[negated]
        rows = [counted(results, negated, window) for window in over]
        left.plot(over, [row["results"] for row in rows], color=colour, label=f"pushed in, !E{negated}", **PUSHED)
        left.plot(over, [row["sequences"] for row in rows], color=colour, label=f"after, !E{negated}", **AFTER)
        ratios = [reduction(results, negated, window) for window in over]
        right.plot(over, ratios, color=colour, label=f"!E{negated}", **PUSHED)
    left.set_ylabel("intermediate results per 1,000 events")
    left.set_title("Figure 7: intermediate results")
    right.set_ylabel("after : pushed in")
    right.set_title("Ratio")
    _paper(right, results, "intermediate")
    _finish(figure, left, right, over, path)


def _paper(axes: Axes, results: Results, what: str) -> None:
    reported = {int(window): value for window, value in results["paper"][what].items()}
    axes.plot(list(reported), list(reported.values()), color="black", marker="x", linestyle="-", label="the paper")


def _finish(figure: Any, left: Axes, right: Axes, over: list[int], path: Path) -> None:
    for axes in (left, right):
        axes.set_xlabel("window, events")
        axes.legend(fontsize=8)
    left.set_yscale("log")
    left.set_xticks(over)
    right.set_ylim(bottom=0)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
