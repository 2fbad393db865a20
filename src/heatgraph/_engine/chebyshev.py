"""Responses as Chebyshev series, cut short with a certificate.

On [-1, 1] a response is r(s) = sum_k c_k T_k(s), and |T_k| <= 1 there. So dropping terms changes r
by no more than the sum of the dropped |c_k|, and since S is symmetric with spectrum in [-1, 1] it
changes r(S) by no more than that in operator norm.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import scipy.fft

from heatgraph.errors import InputError
from heatgraph.schemes import Scheme

# What of the series lies beyond the samples is pushed below the rounding of the samples.
_BEYOND = 1e-17
_MOST_SAMPLES = 1 << 24
_EPSILON = float(np.finfo(np.float64).eps)


@lru_cache(maxsize=1024)
def chebyshev_series(scheme: Scheme, tol: float) -> tuple[npt.NDArray[np.float64], float]:
    """Give the shortest Chebyshev series of a response within `tol`, and the bound that it keeps.

    Returns
    -------
    coefficients : array of shape (degree + 1,)
    bound : float
        On max |r - series| over [-1, 1], relative to max(1, max |r|) there. It covers the dropped
        terms, what the samples miss, and rounding in the samples and coefficients. Where rounding
        alone exceeds `tol`, the series with the least bound is given.

    Examples
    --------
    >>> from heatgraph import Euler
    >>> coefficients, bound = chebyshev_series(Euler(T=5.27, K=250), 1e-6)
    >>> len(coefficients) - 1, bound < 1e-6
    (12, True)
    """
    samples, beyond = _resolve(scheme)
    # The eigenvalues 1 - cos(angle) of L, in a form that keeps small ones accurate.
    x = 2 * np.sin(np.pi * (np.arange(samples) + 0.5) / samples / 2) ** 2
    with np.errstate(over="ignore", invalid="ignore"):
        values = scheme.decay(x)
        moved = np.abs(scheme.decay(x * (1 + 4 * _EPSILON)) - values)
    norm = max(1.0, float(np.abs(values).max()))
    if not math.isfinite(norm):
        raise InputError(f"{scheme} is so unstable that it overflows. Take more steps K.")
    coefficients = scipy.fft.dct(values / norm, type=2) / samples
    coefficients[0] /= 2
    dropped = np.append(np.cumsum(np.abs(coefficients[:0:-1]))[::-1], 0.0) + beyond
    # Samples are wrong by a few units and by what moving x by a few units does; the transform adds
    # a unit for each of its stages. An error e in the 2-norm of k + 1 coefficients is one of at
    # most e sqrt(k + 1) in their sum.
    wrong = float(moved.max()) / norm + (4 + math.log2(samples)) * _EPSILON
    bound = dropped + wrong * np.sqrt(np.arange(1, samples + 1))
    degree = int(np.argmax(bound <= max(tol, bound.min())))
    coefficients = norm * coefficients[: degree + 1]
    coefficients.flags.writeable = False
    return coefficients, float(bound[degree])


def _resolve(scheme: Scheme) -> tuple[int, float]:
    """Find how many Chebyshev points resolve a response, and bound what they miss.

    If |r| <= M inside the ellipse with foci -1, 1 and half axes (rho +- 1/rho)/2, then
    |c_k| <= 2 M rho^-k. From k = N on these add up to 2 M rho^(1-N) / (rho - 1), and interpolating
    at N points errs by at most twice that. A polynomial of degree below N has no such tail.
    """
    rho = 1 + np.logspace(-6, 4, 400)
    with np.errstate(over="ignore"):
        log_M = scheme.log_growth((rho + 1 / rho) / 2)
    samples = 16
    while samples <= scheme.degree:
        log_tail = math.log(2) + log_M + (1 - samples) * np.log(rho) - np.log(rho - 1)
        if log_tail.min() <= math.log(_BEYOND / 2):
            return samples, 2 * math.exp(log_tail.min())
        if samples >= _MOST_SAMPLES:
            raise InputError(
                f"{scheme} would take millions of products with S. Choose a smaller T or K, or a "
                "larger alpha."
            )
        samples *= 2
    return int(scheme.degree) + 1, 0.0
