"""Tables of measured accuracies beside those that the paper prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from heatgraph.experiments.paper.experiment import CITATION_GRAPHS, DATASET_TITLES
from heatgraph.experiments.paper.published import PublishedNumber, published_number
from heatgraph.experiments.results import Records
from heatgraph.report.document import MISSING, Cell, Table

# A difference is marked beyond this many points, or this many standard deviations.
MARKED_POINTS, MARKED_DEVIATIONS = 0.5, 3
# The paper prints one decimal, so its numbers are off by up to half of the last place.
ROUNDING = 0.05

LEGEND = (
    "Cells are means in percent, with the standard deviation if there are several runs, and below "
    "it the difference from the number that the paper prints and the number of runs. A difference "
    "is marked ◆ if it is more than 0.5 points, or more than three standard deviations beyond the "
    "rounding of the printed number. Where nothing is random, there is one run."
)


def published_cell(number: PublishedNumber | None) -> str:
    """A number as the paper prints it."""
    if number is None:
        return MISSING
    if number.value is None:
        return "out of memory"
    spread = "" if number.spread is None else f" ± {number.spread:.1f}"
    return f"{number.value:.1f}{spread}"


def measured_cell(values: Sequence[float], number: PublishedNumber | None = None) -> str | Cell:
    """Mean and standard deviation of accuracies in percent, and the difference from `number`."""
    if not values:
        return MISSING
    mean, runs = float(np.mean(values)), len(values)
    spread = float(np.std(values, ddof=1)) if runs > 1 else None
    text = f"{mean:.1f}" if spread is None else f"{mean:.1f} ± {spread:.1f}"
    remarks = [] if spread is None else [f"n = {runs}"]
    if number is None or number.value is None:
        return Cell(text, ", ".join(remarks)) if remarks else text
    difference = mean - number.value
    remarks = [f"{round(difference, 1) + 0.0:+.1f}", *remarks]  # + 0.0 turns -0.0 into 0.0
    return Cell(text, ", ".join(remarks), is_marked(difference, spread))


def is_marked(difference: float, spread: float | None) -> bool:
    """Whether a difference exceeds 0.5 points, or rounding and three standard deviations."""
    size = round(abs(difference), 6)
    if size > MARKED_POINTS:
        return True
    return spread is not None and size - ROUNDING > MARKED_DEVIATIONS * spread


def accuracy_table(
    title: str,
    records: Records,
    methods: Sequence[str],
    protocols: Mapping[str, str],
    source: str = "",
) -> Table:
    """Accuracies on the citation graphs: a row for every method and protocol that was run.

    `protocols` maps protocols to their titles. Published numbers are those of `source`, such as
    "Table 2".
    """
    rows: list[Sequence[str | Cell]] = []
    for method in methods:
        published = [
            published_number(source=source, method=method, dataset=name) for name in CITATION_GRAPHS
        ]
        if any(published):
            rows.append([method, "the paper", *map(published_cell, published)])
        for protocol, protocol_title in protocols.items():
            own = records.where(method=method, protocol=protocol)
            cells = [
                measured_cell(own.where(dataset=name).values("accuracy"), number)
                for name, number in zip(CITATION_GRAPHS, published, strict=True)
            ]
            if set(cells) != {MISSING}:
                rows.append([method, protocol_title, *cells])
    head = ["method", "protocol", *(DATASET_TITLES[name] for name in CITATION_GRAPHS)]
    return Table(title, head, rows, 2)
