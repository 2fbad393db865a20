"""Truncated Chebyshev series of a response, with a bound on the error.

On [-1, 1], where |T_k| <= 1, a response is r(s) = sum_k c_k T_k(s). Truncation changes r by at most
the sum of the dropped |c_k|, and since S is symmetric with spectrum in [-1, 1], it changes r(S) by
at most as much in operator norm.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import scipy.fft

from heatgraph.errors import InputError
from heatgraph.schemes import Scheme

# Choose enough samples that the tail of the series, and with it aliasing, stays below rounding.
_TAIL_TOLERANCE = 1e-17
_MAX_SAMPLES = 1 << 24
_EPSILON = float(np.finfo(np.float64).eps)


@lru_cache(maxsize=1024)
def chebyshev_series(scheme: Scheme, tol: float) -> tuple[npt.NDArray[np.float64], float]:
    """The shortest Chebyshev series of a response whose error is at most `tol`.

    Parameters
    ----------
    scheme : Scheme
    tol : float

    Returns
    -------
    coefficients : array of shape (degree + 1,)
        Read-only, since results are cached.
    bound : float
        Bound on max |r - series| over [-1, 1], relative to max(1, max |r|). It covers truncation,
        aliasing, and rounding of the samples and coefficients. If rounding alone exceeds `tol`,
        the series with the smallest bound is returned.

    Raises
    ------
    InputError
        If r overflows, or takes more than 2^24 samples.

    Examples
    --------
    >>> from heatgraph import Euler
    >>> coefficients, bound = chebyshev_series(Euler(T=5.27, K=250), 1e-6)
    >>> len(coefficients) - 1, bound < 1e-6
    (12, True)
    """
    samples, aliasing = _sample_count(scheme)
    # Eigenvalues 1 - cos(angle) of L at the Chebyshev points, without cancellation at small ones.
    x = 2 * np.sin(np.pi * (np.arange(samples) + 0.5) / samples / 2) ** 2
    with np.errstate(over="ignore", invalid="ignore"):
        values = scheme.decay(x)
        perturbation = np.abs(scheme.decay(x * (1 + 4 * _EPSILON)) - values)
    norm = max(1.0, float(np.abs(values).max()))
    if not math.isfinite(norm):
        raise InputError(f"{scheme} is so unstable that it overflows. Take more steps K.")
    coefficients = scipy.fft.dct(values / norm, type=2) / samples
    coefficients[0] /= 2
    dropped = np.append(np.cumsum(np.abs(coefficients[:0:-1]))[::-1], 0.0) + aliasing
    # Samples are off by a few units in the last place, and by the effect of as many units in x;
    # each of the log2(samples) stages of the transform adds a unit. An error e of k + 1
    # coefficients in the 2-norm is at most e sqrt(k + 1) in the sum of their absolute values.
    rounding = float(perturbation.max()) / norm + (4 + math.log2(samples)) * _EPSILON
    bound = dropped + rounding * np.sqrt(np.arange(1, samples + 1))
    degree = int(np.argmax(bound <= max(tol, bound.min())))
    coefficients = norm * coefficients[: degree + 1]
    coefficients.flags.writeable = False
    return coefficients, float(bound[degree])


def _sample_count(scheme: Scheme) -> tuple[int, float]:
    """Number of Chebyshev points that resolve a response, and a bound on the aliasing error.

    If |r| <= M inside the Bernstein ellipse with foci -1, 1 and semi-axes (rho +- 1/rho)/2, then
    |c_k| <= 2 M rho^-k. The tail from k = N on sums to at most 2 M rho^(1-N) / (rho - 1), and
    interpolation at N points errs by at most twice that (Trefethen, Approximation Theory and
    Approximation Practice, Theorems 8.1 and 8.2). A polynomial of degree below N has no tail.
    """
    rho = 1 + np.logspace(-6, 4, 400)
    with np.errstate(over="ignore"):
        log_M = scheme.log_growth((rho + 1 / rho) / 2)
    samples = 16
    while samples <= scheme.degree:
        log_tail = math.log(2) + log_M + (1 - samples) * np.log(rho) - np.log(rho - 1)
        if log_tail.min() <= math.log(_TAIL_TOLERANCE / 2):
            return samples, 2 * math.exp(log_tail.min())
        if samples >= _MAX_SAMPLES:
            raise InputError(
                f"{scheme} would take millions of products with S. Choose a smaller T or K, or a "
                "larger alpha."
            )
        samples *= 2
    return int(scheme.degree) + 1, 0.0
