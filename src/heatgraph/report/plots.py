"""Plot of a search over T, for print: named axes, a colour-blind safe palette, large fonts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heatgraph._io.atomic_files import atomic_write
from heatgraph.errors import InputError
from heatgraph.report.palette import LIGHT
from heatgraph.report.search_curves import best_over_time

BLUE, ORANGE, GREY = LIGHT.classes[0], LIGHT.classes[1], LIGHT.classes[6]
FORMATS = (".png", ".svg", ".pdf")
# Metadata without a date, so that the same plot gives the same bytes.
NO_DATE: dict[str, dict[str, None]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
STYLE: dict[Any, Any] = {
    "font.size": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": LIGHT.line,
    "text.color": LIGHT.ink,
    "axes.labelcolor": LIGHT.ink,
    "axes.edgecolor": LIGHT.soft,
    "xtick.color": LIGHT.soft,
    "ytick.color": LIGHT.soft,
    "axes.axisbelow": True,
    "svg.hashsalt": "heatgraph",
}


def check_plot_name(path: str | Path) -> None:
    """Refuse a file name whose suffix is no supported format."""
    if Path(path).suffix.lower() not in FORMATS:
        raise InputError(f"{path}: the name of a plot must end in {', '.join(FORMATS)}.")


def accuracy_over_time(search: Sequence[dict[str, Any]]) -> list[tuple[float, float]]:
    """The values of T in a search (`search_`) in order, each with its best accuracy.

    Accuracies are compared between equals (`heatgraph.report.search_curves`). Empty if there was
    no search over T.

    Examples
    --------
    >>> tried = [(1.0, 0.5), (1.0, 0.6), (2.0, 0.7)]
    >>> accuracy_over_time([{"T": T, "accuracy": accuracy} for T, accuracy in tried])
    [(1.0, 0.6)]
    """
    return [(best["T"], best["accuracy"]) for best in best_over_time(search, "accuracy")]


def plot_search(
    search: Sequence[dict[str, Any]], chosen: float | None, path: str | Path, title: str = ""
) -> None:
    """Plot validation accuracy over T (`accuracy_over_time`), from the records of a search."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    check_plot_name(path)
    curve = accuracy_over_time(search)
    if not curve:
        raise InputError("there was no search over T, so there is nothing to plot.")
    times, best = np.transpose(curve) * [[1.0], [100.0]]
    with rc_context(STYLE):
        figure = Figure(figsize=(7, 4.4), dpi=150, layout="constrained")
        axes = figure.add_subplot()
        axes.plot(times, best, "o-", color=BLUE, lw=2, ms=4, label="best setting at each T")
        if chosen is not None:
            axes.axvline(chosen, color=ORANGE, lw=2, ls="--", label=f"chosen: T = {chosen:.2f}")
        if times[0] == 0:
            axes.axhline(best[0], color=GREY, lw=2, ls=":", label="T = 0, no diffusion")
        axes.set_xlabel("diffusion time T (no unit)")
        axes.set_ylabel("validation accuracy (%)")
        axes.margins(x=0.02, y=0.1)
        axes.set_title(title, parse_math=False)
        axes.legend(frameon=False, loc="best")
        with atomic_write(path) as file:
            suffix = Path(path).suffix[1:].lower()
            figure.savefig(file, format=suffix, metadata=NO_DATE.get(suffix))
