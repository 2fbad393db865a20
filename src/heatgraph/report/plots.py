"""Plot of a search over T, for print: named axes, a colour-blind safe palette, large fonts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heatgraph._io.atomic_files import atomic_write
from heatgraph.errors import InputError

# From the colour-blind safe palette of Okabe and Ito.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#767676"
FORMATS = (".png", ".svg", ".pdf")
# Metadata without a date, so that the same plot gives the same bytes.
NO_DATE: dict[str, dict[str, None]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
STYLE: dict[Any, Any] = {
    "font.size": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E3E3E3",
    "axes.axisbelow": True,
    "svg.hashsalt": "heatgraph",
}


def check_plot_name(path: str | Path) -> None:
    """Refuse a file name whose suffix is no supported format."""
    if Path(path).suffix.lower() not in FORMATS:
        raise InputError(f"{path}: the name of a plot must end in {', '.join(FORMATS)}.")


def plot_search(
    search: Sequence[dict[str, Any]], chosen: float | None, path: str | Path, title: str = ""
) -> None:
    """Plot validation accuracy over T, from the records of a search (`search_`).

    Shown are the values of T that were combined with all other settings, each with the accuracy of
    the best combination; values that refined the search later are left out.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    check_plot_name(path)
    tried = [record for record in search if record["T"] is not None]
    if not tried:
        raise InputError("there was no search over T, so there is nothing to plot.")
    T = np.array([record["T"] for record in tried])
    accuracy = 100 * np.array([record["accuracy"] for record in tried])
    times, counts = np.unique(T, return_counts=True)
    times = times[counts == counts.max()]
    best = np.array([accuracy[time == T].max() for time in times])
    with rc_context(STYLE):
        figure = Figure(figsize=(7, 4.4), dpi=150, layout="constrained")
        axes = figure.add_subplot()
        axes.plot(times, best, "o-", color=BLUE, lw=2, ms=4, label="best setting at each T")
        if chosen is not None:
            axes.axvline(chosen, color=ORANGE, lw=2, ls="--", label=f"chosen: T = {chosen:.2f}")
        if times[0] == 0:
            axes.axhline(best[0], color=GREY, lw=2, ls=":", label="features alone (T = 0)")
        axes.set_xlabel("diffusion time T (no unit)")
        axes.set_ylabel("validation accuracy (%)")
        axes.margins(x=0.02, y=0.1)
        axes.set_title(title, parse_math=False)
        axes.legend(frameon=False, loc="best")
        with atomic_write(path) as file:
            suffix = Path(path).suffix[1:].lower()
            figure.savefig(file, format=suffix, metadata=NO_DATE.get(suffix))
