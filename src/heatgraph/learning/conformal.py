"""Intervals of predictions from the errors of held-out nodes: split conformal prediction.

Of m held-out nodes and a further one, all exchangeable, the error of the further one is among the k
smallest with probability k / (m + 1). So the interval prediction +- q, where q is the k-th smallest
absolute error with k = ceil((m + 1) coverage), covers the truth with probability >= coverage,
whatever the distribution of errors (Vovk et al. 2005, Lei et al. 2018).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph.errors import InputError

Array = npt.NDArray[Any]


def error_quantile(errors: npt.ArrayLike, coverage: float) -> Array:
    """Half-widths (q,) of intervals, from absolute errors (m, q) of held-out nodes.

    Examples
    --------
    >>> error_quantile([[4.0], [1.0], [3.0], [2.0]], 0.5)
    array([3.])
    """
    sorted_errors = np.sort(np.asarray(errors, dtype=np.float64), axis=0)
    m = len(sorted_errors)
    is_number = isinstance(coverage, int | float | np.number) and not isinstance(coverage, bool)
    if not is_number or not 0 < coverage < 1:
        raise InputError(f"coverage must be a number between 0 and 1. Got {coverage!r}.")
    # Without the allowance, rounding would make 0.9 of 10 nodes ten instead of nine.
    k = max(1, math.ceil((m + 1) * coverage - 1e-9))
    if k > m:
        needed = math.ceil(coverage / (1 - coverage) - 1e-9)
        most = f"; {m:,} allow a coverage of at most {m / (m + 1):.3g}" if m else ""
        raise InputError(
            f"a coverage of {coverage:g} needs the errors of at least {needed:,} held-out nodes, "
            f"and the model has those of {m:,}{most}. Ask for less, or fit with more labelled "
            "nodes."
        )
    return np.asarray(sorted_errors[k - 1])
