"""Figure 1: t-SNE of diffused features over T and over K, with the accuracy of each, on Cora."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from heatgraph.diffusion import diffuse
from heatgraph.experiments.paper.experiment import Experiment, Materials, Scope
from heatgraph.experiments.paper.fits import authors_dgc, parameters, row_scaled
from heatgraph.experiments.paper.settings import AUTHORS
from heatgraph.experiments.results import Entry, Records
from heatgraph.report.document import Chart, Panel, Part, Scatter

CORA = AUTHORS["cora"]
TIMES = (0.0, 1.0, CORA.T, 15.0, 100.0)
STEPS = (3, 4, 6, 20, CORA.K)
# t-SNE reads this many principal components, as its authors advise.
COMPONENTS = 50
QUICK_NODES = 700


def _entry(T: float, K: int, nodes: int | None) -> Entry:
    def run(materials: Materials) -> dict[str, Any]:
        from sklearn.decomposition import PCA
        from sklearn.manifold import TSNE

        data = materials.data("cora")
        model = authors_dgc(data, T=T, K=K)
        X = diffuse(row_scaled(data), scheme=model.scheme_)
        drawn = np.random.default_rng(0).permutation(len(X))[:nodes]
        X = PCA(COMPONENTS, random_state=0).fit_transform(X[drawn])
        # Of the same size for every T, since what counts is which nodes are near each other.
        X /= np.abs(X).max()
        points = TSNE(2, init="pca", random_state=0).fit_transform(X)
        return {
            "accuracy": 100 * model.score(None, data.labels, data.split.test),
            "points": np.round(points, 2).tolist(),
            "classes": np.asarray(data.labels)[drawn].tolist(),
        }

    return Entry(
        {"what": "t-SNE", "dataset": "cora", "protocol": "published", "T": T, "K": K,
         "nodes": nodes, "seed": 0},
        run,
        parameters(CORA.classifier(0)) | {"components": COMPONENTS},
    )  # fmt: skip


def _entries(scope: Scope) -> list[Entry]:
    nodes = QUICK_NODES if scope.quick else None
    settings = dict.fromkeys([(T, CORA.K) for T in TIMES] + [(CORA.T, K) for K in STEPS])
    return [_entry(T, K, nodes) for T, K in settings]


def _panel(records: Records, T: float, K: int, title: str) -> list[Panel]:
    return [
        Panel(
            f"{title}: {done.result['accuracy']:.1f} %",
            Scatter(np.array(done.result["points"], dtype=float), np.array(done.result["classes"])),
        )
        for done in records.where(T=T, K=K)
    ]


def _parts(records: Records) -> Sequence[Part]:
    over_T = [panel for T in TIMES for panel in _panel(records, T, CORA.K, f"T = {T:g}")]
    over_K = [panel for K in STEPS for panel in _panel(records, CORA.T, K, f"K = {K}")]
    parts: list[Part] = []
    if over_T:
        caption = f"Features of Cora after a time T, in K = {CORA.K} steps, with test accuracy."
        parts.append(Chart("figure1-time", caption, over_T, 5))
    if over_K:
        caption = f"The same after a time T = {CORA.T} in K steps."
        parts.append(Chart("figure1-steps", caption, over_K, 5))
    return parts


FIGURE_1 = Experiment(
    "figure1",
    "Figure 1: diffused features, seen by t-SNE",
    _entries,
    _parts,
    [
        "A point is a paper, its colour the field; above each picture T or K and the accuracy on "
        "test nodes, with the authors' learning rate and weight decay (published protocol). With "
        "too little time classes are mixed, with too much they run together again, and with too "
        "few steps (here K = 3) features that differ across edges are amplified.",
    ],
)
