"""The plots of the page, as SVG that depends on nothing but the figures: no date, no random names."""

import io
import statistics
from typing import Callable, Dict, List, Tuple

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator

from figures import column, has, short
from rows import BY_KEY, SIDES, Row

matplotlib.rcdefaults()  # not those of a user
matplotlib.rcParams.update({"svg.hashsalt": "seqd", "svg.fonttype": "none", "font.family": "DejaVu Sans", "font.size": 9,
                            "axes.grid": True, "grid.alpha": 0.4, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False})
SIZE = (11, 3.6)
AXES_WIDTH = 0.79  # beside the legend
COLOURS = {"seqd": "#c0392b", "seqd-polling": "#ec7063", "seqd-blocks": "#7b241c", "redis": "#2c3e50", "postgresql-cache1": "#5dade2", "postgresql-cache100": "#1f618d", "mongod": "#27ae60",
           "flock": "#d4ac0d", "flock-fsync": "#9a7d0a", "lmdb": "#884ea0", "lmdb-nosync": "#bb8fce", "cosid": "#e67e22",
           "floor": "#95a5a6"}

# name of the file: its rows, what runs along the x axis, and how that is read of a row
SERIES: Dict[str, Tuple[List[str], str, Callable[[Row], int]]] = {
    "depth": (["8x1", "8x4", "8x16", "8x64", "8x128"], "requests in flight on each of 8 connections", lambda row: row.depth),
    "depth-library": (["library-1", "library-16", "library-128"], "requests in flight on 1 connection, by library", lambda row: row.depth),
    "connections": (["1x1-split", "8x1", "64x1", "512x1"], "connections with one request in flight", lambda row: row.connections),
    "threads": (["threads-1", "threads-2", "threads-8", "threads-32"], "threads with a connection and one request in flight", lambda row: row.connections),
    "range": (["library-1", "range-10", "range-100", "range-1000", "range-10000"], "IDs a request", lambda row: row.count),
    "block": (["block-10", "block-100", "block-1000", "block-10000"], "IDs of a block, or of a segment of CosId", lambda row: row.block),
    "sequences": (["sequences-1", "sequences-100", "sequences-10000"], "sequences", lambda row: row.sequences),
    "hosts": (["hosts-1", "hosts-2", "hosts-4", "hosts-8"], "hosts on one counter", lambda row: row.connections),
}
BARS = "peers"


def render(figure: Figure, width: float = 1) -> str:
    """`width` is the part of the figure that the axes may fill."""
    FigureCanvasSVG(figure)
    figure.tight_layout(rect=(0, 0, width, 1))
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def line(axes, results: dict, side: str, keys: List[str], x: Callable[[Row], int], field: str, style: str, label: str) -> None:
    """The medians, with bars from the lowest to the highest round. A side has no point where it was not measured."""
    keys = [key for key in keys if has(results[key].get(side, []), field)]
    values = [column(results[key][side], field) for key in keys]
    medians = [statistics.median(one) for one in values]
    bars = [[middle - min(one) for middle, one in zip(medians, values)], [max(one) - middle for middle, one in zip(medians, values)]]
    axes.errorbar([x(BY_KEY[key]) for key in keys], medians, yerr=bars, fmt=style, marker="o", markersize=3, capsize=2, linewidth=1.2,
                  color=COLOURS[side], label=label)


def series(results: dict, name: str) -> str:
    keys, title, x = SERIES[name]
    figure = Figure(figsize=SIZE)
    rate, latency = figure.subplots(1, 2)
    # Of one row only there is no line to draw.
    sides = [side for side in SIDES if side != "floor" and sum(side in results[key] for key in keys) > 1]
    for side in sides:
        line(rate, results, side, keys, x, "ids_per_s", "-", SIDES[side].title)
        if any(has(results[key].get(side, []), "p50_us") for key in keys):
            line(latency, results, side, keys, x, "p50_us", "-", SIDES[side].title)
            line(latency, results, side, keys, x, "p99_us", ":", SIDES[side].title)
    for axes, unit in ((rate, "IDs/s"), (latency, "latency, µs (solid: p50, dotted: p99)")):
        scale(axes, [x(BY_KEY[key]) for key in keys])
        axes.set_xlabel(title)
        axes.set_ylabel(unit)
    figure.legend(*rate.get_legend_handles_labels(), loc="center left", bbox_to_anchor=(AXES_WIDTH, 0.5), fontsize=8)
    return render(figure, AXES_WIDTH)


def scale(axes, ticks: List[int]) -> None:
    """Logarithmic, with a label at each measured x, and on the y axis also where it spans less than a power of ten."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    lowest, highest = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if highest / lowest < 50 else (1,)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axes.minorticks_off()


def bars(results: dict) -> str:
    """All sides with one request in flight on one connection."""
    result = results["library-1"]
    figure = Figure(figsize=SIZE)
    axes = figure.subplots()
    ordered = sorted(result, key=lambda side: statistics.median(column(result[side], "ids_per_s")))
    for place, side in enumerate(ordered):
        values = column(result[side], "ids_per_s")
        middle = statistics.median(values)
        axes.barh(place, middle, xerr=[[middle - min(values)], [max(values) - middle]], color=COLOURS[side], capsize=2, height=0.7)
    axes.set_yticks(range(len(ordered)), [f"{SIDES[side].title} (survives {SIDES[side].survives})" for side in ordered])
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axes.set_xlabel("IDs/s, one ID a request, one request in flight")
    axes.grid(axis="y", visible=False)
    return render(figure)


def all_plots(results: dict) -> Dict[str, str]:
    return {f"{BARS}.svg": bars(results), **{f"{name}.svg": series(results, name) for name in SERIES}}
