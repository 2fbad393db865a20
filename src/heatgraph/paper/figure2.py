"""Figure 2: accuracy over steps, robustness to noise, and relative time of training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from heatgraph.classifier import DGCClassifier
from heatgraph.datasets.dataset import Dataset
from heatgraph.paper import times
from heatgraph.paper.experiment import (
    CITATIONS,
    NAMES,
    Entry,
    Experiment,
    Materials,
    Records,
    Scope,
)
from heatgraph.paper.settings import AUTHORS, authors_sgc
from heatgraph.report.document import Bars, Chart, Panel, Part, Series
from heatgraph.scaling import Scaling
from heatgraph.schemes import SGC

STEPS = (2, 3, 4, 6, 8, 16, 32, 64, 125, 250, 500, 1000)
TIMES = (1.0, 5.3, 10.0)
# Standard deviations of noise, beside entries of scaled features of which most are zero.
NOISES = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1)
QUICK_NOISES = (0.0, 0.01, 0.05)


def fixed(data: Dataset, seed: int = 0, **changed: Any) -> DGCClassifier:
    """The authors' DGC on a data set, but for what is changed; its steps may be unstable."""
    model = AUTHORS[data.name].classifier(seed, **changed)
    return model.fit(data.graph, data.labels, data.split.train)


def _judged(model: DGCClassifier, data: Dataset) -> dict[str, Any]:
    accuracy = 100 * model.score(None, data.labels, data.split.test)
    return {"accuracy": round(accuracy, 4)}


def steps_entry(method: str, T: float | None, K: int, seed: int, **changed: Any) -> Entry:
    """Accuracy on Cora's test nodes after K steps; `changed` goes to the classifier."""

    def run(materials: Materials) -> dict[str, Any]:
        data = materials.data("cora")
        settings: dict[str, Any] = {"T": T, "K": K}
        if T is None:
            settings = {"T": "auto", "K": None, "scheme": [SGC(K)]}
        return _judged(fixed(data, seed, **settings, **changed), data)

    setting = {"what": "steps", "method": method, "dataset": "cora", "protocol": "published",
               "T": T, "K": K, **changed, "seed": seed}  # fmt: skip
    return Entry(setting, run)


def _noise_entry(method: str, name: str, noise: float, seed: int) -> Entry:
    def run(materials: Materials) -> dict[str, Any]:
        data = _noisy(materials.data(name), noise, seed)
        split = data.split
        if method == "SGC":
            model = authors_sgc(seed, feature_scaling="none")
            model.fit(data.graph, data.labels, split.train, split.val)
        else:
            model = fixed(data, seed, feature_scaling="none")
        return _judged(model, data)

    return Entry(
        {"what": "noise", "method": method, "dataset": name, "protocol": "published",
         "noise": noise, "seed": seed},
        run,
    )  # fmt: skip


def _noisy(data: Dataset, noise: float, seed: int) -> Dataset:
    """The same data set with features scaled by row and then disturbed."""
    X = Scaling.learn("rows", data.graph.features, data.split.train).apply(
        data.graph.features, np.dtype(np.float32)
    )
    if noise:
        random = np.random.default_rng(seed)
        X = X.toarray() if sp.issparse(X) else X
        X = X + np.float32(noise) * random.standard_normal(X.shape, dtype=np.float32)
    return replace(data, graph=data.graph.with_features(X))


def _step_entries(scope: Scope) -> list[Entry]:
    seeds = min(scope.seeds, 2 if scope.quick else 5)
    return [
        steps_entry(method, T, K, seed)
        for method, T in [("SGC", None), *(("DGC", T) for T in TIMES)]
        for K in STEPS
        for seed in range(seeds)
    ]


def _noise_entries(scope: Scope) -> list[Entry]:
    seeds = min(scope.seeds, 1 if scope.quick else 5)
    return [
        _noise_entry(method, name, noise, seed)
        for name in CITATIONS
        for method in ("SGC", "DGC")
        for noise in (QUICK_NOISES if scope.quick else NOISES)
        for seed in range(seeds)
    ]


def _entries(scope: Scope) -> list[Entry]:
    return [*_step_entries(scope), *_noise_entries(scope), *times.TABLE_5.entries(scope)]


def line(name: str, groups: Sequence[tuple[float, Records]]) -> list[Series]:
    """Mean and spread of accuracy over x, where there are records; no series if there are none."""
    done = [(x, records.values("accuracy")) for x, records in groups if records]
    if not done:
        return []
    x, values = zip(*done, strict=True)
    return [
        Series(
            name,
            x,
            [float(np.mean(v)) for v in values],
            [float(np.std(v)) for v in values],
        )
    ]


def _parts(records: Records) -> Sequence[Part]:
    parts: list[Part] = []
    steps = records.where(what="steps")
    lines = []
    for method, T in [("SGC", None), *(("DGC", T) for T in TIMES)]:
        title = method if T is None else f"DGC, T = {T:g}"
        own = steps.where(method=method, T=T)
        lines += line(title, [(K, own.where(K=K)) for K in STEPS])
    if lines:
        panel = Panel("Cora, public split", lines, "steps K", "test accuracy (%)", "x")
        caption = "Accuracy over the number of steps. SGC is over-smoothed by many; DGC is not."
        parts.append(Chart("figure2-steps", caption, [panel], 1))
    panels = []
    for name in CITATIONS:
        own = records.where(what="noise", dataset=name)
        lines = [
            series
            for method in ("SGC", "DGC")
            for series in line(method, [(n, own.where(method=method, noise=n)) for n in NOISES])
        ]
        if lines:
            panels.append(Panel(NAMES[name], lines, "noise σ", "test accuracy (%)"))
    if panels:
        caption = "Accuracy with normal noise of standard deviation σ added to scaled features."
        parts.append(Chart("figure2-noise", caption, panels))
    parts += _relative_times(records)
    return parts


def _relative_times(records: Records) -> list[Part]:
    """Total time of training in units of SGC's."""

    def total(K: int, way: str) -> float:
        stages = [times.median(records, K, way, stage) for stage in ("preprocessing", "training")]
        return sum(filter(None, stages))

    timed = records.where(what="times")
    if not (timed.where(K=2) and timed.where(K=100)):
        return []
    unit = total(2, "steps")
    bars = {
        "SGC, K = 2": unit,
        "DGC, K = 100, literal steps": total(100, "steps"),
        "DGC, K = 100, Chebyshev": total(100, "Chebyshev"),
        "DGC, K = 100, Chebyshev\nat training nodes": total(100, "rows"),
    }
    panel = Panel(
        "Pubmed", Bars(list(bars), [value / unit for value in bars.values()]),
        "time in units of SGC's",
    )  # fmt: skip
    caption = "Time to preprocess and train, relative to SGC. The paper has DGC at about 3."
    return [Chart("figure2-time", caption, [panel], 1)]


FIGURE_2 = Experiment(
    "figure2",
    "Figure 2: many steps, noise, time",
    _entries,
    _parts,
    [
        "Everything has the authors' learning rate and weight decay; for SGC under noise, weight "
        "decay is chosen on validation nodes as its authors do. The paper does not say which "
        "noise scales it drew.",
    ],
)
