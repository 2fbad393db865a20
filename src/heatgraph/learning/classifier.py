"""DGC as a scikit-learn estimator whose input is a graph.

With the kernel r(S) (n, n), features X (n, d), weights Theta (d, C) and bias b (C,), probabilities
are softmax(r(S) X Theta + b). Fitting diffuses the d columns X at the labelled nodes and fits
Theta, b by softmax regression. Predicting diffuses the C columns X Theta, which gives the same by
associativity and is much cheaper.

Extensions (`heatgraph.learning._extensions`) add a term r(S') X Theta' on a graph with further
edges, learn from unlabelled nodes, and correct the bias by class offsets. Where neighbours differ,
they add, or put in its place, terms of other features (`heatgraph.learning._channels`).
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.special
from sklearn.utils.validation import check_is_fitted

from heatgraph._arguments import positive_integer, short_repr
from heatgraph._io.tensor_file import CACHE_LINE_ALIGNMENT, write_tensors
from heatgraph.diffusion import check_engine
from heatgraph.errors import InputError, OneClassWarning, ShiftWarning, StabilityWarning, warn
from heatgraph.graph import Graph, check_graph, node_indices
from heatgraph.learning._channels import DIRECTED, LINKS, Channels
from heatgraph.learning._diffusion_model import DiffusionModel, resolve_scalings
from heatgraph.learning._extensions import read_extensions
from heatgraph.learning._labels import Labels, training_nodes
from heatgraph.learning._loss_weights import LossWeights
from heatgraph.learning._new_nodes import NewNodesReport, new_node_scorer
from heatgraph.learning._node_classifier import NodeClassifier
from heatgraph.learning._node_estimator import read_seed
from heatgraph.learning._scoring import read_scoring
from heatgraph.learning._search_space import SearchSpace, Setting
from heatgraph.learning._serialization import FittedModel, serialize_model, serialize_model_graph
from heatgraph.learning._shift import GraphProfile, shift_sentence
from heatgraph.learning._similar_nodes import with_similar_edges
from heatgraph.learning._softmax_regression import SoftmaxRegression
from heatgraph.learning._task import NodeClassificationTask
from heatgraph.learning._training import Training
from heatgraph.learning.explanation import Explanation, explain
from heatgraph.learning.progress import Progress

Array = npt.NDArray[Any]

# The kind of content that a model file declares in its header.
KIND = "DGCClassifier"
FINAL_FITS = ("train", "train+val")
# On fewer nodes, predictions of a single class are nothing to warn of.
MIN_NODES_TO_JUDGE = 30
LINKS_REMEDY = " To label other graphs, fit with extensions=None or with a list without 'channels'."


class DGCClassifier(DiffusionModel, NodeClassifier):
    """Label the nodes of a graph by Decoupled Graph Convolution.

    Features diffuse along the edges for a time T, and softmax regression classifies the result.
    Parameters that are "auto" are chosen on validation nodes, or by cross-validation on the
    training nodes. Every parameter marked * also takes a list of candidates to choose from.

    Parameters
    ----------
    T : "auto" or float *
        Terminal time, >= 0; with 0 the edges are not used.
    K : int, optional *
        Number of steps. Without it, the heat kernel: the limit of infinitely many steps.
    scheme : {"heat", "euler", "rk4"} or Scheme, optional *
        By default Euler if K is given, else heat. Leave out T and K with a scheme object, such as
        ``SGC(2)``.
    self_loops : bool *
        Whether to use the Laplacian of A + I, or of A.
    feature_scaling : {"auto", "none", "rows", "sqrt", "idf", "idf-sqrt", "standard"} *
        Preprocessing of features before they diffuse (`heatgraph.learning.scaling`), fitted to the
        training nodes alone. "auto" standardises, but scales words and counts (sparse features
        >= 0) by row; if there is a search, it chooses between "sqrt" and "idf-sqrt". Features of
        several kinds that `from_tables` encoded are scaled already, and stay as they are.
    solver : {"lbfgs", "adam"}
        "lbfgs" converges to the optimum; "adam" trains as the paper does.
    learning_rate : float *
        Adam's step size.
    epochs : int
        Adam's number of steps.
    weight_decay : "auto" or float *
        L2 penalty on weights and bias, added to the mean loss.
    tol : float
        Bound on the error of the diffusion.
    random_state : int, RandomState or Generator, optional
        Seed of Adam's initial weights and of cross-validation folds. None is a fixed seed:
        refitting gives the same result.
    n_threads : int, optional
        By default one per CPU that this process may use.
    memory_budget : int or str, optional
        Bytes, or a string such as "4GB", for a diffusion. By default all memory of the machine, or
        of the container if that is less.
    calibrate : "auto" or bool
        Whether to calibrate probabilities by temperature scaling, on validation nodes or
        out-of-fold scores. Predictions do not change. "auto" calibrates if there are validation
        nodes, or folds because of a search.
    dtype : {"float32", "float64"}
        Precision of the diffusion and of the weights.
    extensions : "auto", None, or names
        What to add to the paper's DGC where held-out nodes say that it helps: "similar-edges"
        (between nodes of similar features), "self-training" (on unlabelled nodes; only with
        validation nodes), "class-offsets" (a number for each class, learned from held-out labels),
        "channels" (features of nodes themselves, of their neighbours, and rows of the adjacency, by
        which a model knows nodes by position; in place of the first two; by direction if the graph
        keeps directed edges). "auto" tries all of them if T is "auto" and the solver "lbfgs", but
        channels only if `weight_decay` is "auto" too; None is plain DGC.
    final_fit : {"train", "train+val"}
        Nodes that the last fit learns from. With "train+val", settings are chosen on validation
        nodes, T and the scaling are kept, weight decay is chosen again by cross-validation on all
        labelled nodes, and the model learns from all of them. More labels are more accurate, but
        such a model must not be compared with others that did not see them.
    class_weight : None, "balanced" or dict
        Weights of classes in the loss, by label. "balanced" gives every class the same total, for
        classes of very different sizes; probabilities are then those of equally large classes.
        With weights, "auto" extensions do not include class offsets, which would undo them.
    scoring : {"accuracy", "balanced_accuracy", "f1_macro", "log_loss", "roc_auc"}
        What settings and extensions are chosen by on held-out nodes. With balanced accuracy and
        macro-F1, which count rare classes as much as common ones, "auto" extensions do not include
        class offsets either. To predict rare classes more often, set `class_weight` too.
    cluster : distributed.Client, str or Cluster, optional
        A Dask cluster for diffusions that take long, with the same bits, as in `heatgraph.diffuse`.
        `memory_budget` is then also that of a worker. It is not saved with a model.

    Attributes
    ----------
    classes_ : array of shape (C,)
    T_, K_, scheme_, self_loops_, feature_scaling_, weight_decay_, learning_rate_
        The settings in use, chosen or given; `scheme_` is a scheme object.
    coef_ : array of shape (C, d)
    intercept_ : array of shape (C,)
    converged_ : bool
        Whether L-BFGS reached its tolerance; always True for Adam.
    similar_coef_ : array of shape (C, d), or None
        Weights of features that diffuse with edges between similar nodes.
    member_weights_ : dict
        Weights of the linear models that `coef_` and `similar_coef_` are the mean of: "plain",
        "similar" and "student"; or 1 for "channels".
    channel_coefs_ : dict of arrays of shape (C, d) or (C, n)
        Weights of channels by name: "features" and "neighbours" (d columns), "links" and
        "two-hop-links" (a column for each node; such a model labels no other nodes); for directed
        edges "out-neighbours", "in-neighbours", "out-links" and so on. Empty for
        models without channels. With channels, `coef_` are the weights of diffused features, zeros
        if these are not used, and `weight_decay_` is that of blocks scaled to a mean square of 1.
    class_offsets_ : array of shape (C,), or None
        What was learned for each class from held-out labels; `intercept_` includes it.
    temperature_ : float
        Divisor of the scores inside the softmax; 1 if not calibrated.
    search_ : list of dict
        Every evaluated setting, with its accuracy and log-loss on held-out nodes; empty if there
        was nothing to choose. ``pandas.DataFrame(clf.search_)`` makes a table of it.
    validation_accuracy_ : float or None
        Accuracy of the settings in use on validation nodes, or out of fold; None if there were
        neither. It is measured before class offsets are learned from these nodes, and before a
        final fit that includes them.
    validation_score_ : float or None
        The same in terms of `scoring`; minus the log-loss if that is "log_loss".
    final_fit_nodes_ : int
        Number of labelled nodes that the last fit learned from.
    feature_names_in_ : list of str
        Only if the graph names its features. Those of graphs to predict on are then found by name.
    feature_encoder_ : FeatureEncoder or None
        How columns of a table became the features, if the graph was read from tables.
    graph_ : Graph
        The graph that was fitted; a loaded model has it only if it was saved with it.
    new_nodes_ : NewNodesReport
        How the last call of `predict_new` or `predict_proba_new` computed its result.

    Notes
    -----
    Reproducibility. On one machine with the same versions of NumPy and its BLAS library, refitting
    gives identical results, and so does any number of threads.

    Other processors and BLAS versions round matrix products differently. These tolerances hold
    between BLAS kernels of several generations of processors:

    - With all parameters given, `coef_` agrees to 1e-5 of its largest entry and probabilities to
      1e-4. With more training nodes than features, this needs ``dtype="float64"``: in float32,
      weights agree to 5e-3 and probabilities to 0.05 if the penalty is very weak.
    - With "auto", a search compares settings by their accuracy, in which single nodes near the
      decision boundary count. `T_` agrees to 1 %, `weight_decay_` to 20 %, probabilities to 0.1
      and 99 % of predictions. (Measured on Cora and Pubmed: 0.03 %, 2 %, 0.007 and all but one
      node.) A different candidate can be chosen if two are tied to within that.

    Examples
    --------
    >>> import numpy as np
    >>> from heatgraph import DGCClassifier, Graph
    >>> ring = Graph.from_edges(range(8), [1, 2, 3, 0, 5, 6, 7, 4], num_nodes=8, symmetrize="max")
    >>> clf = DGCClassifier(T=2.0, weight_decay=1e-3)
    >>> clf.fit(ring, ["a", None, None, None, "b", None, None, None]).predict()
    array(['a', 'a', 'a', 'a', 'b', 'b', 'b', 'b'], dtype='<U1')
    """

    intercept_: Array
    new_nodes_: NewNodesReport
    similar_coef_: Array | None
    channel_coefs_: dict[str, Array]
    class_offsets_: Array | None
    validation_accuracy_: float | None
    validation_score_: float | None
    # Gradient tolerance of the last fit; None is that of `SoftmaxRegression`.
    _solver_tolerance: float | None = None

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
        extensions: Any = "auto",
        final_fit: Literal["train", "train+val"] = "train",
        class_weight: Any = None,
        scoring: str = "accuracy",
        cluster: Any = None,
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
        self.extensions = extensions
        self.final_fit = final_fit
        self.class_weight = class_weight
        self.scoring = scoring
        self.cluster = cluster

    def fit(
        self,
        graph: Graph,
        y: Any,
        train: Any = None,
        val: Any = None,
        *,
        sample_weight: Any = None,
        progress: Progress | None = None,
    ) -> DGCClassifier:
        """Learn from the labelled nodes of a graph.

        Parameters
        ----------
        graph : Graph
        y : sequence of length n
            A label per node, of any kind; -1, None or NaN for unlabelled nodes.
        train : indices or mask, optional
            Training nodes; by default all that have a label and are not in `val`.
        val : indices or mask, optional
            Validation nodes, used to choose settings and to calibrate. Without them, both use
            cross-validation on the training nodes.
        sample_weight : array of shape (n,), optional
            Weights >= 0 of nodes in the loss; those of nodes that are not learned from are not
            read. Held-out nodes count the same in scores.
        progress : callable, optional
            Called with a `FitProgress` now and then, in a search from any thread.
        """
        space = self._search_space()
        task, classes = self._task(graph, y, train, val, sample_weight)
        space = resolve_scalings(space, graph, task.train)
        fitted = Training(self.get_params(deep=False)).run(task, space, classes, progress)
        self.graph_ = graph
        self._set_fitted(fitted)
        return self

    def explain(
        self, node: int, label: Any = None, top: int = 10, graph: Graph | None = None
    ) -> Explanation:
        """Decompose a node's score exactly into shares of source nodes and features.

        Parameters
        ----------
        node : int
            Index of the node.
        label : optional
            The class whose score is explained; by default the predicted one. With two classes, the
            score is the decision function, positive in favour of the label.
        top : int
            Number of the largest shares to list.
        graph : Graph, optional
            By default the one that was fitted.
        """
        graph = self._graph_to_label(graph)
        (node,) = node_indices([node], graph.num_nodes, "node")
        classes = self.classes_.tolist()
        if label is not None and label not in classes:
            raise InputError(
                f"label must be one of the classes {classes}. Got {short_repr(label)}."
            )
        bias = self.intercept_.astype(np.float64)
        terms, scores = [], bias
        for diffused, coef in self._terms(graph):
            row = self._diffused(diffused.with_features(None), rows=[node], dtype="float64")[0]
            weights = coef.astype(np.float64)
            terms.append((row, weights))
            scores = scores + row @ self._undiffused(graph, weights)
        links: list[tuple[str, Array, Array]] = []
        channels = Channels(graph, np.dtype(np.float64), self.n_threads)
        for name, coef in self.channel_coefs_.items():
            row = channels.kernel_rows(name, np.array([node])).toarray()[0]
            weights = coef.astype(np.float64)
            if name in LINKS:
                links.append((name, row, weights))
                scores = scores + row @ weights.T
            else:
                terms.append((row, weights))
                scores = scores + row @ self._undiffused(graph, weights)
        c = int(scores.argmax()) if label is None else classes.index(label)

        def of_class(values: Array) -> Array:
            return np.asarray(values[c] - values[1 - c] if len(classes) == 2 else values[c])

        return explain(
            graph,
            self.scaling_,
            [(row, of_class(weights)) for row, weights in terms],
            node=int(node),
            label=classes[c],
            score=float(of_class(scores)),
            bias=float(of_class(bias)),
            probability=float(scipy.special.softmax(scores / self.temperature_)[c]),
            top=positive_integer(top, "top"),
            links=[(name, row, of_class(weights)) for name, row, weights in links],
        )

    def with_scaling_of(self, graph: Graph) -> DGCClassifier:
        """A copy of this model that standardises features by the statistics of another graph.

        Features of other graphs are otherwise standardised by the means and deviations of the
        fitted graph's training nodes. If those differ for reasons that have nothing to do with
        classes (another country, another year, another instrument), scores are off by more than
        classes differ. No label is read; if the other graph's classes have other shares, their
        means move with these, and the copy may be less accurate than the model.

        Parameters
        ----------
        graph : Graph
            The graph to label, with the same features; statistics are those of all its nodes.

        Returns
        -------
        DGCClassifier
            Without a graph of its own: pass one to its methods, like to those of a loaded model.

        Examples
        --------
        >>> from heatgraph import make_block_graph
        >>> here = make_block_graph(400, 2000, 2, 8, signal=2.0)
        >>> clf = DGCClassifier(T=2.0, weight_decay=1e-3).fit(here.graph, here.labels)
        >>> there = here.graph.with_features(3 * here.graph.features + 5)
        >>> adapted = clf.with_scaling_of(there)
        >>> bool((adapted.predict(there) == clf.predict()).all())
        True
        """
        check_graph(graph)
        graph = self._graph_to_label(graph)
        if self.feature_scaling_ != "standard" or graph.features is None:
            raise InputError(
                "features can be rescaled to a graph if the model standardises them. This one was "
                f"fitted with feature_scaling={self.feature_scaling_!r}, whose result for a node "
                "does not depend on means and deviations."
            )
        model = copy.copy(self)
        model.scaling_ = self.scaling_.relearned(graph.features)
        model._is_rescaled = True
        if hasattr(model, "graph_"):
            del model.graph_
        return model

    @property
    def reads_directions(self) -> bool:
        """Whether the fitted model needs graphs that keep directed edges."""
        check_is_fitted(self)
        return not set(DIRECTED).isdisjoint(self.channel_coefs_)

    def predict_new(
        self,
        features: Any,
        edges: Any = (),
        weight: Any = None,
        node_ids: Any = None,
        *,
        duplicates: Literal["error", "sum", "max"] = "error",
        graph: Graph | None = None,
    ) -> Array:
        """Labels of nodes that join the graph, without diffusing on all of it.

        They are those of ``predict(graph.with_nodes(...))`` at the new nodes, up to the tolerance
        `tol`. All nodes of a call join together. Vectors that later calls need are kept, so that
        the first call takes about as long as a prediction on the whole graph. `new_nodes_` tells
        how a call was computed.

        Parameters
        ----------
        features : array or sparse matrix of shape (R, d)
        edges : array of shape (m, 2) or list of pairs
            Pairs of node ids, or of indices in a graph without ids, in which new nodes are
            n, n + 1, .... At least one of the two is new; an edge is listed once.
        weight : sequence of length m, optional
            Weights of the edges; by default 1.
        node_ids : sequence of length R
            Ids of the new nodes, if the graph has ids.
        duplicates : {"error", "sum", "max"}
            How to merge edges that are listed more than once with different weights.
        graph : Graph, optional
            The graph that they join; by default the one that was fitted.

        Returns
        -------
        array of shape (R,)

        Examples
        --------
        >>> import numpy as np
        >>> from heatgraph import DGCClassifier, Graph
        >>> X = np.array([[1.0, 0], [1, 0], [0, 1], [0, 1]])
        >>> graph = Graph.from_edges([0, 2], [1, 3], features=X, symmetrize="max")
        >>> clf = DGCClassifier(T=2.0, weight_decay=1e-3).fit(graph, ["a", None, "b", None])
        >>> clf.predict_new([[0.2, 0.2], [0, 1]], edges=[(4, 0), (5, 3)])
        array(['a', 'b'], dtype='<U1')
        """
        scores = self._scores_of_new(features, edges, weight, node_ids, duplicates, graph)
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def predict_proba_new(
        self,
        features: Any,
        edges: Any = (),
        weight: Any = None,
        node_ids: Any = None,
        *,
        duplicates: Literal["error", "sum", "max"] = "error",
        graph: Graph | None = None,
    ) -> Array:
        """Probabilities of the classes, of shape (R, C). Parameters as in `predict_new`."""
        return self._probabilities(
            self._scores_of_new(features, edges, weight, node_ids, duplicates, graph)
        )

    def _scores_of_new(
        self,
        features: Any,
        edges: Any,
        weight: Any,
        node_ids: Any,
        duplicates: Literal["error", "sum", "max"],
        graph: Graph | None,
    ) -> Array:
        check_is_fitted(self)
        if graph is None and not hasattr(self, "graph_"):
            raise InputError(
                "new nodes join the graph of a model, and this one was loaded without: save it "
                "with save(path, graph=True) (heatgraph fit --with-graph), or pass graph=."
            )
        graph = self._graph_to_label(graph)
        links = set(LINKS) & set(self.channel_coefs_)
        if links or not self.n_features_in_:
            how = "with channels of links" if links else "without features"
            raise InputError(
                f"the model was fitted {how}, so it knows nodes by position only, and cannot label "
                f"new ones.{LINKS_REMEDY if links else ' Fit it to a graph with features.'}"
            )
        if self.reads_directions:
            raise InputError(
                "the model reads directions of edges, and edges of new nodes have none. Build the "
                "larger graph with Graph.from_edges and pass it to predict."
            )
        new = graph._read_new_nodes(features, edges, weight, node_ids, None, duplicates)
        scores, self.new_nodes_ = new_node_scorer(self, graph).score(new)
        return scores

    def save(self, path: str | Path, graph: bool = False) -> None:
        """Write the model atomically to a file for `heatgraph.load`.

        Parameters
        ----------
        path : path
        graph : bool
            Whether the file includes the graph that was fitted, so that the loaded model needs
            nothing else: `predict` labels its nodes, and `predict_new` nodes that join it. The
            file grows by what `Graph.save` writes.
        """
        content, tensors = serialize_model(to_fitted_model(self))
        if graph:
            if not hasattr(self, "graph_"):
                raise InputError(
                    "graph=True saves the graph that was fitted, and a model that was loaded has "
                    "none. Set graph_, or save the model without."
                )
            carried = serialize_model_graph(self.graph_)
            content, tensors = content | carried[0], tensors | carried[1]
        write_tensors(path, KIND, content, tensors, alignment=CACHE_LINE_ALIGNMENT)

    def _search_space(self) -> SearchSpace:
        space = SearchSpace.read(
            T=self.T,
            K=self.K,
            scheme=self.scheme,
            self_loops=self.self_loops,
            feature_scaling=self.feature_scaling,
            weight_decay=self.weight_decay,
            learning_rate=self.learning_rate,
        )
        # L-BFGS has no learning rate to choose.
        if not (isinstance(self.solver, str) and self.solver == "adam"):
            return replace(space, learning_rates=space.learning_rates[:1])
        return space

    def _task(
        self, graph: Graph, y: Any, train: Any, val: Any, sample_weight: Any = None
    ) -> tuple[NodeClassificationTask, Array]:
        """Validate the arguments of `fit` and all parameters before any work is done."""
        check_graph(graph)
        if not isinstance(self.solver, str) or self.solver not in ("lbfgs", "adam"):
            raise InputError(f"solver must be 'lbfgs' or 'adam'. Got {short_repr(self.solver)}.")
        if not isinstance(self.calibrate, bool | np.bool_) and not (
            isinstance(self.calibrate, str) and self.calibrate == "auto"
        ):
            raise InputError(
                f"calibrate must be True, False or 'auto'. Got {short_repr(self.calibrate)}."
            )
        if not isinstance(self.final_fit, str) or self.final_fit not in FINAL_FITS:
            listed = " or ".join(map(repr, FINAL_FITS))
            raise InputError(f"final_fit must be {listed}. Got {short_repr(self.final_fit)}.")
        names = read_extensions(self.extensions)
        if names and self.extensions != "auto" and self.solver != "lbfgs":
            raise InputError("extensions need solver='lbfgs'. Got solver='adam'.")
        scoring = read_scoring(self.scoring)
        weighted = [
            name
            for name, value in (
                ("class_weight", self.class_weight),
                ("sample_weight", sample_weight),
            )
            if value is not None
        ]
        if weighted and self.solver != "lbfgs":
            raise InputError(f"{weighted[0]} needs solver='lbfgs'. Got solver={self.solver!r}.")
        check_engine(**self._engine())
        epochs, seed = positive_integer(self.epochs, "epochs"), read_seed(self.random_state)
        labels = Labels.read(y, graph.num_nodes)
        train_nodes, val_nodes = training_nodes(labels, train, val)
        classes = labels.classes(train_nodes)
        codes = labels.encode(classes, train_nodes)
        weights = LossWeights.read(self.class_weight, sample_weight, classes, graph.num_nodes)
        task = NodeClassificationTask(
            graph=graph,
            train=train_nodes,
            codes=codes,
            val=val_nodes,
            val_codes=None if val_nodes is None else labels.encode(classes, val_nodes),
            num_classes=len(classes),
            regression=SoftmaxRegression(
                self.solver, epochs, seed, self.n_threads, self._solver_tolerance
            ),
            engine=self._engine(),
            seed=seed,
            sample_weight=weights.of_nodes(train_nodes, codes, len(classes)),
            loss_weights=weights,
            scoring=scoring,
        )
        return task, classes

    def _set_fitted(self, fitted: FittedModel) -> None:
        """Set all fitted attributes but the graph."""
        setting = fitted.setting
        self.classes_ = fitted.classes
        self._set_setting(setting)
        self.learning_rate_ = setting.learning_rate
        self.scaling_ = fitted.scaling
        self._is_rescaled = False
        self.coef_ = fitted.coef
        self.similar_coef_ = fitted.similar_coef
        self.channel_coefs_ = fitted.channel_coefs
        self.intercept_ = fitted.intercept
        self.member_weights_ = fitted.member_weights
        self.class_offsets_ = fitted.class_offsets
        self.final_fit_nodes_ = fitted.final_fit_nodes
        self._profile = fitted.profile
        self.converged_ = fitted.converged
        self.temperature_ = fitted.temperature
        self.search_ = fitted.search
        self.validation_accuracy_ = fitted.validation_accuracy
        self.validation_score_ = fitted.validation_score
        self.n_features_in_ = fitted.num_features
        self._nodes_digest = fitted.nodes_digest
        self.feature_encoder_ = fitted.feature_encoder
        self._set_feature_names(fitted.feature_names)

    def _scores(self, graph: Graph, nodes: Any) -> Array:
        """Scores (m, C): the columns X Theta, diffused, those of channels, and the bias."""
        if nodes is not None:
            nodes = node_indices(nodes, graph.num_nodes, "nodes")
        scores = np.tile(self.intercept_, (graph.num_nodes, 1))
        for on, coef in self._terms(graph):
            undiffused = self._undiffused(graph, coef)
            diffused = self._diffused(on._with_features(undiffused))
            if on is graph:
                self._warn_of_shift(graph, undiffused, diffused)
            scores += diffused
        if self.channel_coefs_:
            channels = Channels(graph, scores.dtype, self.n_threads)
            for name, coef in self.channel_coefs_.items():
                columns = coef.T if name in LINKS else self._undiffused(graph, coef)
                scores += channels.apply(name, columns)
        self._warn_of_one_class(graph, scores)
        return scores if nodes is None else scores[nodes]

    def _warn_of_one_class(self, graph: Graph, scores: Array) -> None:
        """Warn if all nodes of the fitted graph, which has several classes, are predicted alike."""
        if graph is not getattr(self, "graph_", None) or graph.num_nodes < MIN_NODES_TO_JUDGE:
            return
        best = scores.argmax(axis=1)
        if (best == best[0]).all():
            label = self.classes_.tolist()[int(best[0])]
            warn(
                f"all {graph.num_nodes:,} nodes are predicted as {label!r}, one of "
                f"{len(self.classes_):,} classes: nothing was found that tells them apart, or the "
                "others have too few labels. Add labels of them, or try class_weight='balanced'.",
                OneClassWarning,
            )

    def _warn_of_shift(self, graph: Graph, undiffused: Array, diffused: Array) -> None:
        """Warn if a graph differs from the one that was fitted."""
        if self._profile is None or graph is getattr(self, "graph_", None):
            return
        other = GraphProfile.measure(graph.degrees, undiffused, diffused)
        can_rescale = self.feature_scaling_ == "standard" and not self._is_rescaled
        sentence = shift_sentence(self._profile, other, can_rescale=can_rescale)
        if sentence is not None:
            warn(sentence, ShiftWarning)

    def _terms(self, graph: Graph) -> list[tuple[Graph, Array]]:
        """Graphs on which features diffuse, each with the weights (C, d) of its term."""
        terms = [(graph, self.coef_)]
        if self.channel_coefs_ and not self.coef_.any():
            terms = []
        if self.similar_coef_ is not None:
            similar = with_similar_edges(graph, self.scaling_, self.n_threads)
            terms.append((similar, self.similar_coef_))
        return terms

    def _graph_to_label(self, graph: Graph | None) -> Graph:
        """The graph to predict on; one of the fitted nodes if there are weights of links."""
        graph = super()._graph_to_label(graph)
        if self.reads_directions and graph.directed_adjacency is None:
            listed = ", ".join(name for name in self.channel_coefs_ if name in DIRECTED)
            raise InputError(
                f"the model reads the directions of edges ({listed}), and this graph has none. "
                "Make it with Graph(..., directed=True), or with from_tables(..., directed='keep') "
                "(--directed keep)."
            )
        links = set(LINKS) & set(self.channel_coefs_)
        if self.n_features_in_ and links:
            num_nodes = self.channel_coefs_[links.pop()].shape[1]
            self._check_nodes(graph, num_nodes, "with channels of links", LINKS_REMEDY)
        return graph


def to_fitted_model(classifier: DGCClassifier) -> FittedModel:
    """The content of a model file; `from_fitted_model` is the inverse."""
    check_is_fitted(classifier)
    return FittedModel(
        parameters=classifier.get_params(deep=False),
        classes=classifier.classes_,
        setting=Setting(
            classifier.scheme_,
            classifier.self_loops_,
            classifier.feature_scaling_,
            classifier.weight_decay_,
            classifier.learning_rate_,
        ),
        scaling=classifier.scaling_,
        coef=classifier.coef_,
        similar_coef=classifier.similar_coef_,
        channel_coefs=classifier.channel_coefs_,
        intercept=classifier.intercept_,
        converged=classifier.converged_,
        temperature=classifier.temperature_,
        num_features=classifier.n_features_in_,
        feature_names=getattr(classifier, "feature_names_in_", None),
        feature_encoder=getattr(classifier, "feature_encoder_", None),
        nodes_digest=classifier._nodes_digest,
        validation_accuracy=classifier.validation_accuracy_,
        validation_score=classifier.validation_score_,
        search=classifier.search_,
        member_weights=classifier.member_weights_,
        class_offsets=classifier.class_offsets_,
        final_fit_nodes=classifier.final_fit_nodes_,
        profile=classifier._profile,
    )


def from_fitted_model(fitted: FittedModel) -> DGCClassifier:
    """A fitted classifier without a graph; its parameters are checked as in `fit`."""
    classifier = DGCClassifier(**fitted.parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StabilityWarning)  # issued when the model was fitted
        classifier._search_space()
    check_engine(**classifier._engine())
    classifier._set_fitted(fitted)
    return classifier
