"""Fit and predict with all settings given."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import heatgraph as hg
from benchmarks.benchmark import OURS, Benchmark, Figure, Job, Outcome, Task
from benchmarks.charts import time_bars
from benchmarks.peers import (
    PUBLISHED,
    PublishedMultiplier,
    euler_step,
    take_steps,
    train_published_head,
    train_published_reddit_head,
)
from benchmarks.results import Results
from benchmarks.suite.diffusion import REDDIT_K, REDDIT_T
from benchmarks.workloads import Workload, normalize, reddit
from heatgraph.experiments.paper.settings import AUTHORS

WORKS = {name: f"Fit and predict: {name.capitalize()}" for name in AUTHORS}
REDDIT = "Fit and predict, inductive: like Reddit"
TARGETS = {"cora": ">= 50", "citeseer": ">= 150", "pubmed": ">= 300"}
# Seconds for a fit or a search that is not extrapolated.
LONG_LIMIT = 1800.0


def fit(job: Job, data: Workload) -> Task:
    """Fit with the authors' setting for a citation graph, and predict every node."""
    setting = AUTHORS[job.settings["setting"]]
    if job.peer != OURS:
        return _fit_published(setting, data)
    graph, labels, train = data.graph(), data.labels, data.split.train
    classifier = setting.classifier()
    return Task(lambda: Outcome(classifier.fit(graph, labels, train=train).predict()), np.asarray)


def _fit_published(setting: Any, data: Workload) -> Task:
    """The authors' algorithm, from the initial weights that heatgraph draws."""
    import torch

    from heatgraph.learning._adam import initial_weights
    from heatgraph.learning.scaling import Scaling

    labels = data.labels
    X = Scaling("rows").apply(data.features(), np.dtype(np.float32)).toarray()
    step = PublishedMultiplier(euler_step(data.S(), setting.T, setting.K))
    # As in the authors' code, nodes without a label get the first class; none is trained on.
    y = torch.from_numpy(np.maximum(labels, 0))
    drawn = initial_weights(X.shape[1], int(labels.max()) + 1, np.float32, seed=0)
    initial = np.ascontiguousarray(drawn[:, :-1]), np.ascontiguousarray(drawn[:, -1])
    train = torch.from_numpy(data.split.train)

    def run() -> Outcome:
        X_T = step.from_numpy(X)
        for _ in range(setting.K):
            X_T = step.multiply(X_T)
        model = train_published_head(X_T[train], y[train], setting, initial)
        with torch.no_grad():
            return Outcome(model(X_T).argmax(dim=1).numpy())

    return Task(run, np.asarray)


def fit_inductive(job: Job, data: Workload) -> Task:
    """Fit on the graph of the training nodes, and predict the test nodes in the whole graph."""
    if not job.peer.startswith(OURS):
        return _fit_published_inductive(job, data)
    graph, labels, split = data.graph(data.dense_features()), data.labels, data.split
    model = _inductive_classifier(job.settings["protocol"])

    def run() -> Outcome:
        training_graph = graph.subgraph(split.train)
        predicted = model.fit(training_graph, labels[split.train]).predict(graph, split.test)
        facts = {
            "accuracy": float((predicted == labels[split.test]).mean()),
            "T": float(model.T_),
            "settings": max(1, len(model.search_)),
        }
        return Outcome(predicted, facts=facts)

    return Task(run, self_limiting=False)


def _inductive_classifier(protocol: str) -> hg.DGCClassifier:
    """With T as published, validated among a few, or with all settings automatic."""
    from heatgraph.experiments.paper.table4 import NO_DECAY, TIMES

    if protocol == "auto":
        return hg.DGCClassifier()
    T = REDDIT_T if protocol == "published" else TIMES
    return hg.DGCClassifier(T=T, weight_decay=NO_DECAY, feature_scaling="standard", calibrate=False)


def _fit_published_inductive(job: Job, data: Workload) -> Task:
    """K steps on either graph, extrapolated from a few, and the head as the authors train it."""
    import torch

    split = data.split
    X = data.dense_features()
    X -= X[split.train].mean(axis=0)
    X /= X[split.train].std(axis=0)
    y = torch.from_numpy(data.labels[split.train])
    classes = int(data.labels.max()) + 1

    def diffuse(nodes: np.ndarray | None) -> Any:
        # Only one of the two graphs is in memory at a time, and building it is not timed.
        if nodes is None:
            S, features = data.S(), X
        else:
            S, features = normalize(data.adjacency()[nodes][:, nodes]), X[nodes]
        step = PublishedMultiplier(euler_step(S, REDDIT_T, REDDIT_K))
        return take_steps(step.multiply, step.from_numpy(features), REDDIT_K, job.limit / 2)

    def run() -> Outcome:
        training = diffuse(split.train)
        model, head_seconds = _time(lambda: train_published_reddit_head(training.value, y, classes))
        whole = diffuse(None)
        with torch.no_grad():
            _, predict_seconds = _time(lambda: model(whole.value).argmax(dim=1))
        seconds = training.seconds + head_seconds + whole.seconds + predict_seconds
        taken = min(training.taken, whole.taken)
        note = f"extrapolated from {taken} of {REDDIT_K} steps on either graph"
        return Outcome(None, seconds, note if taken < REDDIT_K else "", {"settings": 1})

    return Task(run, measures_memory=False)


def _time(function: Callable[[], Any]) -> tuple[Any, float]:
    """The value of a function and its seconds."""
    start = time.perf_counter()
    value = function()
    return value, time.perf_counter() - start


def jobs(scale: float) -> list[Job]:
    jobs = [
        Job(work, fit, peer, name, {"setting": name})
        for name, work in WORKS.items()
        for peer in (OURS, PUBLISHED)
    ]
    settings, data = {"protocol": "published"}, reddit(scale)
    return [
        *jobs,
        Job(REDDIT, fit_inductive, OURS, data, settings, limit=LONG_LIMIT, checked=False),
        Job(REDDIT, fit_inductive, PUBLISHED, data, settings, checked=False),
    ]


def figures(results: Results) -> list[Figure]:
    figures = []
    for name, work in WORKS.items():
        figures += [
            results.ratio_figure(
                f"{name}: published / heatgraph", work, PUBLISHED, target=TARGETS[name]
            ),
            Figure(
                f"{name}: same prediction, share of nodes",
                results.value(work, PUBLISHED, lambda row: row.agreement),
                ">= 0.999",
            ),
        ]
    return [
        *figures,
        results.ratio_figure("like Reddit: published / heatgraph", REDDIT, PUBLISHED),
        Figure("like Reddit: seconds", results.seconds(REDDIT, OURS)),
    ]


FIT = Benchmark(
    "fit",
    "Fit and predict",
    [
        "From features to labels, under the *published* protocol: the settings that the authors "
        "print. On the citation graphs that is a hundred epochs of Adam from the same initial "
        "weights, and all nodes are predicted; agreement is the share of nodes that get the same "
        "label. The published algorithm gets S and scaled features ready-made, heatgraph a graph.",
        "On the graph like Reddit, at T = 2.7: fitted on the graph of the training nodes, and test "
        "nodes predicted in the whole graph. heatgraph's time includes extracting the first graph, "
        "and it trains its head to the optimum; the published algorithm gets both graphs, takes "
        "K = 100 steps on each and two epochs of L-BFGS, as its authors do on Reddit.",
    ],
    jobs,
    figures,
    time_bars,
)
