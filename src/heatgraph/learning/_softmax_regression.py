"""Softmax regression (multinomial logistic regression) on diffused features.

For features X (n, p) with classes y in 0, ..., C - 1, weights Theta (p, C) and bias b (C,), both
solvers minimise the same objective,

    J(Theta, b) = mean_i -log softmax(x_i Theta + b)[y_i] + weight_decay/2 (|Theta|^2 + |b|^2).

The bias is penalised like any other weight, as by the paper's coupled weight decay. `lbfgs`
converges to the unique optimum, by L-BFGS (`heatgraph.learning._lbfgs`) or, with few nodes, by
Newton's method (`heatgraph.learning._newton`); `adam` (`heatgraph.learning._adam`) takes the
paper's 100 steps towards it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._engine.threads import SingleBlasThread
from heatgraph.learning._adam import adam
from heatgraph.learning._design_matrices import (
    DesignMatrix,
    OrthogonalMatrix,
    RowMatrix,
    append_ones,
)
from heatgraph.learning._lbfgs import minimize
from heatgraph.learning._newton import newton_minimize

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

MAX_ITERATIONS, MAX_NEWTON_ITERATIONS = 1500, 100
# Converged: the gradient norm, relative to its value at zero weights, is at most this. In float32,
# rounding allows no more than 1e-6; in float64, 1e-8 makes weights agree across BLAS kernels to
# about 1e-6.
FINAL_TOLERANCE = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-8}
# With at most this many nodes, an eigendecomposition costs next to nothing, and the fit runs in
# float64 whatever the precision of the features, by Newton's method.
FEW_NODES = 600


@dataclass(frozen=True)
class SoftmaxFit:
    """Weights Theta (p, C) and bias (C,), and whether the solver converged."""

    Theta: Array
    bias: Array
    converged: bool


@dataclass(frozen=True)
class SoftmaxRegression:
    """A solver and its fixed parameters; `epochs` and `seed` matter to Adam only.

    `tolerance` is that of L-BFGS, by default FINAL_TOLERANCE.
    """

    solver: Literal["lbfgs", "adam"]
    epochs: int
    seed: int
    n_threads: int | None = None
    tolerance: float | None = None

    def fit(
        self,
        X: Any,
        y: Indices,
        num_classes: int,
        weight_decay: float,
        learning_rate: float,
        *,
        sample_weight: Array | None = None,
        overwrite: bool = False,
    ) -> SoftmaxFit:
        """Fit features X (n, p), dense or sparse. Dense ones may be overwritten if that is said.

        `sample_weight` (n,), for L-BFGS, are the weights of a mean of losses: they add up to 1.
        """
        if self.solver == "adam":
            dense = X.toarray() if sp.issparse(X) else X
            weights = adam(
                dense[np.newaxis],
                y,
                num_classes,
                [weight_decay],
                [learning_rate],
                epochs=self.epochs,
                seed=self.seed,
            )[0, 0]
            return SoftmaxFit(weights[:-1], weights[-1], True)
        with SingleBlasThread():
            if X.shape[0] <= FEW_NODES:
                return self._fit_few(X, y, num_classes, weight_decay, sample_weight)
            design = RowMatrix.from_features(X, overwrite, self.n_threads)
            return self.fit_design(design, y, num_classes, weight_decay, sample_weight)

    def fit_design(
        self,
        design: DesignMatrix,
        y: Indices,
        num_classes: int,
        weight_decay: float,
        sample_weight: Array | None = None,
    ) -> SoftmaxFit:
        """Fit a design matrix of one feature set, in its own precision."""
        weights, converged = self.minimize(design, y, num_classes, weight_decay, sample_weight)
        Theta = weights[0, 0].T
        return SoftmaxFit(Theta[:-1], Theta[-1], converged)

    def minimize(
        self,
        design: DesignMatrix,
        y: Indices,
        num_classes: int,
        weight_decay: float,
        sample_weight: Array | None = None,
    ) -> tuple[Array, bool]:
        """The optimal weights (1, 1, C, r) of a design matrix, and whether the solver converged."""
        tolerance = self.tolerance or FINAL_TOLERANCE[design.dtype]
        if design.shape[1] <= FEW_NODES:
            return newton_minimize(
                design,
                y,
                num_classes,
                weight_decay,
                tolerance=tolerance,
                max_iterations=MAX_NEWTON_ITERATIONS,
                sample_weight=sample_weight,
            )
        weights, converged = minimize(
            design,
            y,
            num_classes,
            [weight_decay],
            tolerance=tolerance,
            max_iterations=MAX_ITERATIONS,
            sample_weight=sample_weight,
        )
        return weights, bool(converged.all())

    def _fit_few(
        self,
        X: Any,
        y: Indices,
        num_classes: int,
        weight_decay: float,
        sample_weight: Array | None,
    ) -> SoftmaxFit:
        """Fit few rows in orthogonal coordinates, in float64."""
        dense = (X.toarray() if sp.issparse(X) else X).astype(np.float64)[np.newaxis]
        rows = append_ones(dense)
        if dense.shape[1] > dense.shape[2]:
            design = OrthogonalMatrix.from_rows(dense)
        else:
            with np.errstate(over="ignore", invalid="ignore"):  # from_gram checks for it
                gram = rows @ rows.swapaxes(1, 2)
            design = OrthogonalMatrix.from_gram(gram, dense.dtype)
        weights, converged = self.minimize(design, y, num_classes, weight_decay, sample_weight)
        Theta = design.to_basis(weights)[0, 0]
        if dense.shape[1] <= dense.shape[2]:
            Theta = Theta @ rows[0]
        Theta = Theta.T.astype(X.dtype)
        return SoftmaxFit(Theta[:-1], Theta[-1], converged)
