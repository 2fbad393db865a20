"""A bar chart of accuracy over T for a terminal, in Unicode or ASCII."""

from __future__ import annotations

import math
from collections.abc import Sequence

# Bars of a chart at most: of more values of T, evenly spaced ones are drawn, and the best.
MAX_BARS = 16
# Bars begin at a round share below the least accuracy, by steps of this.
STEP = 0.1
_EIGHTHS = " ▏▎▍▌▋▊▉"


def bar_chart(
    curve: Sequence[tuple[float, float]],
    width: int,
    chosen: float | None = None,
    *,
    unicode: bool = True,
) -> list[str]:
    r"""A bar for each value of T in order, as long as its accuracy is above that of all.

    The T nearest to `chosen` is marked.

    Examples
    --------
    >>> print("\n".join(bar_chart([(0.0, 0.45), (4.5, 0.8)], 60, 4.4, unicode=False)))
           T  accuracy
           0     45.0%  ###
         4.5     80.0%  ############################  < T = 4.4
      bars begin at 40%
    """
    drawn = _thin(curve)
    accuracies = [accuracy for _, accuracy in drawn]
    # The least bar keeps a visible length.
    start = max(0.0, math.floor((min(accuracies) - STEP / 4) / STEP) * STEP)
    mark = "" if chosen is None else f"  {'◀' if unicode else '<'} T = {chosen:.3g}"
    room = max(10, width - 21 - len(mark))
    scale = room / max(max(accuracies) - start, 1e-9)
    nearest = min(drawn, key=lambda point: abs(point[0] - (chosen or 0.0)))[0]
    lines = [f"  {'T':>6}  accuracy"]
    for T, accuracy in drawn:
        bar = _bar((accuracy - start) * scale, unicode)
        marked = mark if nearest == T else ""
        lines.append(f"  {T:>6.3g}  {accuracy:>8.1%}  {bar}{marked}".rstrip())
    return [*lines, f"  bars begin at {start:.0%}"]


def _thin(curve: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    if len(curve) <= MAX_BARS:
        return list(curve)
    last = len(curve) - 1
    kept = {round(at * last / (MAX_BARS - 2)) for at in range(MAX_BARS - 1)}
    kept.add(max(range(len(curve)), key=lambda at: curve[at][1]))
    return [curve[at] for at in sorted(kept)]


def _bar(length: float, unicode: bool) -> str:
    """A bar of that many cells, to an eighth of one in Unicode."""
    if not unicode:
        return "#" * round(length)
    eighths = round(8 * length)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()
