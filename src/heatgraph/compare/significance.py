r"""Whether a difference to DGC is more than chance, from runs that are paired.

With one split, pairs are test nodes: d_i is how often a method is right on node i, less how often
DGC is, over seeds. The question is whether other test nodes would show the same, and the standard
error of the mean of d is s / sqrt(m).

With J splits, pairs are splits: d_j is the difference of accuracies on split j. Splits share nodes,
so that the d_j are not independent, and their variance is corrected (Nadeau and Bengio 2003):

    error^2 = (1/J + test / train) s^2.

Both give t = mean / error, and p from Student's distribution. Several methods are compared at once,
for which p is corrected after Holm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

# Of a confidence interval.
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Difference:
    """Mean difference of accuracies, half the width of its interval, and p; None if unknown."""

    mean: float
    margin: float | None = None
    p: float | None = None


def over_nodes(differences: npt.NDArray[Any]) -> Difference:
    """Compare by test nodes, with a difference for each."""
    m = len(differences)
    return _tested(differences, float(np.sqrt(1 / m)))


def over_splits(differences: npt.NDArray[Any], test_per_train: float) -> Difference:
    """Compare by splits, with a difference for each."""
    return _tested(differences, float(np.sqrt(1 / len(differences) + test_per_train)))


def _tested(differences: npt.NDArray[Any], factor: float) -> Difference:
    from scipy import stats

    mean = float(np.mean(differences))
    if len(differences) < 2:
        return Difference(mean)
    error = factor * float(np.std(differences, ddof=1))
    freedom = len(differences) - 1
    margin = float(stats.t.ppf((1 + CONFIDENCE) / 2, freedom)) * error
    if error == 0:
        return Difference(mean, 0.0, 1.0 if mean == 0 else 0.0)
    return Difference(mean, margin, float(2 * stats.t.sf(abs(mean) / error, freedom)))


def corrected(p: list[float | None]) -> list[float | None]:
    """The p of several tests, after Holm: the chance of one false alarm or more among all of them.

    Examples
    --------
    >>> corrected([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    known = sorted((value, place) for place, value in enumerate(p) if value is not None)
    found: list[float | None] = [None] * len(p)
    least = 0.0
    for rank, (value, place) in enumerate(known):
        least = max(least, min(1.0, (len(known) - rank) * value))
        found[place] = least
    return found
