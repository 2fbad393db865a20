"""A node classification task: a graph, its labelled nodes, and how one setting is fitted to them.

Which form of the diffused features r(S) X the last fit works on depends on their sizes:

- few training nodes: diffused rows, by their Gram matrix;
- sparse features and many training nodes: r(S) and X one after the other, never multiplied out,
  where diffusing C columns in every iteration costs less than diffusing all p of them once;
- else: diffused rows as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._arguments import working_dtype
from heatgraph._engine.chebyshev import chebyshev_series
from heatgraph._engine.plan import DENSE_COST, SPARSE_COST
from heatgraph._engine.ranges import product_work
from heatgraph._engine.sparse_products import sparse_times_dense
from heatgraph._engine.threads import SingleBlasThread
from heatgraph._io.memory import memory_budget_bytes
from heatgraph.diffusion import diffuse
from heatgraph.errors import InputError
from heatgraph.graph import Graph
from heatgraph.learning._design_matrices import DiffusedMatrix, OrthogonalMatrix
from heatgraph.learning._folds import NUM_FOLDS, stratified_sample
from heatgraph.learning._labelled_features import kernel_gram, uses_kernel_gram
from heatgraph.learning._loss_weights import LossWeights
from heatgraph.learning._scoring import Scoring, accuracy
from heatgraph.learning._search_space import Setting
from heatgraph.learning._softmax_regression import (
    FEW_NODES,
    SoftmaxFit,
    SoftmaxRegression,
)
from heatgraph.learning.scaling import Scaling

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

# What the choice between the forms of many rows reckons with: iterations, and the columns below
# which a product takes no less time.
TYPICAL_ITERATIONS, LOOSE_ITERATIONS, NARROW = 40, 15, 24
# Share of the memory budget that diffused rows may take where there is another form.
ROWS_MEMORY_SHARE = 0.25
# Training nodes over which the mean square of features is taken, at most twice as many.
MEAN_SQUARE_NODES = 100


@dataclass(frozen=True)
class NodeClassificationTask:
    """A graph, its training and validation nodes, and how to fit them.

    `codes` (n_train,) and `val_codes` (n_val,) are class indices below `num_classes`, or -1 for a
    validation node whose class has no training node. `engine` are options of `diffuse_many`.
    `sample_weight` (n_train,) adds up to 1; without it, all training nodes count the same. It
    follows from `loss_weights`, except that pseudo-labels have weights of their own. `scoring` is
    what settings are compared by on held-out nodes.
    """

    graph: Graph
    train: Indices
    codes: Indices
    val: Indices | None
    val_codes: Indices | None
    num_classes: int
    regression: SoftmaxRegression
    engine: dict[str, Any]
    seed: int
    sample_weight: Array | None = None
    loss_weights: LossWeights = field(default_factory=LossWeights)
    scoring: Scoring = accuracy
    _scaled: dict[str, tuple[Scaling, Graph]] = field(default_factory=dict, repr=False)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of diffused features and weights."""
        return working_dtype(self.engine["dtype"])

    @property
    def targets(self) -> Any:
        """What the regression learns to predict at the training nodes."""
        return self.codes

    def scale_features(self, name: str) -> tuple[Scaling, Graph]:
        """The scaling of that name, fitted to the training nodes, and the scaled graph.

        The last one is kept: a search ends with the scaling that the last fit takes.
        """
        if name not in self._scaled:
            X = self.graph.features
            scaling, graph = Scaling.learn(name, X, self.train), self.graph
            if X is not None and name != "none":
                graph = graph._with_features(scaling.apply(X, self.dtype))
            self._scaled.clear()
            self._scaled[name] = scaling, graph
        return self._scaled[name]

    def fits_rows(self, setting: Setting) -> bool:
        """Whether the fit of a setting takes diffused rows of its training nodes."""
        few = len(self.train) <= FEW_NODES
        if self.graph.features is None or self.regression.solver == "adam":
            return self.regression.solver == "adam"
        return few or not self._uses_operator(setting)

    def fit(self, setting: Setting, rows: Array | None = None) -> tuple[Scaling, SoftmaxFit]:
        """Fit one setting to all training nodes.

        `rows` (n_train, p) are their diffused features, if they are known; they are overwritten.
        """
        scaling, graph = self.scale_features(setting.feature_scaling)
        # Our own threads share the work, and give the same bits on any number of them.
        with SingleBlasThread():
            fit = self._fit(graph, setting, rows)
        if not (np.isfinite(fit.Theta).all() and np.isfinite(fit.bias).all()):
            raise InputError(
                f"training ended in numbers that exceed {self.dtype}, with learning_rate="
                f"{setting.learning_rate:g} and weight_decay={setting.weight_decay:g}. Choose "
                "smaller ones, or scale features down."
            )
        return scaling, fit

    def _fit(self, graph: Graph, setting: Setting, rows: Array | None) -> SoftmaxFit:
        problem = (self.targets, self.num_classes, setting.weight_decay)
        if self.regression.solver == "lbfgs":
            few = len(self.train) <= FEW_NODES
            if few and uses_kernel_gram(graph, [setting.scheme], len(self.train)):
                return self._fit_kernel_gram(graph, setting)
            if not few and self._uses_operator(setting):
                design = self.operator(graph, setting)
                return self.regression.fit_design(design, *problem, self.sample_weight)
        if rows is None:
            rows = self.diffuse(graph, setting, rows=self.train)
        return self.regression.fit(
            rows,
            *problem,
            setting.learning_rate,
            sample_weight=self.sample_weight,
            overwrite=True,
        )

    def _fit_kernel_gram(self, graph: Graph, setting: Setting) -> SoftmaxFit:
        """Fit few nodes without features, by dual weights alpha (L, C): Theta is r(S) E alpha."""
        L = len(self.train)
        options = self.engine | {"self_loops": setting.self_loops}
        gram, error = kernel_gram(graph, [setting.scheme], self.train, L, options)
        noise = error * float(np.linalg.norm(gram))
        design = OrthogonalMatrix.from_gram(gram + 1, np.dtype(np.float64), noise)
        weights, converged = self.regression.minimize(
            design, self.targets, self.num_classes, setting.weight_decay, self.sample_weight
        )
        alpha = design.to_basis(weights)[0, 0].T
        columns = np.zeros((graph.num_nodes, self.num_classes))
        columns[self.train] = alpha
        Theta = self.diffuse(graph._with_features(columns), setting)
        return SoftmaxFit(Theta, alpha.sum(axis=0).astype(self.dtype), converged)

    def _uses_operator(self, setting: Setting) -> bool:
        """Whether many nodes are fitted without diffusing all their features."""
        X = self.graph.features
        if self.regression.solver != "lbfgs" or not (X is None or sp.issparse(X)):
            return False
        if X is None:
            return True
        p, L, C = X.shape[1], len(self.train), self.num_classes
        budget = memory_budget_bytes(self.engine["memory_budget"])
        if L * p * self.dtype.itemsize > ROWS_MEMORY_SHARE * budget:
            return True
        degree = len(chebyshev_series(setting.scheme, self.engine["tol"])[0]) - 1
        diffusing = degree * product_work(self.graph.num_nodes, len(self.graph.indices))
        is_loose = self.regression.tolerance is not None
        products = 2 * (LOOSE_ITERATIONS if is_loose else TYPICAL_ITERATIONS)
        by_operator = products * (max(C, NARROW) * diffusing + C * 2 * SPARSE_COST * X.nnz)
        by_rows = min(p, L) * diffusing + products * C * DENSE_COST * L * p
        return bool(by_operator < by_rows)

    def operator(self, graph: Graph, setting: Setting) -> DiffusedMatrix:
        """Diffused features of the training nodes, never multiplied out."""
        X = graph.features
        if X is None:
            X = sp.eye_array(graph.num_nodes, format="csr")
        return DiffusedMatrix(
            sp.csr_array(X.astype(self.dtype, copy=False)),
            lambda columns: self.diffuse(graph._with_features(columns), setting),
            self.train,
            self.engine["n_threads"],
        )

    def scores(self, setting: Setting, fit: SoftmaxFit) -> Array:
        """Scores (n, C) of all nodes."""
        _, graph = self.scale_features(setting.feature_scaling)
        columns = self.undiffused(setting, fit.Theta)
        return self.diffuse(graph._with_features(columns), setting) + fit.bias

    def undiffused(self, setting: Setting, Theta: Array) -> Array:
        """The columns X Theta (n, C)."""
        _, graph = self.scale_features(setting.feature_scaling)
        X = graph.features
        if X is None:
            return Theta
        if sp.issparse(X):
            return sparse_times_dense(X, Theta, self.engine["n_threads"])
        return np.asarray(X.astype(self.dtype, copy=False) @ Theta)

    def with_validation_nodes(self) -> NodeClassificationTask:
        """The task of learning from training and validation nodes together."""
        assert self.val is not None
        assert self.val_codes is not None
        known = self.val_codes >= 0
        train = np.concatenate([self.train, self.val[known]])
        codes = np.concatenate([self.codes, self.val_codes[known]])
        return replace(
            self,
            train=train,
            codes=codes,
            val=None,
            val_codes=None,
            sample_weight=self.loss_weights.of_nodes(train, codes, self.num_classes),
            _scaled={},
        )

    def with_held_out_nodes(self, max_held_out: int) -> NodeClassificationTask:
        """The task with a fifth of the training nodes, or at most so many, as validation nodes."""
        count = min(len(self.train) // NUM_FOLDS, max_held_out)
        rng = np.random.default_rng(self.seed)
        held_out = stratified_sample(self.codes, count, rng)
        others = np.setdiff1d(np.arange(len(self.train)), held_out)
        train, codes = self.train[others], self.codes[others]
        return replace(
            self,
            train=train,
            codes=codes,
            val=self.train[held_out],
            val_codes=self.codes[held_out],
            sample_weight=self.loss_weights.of_nodes(train, codes, self.num_classes),
            _scaled={},
        )

    def with_scaled_graph(self, name: str, graph: Graph) -> NodeClassificationTask:
        """The same task on another graph of the same nodes, whose features are scaled already."""
        scaling, _ = self.scale_features(name)
        return replace(self, graph=graph, _scaled={name: (scaling, graph)})

    def training_rows(self, setting: Setting) -> Array | None:
        """Diffused features (n_train, p) of the training nodes; None if `fit` does without."""
        if not self.fits_rows(setting):
            return None
        _, graph = self.scale_features(setting.feature_scaling)
        return self.diffuse(graph, setting, rows=self.train)

    def mean_square(self, setting: Setting, rows: Array | None = None) -> float:
        """Mean squared norm of diffused features, over some training nodes.

        `rows` (n_train, p) are those of all training nodes, if they are known.
        """
        some = slice(None, None, max(1, len(self.train) // MEAN_SQUARE_NODES))
        if rows is None:
            _, graph = self.scale_features(setting.feature_scaling)
            sample = self.diffuse(graph, setting, rows=self.train[some])
        else:
            sample = rows[some]
        return float(np.einsum("ij,ij->", sample, sample, dtype=np.float64)) / len(sample)

    def diffuse(
        self,
        graph: Graph,
        setting: Setting,
        rows: Indices | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> Array:
        """Diffuse the features of a graph by the scheme of a setting."""
        return diffuse(
            graph,
            scheme=setting.scheme,
            self_loops=setting.self_loops,
            rows=rows,
            progress=progress,
            **self.engine,
        )
