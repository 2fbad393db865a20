"""Descriptive statistics of a graph, and whether diffusion is likely to help on it.

Diffusion makes neighbours similar, so it helps if neighbours share their labels. Two numbers
measure that, both 0 for random edges and 1 if every edge joins two nodes that are alike: the
adjusted homophily of labels (`heatgraph.learning.neighbours`), and

    agreement  = sum_edges (x_u - m)(x_v - m)^T / sum_edges (|x_u - m|^2 + |x_v - m|^2) / 2,

the correlation of features across edges, with m their mean over the ends of edges. Both leave out
self-loops.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from heatgraph._io.notebook_html import html_table, html_text, html_view
from heatgraph.graph import Graph, check_graph
from heatgraph.learning._labels import Labels
from heatgraph.learning.neighbours import (
    AGREEING,
    MIN_LABELLED_EDGES,
    Homophily,
    Informativeness,
    Neighbours,
    judge_neighbours,
    measure_neighbours,
)
from heatgraph.theory import Spectrum, spectrum

# Agreement is estimated on a sample of this many directed edges, if there are more.
SAMPLED_EDGES = 20_000
# Homophily or agreement above the first makes diffusion likely to help, homophily below the second
# unlikely. (Low agreement does not: diffusion may average out the noise that hides it.)
LIKELY_THRESHOLD, UNLIKELY_THRESHOLD = AGREEING, 0.05
# Classes that notebooks list.
SHOWN_CLASSES = 12
# Tolerance of eigenvalues.
SPECTRUM_TOL = 1e-3

Verdict = Literal["likely", "unlikely", "unclear"]


@dataclass(frozen=True)
class Statistics:
    """Statistics of a graph; None for those that are undefined on it.

    Attributes
    ----------
    nodes, edges, self_loops, isolated, components, largest_component, features : int
    mean_degree, median_degree, largest_degree : float
        Numbers of neighbours, self-loops included.
    spectrum : Spectrum or None
        The smallest positive and the largest eigenvalue of L, with self-loops added.
    classes : dict from label to count, or None
    unlabelled : int
    homophily : Homophily or None
        Adjusted homophily of the labels.
    informativeness : Informativeness or None
        Label informativeness.
    neighbours : Neighbours or None
        Whether neighbours agree, and what a fit does about it; None if too few edges join labelled
        nodes to tell.
    agreement : float or None
    verdict : {"likely", "unlikely", "unclear"}
        Whether diffusion is likely to help.
    reason : str
    """

    nodes: int
    edges: int
    self_loops: int
    isolated: int
    components: int
    largest_component: int
    features: int
    mean_degree: float
    median_degree: float
    largest_degree: int
    spectrum: Spectrum | None
    classes: dict[Any, int] | None
    unlabelled: int
    homophily: Homophily | None
    informativeness: Informativeness | None
    neighbours: Neighbours | None
    agreement: float | None
    verdict: Verdict
    reason: str

    def _repr_html_(self) -> str:
        rows = [
            ("nodes", f"{self.nodes:,}"),
            ("edges", f"{self.edges:,}"),
            ("neighbours per node", f"{self.mean_degree:.1f}"),
            ("most neighbours", f"{self.largest_degree:,}"),
            ("isolated nodes", f"{self.isolated:,}"),
            ("connected components", f"{self.components:,}"),
            ("nodes in the largest", f"{self.largest_component:,}"),
            ("features", f"{self.features:,}"),
        ]
        if self.homophily is not None:
            rows.append(("adjusted homophily", f"{self.homophily.value:.2f}"))
        if self.informativeness is not None:
            rows.append(("label informativeness", f"{self.informativeness.value:.2f}"))
        if self.agreement is not None:
            rows.append(("agreement of features", f"{self.agreement:.2f}"))
        parts = [html_text(self.reason), html_table(rows)]
        if self.classes is not None:
            ordered = sorted(self.classes.items(), key=lambda item: -item[1])
            counts = [(label, f"{count:,}") for label, count in ordered[:SHOWN_CLASSES]]
            counts += [("...", "")] * (len(ordered) > SHOWN_CLASSES)
            counts.append(("without label", f"{self.unlabelled:,}"))
            parts.append(html_table(counts, ["class", "nodes"]))
        return html_view(f"Diffusion: {self.verdict} to help", *parts)


def describe(graph: Graph, y: Any = None) -> Statistics:
    """Measure statistics of a graph, and judge whether diffusion is likely to help on it.

    Parameters
    ----------
    graph : Graph
    y : sequence of length n, optional
        Labels, as in `DGCClassifier.fit`.

    Examples
    --------
    >>> from heatgraph.datasets.catalogue import load_dataset
    >>> karate = load_dataset("karate")
    >>> found = describe(karate.graph, karate.labels)
    >>> round(found.homophily.value, 2), found.neighbours.relation, found.verdict
    (0.72, 'agree', 'likely')
    """
    check_graph(graph)
    neighbours = np.diff(graph.indptr)
    sizes = np.bincount(graph.components)
    classes, unlabelled, measured = None, graph.num_nodes, None
    if y is not None:
        labels = Labels.read(y, graph.num_nodes)
        known = np.flatnonzero(labels.known)
        values = labels.classes(known)
        codes = np.full(graph.num_nodes, -1, dtype=np.int64)
        codes[known] = labels.encode(values, known)
        counts = np.bincount(codes[known], minlength=len(values))
        classes = dict(zip(values.tolist(), counts.tolist(), strict=True))
        unlabelled = graph.num_nodes - len(known)
        measured = measure_neighbours(graph, codes)
    homophily, informativeness = measured or (None, None)
    agreement = _agreement(graph)
    verdict, reason = _verdict(graph, y is not None, homophily, agreement)
    return Statistics(
        nodes=graph.num_nodes,
        edges=graph.num_edges,
        self_loops=graph.num_self_loops,
        isolated=graph.num_isolated,
        components=len(sizes),
        largest_component=int(sizes.max()),
        features=graph.num_features,
        mean_degree=float(neighbours.mean()),
        median_degree=float(np.median(neighbours)),
        largest_degree=int(neighbours.max()),
        spectrum=_spectrum(graph),
        classes=classes,
        unlabelled=unlabelled,
        homophily=homophily,
        informativeness=informativeness,
        neighbours=judge_neighbours(homophily, informativeness, graph.features is not None),
        agreement=agreement,
        verdict=verdict,
        reason=reason,
    )


def _edges(graph: Graph) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Both directions of every edge, without self-loops."""
    src = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
    proper = src != graph.indices
    return src[proper], graph.indices[proper].astype(np.int64)


def _agreement(graph: Graph) -> float | None:
    """Correlation of features across edges; None without edges or with constant features."""
    X = graph.features
    src, dst = _edges(graph)
    if X is None or len(src) == 0:
        return None
    if len(src) > SAMPLED_EDGES:
        sample = np.random.default_rng(0).choice(len(src), SAMPLED_EDGES, replace=False)
        src, dst = src[sample], dst[sample]
    U, V = X[src].astype(np.float64), X[dst].astype(np.float64)
    mean = (np.asarray(U.mean(axis=0)) + np.asarray(V.mean(axis=0))) / 2
    square = float((U * U).sum() + (V * V).sum()) / (2 * len(src))
    spread = square - float(mean @ mean)
    if spread <= 1e-12 * square:
        return None
    across = float((U * V).sum()) / len(src) - float(mean @ mean)
    return across / spread


def _spectrum(graph: Graph) -> Spectrum | None:
    from scipy.sparse.linalg import ArpackNoConvergence

    try:
        return spectrum(graph, tol=SPECTRUM_TOL)
    except ArpackNoConvergence:
        return None


def _verdict(
    graph: Graph, has_labels: bool, homophily: Homophily | None, agreement: float | None
) -> tuple[Verdict, str]:
    if graph.num_edges == graph.num_self_loops:
        return "unlikely", "there are no edges to diffuse along."
    few = "too few edges join labelled nodes, or all of one class, to tell by labels"
    if not has_labels:
        few = "there are no labels to tell by"
    elif homophily is not None and homophily.edges < MIN_LABELLED_EDGES:
        few = (
            f"too few edges join labelled nodes to tell by labels ({homophily.edges}, where "
            f"{MIN_LABELLED_EDGES} are needed)"
        )
    elif homophily is not None:
        found = (
            f"of {homophily.edges:,} edges between labelled nodes, {homophily.share:.0%} join the "
            f"same label, where chance would give {homophily.chance:.0%}"
        )
        if homophily.value - 2 * homophily.error > LIKELY_THRESHOLD:
            return "likely", f"{found}."
        if homophily.value + 2 * homophily.error < UNLIKELY_THRESHOLD:
            return "unlikely", f"{found}: neighbours share labels no more often than at random."
        few = found
    if agreement is not None and agreement > LIKELY_THRESHOLD:
        return "likely", f"features of neighbours agree (correlation {agreement:.2f}); {few}."
    if not has_labels:
        return "unclear", f"{few}."
    return "unclear", f"{few}; `heatgraph tune` compares T = 0, no diffusion, with T > 0."
