r"""Label propagation of Zhu, Ghahramani and Lafferty (2003): harmonic functions on a graph.

Known labels are fixed; the score of any other node is the weighted mean of its neighbours' scores.
With L = D - A, u the unlabelled and l the labelled nodes, and Y (n_l, C) one-hot labels,

    F_u  =  L_uu^-1 A_ul Y.

With few labels F_u is nearly constant, and its largest entry says little. Class mass normalisation
(section 4 of the paper) multiplies column c of F_u by q_c / sum_u F_uc, where q are the class
frequencies of training nodes, and then normalises rows to sum 1.

Features are ignored. A node in a component without labelled nodes gets the class frequencies q.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._arguments import short_repr
from heatgraph.baselines._transductive import TransductiveClassifier
from heatgraph.errors import ConvergenceWarning, InputError, warn
from heatgraph.graph import Graph, check_graph, node_indices
from heatgraph.learning._labels import Labels, training_nodes
from heatgraph.learning.progress import Progress

Array = npt.NDArray[Any]


class LabelPropagation(TransductiveClassifier):
    """Propagate labels along edges, without features.

    Parameters
    ----------
    class_mass : bool
        Whether to apply class mass normalisation. Without it, F is the harmonic solution.
    tol : float
        Relative residual of the linear systems at which conjugate gradients stop.

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

        There are no settings to choose: validation nodes are only excluded from training.
        """
        check_graph(graph)
        if not 0 < self.tol < 1:
            raise InputError(f"tol must be between 0 and 1. Got {short_repr(self.tol)}.")
        labels = Labels.read(y, graph.num_nodes)
        train_nodes, _ = training_nodes(labels, train, val)
        self.classes_ = labels.classes(train_nodes)
        codes = labels.encode(self.classes_, train_nodes)
        self.graph_ = graph
        self.n_features_in_ = graph.num_features
        self.converged_ = True
        self.probabilities_ = self._solve(graph, train_nodes, codes)
        if not self.converged_:
            warn("label propagation did not converge. Choose a larger tol.", ConvergenceWarning)
        return self

    def _solve(self, graph: Graph, train_nodes: Array, codes: Array) -> Array:
        """F (n, C), by conjugate gradients with a Jacobi preconditioner."""
        from scipy.sparse.linalg import cg

        n, C = graph.num_nodes, len(self.classes_)
        known = np.zeros(n, dtype=bool)
        known[train_nodes] = True
        frequencies = np.bincount(codes, minlength=C) / len(codes)
        F = np.tile(frequencies, (n, 1))
        F[train_nodes] = np.eye(C)[codes]
        reached = np.isin(graph.components, np.unique(graph.components[train_nodes]))
        unknown = np.flatnonzero(reached & ~known)
        if len(unknown) == 0:
            return F
        A = graph.adjacency.astype(np.float64)
        degrees = graph.degrees[unknown]
        L = sp.csr_array(sp.diags_array(degrees) - A[unknown][:, unknown])
        right = A[unknown][:, train_nodes] @ F[train_nodes]
        jacobi = sp.diags_array(1 / degrees)
        for c in range(C):
            F[unknown, c], failed = cg(L, right[:, c], rtol=self.tol, M=jacobi)
            self.converged_ &= failed == 0
        solution = np.clip(F[unknown], 0, None)
        if self.class_mass:
            # A class may reach no unlabelled node, if all neighbours of its nodes are labelled.
            mass = solution.sum(axis=0)
            solution = solution * np.divide(frequencies, mass, out=np.zeros(C), where=mass > 0)
        F[unknown] = solution / solution.sum(axis=1, keepdims=True)
        return F

    def _scores(self, graph: Graph, nodes: Any) -> Array:
        if nodes is None:
            return np.asarray(self.probabilities_)
        return np.asarray(self.probabilities_[node_indices(nodes, graph.num_nodes, "nodes")])

    def _probabilities(self, scores: Array) -> Array:
        return scores
