"""The default fit, which chooses every setting, against a given one and against a network."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import heatgraph as hg
from benchmarks.benchmark import OURS, Benchmark, Figure, Job, Outcome, Task
from benchmarks.peers import PUBLISHED
from benchmarks.results import Results, divide
from benchmarks.suite.fit import LONG_LIMIT, fit, fit_inductive
from benchmarks.workloads import Workload, many_classes, many_rows, pages, reddit
from heatgraph.datasets.splits import fraction_split, random_split
from heatgraph.experiments.paper.settings import AUTHORS

WORKS = {name: f"Default fit: {name.capitalize()}" for name in AUTHORS}
MANY_LABELS = {name: f"Default fit, 60 % labels: {name.capitalize()}" for name in AUTHORS}
PAGES, PAGES_60 = "Default fit: pages", "Default fit, 60 % labels: pages"
CLASSES, ROWS = "Default fit: 400 classes", "Default fit: 100,000 labels"
REDDIT = "Default fit, inductive: like Reddit"
PLAIN = f"{OURS}, without extensions"
GIVEN, GCN, ONE_FIT = f"{OURS}, given settings", "GCN (PyG), one training", f"{PUBLISHED}, one fit"
VALIDATED = f"{OURS}, T chosen"
# Peak memory of a default fit: three times the diffused rows of labelled nodes, or 300 MB.
SMALL_MEMORY = 300e6
# Nodes of the workloads with many classes and with many labels; 60 % of the latter are labelled.
CLASSES_NODES, ROWS_NODES, LABELS_PER_CLASS = 20_000, 170_000, 4


def read_split(job: Job, data: Workload) -> hg.Split:
    """The labels of a job: those of the workload, 60 % of all nodes, or a few of each class."""
    labels = job.settings.get("labels")
    if labels == "fractions":
        return fraction_split(data.labels)
    if labels == "per class":
        return random_split(data.labels, min(20, len(data.labels) // 20), 0, 0)
    if labels == "few per class":
        return random_split(data.labels, LABELS_PER_CLASS, 0, 0)
    return data.split


def default_fit(job: Job, data: Workload) -> Task:
    """Fit with all settings automatic; on validation nodes if there are some."""
    graph, labels, split = data.graph(), data.labels, read_split(job, data)
    val = split.val if len(split.val) else None
    extensions = None if job.peer == PLAIN else "auto"

    def run() -> Outcome:
        model = hg.DGCClassifier(extensions=extensions).fit(graph, labels, split.train, val)
        return Outcome(model, facts=_facts(model, graph, split))

    return Task(run, self_limiting=False)


def _facts(model: hg.DGCClassifier, graph: hg.Graph, split: hg.Split) -> dict[str, Any]:
    labelled = len(split.train) + len(split.val)
    return {
        "settings": len(model.search_),
        "T": float(model.T_),
        "labelled_bytes": 4 * labelled * graph.num_features,
    }


def given_fit(job: Job, data: Workload) -> Task:
    """Fit with the settings that a search chooses, which the set-up finds out."""
    graph, labels, split = data.graph(), data.labels, read_split(job, data)
    val = split.val if len(split.val) else None
    chosen = hg.DGCClassifier(extensions=None).fit(graph, labels, split.train, val)
    model = hg.DGCClassifier(
        T=chosen.T_, weight_decay=chosen.weight_decay_, feature_scaling=chosen.feature_scaling_
    )
    return Task(
        lambda: Outcome(model.fit(graph, labels, split.train), facts={"T": float(chosen.T_)}),
        self_limiting=False,
    )


def train_gcn(job: Job, data: Workload) -> Task:
    """One training of GCN with its authors' settings and early stopping on validation nodes."""
    from heatgraph.baselines.gnn.estimator import GNNClassifier

    graph, labels, split = data.graph(), data.labels, read_split(job, data)
    return Task(
        lambda: Outcome(GNNClassifier("gcn").fit(graph, labels, split.train, split.val)),
        self_limiting=False,
    )


def jobs(scale: float) -> list[Job]:
    listed = []
    for name in AUTHORS:
        work, setting = WORKS[name], {"setting": name}
        listed += [
            Job(work, default_fit, OURS, name),
            Job(work, default_fit, PLAIN, name, compared=False),
            Job(work, given_fit, GIVEN, name, compared=False),
            Job(work, train_gcn, GCN, name),
            Job(work, fit, ONE_FIT, name, setting, compared=False),
            Job(MANY_LABELS[name], default_fit, OURS, name, {"labels": "fractions"}),
            Job(
                MANY_LABELS[name],
                default_fit,
                PLAIN,
                name,
                {"labels": "fractions"},
                compared=False,
            ),
        ]
    data = pages(scale)
    listed += [
        Job(PAGES, default_fit, OURS, data, {"labels": "per class"}),
        Job(PAGES, default_fit, PLAIN, data, {"labels": "per class"}, compared=False),
        Job(PAGES_60, default_fit, OURS, data, {"labels": "fractions"}),
        Job(PAGES_60, default_fit, PLAIN, data, {"labels": "fractions"}, compared=False),
        Job(PAGES_60, given_fit, GIVEN, data, {"labels": "fractions"}, compared=False),
    ]
    classes = many_classes(CLASSES_NODES * scale)
    listed += [
        Job(CLASSES, default_fit, OURS, classes, {"labels": "few per class"}),
        Job(ROWS, default_fit, OURS, many_rows(ROWS_NODES * scale), {"labels": "fractions"}),
    ]
    data = reddit(scale)
    protocols = {OURS: "auto", VALIDATED: "validated"}
    listed += [
        Job(REDDIT, fit_inductive, peer, data, {"protocol": protocol})
        for peer, protocol in protocols.items()
    ]
    listed.append(Job(REDDIT, fit_inductive, ONE_FIT, data, compared=False))
    is_published = {True: 120.0, False: LONG_LIMIT}
    return [replace(job, limit=is_published[job.peer == ONE_FIT], checked=False) for job in listed]


def figures(results: Results) -> list[Figure]:
    listed = []
    for name, work in WORKS.items():
        listed += [
            Figure(
                f"{name}: default fit / one GCN training", results.ratio(work, OURS, GCN), "<= 0.33"
            ),
            Figure(
                f"{name}: default fit / the same without extensions",
                results.ratio(work, OURS, PLAIN),
                "<= 2",
            ),
            Figure(
                f"{name}: fit without extensions / one fit with given settings",
                results.ratio(work, PLAIN, GIVEN),
                "<= 12",
            ),
            results.ratio_figure(f"{name}: default fit / one published fit", work, OURS, ONE_FIT),
        ]
    listed += [
        Figure(f"{name}, 60 % labels: seconds", results.seconds(work, OURS), "<= 5")
        for name, work in MANY_LABELS.items()
    ]
    listed += [
        Figure("pages, 20 labels per class: seconds", results.seconds(PAGES, OURS), "<= 3"),
        Figure("pages, 60 % labels: seconds", results.seconds(PAGES_60, OURS), "<= 20"),
        Figure(
            "pages, 60 % labels, given settings: seconds", results.seconds(PAGES_60, GIVEN), "<= 6"
        ),
        Figure("400 classes, 1,600 labels: seconds", results.seconds(CLASSES, OURS), "<= 20"),
        Figure("100,000 labels, 600 features: seconds", results.seconds(ROWS, OURS), "<= 60"),
        Figure(
            "100,000 labels, 600 features: peak memory, GB",
            _gigabytes(results.value(ROWS, OURS, lambda row: row.memory)),
            "<= 2",
        ),
        Figure("like Reddit: seconds", results.seconds(REDDIT, OURS), "<= 150"),
    ]
    return [*listed, *_memory_figures(results)]


def _gigabytes(size: float | None) -> float | None:
    return None if size is None else size / 1e9


def _memory_figures(results: Results) -> list[Figure]:
    """Peak memory of default fits, relative to what is allowed."""
    figures = []
    for work in results.works:
        row = results.find(work)
        if row is None or not row.turns or "labelled_bytes" not in row.facts:
            continue
        allowed = max(3 * row.facts["labelled_bytes"], SMALL_MEMORY)
        title = work.removeprefix("Default fit").strip(":, ")
        label = f"{title}: peak memory / three times the labelled rows, or 300 MB"
        figures.append(Figure(label, divide(row.memory, allowed), "<= 1"))
    return figures


SEARCH = Benchmark(
    "search",
    "The default fit",
    [
        "`DGCClassifier().fit(...)` with everything automatic, under the *validated* protocol: "
        "settings are chosen on validation nodes, or by cross-validation on the training nodes "
        "where there are none (pages with 20 labels per class, 400 classes, like Reddit), and the "
        "choice is fitted; test nodes are never used. *Without extensions* is the paper's DGC, and "
        "*given settings* one fit of it with what its search chose. GCN is one training with its "
        "authors' settings and early stopping. The published algorithm fits one given setting, and "
        "does less.",
        "*Pages* is a random graph in the dimensions of a real one of linked pages: 22,470 nodes, "
        "171,000 edges, 4,700 sparse binary features, 4 classes. 60 % labels means that 60 % of "
        "all nodes are training nodes and 20 % validation nodes.",
    ],
    jobs,
    figures,
)
