"""A number found here beside the one that the paper prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from heatgraph.experiments.paper.experiment import CITATIONS, NAMES
from heatgraph.experiments.paper.published import Published, only
from heatgraph.experiments.results import Records
from heatgraph.report.document import Cell, Table

# A difference beyond this many spreads, or beyond so many points, deserves a second look.
MANY_SPREADS, MANY_POINTS = 3, 0.5
# The paper prints one digit, so that a number may be off by half of its last place.
ROUNDING = 0.05
NOTHING = "–"

LEGEND = (
    "Cells are means in percent, with the standard deviation if there are several runs, and below "
    "it the difference to the number that the paper prints and the number of runs. A difference is "
    "marked ◆ if it is more than 0.5 points, or more than three standard deviations beyond the "
    "rounding of what is printed. Where nothing is random, there is one run."
)


def printed(number: Published | None) -> str:
    """A number as the paper prints it."""
    if number is None:
        return NOTHING
    if number.value is None:
        return "out of memory"
    spread = "" if number.spread is None else f" ± {number.spread:.1f}"
    return f"{number.value:.1f}{spread}"


def measured(values: Sequence[float], number: Published | None = None) -> str | Cell:
    """Mean and spread of accuracies in percent, and what they differ from a published one by."""
    if not values:
        return NOTHING
    mean, runs = float(np.mean(values)), len(values)
    spread = float(np.std(values, ddof=1)) if runs > 1 else None
    text = f"{mean:.1f}" if spread is None else f"{mean:.1f} ± {spread:.1f}"
    remarks = [] if spread is None else [f"n = {runs}"]
    if number is None or number.value is None:
        return Cell(text, ", ".join(remarks)) if remarks else text
    difference = mean - number.value
    remarks = [f"{round(difference, 1) + 0.0:+.1f}", *remarks]  # no minus before nothing
    return Cell(text, ", ".join(remarks), is_marked(difference, spread))


def is_marked(difference: float, spread: float | None) -> bool:
    """Whether a difference is more than 0.5 points, or three spreads if there are several runs."""
    size = round(abs(difference), 6)
    return size > MANY_POINTS or (spread is not None and size - ROUNDING > MANY_SPREADS * spread)


def accuracy_table(
    title: str,
    records: Records,
    methods: Sequence[str],
    protocols: Mapping[str, str],
    source: str = "",
) -> Table:
    """Accuracies on the citation graphs: a row for every method and protocol that was run.

    `protocols` has words for each; before them goes what the paper prints in `source`.
    """
    rows: list[Sequence[str | Cell]] = []
    for method in methods:
        paper = [only(source=source, method=method, dataset=name) for name in CITATIONS]
        if any(paper):
            rows.append([method, "the paper", *map(printed, paper)])
        for protocol, words in protocols.items():
            own = records.where(method=method, protocol=protocol)
            cells = [
                measured(own.where(dataset=name).values("accuracy"), number)
                for name, number in zip(CITATIONS, paper, strict=True)
            ]
            if set(cells) != {NOTHING}:
                rows.append([method, words, *cells])
    return Table(title, ["method", "protocol", *(NAMES[name] for name in CITATIONS)], rows, 2)
