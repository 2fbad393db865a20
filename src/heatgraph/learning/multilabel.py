"""Classification with several labels per node on diffused features, as a scikit-learn estimator.

With the kernel r(S) (n, n), features X (n, d), weights Theta (d, L) and bias b (L,), the scores
z = r(S) X Theta + b are those of L independent logistic regressions on the same diffused features:
label l has the probability 1 / (1 + exp(-z_l / t)), with one temperature t fitted to held-out
nodes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.special
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags

from heatgraph.diffusion import check_engine
from heatgraph.errors import InputError
from heatgraph.graph import Graph, check_graph
from heatgraph.learning._label_sets import LabelSets, label_set_nodes
from heatgraph.learning._serialization import deserialize_classes, serialize_classes
from heatgraph.learning._target_losses import LOGISTIC
from heatgraph.learning._target_model import LabelledTargets, TargetModel
from heatgraph.learning.calibration import best_temperature
from heatgraph.learning.explanation import Explanation
from heatgraph.learning.progress import Progress

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

# Nodes are stratified by their rarest label, but all beyond so many labels are one stratum.
MAX_STRATA = 50


class DGCMultilabelClassifier(ClassifierMixin, TargetModel):
    """Give nodes of a graph any number of labels each, by Decoupled Graph Convolution.

    Features diffuse along the edges for a time T, and one logistic regression per label classifies
    the result. Parameters that are "auto" are chosen by log-loss on validation nodes, or by
    cross-validation on the training nodes. Every parameter marked * also takes a list of candidates
    to choose from.

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
        L2 penalty, added to the mean loss of each label. The bias is penalised for what it differs
        from the log-odds of the label's share of training nodes.
    tol : float
        Bound on the error of the diffusion.
    random_state : int, RandomState or Generator, optional
        Seed of cross-validation folds. None is a fixed seed: refitting gives the same result.
    n_threads : int, optional
        By default one per CPU that this process may use.
    memory_budget : int or str, optional
        Bytes, or a string such as "4GB", for a diffusion.
    calibrate : bool
        Whether to calibrate probabilities by one temperature for all labels, on held-out nodes.
        Predictions do not change.
    dtype : {"float32", "float64"}
        Precision of the diffusion and of the weights.
    cluster : distributed.Client, str or Cluster, optional
        A Dask cluster for diffusions that take long, with the same bits, as in `heatgraph.diffuse`.
        `memory_budget` is then also that of a worker. It is not saved with a model.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Labels of training nodes, or the columns of y if it is a matrix.
    T_, K_, scheme_, self_loops_, feature_scaling_, weight_decay_
        The settings in use, chosen or given; `scheme_` is a scheme object.
    coef_ : array of shape (L, d)
    intercept_ : array of shape (L,)
    converged_ : bool
    temperature_ : float
        Divisor of the scores; 1 if not calibrated.
    search_ : list of dict
        Every evaluated setting, with its log-loss on held-out nodes (the mean over nodes and
        labels) and the standard error of that.
    validation_f1_ : float
        Micro-averaged F1 of the settings in use on validation nodes, or on training nodes that were
        held out.
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
    >>> from heatgraph import DGCMultilabelClassifier, Graph
    >>> ring = Graph.from_edges(range(8), [1, 2, 3, 0, 5, 6, 7, 4], num_nodes=8, symmetrize="max")
    >>> clf = DGCMultilabelClassifier(T=2.0, weight_decay=1e-3)
    >>> y = [["a", "b"], None, None, None, ["b"], ["b", "c"], None, None]
    >>> clf.fit(ring, y).predict_labels(nodes=[1, 7])
    [['a', 'b'], ['b']]
    >>> clf.predict(nodes=[1, 7])
    array([[1, 1, 0],
           [0, 1, 0]])
    """

    _loss = LOGISTIC
    classes_: Array
    temperature_: float
    validation_f1_: float

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
        calibrate: bool = True,
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
        self.calibrate = calibrate
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
    ) -> DGCMultilabelClassifier:
        """Learn from the labelled nodes of a graph.

        Parameters
        ----------
        graph : Graph
        y : sequence of length n, or matrix of shape (n, L)
            A list or set of labels per node, None for unlabelled nodes; or 0 and 1 for each label,
            NaN in the rows of unlabelled nodes. A data frame names the labels by its columns.
        train : indices or mask, optional
            Training nodes; by default all labelled ones that are not in `val`.
        val : indices or mask, optional
            Validation nodes, used to choose settings and to calibrate. Without them, both use
            training nodes that are held out.
        progress : callable, optional
            Called with a `FitProgress` now and then, in a search from any thread.
        """
        space = self._search_space()
        check_graph(graph)
        check_engine(**self._engine())
        if not isinstance(self.calibrate, bool | np.bool_):
            raise InputError(f"calibrate must be True or False. Got {self.calibrate!r}.")
        sets = LabelSets.read(y, graph.num_nodes)
        train_nodes, val_nodes, classes = label_set_nodes(sets, train, val)
        Y = sets.of_classes(classes)
        strata = _strata(Y, Y[train_nodes].sum(axis=0))
        val_strata = None if val_nodes is None else strata[val_nodes]
        data = LabelledTargets(Y, train_nodes, strata[train_nodes], val_nodes, val_strata)
        trained = self._train(graph, space, data, progress)
        self._set_fitted(graph, trained)
        self.classes_ = classes
        scores, truth = trained.held_out_scores, trained.held_out_targets
        self.validation_f1_ = _micro_f1(truth, scores)
        self.temperature_ = 1.0
        if self.calibrate:
            # A sigmoid is a softmax over the scores 0 and z.
            pairs = np.stack([np.zeros(scores.size), scores.ravel()], axis=1)
            self.temperature_ = best_temperature(pairs, truth.ravel().astype(np.int64))
        return self

    def decision_function(self, graph: Graph | None = None, nodes: Any = None) -> Array:
        """Scores of the labels, of shape (m, L), positive in favour of a label.

        Parameters
        ----------
        graph : Graph, optional
            Any graph with the same features; by default the one that was fitted.
        nodes : indices or mask, optional
            Nodes to score; by default all.
        """
        return self._scores(self._graph_to_label(graph), nodes)

    def predict_proba(self, graph: Graph | None = None, nodes: Any = None) -> Array:
        """Probability of each label, of shape (m, L). Parameters as in `decision_function`."""
        scores = self._scores(self._graph_to_label(graph), nodes)
        return np.asarray(scipy.special.expit(scores / self.temperature_))

    def predict(self, graph: Graph | None = None, nodes: Any = None) -> Array:
        """Whether nodes have each label, as 0 and 1 of shape (m, L): a probability above 1/2.

        Parameters as in `decision_function`.
        """
        return (self._scores(self._graph_to_label(graph), nodes) > 0).astype(np.int64)

    def predict_labels(self, graph: Graph | None = None, nodes: Any = None) -> list[list[Any]]:
        """The list of labels of each node. Parameters as in `decision_function`."""
        labels = self.classes_.tolist()
        scores = self._scores(self._graph_to_label(graph), nodes)
        return [[labels[at] for at in np.flatnonzero(row > 0)] for row in scores]

    def score(self, graph: Graph | None, y: Any, nodes: Any = None) -> float:
        """Subset accuracy: the share of nodes of which all labels are right, as in scikit-learn.

        Parameters
        ----------
        graph : Graph or None
            None for the graph that was fitted.
        y : sequence of length n, or matrix of shape (n, L)
            True labels.
        nodes : indices or mask, optional
            Nodes to score; by default all labelled ones.
        """
        graph = self._graph_to_label(graph)
        sets = LabelSets.read(y, graph.num_nodes)
        labelled = sets.labelled(nodes, "nodes")
        if len(labelled) == 0:
            raise InputError("there is no labelled node to score.")
        truth = sets.of_classes(self.classes_)[labelled]
        # A node with a label that the model does not know is wrong.
        known = truth.sum(axis=1) == sets.indicators[labelled].sum(axis=1)
        right = ((self._scores(graph, labelled) > 0) == truth).all(axis=1)
        return float((right & known).mean())

    def explain(
        self, node: int, label: Any = None, top: int = 10, graph: Graph | None = None
    ) -> Explanation:
        """Decompose a node's score for a label exactly into shares of source nodes and features.

        Parameters
        ----------
        node : int
            Index of the node.
        label : optional
            The label whose score is explained; by default the likeliest one.
        top : int
            Number of the largest shares to list.
        graph : Graph, optional
            By default the one that was fitted.
        """
        graph = self._graph_to_label(graph)
        labels = self.classes_.tolist()
        if label is not None and label not in labels:
            raise InputError(f"label must be one of the labels {labels}. Got {label!r}.")
        if label is None:
            label = labels[int(self._scores(graph, [node])[0].argmax())]
        found = self._explain(graph, node, labels.index(label), label, top)
        probability = float(scipy.special.expit(found.score / self.temperature_))
        return replace(found, probability=probability)

    def _content(self) -> tuple[dict[str, Any], dict[str, Array]]:
        content = serialize_classes(self.classes_) | {
            "temperature": self.temperature_,
            "validation_f1": self.validation_f1_,
        }
        return content, {}

    def _set_content(self, content: dict[str, Any], tensors: dict[str, Array]) -> None:
        self.classes_ = deserialize_classes(content, least=1)
        if len(self.classes_) != len(self.coef_):
            raise ValueError("the number of labels contradicts the weights")
        self.temperature_ = float(content["temperature"])
        if not 0 < self.temperature_ < np.inf:
            raise ValueError("temperature must be positive")
        self.validation_f1_ = float(content["validation_f1"])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.target_tags.two_d_labels = True
        return tags


def _strata(Y: Array, counts: Array) -> Indices:
    """The rank of each node's rarest label (n,), by frequency; the last stratum has none."""
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.minimum(np.arange(len(order)), MAX_STRATA - 1)
    rarest = np.where(Y > 0, rank, -1).max(axis=1)
    return np.where(rarest < 0, min(len(order), MAX_STRATA), rarest)


def _micro_f1(truth: Array, scores: Array) -> float:
    """2 TP / (2 TP + FP + FN) over all nodes and labels; 0 if nobody has or gets a label."""
    predicted, has = scores > 0, truth > 0
    positives = int(predicted.sum() + has.sum())
    return 2 * int((predicted & has).sum()) / positives if positives else 0.0
