"""Regression of a number per node on diffused features, as a scikit-learn estimator.

With the kernel r(S) (n, n), features X (n, d), weights Theta (d, q) and bias b (q,), predictions
are r(S) X Theta + b. Theta and b are those of ridge regression on the diffused features of the
labelled nodes (`heatgraph.learning._target_losses`), and intervals come from the errors of held-out
nodes (`heatgraph.learning.conformal`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils import Tags

from heatgraph.diffusion import check_engine
from heatgraph.errors import InputError
from heatgraph.graph import Graph, check_graph
from heatgraph.learning._labels import separate_nodes
from heatgraph.learning._node_numbers import NodeNumbers
from heatgraph.learning._serialization import check_finite_floats
from heatgraph.learning._target_losses import SQUARED_ERROR
from heatgraph.learning._target_model import LabelledTargets, TargetModel
from heatgraph.learning.conformal import error_quantile
from heatgraph.learning.explanation import Explanation
from heatgraph.learning.progress import Progress

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

# Folds have equal shares of this many quantiles of the first target, or of fewer if nodes are few.
NUM_STRATA = 10


class DGCRegressor(RegressorMixin, TargetModel):
    """Predict a number for each node of a graph by Decoupled Graph Convolution.

    Features diffuse along the edges for a time T, and ridge regression predicts numbers from the
    result. Parameters that are "auto" are chosen on validation nodes, or by cross-validation on the
    training nodes. Every parameter marked * also takes a list of candidates to choose from.

    Parameters
    ----------
    T : "auto" or float *
        Terminal time, >= 0; with 0 the edges are not used.
    K : int, optional *
        Number of steps. Without it, the heat kernel: the limit of infinitely many steps.
    scheme : {"heat", "euler", "rk4"} or Scheme, optional *
        By default Euler if K is given, else heat. Leave out T and K with a scheme object.
    self_loops : bool *
        Whether to use the Laplacian of A + I, or of A.
    feature_scaling : {"auto", "none", "rows", "sqrt", "idf", "idf-sqrt", "standard"} *
        Preprocessing of features before they diffuse, as in `DGCClassifier`.
    weight_decay : "auto" or float *
        L2 penalty, added to half the mean squared error; the `alpha` of scikit-learn's ridge
        regression is the number of training nodes times that. The bias is penalised for what it
        differs from the mean of the training targets.
    tol : float
        Bound on the error of the diffusion.
    random_state : int, RandomState or Generator, optional
        Seed of cross-validation folds. None is a fixed seed: refitting gives the same result.
    n_threads : int, optional
        By default one per CPU that this process may use.
    memory_budget : int or str, optional
        Bytes, or a string such as "4GB", for a diffusion.
    dtype : {"float32", "float64"}
        Precision of the diffusion and of the weights.
    cluster : distributed.Client, str or Cluster, optional
        A Dask cluster for diffusions that take long, with the same bits, as in `heatgraph.diffuse`.
        `memory_budget` is then also that of a worker. It is not saved with a model.

    Attributes
    ----------
    T_, K_, scheme_, self_loops_, feature_scaling_, weight_decay_
        The settings in use, chosen or given; `scheme_` is a scheme object.
    coef_ : array of shape (q, d)
    intercept_ : array of shape (q,)
    converged_ : bool
    search_ : list of dict
        Every evaluated setting, with its R^2 on held-out nodes and the standard error of that.
    validation_r2_ : float
        R^2 of the settings in use on validation nodes, or on training nodes that were held out.
    held_out_errors_ : array of shape (m, q)
        Absolute errors on these nodes, from which intervals are made.
    feature_names_in_ : list of str
        Only if the graph names its features. Those of graphs to predict on are then found by name.
    feature_encoder_ : FeatureEncoder or None
        How columns of a table became the features, if the graph was read from tables.
    graph_ : Graph
        The graph that was fitted; a loaded model has none.

    Notes
    -----
    There are no extensions, as `DGCClassifier` has them: predictions are those of plain DGC.

    Examples
    --------
    >>> from heatgraph import DGCRegressor, Graph
    >>> path = Graph.from_edges(range(5), range(1, 6), num_nodes=6, symmetrize="max")
    >>> reg = DGCRegressor(T=1.0, weight_decay=1e-3, dtype="float64")
    >>> reg.fit(path, [0.0, 1.0, None, 3.0, None, 5.0]).predict().round(1)
    array([0. , 1. , 2.2, 3. , 4.1, 5. ])
    """

    _loss = SQUARED_ERROR
    held_out_errors_: Array
    validation_r2_: float

    def __init__(
        self,
        T: Any = "auto",
        K: Any = None,
        scheme: Any = None,
        self_loops: Any = True,
        feature_scaling: Any = "auto",
        weight_decay: Any = "auto",
        tol: float = 1e-6,
        random_state: Any = None,
        n_threads: int | None = None,
        memory_budget: int | float | str | None = None,
        dtype: Any = "float32",
        cluster: Any = None,
    ) -> None:
        self.T = T
        self.K = K
        self.scheme = scheme
        self.self_loops = self_loops
        self.feature_scaling = feature_scaling
        self.weight_decay = weight_decay
        self.tol = tol
        self.random_state = random_state
        self.n_threads = n_threads
        self.memory_budget = memory_budget
        self.dtype = dtype
        self.cluster = cluster

    def fit(
        self,
        graph: Graph,
        y: Any,
        train: Any = None,
        val: Any = None,
        *,
        progress: Progress | None = None,
    ) -> DGCRegressor:
        """Learn from the labelled nodes of a graph.

        Parameters
        ----------
        graph : Graph
        y : array of shape (n,) or (n, q)
            A number per node, or several; None or NaN for unlabelled nodes.
        train : indices or mask, optional
            Training nodes; by default all that have a number and are not in `val`.
        val : indices or mask, optional
            Validation nodes, used to choose settings and for intervals. Without them, both use
            training nodes that are held out.
        progress : callable, optional
            Called with a `FitProgress` now and then, in a search from any thread.
        """
        space = self._search_space()
        check_graph(graph)
        check_engine(**self._engine())
        numbers = NodeNumbers.read(y, graph.num_nodes)
        needed = "At least two nodes need a number each."
        train_nodes, val_nodes = separate_nodes(numbers, train, val, needed)
        _check_variation(numbers.values[train_nodes])
        mean = numbers.values[train_nodes].mean(axis=0)
        # A column that does not vary is predicted by its mean.
        deviation = numbers.values[train_nodes].std(axis=0)
        deviation = np.where(deviation > 0, deviation, 1)
        Y = (numbers.values - mean) / deviation
        val_strata = None if val_nodes is None else _strata(Y[val_nodes])
        data = LabelledTargets(Y, train_nodes, _strata(Y[train_nodes]), val_nodes, val_strata)
        trained = self._train(graph, space, data, progress)
        self._set_fitted(graph, trained)
        self.coef_ = (self.coef_ * deviation[:, np.newaxis]).astype(self.coef_.dtype)
        self.intercept_ = self.intercept_ * deviation + mean
        errors = np.abs(trained.held_out_scores - trained.held_out_targets)
        self.held_out_errors_ = np.sort(errors * deviation, axis=0)
        self.validation_r2_ = _r2(trained.held_out_targets, trained.held_out_scores)
        self._is_flat = numbers.is_flat
        return self

    def predict(self, graph: Graph | None = None, nodes: Any = None) -> Array:
        """Predicted numbers.

        Parameters
        ----------
        graph : Graph, optional
            Any graph with the same features; by default the one that was fitted.
        nodes : indices or mask, optional
            Nodes to predict; by default all.

        Returns
        -------
        array of shape (m,), or (m, q) if y had two axes
        """
        return self._shaped(self._scores(self._graph_to_label(graph), nodes))

    def predict_interval(
        self, graph: Graph | None = None, coverage: float = 0.9, nodes: Any = None
    ) -> Array:
        """Intervals that contain the true numbers with a probability of at least `coverage`.

        That holds if the nodes to predict are like the held-out ones: drawn at random from the
        same graph. All intervals of a model have the same width (`heatgraph.learning.conformal`).

        Parameters
        ----------
        graph, nodes
            As in `predict`.
        coverage : float
            Between 0 and 1. Each of q numbers has an interval of that coverage.

        Returns
        -------
        array of shape (m, 2), or (m, q, 2) if y had two axes
            Lower and upper bounds.
        """
        graph = self._graph_to_label(graph)
        half = error_quantile(self.held_out_errors_, coverage)
        scores = self._scores(graph, nodes)
        bounds = np.stack([scores - half, scores + half], axis=-1)
        return bounds[:, 0] if self._is_flat else bounds

    def score(self, graph: Graph | None, y: Any, nodes: Any = None) -> float:
        """The coefficient of determination R^2, the mean of all q numbers.

        Parameters
        ----------
        graph : Graph or None
            None for the graph that was fitted.
        y : array of shape (n,) or (n, q)
            True numbers.
        nodes : indices or mask, optional
            Nodes to score; by default all that have a number in `y`.
        """
        graph = self._graph_to_label(graph)
        numbers = NodeNumbers.read(y, graph.num_nodes)
        labelled = numbers.labelled(nodes, "nodes")
        if len(labelled) == 0:
            raise InputError("there is no labelled node to score.")
        if numbers.values.shape[1] != len(self.coef_):
            raise InputError(
                f"the model predicts {len(self.coef_)} numbers per node. Got "
                f"{numbers.values.shape[1]} in y."
            )
        return _r2(numbers.values[labelled], self._scores(graph, labelled))

    def explain(
        self, node: int, top: int = 10, graph: Graph | None = None, output: int = 0
    ) -> Explanation:
        """Decompose a node's prediction exactly into shares of source nodes and features.

        Parameters
        ----------
        node : int
            Index of the node.
        top : int
            Number of the largest shares to list.
        graph : Graph, optional
            By default the one that was fitted.
        output : int
            Which of q numbers to explain.
        """
        graph = self._graph_to_label(graph)
        if output not in range(len(self.coef_)):
            raise InputError(f"output must be in 0..{len(self.coef_) - 1}. Got {output!r}.")
        return self._explain(graph, node, output, None if self._is_flat else output, top)

    def _shaped(self, scores: Array) -> Array:
        return scores[:, 0] if self._is_flat else scores

    def _content(self) -> tuple[dict[str, Any], dict[str, Array]]:
        content = {"is_flat": self._is_flat, "validation_r2": self.validation_r2_}
        return content, {"held_out_errors": self.held_out_errors_}

    def _set_content(self, content: dict[str, Any], tensors: dict[str, Array]) -> None:
        q, errors = len(self.coef_), tensors["held_out_errors"]
        check_finite_floats(errors, (len(errors), q), "held_out_errors")
        if not isinstance(content["is_flat"], bool) or (content["is_flat"] and q > 1):
            raise ValueError("the number of targets contradicts the weights")
        self._is_flat, self.held_out_errors_ = content["is_flat"], errors
        self.validation_r2_ = float(content["validation_r2"])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _check_variation(Y: Array) -> None:
    if len(Y) == 1:
        raise InputError(
            "there is one sample only: a single training node has a number, and two are needed."
        )
    if (Y[:1] == Y).all():
        same = f"the number {Y[0, 0]:g}" if Y.shape[1] == 1 else "the same numbers"
        raise InputError(
            f"all {len(Y):,} training nodes have {same}: there is nothing to learn. Check y, or "
            "train on other nodes."
        )


def _strata(Y: Array) -> Indices:
    """Quantile classes (m,) of the first target, of ten nodes at least."""
    ranks = np.argsort(np.argsort(Y[:, 0], kind="stable"), kind="stable")
    count = max(1, min(NUM_STRATA, len(Y) // 10))
    return np.asarray(ranks * count // len(Y), dtype=np.int64)


def _r2(Y: Array, scores: Array) -> float:
    """The mean R^2 of the columns; NaN of a single node."""
    from sklearn.metrics import r2_score

    return float(r2_score(Y, scores)) if len(Y) > 1 else float("nan")
