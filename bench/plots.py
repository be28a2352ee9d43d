"""The few kinds of pictures that the benchmarks draw.

In: numbers and their names. Out: matplotlib figures. Called by a section's `draw`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter
from reporting import Cell

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
STYLES = ("solid", "dashed", "dotted", "dashdot", (0, (6, 1, 1, 1, 1, 1)))


def bars(names: Sequence[str], series: Mapping[str, Sequence[Cell]], label: str, logarithmic: bool = True) -> Figure:
    """Groups of bars, one group a name, with the value over each bar."""
    figure = Figure(figsize=(max(6.0, 1.2 * len(names)), 3.8), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / len(series)
    for number, (title, values) in enumerate(series.items()):
        heights = [float(value) if value is not None else np.nan for value in values]
        places = np.arange(len(names)) + (number - (len(series) - 1) / 2) * width
        drawn = axes.bar(places, heights, width, label=title, color=COLOURS[number])
        texts = ["" if np.isnan(height) else _short(height) for height in heights]
        axes.bar_label(drawn, texts, fontsize=7, padding=1)
    axes.set_xticks(np.arange(len(names)), names, fontsize=8)
    if logarithmic:
        axes.set_yscale("log")
    axes.set_ylabel(label)
    axes.margins(y=0.15)
    axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, 1.14), ncols=len(series), frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def curves(
    panels: Mapping[str, Mapping[str, tuple[Sequence[float], Sequence[float]]]], label: str, logarithmic: bool = True
) -> Figure:
    """Curves in panels side by side: panel → curve → (across, upwards). What stands before a comma in a curve's name
    gives its colour, what stands behind it the style of its line."""
    figure = Figure(figsize=(3.6 * len(panels), 3.6), layout="constrained")
    every = figure.subplots(1, len(panels), squeeze=False)[0]
    names = list(dict.fromkeys(name for series in panels.values() for name in series))
    colours, styles = ({part: None for part in parts} for parts in zip(*map(_parts, names), strict=True))
    for axes, (title, series) in zip(every, panels.items(), strict=True):
        for name, (across, upwards) in series.items():
            colour, style = (
                list(kinds).index(part) for kinds, part in zip((colours, styles), _parts(name), strict=True)
            )
            look = {"color": COLOURS[colour % len(COLOURS)], "linestyle": STYLES[style % len(STYLES)]}
            axes.plot(across, upwards, marker="o", markersize=3.5, label=name, **look)
        axes.set_xlabel(title)
        most = max(max(across) / min(across) for across, _ in series.values())
        if logarithmic or most > 100:  # what is in proportion should look so, where it fits
            axes.set_xscale("log")
        else:
            axes.xaxis.set_major_formatter(EngFormatter())
        if logarithmic:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        axes.grid(visible=True, linewidth=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    every[0].set_ylabel(label)
    if len(names) > 1:
        handles = dict(zip(*reversed(every[0].get_legend_handles_labels()), strict=True))
        shown = sorted(handles, key=lambda name: list(colours).index(_parts(name)[0]))
        figure.legend(
            [handles[name] for name in shown], shown, loc="outside lower center", ncols=len(styles), fontsize=7
        )
    return figure


def _parts(name: str) -> tuple[str, str]:
    colour, _, style = name.partition(", ")
    return colour, style


def _short(value: float) -> str:
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g}"
