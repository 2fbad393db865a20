r"""Paired significance tests of a method's accuracy against DGC's.

With one split, the pairs are test nodes: d_i is the fraction of seeds for which the method is
correct on node i, minus DGC's. Under the null hypothesis the sign of each d_i is arbitrary, and p
is that of a sign-flip permutation test on the sum; for one seed this is McNemar's exact test.

With J splits, the pairs are splits: d_j is the difference of accuracies on split j. Splits share
nodes, so the d_j are correlated, by about the share r of labelled nodes that are test nodes, and
the variance of their mean is corrected (Nadeau and Bengio 2003):

    error^2 = (1/J + r / (1 - r)) s^2,

which has the usual n_test / n_train where splits use up all labelled nodes. Then t = mean / error,
and p is from Student's t distribution with J - 1 degrees of freedom. As several methods are
compared with DGC, p is adjusted by Holm's method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
CONFIDENCE_LEVEL = 0.95
# Random sign flips, where there are too many to enumerate.
RESAMPLES = 9_999
# Above this number of non-zero differences, the normal approximation is used.
NORMAL_APPROXIMATION_FROM = 500


@dataclass(frozen=True)
class Difference:
    """Mean difference of accuracies, half-width of its confidence interval, and p value.

    The latter two are None where they are undefined.
    """

    mean: float
    margin: float | None = None
    p: float | None = None


def compare_over_nodes(differences: Array) -> Difference:
    """Sign-flip test of differences at n test nodes, of shape (n,)."""
    return Difference(
        float(np.mean(differences)),
        _margin(differences, 1 / len(differences)),
        _sign_flip_p(differences[differences != 0]),
    )


def compare_over_splits(differences: Array, test_share: float) -> Difference:
    """Corrected t-test of differences on J splits, of shape (J,).

    `test_share` is the share r of labelled nodes that are test nodes.
    """
    from scipy import stats

    mean, J = float(np.mean(differences)), len(differences)
    margin = _margin(differences, factor := 1 / J + test_share / (1 - test_share))
    if margin is None:
        return Difference(mean)
    t = abs(mean) / np.sqrt(factor * np.var(differences, ddof=1))
    return Difference(mean, margin, float(2 * stats.t.sf(t, J - 1)))


def _margin(differences: Array, factor: float) -> float | None:
    """Half-width of Student's interval; None if the differences have no variance."""
    from scipy import stats

    if len(differences) < 2 or np.ptp(differences) == 0:
        return None
    quantile = float(stats.t.ppf((1 + CONFIDENCE_LEVEL) / 2, len(differences) - 1))
    return quantile * float(np.sqrt(factor * np.var(differences, ddof=1)))


def _sign_flip_p(differences: Array) -> float:
    """Two-sided p of the sum, if the sign of every (non-zero) difference were random."""
    from scipy import stats

    if len(differences) == 0:
        return 1.0
    if np.ptp(np.abs(differences)) == 0:
        return float(stats.binomtest(int((differences > 0).sum()), len(differences)).pvalue)
    if len(differences) > NORMAL_APPROXIMATION_FROM:
        z = abs(differences.sum()) / np.sqrt((differences**2).sum())
        return float(2 * stats.norm.sf(z))
    test = stats.permutation_test(
        (differences,),
        np.sum,
        permutation_type="samples",
        n_resamples=RESAMPLES,
        vectorized=True,
        rng=np.random.default_rng(0),
    )
    return float(test.pvalue)


def holm_adjusted(p_values: list[float | None]) -> list[float | None]:
    """The p values of several tests, adjusted by Holm's method; None stays None.

    Examples
    --------
    >>> holm_adjusted([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    ordered = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(ordered):
        largest = max(largest, min(1.0, (len(ordered) - rank) * p))
        adjusted[place] = largest
    return adjusted
