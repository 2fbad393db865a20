"""Figure 1: t-SNE of diffused features over T and over K, with test accuracies, on Cora.

Protocol: *published*, the authors' learning rate and weight decay at every T and K.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from heatgraph.diffusion import diffuse
from heatgraph.experiments.paper.experiment import DatasetCache, Experiment, RunConfig
from heatgraph.experiments.paper.fitting import (
    estimator_parameters,
    fit_authors_dgc,
    with_scaled_rows,
)
from heatgraph.experiments.paper.settings import AUTHORS
from heatgraph.experiments.results import Records, Trial
from heatgraph.report.document import Chart, Panel, Part, Scatter

CORA = AUTHORS["cora"]
TIMES = (0.0, 1.0, CORA.T, 15.0, 100.0)
STEPS = (3, 4, 6, 20, CORA.K)
# Principal components that t-SNE reads, as its authors advise.
COMPONENTS = 50
QUICK_NODES = 700


def _trial(T: float, K: int, nodes: int | None) -> Trial:
    def run(datasets: DatasetCache) -> dict[str, Any]:
        from sklearn.decomposition import PCA
        from sklearn.manifold import TSNE

        data = datasets.load("cora")
        model = fit_authors_dgc(data, T=T, K=K)
        X = diffuse(with_scaled_rows(data), scheme=model.scheme_)
        sample = np.random.default_rng(0).permutation(len(X))[:nodes]
        X = PCA(COMPONENTS, random_state=0).fit_transform(X[sample])
        # Features shrink as T grows; only relative distances matter.
        X /= np.abs(X).max()
        points = TSNE(2, init="pca", random_state=0).fit_transform(X)
        return {
            "accuracy": 100 * model.score(None, data.labels, data.split.test),
            "points": np.round(points, 2).tolist(),
            "classes": np.asarray(data.labels)[sample].tolist(),
        }

    return Trial(
        {"what": "t-SNE", "dataset": "cora", "protocol": "published", "T": T, "K": K,
         "nodes": nodes, "seed": 0},
        run,
        estimator_parameters(CORA.classifier(0)) | {"components": COMPONENTS},
    )  # fmt: skip


def _trials(config: RunConfig) -> list[Trial]:
    nodes = QUICK_NODES if config.quick else None
    settings = dict.fromkeys([(T, CORA.K) for T in TIMES] + [(CORA.T, K) for K in STEPS])
    return [_trial(T, K, nodes) for T, K in settings]


def _panels(records: Records, T: float, K: int, title: str) -> list[Panel]:
    return [
        Panel(
            f"{title}: {record.result['accuracy']:.1f} %",
            Scatter(
                np.array(record.result["points"], dtype=float),
                np.array(record.result["classes"]),
            ),
        )
        for record in records.where(T=T, K=K)
    ]


def _parts(records: Records) -> Sequence[Part]:
    over_T = [panel for T in TIMES for panel in _panels(records, T, CORA.K, f"T = {T:g}")]
    over_K = [panel for K in STEPS for panel in _panels(records, CORA.T, K, f"K = {K}")]
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
    _trials,
    _parts,
    [
        "Points are papers, colours are classes; titles give T or K and the test accuracy, with "
        "the authors' learning rate and weight decay (published protocol).",
    ],
)
