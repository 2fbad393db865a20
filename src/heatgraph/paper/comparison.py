"""A number found here beside the one that the paper prints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heatgraph.paper.published import Published
from heatgraph.report.document import Cell

# A difference beyond this many spreads, or beyond so many points, deserves a second look.
MANY_SPREADS, MANY_POINTS = 3, 0.5
# The paper prints one digit, so that a number may be off by half of its last place.
ROUNDING = 0.05
NOTHING = "–"


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
    mean, spread = float(np.mean(values)), float(np.std(values))
    text = f"{mean:.1f} ± {spread:.1f}" if len(values) > 1 else f"{mean:.1f}"
    if number is None or number.value is None:
        return text
    difference = mean - number.value
    return Cell(text, f"{difference:+.1f}", is_marked(difference, spread))


def is_marked(difference: float, spread: float) -> bool:
    """Whether a difference is more than 0.5 points, or more than three spreads if there is one."""
    beyond = abs(difference) - ROUNDING
    return abs(difference) > MANY_POINTS or (spread > 0 and beyond > MANY_SPREADS * spread)


LEGEND = (
    "Cells are mean ± standard deviation in percent, and below it the difference to the number "
    "that the paper prints. It is marked ◆ if it is more than 0.5 points, or more than three "
    "standard deviations (beyond the rounding of what is printed). A number without ± is from a "
    "method in which nothing is random."
)
