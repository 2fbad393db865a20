"""Scaling of features before they diffuse.

A scaling is fitted to the training nodes alone and then transforms each row on its own: nothing
leaks from other nodes, and other graphs with the same features are scaled in the same way.

==============  ====================================================================================
"none"          no change
"rows"          each row divided by its sum, as the paper does on citation graphs
"sqrt"          the square roots of "rows": rows of unit length, in which frequent words weigh less
"idf"           inverse document frequencies, then "rows"
"idf-sqrt"      inverse document frequencies, then "sqrt"
"standard"      zero mean and unit variance of each column, as the paper does on Reddit
==============  ====================================================================================

All but "none" and "standard" scale by row: they need features >= 0 and keep rows of zeros. Sparse
features stay sparse, so "standard" divides their columns by the deviation but does not centre them.
Sparse features of another graph become dense if the model was fitted to centred ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._arguments import short_repr
from heatgraph.errors import InputError

Array = npt.NDArray[Any]

BY_ROW = ("rows", "sqrt", "idf", "idf-sqrt")
SCALINGS = ("none", *BY_ROW, "standard")
# Dense features with at most this share of nonzeros are treated as words or counts.
MAX_WORD_DENSITY = 0.25
# Rows that are scaled at a time, and rows of which moments are taken in float64 at a time.
BLOCK_ROWS, MOMENT_ROWS = 1 << 14, 1 << 12


def default_scaling(X: Any, train: npt.NDArray[np.int64]) -> str:
    """Name of the scaling that suits features, as the paper chooses it.

    Words and counts (sparse features >= 0) are scaled by row, all others standardised.
    """
    if X is None:
        return "none"
    values = X.data if sp.issparse(X) else X
    is_sparse = sp.issparse(X) or _nonzeros(X, train) <= MAX_WORD_DENSITY * len(train) * X.shape[1]
    if is_sparse and (values.size == 0 or values.min() >= 0):
        return "rows"
    return "standard"


def _nonzeros(X: Array, train: npt.NDArray[np.int64]) -> int:
    """Number of nonzeros in the rows `train` of dense features."""
    starts = range(0, len(train), BLOCK_ROWS)
    return sum(int(np.count_nonzero(X[train[start : start + BLOCK_ROWS]])) for start in starts)


def candidate_scalings(default: str) -> tuple[str, ...]:
    """Names of the scalings that a search compares where `default` suits the features.

    Of the scalings by row, those with unit length are no less accurate than the others, and two
    candidates are told apart more surely than four.
    """
    return ("sqrt", "idf-sqrt") if default == "rows" else (default,)


def check_scaling(name: Any) -> None:
    """Raise `InputError` unless `name` is a scaling or "auto"."""
    if not isinstance(name, str) or name not in (*SCALINGS, "auto"):
        listed = ", ".join(map(repr, ("auto", *SCALINGS)))
        raise InputError(f"feature_scaling must be one of {listed}. Got {short_repr(name)}.")


@dataclass(frozen=True)
class Scaling:
    """A fitted scaling: x -> normalise(x * factor - shift).

    `factor` and `shift` (d,) are None if the scaling has none; `normalise` divides a row by its sum
    or takes square roots, depending on the name.
    """

    name: str
    factor: npt.NDArray[np.float64] | None = None
    shift: npt.NDArray[np.float64] | None = None

    @classmethod
    def learn(cls, name: str, X: Any, train: npt.NDArray[np.int64]) -> Scaling:
        """Fit to the rows `train` of X (n, d); "auto" is the default for these features."""
        if name == "auto":
            name = default_scaling(X, train)
        if X is None or name in ("none", "rows", "sqrt"):
            return cls(name if X is not None else "none")
        if name == "standard":
            peak, mean, variance = (_sparse_moments if sp.issparse(X) else _moments)(X, train)
            factor = 1 / np.where(variance > 0, np.sqrt(variance) * peak, 1)
            return cls(name, factor, None if sp.issparse(X) else mean * peak * factor)
        occurrences = np.asarray((X[train] != 0).sum(axis=0)).ravel()
        return cls(name, np.log((1 + len(train)) / (1 + occurrences)) + 1)

    def relearned(self, X: Any) -> Scaling:
        """The same scaling by the statistics of all rows of other features, centred if this is."""
        if self.shift is not None and sp.issparse(X):
            X = X.toarray()
        learned = Scaling.learn(self.name, X, np.arange(X.shape[0]))
        return learned if self.shift is not None else replace(learned, shift=None)

    @classmethod
    def from_tensors(cls, name: str, tensors: dict[str, Array], num_features: int) -> Scaling:
        """Take a scaling out of the tensors of a file; ValueError if it does not fit the name."""
        scaling = cls(name, tensors.pop("factor", None), tensors.pop("shift", None))
        scaling.check(num_features)
        return scaling

    def to_tensors(self) -> dict[str, Array]:
        """The fitted statistics by name; those it does not have are left out."""
        statistics = {"factor": self.factor, "shift": self.shift}
        return {name: value for name, value in statistics.items() if value is not None}

    def check(self, num_features: int) -> None:
        """Raise ValueError if statistics, read from a file, contradict the name or the features."""
        if self.name not in SCALINGS:
            raise ValueError(f"{self.name!r} is no scaling")
        needed = self.name == "standard" or self.name.startswith("idf")
        if (self.factor is not None) != (needed and num_features > 0):
            raise ValueError(f"factors are missing or superfluous for the scaling {self.name!r}")
        for statistic in (self.factor, self.shift):
            if statistic is not None and (
                statistic.shape != (num_features,) or not np.isfinite(statistic).all()
            ):
                raise ValueError("statistics of a scaling must be finite, one per feature")

    def apply(self, X: Any, dtype: np.dtype[Any]) -> Any:
        """Scaled copy of features (n, d) in `dtype`, sparse if they are and are not centred."""
        if sp.issparse(X) and self.shift is None:
            scaled = self._rows(X, 0, dtype)
            _check_overflow(scaled.data)
            return scaled
        scaled = np.empty(X.shape, dtype=dtype)
        for start in range(0, len(scaled), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            scaled[block] = self._rows(X[block], start, dtype)
            _check_overflow(scaled[block])
        return scaled

    def times(self, X: Any, weights: Array) -> Array:
        """Product (n, c) of scaled features and weights (d, c), in blocks of rows."""
        product = np.empty((X.shape[0], weights.shape[1]), dtype=weights.dtype)
        for start in range(0, len(product), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            with np.errstate(over="ignore", invalid="ignore"):
                product[block] = self._rows(X[block], start, weights.dtype) @ weights
            _check_overflow(product[block])
        return product

    def _rows(self, X: Any, start: int, dtype: np.dtype[Any]) -> Any:
        """Scale a block of rows that begins at row `start`; overflow gives infinities."""
        with np.errstate(over="ignore", invalid="ignore"):
            if sp.issparse(X) and self.shift is not None:
                X = X.toarray()
            if not sp.issparse(X):
                return self._dense_rows(X, start).astype(dtype)
            X = X.astype(dtype)
            if self.factor is not None:
                X.data *= self.factor.astype(dtype)[X.indices]
            if self.name in BY_ROW:
                self._check_not_negative(X, start)
                X.data *= np.repeat(_inverse_row_sums(X).astype(dtype), np.diff(X.indptr))
            return X.sqrt() if self.name.endswith("sqrt") else X

    def _dense_rows(self, X: Array, start: int) -> Array:
        if self.factor is not None:
            X = X * self.factor
        if self.shift is not None:
            X = X - self.shift
        if self.name in BY_ROW:
            self._check_not_negative(X, start)
            X = X * _inverse_row_sums(X)[:, np.newaxis]
        return np.sqrt(X) if self.name.endswith("sqrt") else X

    def _check_not_negative(self, X: Any, start: int) -> None:
        values = X.data if sp.issparse(X) else X
        if values.size == 0 or values.min() >= 0:
            return
        rows, columns = (X < 0).nonzero()
        first = np.lexsort((columns, rows))[0]
        raise InputError(
            f"feature_scaling={self.name!r} needs features >= 0. Row {start + rows[first]}, column "
            f"{columns[first]} is negative. Choose 'standard' or 'none'."
        )


def _sparse_moments(X: Any, train: npt.NDArray[np.int64]) -> tuple[Array, Array, Array]:
    """The largest entry of each column over the rows `train`; mean and variance relative to it.

    Divided by the largest entry, squares cannot overflow.
    """
    rows = X[train].astype(np.float64)
    peak = np.asarray(abs(rows).max(axis=0).todense()).ravel()
    peak[peak == 0] = 1
    rows = rows @ sp.diags_array(1 / peak)
    mean = np.asarray(rows.mean(axis=0)).ravel()
    variance = np.asarray((rows**2).mean(axis=0)).ravel() - mean**2
    # A constant column has a variance of rounding errors.
    variance[variance <= 1e-12 * mean**2] = 0
    return peak, mean, variance


def _moments(X: Array, train: npt.NDArray[np.int64]) -> tuple[Array, Array, Array]:
    """The same for dense features, in blocks of rows: the rows may take most of the memory."""

    def blocks() -> Iterator[Array]:
        for start in range(0, len(train), MOMENT_ROWS):
            yield X[train[start : start + MOMENT_ROWS]].astype(np.float64)

    extremes = [(rows.min(axis=0), rows.max(axis=0)) for rows in blocks()]
    lowest = np.min([low for low, _ in extremes], axis=0)
    highest = np.max([high for _, high in extremes], axis=0)
    peak = np.maximum(-lowest, highest)
    peak[peak == 0] = 1
    mean, variance = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for rows in blocks():
        rows /= peak
        mean += rows.sum(axis=0)
    mean /= len(train)
    for rows in blocks():
        rows /= peak
        rows -= mean
        variance += np.square(rows, out=rows).sum(axis=0)
    variance /= len(train)
    variance[lowest == highest] = 0
    return peak, mean, variance


def _inverse_row_sums(X: Any) -> npt.NDArray[np.float64]:
    """1 / sum of each row, and 0 for a row of zeros."""
    sums = np.asarray(X @ np.ones(X.shape[1]))
    inverse: npt.NDArray[np.float64] = np.divide(1, sums, out=np.zeros_like(sums), where=sums > 0)
    return inverse


def _check_overflow(values: Array) -> None:
    if not np.isfinite(values).all():
        raise InputError(
            f"features exceed {values.dtype}. Scale them down, or pass dtype='float64'."
        )
