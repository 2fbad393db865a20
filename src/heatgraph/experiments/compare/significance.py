r"""Whether a difference to DGC is more than chance, from runs that are paired.

With one split, pairs are test nodes: d_i is how often a method is right on node i, less how often
DGC is, over seeds. The question is whether other test nodes would show the same. If there were no
difference, each d_i could as well have the other sign: p is the share of changes of signs that give
a sum as large, and for one seed that is McNemar's exact test.

With J splits, pairs are splits: d_j is the difference of accuracies on split j. Splits share nodes,
so that the d_j are correlated, by about the share r of labelled nodes that are test nodes, and the
variance of their mean is corrected (Nadeau and Bengio 2003):

    error^2 = (1/J + r / (1 - r)) s^2,

which has the usual test / train where splits use up all labelled nodes. Then t = mean / error, and
p is from Student's distribution. Several methods are compared at once, for which p is corrected
after Holm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
# Of a confidence interval.
CONFIDENCE = 0.95
# Changes of signs that are tried, where they are too many to try all.
CHANGES = 9_999
# With so many differences their sum is as good as normal.
MANY = 500


@dataclass(frozen=True)
class Difference:
    """Mean difference of accuracies, half the width of its interval, and p; None if unknown."""

    mean: float
    margin: float | None = None
    p: float | None = None


def over_nodes(differences: Array) -> Difference:
    """Compare by test nodes, with a difference for each."""
    return Difference(
        float(np.mean(differences)),
        _margin(differences, 1 / len(differences)),
        _sign_changes(differences[differences != 0]),
    )


def over_splits(differences: Array, test_share: float) -> Difference:
    """Compare by splits, with a difference for each; `test_share` of labelled nodes are tested."""
    from scipy import stats

    mean, J = float(np.mean(differences)), len(differences)
    margin = _margin(differences, factor := 1 / J + test_share / (1 - test_share))
    if margin is None:
        return Difference(mean)
    t = abs(mean) / np.sqrt(factor * np.var(differences, ddof=1))
    return Difference(mean, margin, float(2 * stats.t.sf(t, J - 1)))


def _margin(differences: Array, factor: float) -> float | None:
    """Half the width of Student's interval; None where there is no spread to tell it from."""
    from scipy import stats

    if len(differences) < 2 or np.ptp(differences) == 0:
        return None
    quantile = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(differences) - 1))
    return quantile * float(np.sqrt(factor * np.var(differences, ddof=1)))


def _sign_changes(differences: Array) -> float:
    """How likely so large a sum is, if every sign were drawn."""
    from scipy import stats

    if len(differences) == 0:
        return 1.0
    if np.ptp(np.abs(differences)) == 0:
        return float(stats.binomtest(int((differences > 0).sum()), len(differences)).pvalue)
    if len(differences) > MANY:
        z = abs(differences.sum()) / np.sqrt((differences**2).sum())
        return float(2 * stats.norm.sf(z))
    drawn = stats.permutation_test(
        (differences,),
        np.sum,
        permutation_type="samples",
        n_resamples=CHANGES,
        vectorized=True,
        rng=np.random.default_rng(0),
    )
    return float(drawn.pvalue)


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
