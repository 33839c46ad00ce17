"""A picture of what bench.json holds: how much better flowc is than the best peer, and how near to the limit."""

import json
import pathlib
import sys

import matplotlib

matplotlib.use("agg")
from matplotlib import pyplot
from matplotlib.ticker import FuncFormatter, NullFormatter

AHEAD, BEHIND, OF_LIMIT, QUIET = "#2a6f97", "#c1553b", "#6c8f5a", "#777777"
ROW_INCHES = 0.3


def ratio_panel(axes, rows):
    """Bars from 1, on a logarithmic scale: to the right flowc is better."""
    for place, row in enumerate(rows):
        if row["ratio"] is None:
            axes.text(1.06, place, f"{row['flowc']:.3g} {row['unit']}, no peer", va="center", size=7, color=QUIET)
            continue
        ahead = row["ratio"] >= 1
        axes.barh(place, row["ratio"] - 1, left=1, height=0.65, color=AHEAD if ahead else BEHIND)
        axes.annotate(
            f"{row['ratio']:.3g}x {row['best_peer']}", (max(row["ratio"], 1), place), xytext=(4, 0),
            textcoords="offset points", va="center", size=7,
        )
    ratios = [row["ratio"] for row in rows if row["ratio"]] or [1]
    axes.set_xscale("log")
    axes.set_xlim(min(0.5, 0.8 * min(ratios)), 8 * max(2, *ratios))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}x"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_title("times better than the best peer", size=9, loc="left")


def limit_panel(axes, rows):
    for place, row in enumerate(rows):
        percent = row["percent_of_limit"]
        if percent is None:
            continue
        axes.barh(place, min(percent, 100), height=0.65, color=OF_LIMIT)
        axes.annotate(
            f"{percent:.3g} %", (min(percent, 100), place), xytext=(4, 0), textcoords="offset points", va="center", size=7
        )
    axes.set_xlim(0, 120)
    axes.set_xticks(range(0, 101, 25))
    axes.axvline(100, color="black", linewidth=0.8)
    axes.set_title("percent of the limit", size=9, loc="left")


def finish(axes):
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0, labelsize=8)
    axes.tick_params(axis="x", labelsize=7)
    axes.grid(axis="x", linewidth=0.3)
    axes.set_axisbelow(True)


def draw(source, path):
    rows = json.loads(pathlib.Path(source).read_text())
    figure, (ratios, limits) = pyplot.subplots(
        1, 2, sharey=True, width_ratios=[3, 2], layout="constrained", figsize=(10, 1.2 + ROW_INCHES * len(rows))
    )
    ratio_panel(ratios, rows)
    limit_panel(limits, rows)
    ratios.set_yticks(range(len(rows)), [row["row"] for row in rows])
    ratios.set_ylim(len(rows) - 0.4, -0.6)
    for axes in (ratios, limits):
        finish(axes)
    last = max(rows, key=lambda row: row["date"])
    versions = last["versions"]
    named = ", ".join(f"{name} {versions[name]}" for name in ("torch", "jax", "keras", "tensorflow", "onnxruntime", "onednn", "mkl") if name in versions)
    figure.suptitle(f"{versions['flowc']} on {last['cpu']}, {last['date'][:10]}\nbeside {named}", size=8, x=0.01, ha="left")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    draw(*sys.argv[1:])
