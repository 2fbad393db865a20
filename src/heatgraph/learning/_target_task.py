"""The task of predicting targets (n, q) that are not classes, by one of `TargetLoss`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph._engine.threads import SingleBlasThread
from heatgraph.learning._design_matrices import DesignMatrix, OrthogonalMatrix
from heatgraph.learning._lbfgs import minimize, ridge_weights
from heatgraph.learning._search_space import Setting
from heatgraph.learning._softmax_regression import (
    FINAL_TOLERANCE,
    MAX_ITERATIONS,
    SoftmaxFit,
    SoftmaxRegression,
)
from heatgraph.learning._target_losses import SQUARED_ERROR, TargetLoss, Targets
from heatgraph.learning._task import NodeClassificationTask
from heatgraph.learning.scaling import Scaling

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

# Columns of dense features up to which ridge regression is solved by an eigendecomposition.
MAX_EXACT_COLUMNS = 1500


@dataclass(frozen=True)
class TargetRegression(SoftmaxRegression):
    """Ridge regression, or logistic regression of independent labels, by L-BFGS.

    The methods take `Targets` in place of classes. Weights do not include the base of scores.
    """

    loss: TargetLoss = SQUARED_ERROR

    def fit(
        self,
        X: Any,
        y: Any,
        num_classes: int,
        weight_decay: float,
        learning_rate: float,
        *,
        sample_weight: Array | None = None,
        overwrite: bool = False,
    ) -> SoftmaxFit:
        is_small = isinstance(X, np.ndarray) and X.shape[1] < min(len(X), MAX_EXACT_COLUMNS)
        if self.loss is SQUARED_ERROR and sample_weight is None and is_small:
            with SingleBlasThread():
                design = OrthogonalMatrix.from_rows(X[np.newaxis])
                weights, converged = self.minimize(design, y, num_classes, weight_decay)
            Theta = design.to_basis(weights)[0, 0].T
            return SoftmaxFit(Theta[:-1], Theta[-1], converged)
        return super().fit(
            X,
            y,
            num_classes,
            weight_decay,
            learning_rate,
            sample_weight=sample_weight,
            overwrite=overwrite,
        )

    def minimize(
        self,
        design: DesignMatrix,
        y: Any,
        num_classes: int,
        weight_decay: float,
        sample_weight: Array | None = None,
    ) -> tuple[Array, bool]:
        problem = (design, y, num_classes, [weight_decay])
        is_exact = isinstance(design, OrthogonalMatrix) and sample_weight is None
        if self.loss is SQUARED_ERROR and is_exact:
            return ridge_weights(*problem, loss=self.loss), True
        weights, converged = minimize(
            *problem,
            tolerance=FINAL_TOLERANCE[design.dtype],
            max_iterations=MAX_ITERATIONS,
            sample_weight=sample_weight,
            loss=self.loss,
        )
        return weights, bool(converged.all())


@dataclass(frozen=True, kw_only=True)
class TargetTask(NodeClassificationTask):
    """A graph, its labelled nodes, and their targets.

    `Y` (n, q) has the targets of all nodes, of which those of training and validation nodes are
    read. `codes` and `val_codes` are strata, to sample these nodes and to cut them into folds.
    """

    Y: Array
    loss: TargetLoss

    @property
    def targets(self) -> Targets:
        """Targets of the training nodes."""
        return self.loss.targets(self.Y[self.train])

    def fit(self, setting: Setting, rows: Array | None = None) -> tuple[Scaling, SoftmaxFit]:
        """Fit one setting to all training nodes; the bias includes the base."""
        scaling, fit = super().fit(setting, rows)
        return scaling, replace(fit, bias=fit.bias + self.targets.base)

    def without(self, held_out: Indices) -> TargetTask:
        """The same task without some of the training nodes, by position, and no others held out."""
        kept = np.setdiff1d(np.arange(len(self.train)), held_out)
        return replace(
            self,
            train=self.train[kept],
            codes=self.codes[kept],
            val=None,
            val_codes=None,
            _scaled={},
        )
