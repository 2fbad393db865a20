"""DGC as a scikit-learn estimator whose input is a graph.

Fitting diffuses features at the labelled nodes and trains a linear head Theta, b on them:
softmax(r(S)[train] X Theta + b). Predicting diffuses the C columns X Theta instead of the d columns
X, which is the same by associativity and much cheaper.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.special
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from heatgraph._arguments import positive_integer
from heatgraph._io.tensor_file import read_tensors, write_tensors
from heatgraph.diffusion import check_engine, diffuse
from heatgraph.errors import ConvergenceWarning, InputError, warn
from heatgraph.graph import Graph, check_graph, node_indices
from heatgraph.learning import _search as tuning
from heatgraph.learning._labels import Labels, training_nodes
from heatgraph.learning._node_classifier import NodeClassifier
from heatgraph.learning._search_space import SearchSpace, Setting
from heatgraph.learning._serialization import deserialize_model, model_file_errors, serialize_model
from heatgraph.learning._softmax_regression import SoftmaxRegression
from heatgraph.learning.calibration import best_temperature
from heatgraph.learning.explanation import Explanation, explain
from heatgraph.learning.scaling import Scaling, candidate_scalings

Array = npt.NDArray[Any]

# What a file of ours says that it holds.
KIND = "DGCClassifier"


class DGCClassifier(NodeClassifier):
    """Label the nodes of a graph by Decoupled Graph Convolution.

    Features diffuse along the edges for a time T, and softmax regression reads the result. What is
    "auto" is chosen on validation nodes, or by cross-validation on the training labels.

    Every parameter marked * also takes a list of candidates, among which is chosen likewise.

    Parameters
    ----------
    T : "auto" or float *
        Terminal time, >= 0; 0 leaves the graph aside.
    K : int, optional *
        Number of steps. Without it, the heat kernel: the limit of infinitely many steps.
    scheme : {"heat", "euler", "rk4"} or Scheme, optional *
        By default Euler if K is given, else heat. A scheme object, such as ``SGC(2)``, comes
        without T and K.
    self_loops : bool *
        Whether the Laplacian is that of A + I, or of A.
    feature_scaling : {"auto", "none", "rows", "sqrt", "idf", "idf-sqrt", "standard"} *
        What is done to features before they diffuse (`heatgraph.learning.scaling`), with statistics
        of the training nodes alone. "auto" standardises, but scales words and counts (sparse
        features that are not negative) by row; if there is a search, it chooses among the ways to
        do so.
    solver : {"lbfgs", "adam"}
        "lbfgs" goes to the optimum; "adam" trains as the paper does.
    learning_rate : float *
        Of Adam.
    epochs : int
        Of Adam.
    weight_decay : "auto" or float *
        L2 penalty on weights and bias, beside the mean loss.
    tol : float
        Bound on the error of the diffusion.
    random_state : int, RandomState or Generator, optional
        For Adam's initial weights and for folds. None is a fixed seed: refitting gives the same
        result.
    n_threads : int, optional
        By default every core.
    memory_budget : int or str, optional
        Bytes, or a text such as "4GB", for a diffusion. By default the machine's memory.
    calibrate : "auto" or bool
        Whether to divide scores by a temperature, fitted on validation nodes or in folds, so that
        probabilities mean what they say. Predictions stay the same. "auto" does so if there are
        validation nodes, or folds anyway because there is something to choose.
    dtype : {"float32", "float64"}
        Precision of the diffusion and of the weights.

    Attributes
    ----------
    classes_ : array of shape (C,)
    T_, K_, scheme_, self_loops_, feature_scaling_, weight_decay_, learning_rate_
        The settings in use, chosen or given; `scheme_` is a scheme object.
    coef_ : array of shape (C, d)
    intercept_ : array of shape (C,)
    converged_ : bool
        Whether L-BFGS reached the optimum. (Adam takes its epochs and is done.)
    temperature_ : float
        What scores are divided by to make probabilities of them; 1 if not calibrated.
    search_ : list of dict
        Every setting tried, with its accuracy and log-loss on validation nodes or folds; empty if
        there was nothing to choose. ``pandas.DataFrame(clf.search_)`` makes a table of it.
    validation_accuracy_ : float or None
        Share of validation nodes that the settings in use get right, or of nodes left out of
        folds; None if there were neither.
    feature_names_in_ : list of str
        Only if the graph names its features. Graphs to predict on must then have the same.
    graph_ : Graph
        The graph that was fitted; a model that was loaded has none.

    Examples
    --------
    >>> import numpy as np
    >>> from heatgraph import DGCClassifier, Graph
    >>> ring = Graph.from_edges(range(8), [1, 2, 3, 0, 5, 6, 7, 4], num_nodes=8, symmetrize="max")
    >>> clf = DGCClassifier(T=2.0, weight_decay=1e-3)
    >>> clf.fit(ring, ["a", None, None, None, "b", None, None, None]).predict()
    array(['a', 'a', 'a', 'a', 'b', 'b', 'b', 'b'], dtype='<U1')
    """

    def __init__(
        self,
        T: Any = "auto",
        K: Any = None,
        scheme: Any = None,
        self_loops: Any = True,
        feature_scaling: Any = "auto",
        solver: Literal["lbfgs", "adam"] = "lbfgs",
        learning_rate: Any = 0.2,
        epochs: int = 100,
        weight_decay: Any = "auto",
        tol: float = 1e-6,
        random_state: Any = None,
        n_threads: int | None = None,
        memory_budget: int | float | str | None = None,
        calibrate: Any = "auto",
        dtype: Any = "float32",
    ) -> None:
        self.T = T
        self.K = K
        self.scheme = scheme
        self.self_loops = self_loops
        self.feature_scaling = feature_scaling
        self.solver = solver
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.weight_decay = weight_decay
        self.tol = tol
        self.random_state = random_state
        self.n_threads = n_threads
        self.memory_budget = memory_budget
        self.calibrate = calibrate
        self.dtype = dtype

    def fit(
        self,
        graph: Graph,
        y: Any,
        train: Any = None,
        val: Any = None,
        *,
        progress: tuning.Progress | None = None,
    ) -> DGCClassifier:
        """Learn from the labelled nodes of a graph.

        Parameters
        ----------
        graph : Graph
        y : sequence of length n
            A label per node, of any kind; -1, None or NaN where there is none.
        train : indices or mask, optional
            Nodes to learn from; by default all that have a label and are not in `val`.
        val : indices or mask, optional
            Nodes on which settings are chosen, and only that. Without them it is done by
            cross-validation among the training nodes.
        progress : callable, optional
            Called as ``progress(stage, done, total)``, in a search from any thread.
        """
        space = self._space()
        task, classes = self._task(graph, y, train, val)
        space = space.settle(candidate_scalings(graph.features, task.train))
        report = progress or (lambda *_: None)
        outcomes: list[tuning.ValidationResult] = []
        setting = space.only()
        if setting is None:
            setting, outcomes = tuning.search(task, space, report)
        report("fit", 0, 1)
        scaling, fit = task.fit(setting)
        if not fit.converged.all():
            warn(
                f"the head did not converge: with weight_decay={setting.weight_decay:g} the "
                "optimum is very far away, or nowhere. Choose a larger one.",
                ConvergenceWarning,
            )
        self.graph_ = graph
        self.classes_ = classes
        self.search_ = [outcome.record() for outcome in outcomes]
        self.n_features_in_ = graph.num_features
        self.converged_ = bool(fit.converged.all())
        self.temperature_ = 1.0
        self.validation_accuracy_ = None
        self._recognise(graph.feature_names, _nodes_digest(graph))
        self._settle(setting, scaling, fit.Theta[0, 0].T, fit.bias[0, 0])
        checks = task.val is not None or bool(outcomes)
        calibrates = checks if self.calibrate == "auto" else bool(self.calibrate)
        if checks or calibrates:
            scores, codes = self._validation_scores(task, setting)
            if (codes >= 0).any():  # else every class has one node, and leaving it out loses it
                self.validation_accuracy_ = float((scores.argmax(axis=1) == codes).mean())
            if calibrates:
                self.temperature_ = best_temperature(scores, codes)
        report("fit", 1, 1)
        return self

    def explain(
        self, node: int, label: Any = None, top: int = 10, graph: Graph | None = None
    ) -> Explanation:
        """Tell which source nodes and features a node's score is made of, exactly.

        Parameters
        ----------
        node : int
            Index of the node.
        label : optional
            The class whose score is explained; by default the predicted one. For two classes it is
            the decision function, with the sign that speaks for the label.
        top : int
            How many of the largest shares to list.
        graph : Graph, optional
            By default the one that was fitted.
        """
        graph = self._graph_to_label(graph)
        (node,) = node_indices([node], graph.num_nodes, "node")
        classes = self.classes_.tolist()
        if label is not None and label not in classes:
            raise InputError(f"label must be one of the classes {classes}. Got {label!r}.")
        kernel = self._diffused(graph.with_features(None), rows=[node], dtype="float64")[0]
        weights, bias = self.coef_.astype(np.float64), self.intercept_.astype(np.float64)
        scores = kernel @ self._undiffused(graph, weights) + bias
        chosen = int(scores.argmax()) if label is None else classes.index(label)
        theta, b, score = weights[chosen], bias[chosen], scores[chosen]
        if len(classes) == 2:
            theta, b, score = (part[chosen] - part[1 - chosen] for part in (weights, bias, scores))
        return explain(
            graph,
            self.scaling_,
            kernel,
            theta,
            node=int(node),
            label=classes[chosen],
            score=float(score),
            bias=float(b),
            probability=float(scipy.special.softmax(scores / self.temperature_)[chosen]),
            top=positive_integer(top, "top"),
        )

    def save(self, path: str | Path) -> None:
        """Write the model into a file, whole or not at all; `heatgraph.load` reads it.

        The graph is not in it.
        """
        check_is_fitted(self)
        content, tensors = serialize_model(self)
        write_tensors(path, KIND, content, tensors)

    def _space(self) -> SearchSpace:
        space = SearchSpace.read(
            T=self.T,
            K=self.K,
            scheme=self.scheme,
            self_loops=self.self_loops,
            feature_scaling=self.feature_scaling,
            weight_decay=self.weight_decay,
            learning_rate=self.learning_rate,
        )
        # L-BFGS has no learning rate, so there is none to choose.
        return space if self.solver == "adam" else replace(space, rates=space.rates[:1])

    def _task(self, graph: Graph, y: Any, train: Any, val: Any) -> tuple[tuning.Task, Array]:
        """Check everything that `fit` is given, and the parameters, before any work is done."""
        check_graph(graph)
        if self.solver not in ("lbfgs", "adam"):
            raise InputError(f"solver must be 'lbfgs' or 'adam'. Got {self.solver!r}.")
        if not isinstance(self.calibrate, bool | np.bool_) and self.calibrate != "auto":
            raise InputError(f"calibrate must be True, False or 'auto'. Got {self.calibrate!r}.")
        check_engine(**self._engine())
        epochs, seed = positive_integer(self.epochs, "epochs"), read_seed(self.random_state)
        labels = Labels.read(y, graph.num_nodes)
        learning, checking = training_nodes(labels, train, val)
        classes = labels.classes(learning)
        task = tuning.Task(
            graph=graph,
            train=learning,
            codes=labels.encode(classes, learning),
            val=checking,
            val_codes=None if checking is None else labels.encode(classes, checking),
            num_classes=len(classes),
            head=SoftmaxRegression(self.solver, epochs, seed),
            engine=self._engine(),
            seed=seed,
        )
        return task, classes

    def _settle(
        self,
        setting: Setting,
        scaling: Scaling,
        coef: Array,
        intercept: Array,
    ) -> None:
        """Set the fitted attributes that make a model."""
        self.scheme_ = setting.scheme
        self.T_ = getattr(setting.scheme, "T", None)
        self.K_ = getattr(setting.scheme, "K", None)
        self.self_loops_ = setting.self_loops
        self.feature_scaling_ = setting.feature_scaling
        self.weight_decay_ = setting.weight_decay
        self.learning_rate_ = setting.learning_rate
        self.scaling_ = scaling
        self.coef_ = coef
        self.intercept_ = intercept

    def _recognise(self, feature_names: list[str] | None, nodes_digest: str | None) -> None:
        """Keep what tells whether another graph has the same features, or the same nodes."""
        self._nodes_digest = nodes_digest
        if feature_names is not None:
            self.feature_names_in_ = feature_names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _validation_scores(
        self, task: tuning.Task, setting: Setting
    ) -> tuple[Array, npt.NDArray[np.int64]]:
        """Scores of nodes that were not learned from, and their classes."""
        if task.val is None or task.val_codes is None:
            return task.held_out_scores(setting)
        return self._scores(self.graph_, task.val), task.val_codes

    def _scores(self, graph: Graph, nodes: Any) -> Array:
        """Scores (m, C): the columns X Theta, diffused, and the bias."""
        if nodes is not None:
            nodes = node_indices(nodes, graph.num_nodes, "nodes")
        undiffused = self._undiffused(graph, self.coef_)
        scores = self._diffused(graph.with_features(undiffused)) + self.intercept_
        return scores if nodes is None else scores[nodes]

    def _undiffused(self, graph: Graph, coef: Array) -> Array:
        """The columns X Theta (n, C)."""
        Theta = np.ascontiguousarray(coef.T)
        return Theta if graph.features is None else self.scaling_.times(graph.features, Theta)

    def _diffused(self, graph: Graph, **options: Any) -> Array:
        engine = self._engine() | options
        return diffuse(graph, scheme=self.scheme_, self_loops=self.self_loops_, **engine)

    def _engine(self) -> dict[str, Any]:
        return {
            "tol": self.tol,
            "dtype": self.dtype,
            "n_threads": self.n_threads,
            "memory_budget": self.memory_budget,
        }

    def _graph_to_label(self, graph: Graph | None) -> Graph:
        """The graph to predict on, if its features, or without features its nodes, are known."""
        graph = super()._graph_to_label(graph)
        names = getattr(self, "feature_names_in_", None)
        if names and graph.feature_names and names != graph.feature_names:
            pairs = zip(names, graph.feature_names, strict=True)
            at, (ours, theirs) = next((i, p) for i, p in enumerate(pairs) if p[0] != p[1])
            raise InputError(
                "the graph's features must be those that the model was fitted with, in their "
                f"order. Feature {at} is {theirs!r}, where the model has {ours!r}."
            )
        if not self.n_features_in_:
            self._check_nodes(graph)
        return graph

    def _check_nodes(self, graph: Graph) -> None:
        found = f"one of {graph.num_nodes:,} nodes"
        if graph.num_nodes == self.coef_.shape[1]:
            digests = self._nodes_digest, _nodes_digest(graph)
            if None in digests or digests[0] == digests[1]:
                return
            found = "as many, but with other ids or in another order"
        raise InputError(
            "the model was fitted without features, so it knows nodes by their place only: it "
            f"labels the graph of {self.coef_.shape[1]:,} nodes that it was fitted on. Got {found}."
        )


def load(path: str | Path) -> DGCClassifier:
    """Read a model that `DGCClassifier.save` wrote.

    Nothing in the file is ever run. One that is incomplete, altered, of another kind or of a newer
    form is refused with the reason.
    """
    content, tensors = read_tensors(path, KIND)
    with model_file_errors(path):
        model: DGCClassifier = deserialize_model(DGCClassifier, content, tensors)
    return model


def _nodes_digest(graph: Graph) -> str | None:
    """What tells the nodes of a graph without features, in their order; None without ids."""
    if graph.features is not None or graph.node_ids is None:
        return None
    return hashlib.sha256(json.dumps(graph.node_ids.tolist(), default=repr).encode()).hexdigest()


def read_seed(random_state: Any) -> int:
    """A seed from whatever scikit-learn takes for one; a fixed one from None."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return int(check_random_state(random_state).randint(2**31))
