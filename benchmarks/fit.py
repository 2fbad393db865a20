"""Fit and predict with all settings given."""

from __future__ import annotations

from benchmarks.diffusion import PUBLISHED, noted
from benchmarks.jobs import OURS, Benchmark, Figure, Job
from benchmarks.product import bars, reddit
from benchmarks.rows import Results
from heatgraph.experiments.paper.settings import AUTHORS

WORKS = {name: f"Fit and predict: {name.capitalize()}" for name in AUTHORS}
REDDIT = "Fit and predict, inductive: like Reddit"
WANTED = {"cora": ">= 50", "citeseer": ">= 150", "pubmed": ">= 300"}
# Seconds for a whole fit on a graph like Reddit: it is given its time.
LONG = 1800.0


def jobs(scale: float) -> list[Job]:
    listed = [
        Job(work, "fit", peer, name, {"setting": name})
        for name, work in WORKS.items()
        for peer in (OURS, PUBLISHED)
    ]
    published = {"protocol": "published"}
    return [
        *listed,
        Job(REDDIT, "inductive", OURS, reddit(scale), published, limit=LONG, checked=False),
        Job(REDDIT, "inductive", PUBLISHED, reddit(scale), published, checked=False),
    ]


def figures(results: Results) -> list[Figure]:
    listed = []
    for name, work in WORKS.items():
        listed += [
            Figure(
                f"{name}: published / heatgraph", results.ratio(work, PUBLISHED, OURS), WANTED[name]
            ),
            Figure(
                f"{name}: same prediction, share of nodes",
                results.value(work, PUBLISHED, lambda row: row.agreement),
                ">= 0.999",
            ),
        ]
    slow = results.find(REDDIT, PUBLISHED)
    return [
        *listed,
        Figure(
            noted("like Reddit: published / heatgraph", slow),
            results.ratio(REDDIT, PUBLISHED, OURS),
        ),
        Figure("like Reddit: seconds", results.value(REDDIT, OURS, lambda row: row.seconds)),
    ]


FIT = Benchmark(
    "fit",
    "Fit and predict",
    [
        "From features to labels, under the *published* protocol: the settings that the authors "
        "print. On the citation graphs that is a hundred epochs of Adam from the same initial "
        "weights, and all nodes are predicted; agreement is the share of nodes that get the same "
        "label. The published algorithm gets S and scaled features ready-made, heatgraph a graph.",
        "On the graph like Reddit: fitted on the graph of the training nodes, and test nodes "
        "predicted in the whole graph, at T = 2.7. heatgraph's time includes cutting out the first "
        "graph, and its head goes to the optimum; the published algorithm is given both graphs, "
        "takes K = 100 steps on each and two epochs of L-BFGS, as its authors do on Reddit.",
    ],
    jobs,
    figures,
    lambda results: bars(results, "fit"),
)
