"""What is timed, by the kind of job: everything before it is set up, and nothing after it counts.

Each function takes a job and a workload, sets up what its peer needs, and gives a `Task`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import heatgraph as hg
from benchmarks import ours, peers
from benchmarks.jobs import OURS, Job
from benchmarks.tasks import Outcome, Task
from benchmarks.workloads import SAMPLED_COLUMNS, Workload


def product(job: Job, data: Workload) -> Task:
    """One product S X with dense features."""
    X = data.dense()
    facts = {"reference": {"what": "product"}}
    if job.peer == OURS:
        graph, out = data.graph(X), np.empty_like(X)
        plan = ours.product_plan(graph, out)
        return Task(
            lambda: Outcome(ours.one_product(graph, out, job.threads), facts=facts),
            _sampler(data),
            plan.products,
            plan.bytes_moved,
        )
    multiplier = peers.MULTIPLIERS[job.peer](data.S())
    laid = multiplier.lay(X)
    return Task(
        lambda: Outcome(multiplier.times(laid), facts=facts),
        _sampler(data, multiplier.back),
        1,
        _moved(data, multiplier.bytes_per_entry, 4),
        patient=False,
    )


def diffusion(job: Job, data: Workload) -> Task:
    """A diffusion of dense features for a time T: in K steps, or by the heat kernel."""
    T, K, tol = (job.settings.get(name) for name in ("T", "K", "tol"))
    if job.peer.startswith(OURS):
        return _our_diffusion(job, data, T, K, tol)
    if job.peer in peers.FILTERS:
        return _filter(job, data, T, tol)
    multiplier = peers.MULTIPLIERS[job.peer](peers.euler_step(data.S(), T, K))
    X = multiplier.lay(data.dense())

    def run() -> Outcome:
        taken = peers.take_steps(multiplier.times, X, K, job.limit)
        facts = {"reference": {"what": "euler", "T": T, "K": K, "steps": taken.steps}}
        if taken.steps == K:
            return Outcome(taken.value, facts=facts)
        note = f"extrapolated from {taken.steps} of {K} steps"
        return Outcome(taken.value, taken.seconds, note, facts)

    moved = K * _moved(data, multiplier.bytes_per_entry, 4)
    return Task(run, _sampler(data, multiplier.back), K, moved)


def _our_diffusion(job: Job, data: Workload, T: float, K: int | None, tol: float) -> Task:
    graph = data.graph(data.dense())
    settings = {"T": T, "K": K, "tol": tol, "n_threads": job.threads}
    plan = hg.plan(graph, **settings)
    reference = {"what": "heat", "T": T}
    if K is not None:
        reference = {"what": "euler", "T": T, "K": K, "steps": K}
    return Task(
        lambda: Outcome(hg.diffuse(graph, **settings), facts={"reference": reference}),
        _sampler(data),
        plan.products,
        plan.bytes_moved,
        plan.memory,
    )


def _filter(job: Job, data: Workload, T: float, tol: float) -> Task:
    degree = _degree(T, tol)
    filtered = peers.FILTERS[job.peer](data, T, degree)
    X = data.dense().astype(filtered.dtype)
    d = X.shape[1]
    facts = {"reference": {"what": "heat", "T": T}}
    columns = d
    if filtered.by_columns:
        columns = peers.affordable_columns(filtered.apply, X, job.limit)
    part = X if columns == d else np.ascontiguousarray(X[:, :columns])

    def run() -> Outcome:
        value = filtered.apply(part)
        if columns == d:
            return Outcome(value, facts=facts)
        note = f"extrapolated from {columns} of {d} columns"
        return Outcome(value, None, note, facts | {"share": columns / d})

    moved = None
    if filtered.products is not None:
        size = np.dtype(filtered.dtype).itemsize
        moved = filtered.products * _moved(data, 4 + size, size)
    return Task(run, _sampler(data), filtered.products, moved, patient=filtered.by_columns)


def training_rows(job: Job, data: Workload) -> Task:
    """A diffusion whose result is wanted at the training nodes alone; features stay sparse."""
    graph, train = data.graph(), data.split.train
    T, K = job.settings["T"], job.settings["K"]
    plan = hg.plan(graph, T, K, rows=train)
    return Task(
        lambda: Outcome(hg.diffuse(graph, T, K, rows=train)),
        None,
        plan.products,
        plan.bytes_moved,
        plan.memory,
    )


def grid(job: Job, data: Workload) -> Task:
    """Fifty times T at once, at training and validation nodes."""
    graph, schemes = data.graph(), ours.grid(job.settings["T"])
    rows = np.concatenate([data.split.train, data.split.val])
    plan = hg.plan(graph, scheme=schemes, rows=rows)
    return Task(
        lambda: Outcome(hg.diffuse_many(graph, schemes, rows=rows)),
        None,
        plan.products,
        plan.bytes_moved,
        plan.memory,
    )


def out_of_core(job: Job, data: Workload) -> Task:
    """A diffusion of features in a file into another file, within a budget."""
    graph = data.graph(mapped=True)
    folder = tempfile.TemporaryDirectory(dir=data.folder.parent, prefix=".out-")
    settings = dict(job.settings) | {"n_threads": job.threads}
    budget = settings.pop("budget")

    def run(kept: Any = folder) -> Outcome:
        path = Path(kept.name, "X_T.npy")
        facts = {"reference": {"what": "heat", "T": settings["T"]}}
        return Outcome(ours.diffuse_to_file(graph, path, budget, **settings), facts=facts)

    plan = hg.plan(graph, memory_budget=budget, out=Path(folder.name, "X_T.npy"), **settings)
    return Task(run, _sampler(data), plan.products, plan.bytes_moved)


def fit(job: Job, data: Workload) -> Task:
    """Fit and predict every node, with the authors' setting for a citation graph."""
    from heatgraph.experiments.paper.settings import AUTHORS
    from heatgraph.learning._softmax_regression import initial_weights
    from heatgraph.learning.scaling import Scaling

    setting, labels, train = AUTHORS[job.settings["setting"]], data.labels, data.split.train
    if job.peer == OURS:
        graph = data.graph()
        classifier = ours.published_classifier(job.settings["setting"])
        return Task(
            lambda: Outcome(classifier.fit(graph, labels, train=train).predict()), np.asarray
        )
    import torch

    X = Scaling("rows").apply(data.features(), np.dtype(np.float32)).toarray()
    step = peers.TorchCOO(peers.euler_step(data.S(), setting.T, setting.K))
    # The authors' code gives nodes without a label to the first class; none is trained on.
    y = torch.from_numpy(np.maximum(labels, 0))
    start = initial_weights(X.shape[1], int(labels.max()) + 1, np.float32, seed=0)
    weights, bias = np.ascontiguousarray(start[:, :-1]), np.ascontiguousarray(start[:, -1])
    train = torch.from_numpy(train)

    def run() -> Outcome:
        X_T = step.lay(X)
        for _ in range(setting.K):
            X_T = step.times(X_T)
        model = peers.published_head(X_T[train], y[train], setting, (weights, bias))
        with torch.no_grad():
            return Outcome(model(X_T).argmax(dim=1).numpy())

    return Task(run, np.asarray)


def search(job: Job, data: Workload) -> Task:
    """The whole search, on validation nodes, and what it settles on fitted."""
    graph, labels, split = data.graph(), data.labels, data.split

    def run() -> Outcome:
        model = hg.DGCClassifier().fit(graph, labels, train=split.train, val=split.val)
        return Outcome(model, facts={"settings": len(model.search_), "T": float(model.T_)})

    return Task(run, patient=False)


def inductive(job: Job, data: Workload) -> Task:
    """Fit on the graph of the training nodes, and predict the test nodes in the whole graph."""
    if job.peer.startswith(OURS):
        return _our_inductive(job, data)
    return _published_inductive(job, data)


def _our_inductive(job: Job, data: Workload) -> Task:
    graph, labels, split = data.graph(data.dense()), data.labels, data.split
    model = ours.inductive_classifier(job.settings["protocol"])

    def run() -> Outcome:
        known = graph.subgraph(split.train)
        predicted = model.fit(known, labels[split.train]).predict(graph, split.test)
        facts = {
            "accuracy": float((predicted == labels[split.test]).mean()),
            "T": float(model.T_),
            "settings": max(1, len(model.search_)),
        }
        return Outcome(predicted, facts=facts)

    return Task(run, patient=False)


def _published_inductive(job: Job, data: Workload) -> Task:
    """K steps on either graph, of which a few are taken, and the head that the authors train."""
    import torch

    T, K, split = ours.REDDIT_T, ours.REDDIT_K, data.split
    X = data.dense()
    known = X[split.train]
    X -= known.mean(axis=0)
    X /= known.std(axis=0)
    known = X[split.train]
    y = torch.from_numpy(data.labels[split.train])
    classes = int(data.labels.max()) + 1

    def run() -> Outcome:
        spent, least, parts = 0.0, K, []
        for chosen, features in ((split.train, known), (None, X)):
            # Only one of the two graphs is kept at a time, and making it is not counted.
            S = data.S() if chosen is None else _subgraph_S(data, chosen)
            step = peers.TorchCOO(peers.euler_step(S, T, K))
            taken = peers.take_steps(step.times, step.lay(features), K, job.limit / 2)
            spent, least = spent + taken.seconds, min(least, taken.steps)
            parts.append(taken.value)
            if chosen is not None:
                head = _timed(lambda: peers.published_reddit_head(parts[0], y, classes))
                model, seconds = head
                spent += seconds
        with torch.no_grad():
            _, seconds = _timed(lambda: model(parts[1]).argmax(dim=1))
        note = "" if least == K else f"extrapolated from {least} of {K} steps on either graph"
        return Outcome(None, spent + seconds, note, {"settings": 1})

    return Task(run, sets_up_before=False)


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    from time import perf_counter

    start = perf_counter()
    value = work()
    return value, perf_counter() - start


def _subgraph_S(data: Workload, nodes: np.ndarray) -> sp.csr_array:
    from benchmarks.workloads import normalised

    return normalised(data.adjacency()[nodes][:, nodes])


def _degree(T: float, tol: float) -> int:
    """The degree that heatgraph certifies for the heat kernel."""
    pair = hg.Graph(np.ones((2, 2)), features=np.eye(2))
    return max(2, hg.plan(pair, T, tol=tol).products)


def _sampler(
    data: Workload, back: Callable[[Any], np.ndarray] = np.asarray
) -> Callable[[Any], np.ndarray]:
    rows = data.sampled_rows()
    return lambda value: np.asarray(back(value)[rows, :SAMPLED_COLUMNS], dtype=np.float64)


def _moved(data: Workload, bytes_per_entry: int, item: int) -> int:
    """What one product must at least read and write: entries, gathered rows and results."""
    n, entries, d = (data.about[name] for name in ("nodes", "entries", "features"))
    return entries * bytes_per_entry + d * item * (entries + n)


WORK: dict[str, Callable[[Job, Workload], Task]] = {
    "product": product,
    "diffusion": diffusion,
    "training rows": training_rows,
    "grid": grid,
    "out of core": out_of_core,
    "fit": fit,
    "search": search,
    "inductive": inductive,
}
