r"""Label propagation of Zhu, Ghahramani and Lafferty (2003): harmonic functions on a graph.

Labels stay where they are known and elsewhere are the mean of their neighbours' (weights counted).
With L = D - A, u the unlabelled and l the labelled nodes, and Y (n_l, C) one-hot labels,

    F_u  =  L_uu^-1 A_ul Y.

With few labels F_u is nearly the same everywhere, and tells little by its largest entry. So classes
get back the mass that they should have (section 4 of the paper): column c of F_u is multiplied by
q_c / sum_u F_uc, where q are the shares of the classes in training, and rows are divided by their
sums.

Features play no part. A node that no label reaches gets the shares of the classes in training.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph.baselines._transductive import TransductiveClassifier
from heatgraph.errors import ConvergenceWarning, InputError, warn
from heatgraph.graph import Graph, check_graph, node_indices
from heatgraph.learning._labels import Labels, training_nodes
from heatgraph.learning._search import Progress

Array = npt.NDArray[Any]


class LabelPropagation(TransductiveClassifier):
    """Label nodes by their neighbours' labels alone.

    Parameters
    ----------
    class_mass : bool
        Whether classes get back the mass that they should have. Without it, F is what Zhu et al.
        call harmonic.
    tol : float
        Relative residual at which the linear systems count as solved.

    Attributes
    ----------
    classes_ : array of shape (C,)
    converged_ : bool

    Examples
    --------
    >>> path = Graph.from_edges([0, 1, 2], [1, 2, 3], num_nodes=4, symmetrize="max")
    >>> clf = LabelPropagation(class_mass=False).fit(path, ["a", None, None, "b"])
    >>> clf.predict_proba().round(3)
    array([[1.   , 0.   ],
           [0.667, 0.333],
           [0.333, 0.667],
           [0.   , 1.   ]])
    """

    _other_graph_error = (
        "label propagation knows the graph that it was fitted on, and no other. Fit again."
    )

    def __init__(self, class_mass: bool = True, tol: float = 1e-6) -> None:
        self.class_mass = class_mass
        self.tol = tol

    def fit(
        self,
        graph: Graph,
        y: Any,
        train: Any = None,
        val: Any = None,
        *,
        progress: Progress | None = None,
    ) -> LabelPropagation:
        """Learn from the labelled nodes; parameters as in `DGCClassifier.fit`.

        There is nothing to choose, so that validation nodes are only kept out of the training ones.
        """
        check_graph(graph)
        if not 0 < self.tol < 1:
            raise InputError(f"tol must be between 0 and 1. Got {self.tol!r}.")
        labels = Labels.read(y, graph.num_nodes)
        learning, _ = training_nodes(labels, train, val)
        self.classes_ = labels.classes(learning)
        codes = labels.encode(self.classes_, learning)
        self.graph_ = graph
        self.n_features_in_ = graph.num_features
        self.converged_ = True
        self.probabilities_ = self._spread(graph, learning, codes)
        if not self.converged_:
            warn("label propagation did not converge. Choose a larger tol.", ConvergenceWarning)
        return self

    def _spread(self, graph: Graph, learning: Array, codes: Array) -> Array:
        """F (n, C), by conjugate gradients scaled by degrees."""
        from scipy.sparse.linalg import cg

        n, C = graph.num_nodes, len(self.classes_)
        known = np.zeros(n, dtype=bool)
        known[learning] = True
        shares = np.bincount(codes, minlength=C) / len(codes)
        F = np.tile(shares, (n, 1))
        F[learning] = np.eye(C)[codes]
        reached = np.isin(graph.components, np.unique(graph.components[learning]))
        unknown = np.flatnonzero(reached & ~known)
        if len(unknown) == 0:
            return F
        A = graph.adjacency.astype(np.float64)
        degrees = graph.degrees[unknown]
        L = sp.csr_array(sp.diags_array(degrees) - A[unknown][:, unknown])
        right = A[unknown][:, learning] @ F[learning]
        scaling = sp.diags_array(1 / degrees)
        for c in range(C):
            F[unknown, c], failed = cg(L, right[:, c], rtol=self.tol, M=scaling)
            self.converged_ &= failed == 0
        found = np.clip(F[unknown], 0, None)
        if self.class_mass:
            found = found * shares / found.sum(axis=0)
        F[unknown] = found / found.sum(axis=1, keepdims=True)
        return F

    def _scores(self, graph: Graph, nodes: Any) -> Array:
        if nodes is None:
            return np.asarray(self.probabilities_)
        return np.asarray(self.probabilities_[node_indices(nodes, graph.num_nodes, "nodes")])

    def _probabilities(self, scores: Array) -> Array:
        return scores
