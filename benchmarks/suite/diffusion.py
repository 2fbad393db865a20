"""A full diffusion at published settings: all features (n, d), for a time T."""

from __future__ import annotations

import numpy as np

import heatgraph as hg
from benchmarks.benchmark import OURS, Benchmark, Figure, Job, Outcome, Task
from benchmarks.charts import time_bars
from benchmarks.peers import (
    HEAT_FILTERS,
    MULTIPLIERS,
    PUBLISHED,
    PublishedMultiplier,
    affordable_columns,
    euler_step,
    take_steps,
)
from benchmarks.results import Results, divide
from benchmarks.workloads import Workload, reddit
from heatgraph.experiments.paper.published import published_number
from heatgraph.experiments.paper.settings import AUTHORS

# Peers that take K Euler steps; those of HEAT_FILTERS apply the heat kernel.
STEPPING = (PUBLISHED, "torch CSR", "MKL", "PyG SGConv, CSR", "SciPy")
KERNEL, ROWS, GRID = "heatgraph, heat kernel", "heatgraph, training rows", "heatgraph, 50 times T"
WORKS = {name: f"Diffusion: {name.capitalize()}" for name in AUTHORS}
PUBMED, REDDIT = WORKS["pubmed"], "Diffusion: like Reddit"
TOL = 1e-6
# Reddit's T in the paper, with self-loops. The paper does not print its K.
REDDIT_T = float(
    published_number(source="Table 6", dataset="reddit", setting="I - S", measure="T").value
)
REDDIT_K, REDDIT_TOL = 100, 1e-4


def diffuse(job: Job, data: Workload) -> Task:
    """Diffuse dense features for a time T: in K steps, or by the heat kernel if K is not set."""
    if job.peer.startswith(OURS):
        return _diffuse_with_heatgraph(job, data)
    if job.peer in HEAT_FILTERS:
        return _apply_heat_filter(job, data)
    return _step(job, data)


def _diffuse_with_heatgraph(job: Job, data: Workload) -> Task:
    graph = data.graph(data.dense_features())
    T, K, tol = (job.settings.get(name) for name in ("T", "K", "tol"))
    settings = {"T": T, "K": K, "tol": tol, "n_threads": job.threads}
    plan = hg.plan(graph, **settings)
    reference = {"what": "heat", "T": T}
    if K is not None:
        reference = {"what": "euler", "T": T, "K": K, "steps": K}
    return Task(
        lambda: Outcome(hg.diffuse(graph, **settings), facts={"reference": reference}),
        data.sample,
        plan.products,
        plan.bytes_moved,
        plan.memory,
    )


def _step(job: Job, data: Workload) -> Task:
    """K literal Euler steps, extrapolated from a few if all would exceed the limit."""
    T, K = job.settings["T"], job.settings["K"]
    library = PublishedMultiplier if job.peer == PUBLISHED else MULTIPLIERS[job.peer]
    multiplier = library(euler_step(data.S(), T, K))
    X = multiplier.from_numpy(data.dense_features())

    def run() -> Outcome:
        steps = take_steps(multiplier.multiply, X, K, job.limit)
        facts = {"reference": {"what": "euler", "T": T, "K": K, "steps": steps.taken}}
        if steps.taken == K:
            return Outcome(steps.value, facts=facts)
        note = f"extrapolated from {steps.taken} of {K} steps"
        return Outcome(steps.value, steps.seconds, note, facts)

    return Task(
        run,
        lambda value: data.sample(multiplier.to_numpy(value)),
        K,
        K * data.product_bytes(multiplier.bytes_per_entry, 4),
    )


def _apply_heat_filter(job: Job, data: Workload) -> Task:
    """A heat filter, timed on a part of the columns if all would exceed the limit."""
    T = job.settings["T"]
    heat = HEAT_FILTERS[job.peer](data, T, _certified_degree(T, job.settings["tol"]))
    X = data.dense_features().astype(heat.dtype)
    d = X.shape[1]
    columns = affordable_columns(heat.apply, X, job.limit) if heat.by_columns else d
    part = X if columns == d else np.ascontiguousarray(X[:, :columns])
    facts = {"reference": {"what": "heat", "T": T}}

    def run() -> Outcome:
        value = heat.apply(part)
        if columns == d:
            return Outcome(value, facts=facts)
        note = f"extrapolated from {columns} of {d} columns"
        return Outcome(value, None, note, facts | {"share": columns / d})

    moved = None
    if heat.products is not None:
        itemsize = np.dtype(heat.dtype).itemsize
        moved = heat.products * data.product_bytes(4 + itemsize, itemsize)
    return Task(run, data.sample, heat.products, moved, self_limiting=heat.by_columns)


def _certified_degree(T: float, tol: float) -> int:
    """The degree with which heatgraph certifies the tolerance for the heat kernel."""
    pair = hg.Graph(np.ones((2, 2)), features=np.eye(2))
    return max(2, hg.plan(pair, T, tol=tol).products)


def diffuse_training_rows(job: Job, data: Workload) -> Task:
    """Diffuse sparse features and return the rows of the training nodes only."""
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


def diffuse_grid(job: Job, data: Workload) -> Task:
    """Fifty times up to 2 T at once, at training and validation nodes."""
    graph = data.graph()
    schemes = [hg.Heat(t) for t in np.linspace(0, 2 * job.settings["T"], 51)[1:]]
    rows = np.concatenate([data.split.train, data.split.val])
    plan = hg.plan(graph, scheme=schemes, rows=rows)
    return Task(
        lambda: Outcome(hg.diffuse_many(graph, schemes, rows=rows)),
        None,
        plan.products,
        plan.bytes_moved,
        plan.memory,
    )


def jobs(scale: float) -> list[Job]:
    jobs = []
    for name, setting in AUTHORS.items():
        jobs += _compare(WORKS[name], name, setting.T, setting.K, TOL)
        settings = {"T": setting.T, "K": setting.K}
        jobs += [
            Job(WORKS[name], diffuse_training_rows, ROWS, name, settings, checked=False),
            Job(WORKS[name], diffuse_grid, GRID, name, {"T": setting.T}, checked=False),
        ]
    return jobs + _compare(REDDIT, reddit(scale), REDDIT_T, REDDIT_K, REDDIT_TOL)


def _compare(work: str, data: str, T: float, K: int, tol: float) -> list[Job]:
    steps, heat = {"T": T, "K": K, "tol": tol}, {"T": T, "tol": tol}
    return [
        Job(work, diffuse, OURS, data, steps),
        Job(work, diffuse, KERNEL, data, heat),
        *(Job(work, diffuse, peer, data, steps) for peer in STEPPING),
        *(Job(work, diffuse, peer, data, heat) for peer in HEAT_FILTERS),
    ]


def figures(results: Results) -> list[Figure]:
    ratio, value = results.ratio_figure, results.value
    return [
        ratio("Pubmed: published / all features", PUBMED, PUBLISHED, target=">= 150"),
        ratio("Pubmed: published / training rows", PUBMED, PUBLISHED, ROWS, target=">= 800"),
        ratio(
            "Pubmed: expm_multiply / heat kernel", PUBMED, "expm_multiply", KERNEL, target=">= 1"
        ),
        ratio("Pubmed: grid of 50 T at 560 rows / all features", PUBMED, GRID, target="<= 2"),
        *(
            Figure(
                f"Pubmed: one of the products / {peer}'s step",
                divide(_seconds_per_product(results, OURS), _seconds_per_product(results, peer)),
                target,
            )
            for peer, target in (("SciPy", "<= 0.7"), ("torch CSR", "<= 1"))
        ),
        Figure("Pubmed: products", value(PUBMED, OURS, lambda row: row.products), "<= 16"),
        Figure(
            "Pubmed: difference to torch's 900 steps in float32",
            value(PUBMED, PUBLISHED, lambda row: row.agreement),
        ),
        Figure(
            "Pubmed: those steps' difference to float64",
            value(PUBMED, PUBLISHED, lambda row: row.difference),
        ),
        Figure(
            "Pubmed: heatgraph's difference to float64",
            value(PUBMED, OURS, lambda row: row.difference),
            "<= 1e-5",
        ),
        Figure(
            "Pubmed: peak memory, in arrays of the features' size",
            _peak_in_arrays(results, PUBMED),
            "<= 4",
        ),
        ratio("like Reddit: published with K = 100 / heatgraph", REDDIT, PUBLISHED, target=">= 20"),
        Figure(
            "like Reddit: peak memory / (graph and three copies of the features)",
            _peak_over_input(results, REDDIT),
            "<= 1",
        ),
        Figure(
            "like Reddit: relative error of the plan's memory",
            results.plan_error(REDDIT),
            "<= 0.15",
        ),
    ]


def _seconds_per_product(results: Results, peer: str) -> float | None:
    return results.value(PUBMED, peer, lambda row: row.seconds / row.products)


def _peak_in_arrays(results: Results, work: str) -> float | None:
    row = results.find(work)
    if row is None or row.memory is None:
        return None
    features = results.data[row.data]["feature_bytes"]
    return (features + row.memory) / features


def _peak_over_input(results: Results, work: str) -> float | None:
    row = results.find(work)
    if row is None or row.memory is None:
        return None
    features, graph = (results.data[row.data][name] for name in ("feature_bytes", "graph_bytes"))
    return (graph + features + row.memory) / (graph + 3 * features)


DIFFUSION = Benchmark(
    "diffusion",
    "A full diffusion",
    [
        "All features of a graph, dense and in float32, at the T and K that the authors print, and "
        "on the graph like Reddit at T = 2.7 with K = 100 and a tolerance of 1e-4. The published "
        "algorithm takes K literal Euler steps with torch's COO tensor; torch CSR, MKL, SciPy and "
        "SGConv's propagation take the same steps with their own products. heatgraph computes the "
        "same polynomial, within the tolerance, with the few products of a Chebyshev series. Its "
        "tests compare it with literal steps on all of Pubmed to 1e-5; torch's steps in float32 "
        "differ by more than that from the same steps in float64, as the figures show.",
        "Other libraries have the heat kernel itself, the limit of many steps; heatgraph's row for "
        "it is *heat kernel*. `expm_multiply` and PyGSP work in float64. PyGSP's filter gets the "
        "degree that heatgraph certifies and the interval of the spectrum, instead of its own "
        "estimate. scikit-network has no heat kernel: its `Polynome` gets Taylor's coefficients. "
        "PyTorch Geometric's GDC computes the dense n × n kernel, which fits in memory for small "
        "graphs only; its sparsification is left out, so that it computes the same.",
        "What would exceed the limit is extrapolated from at least three steps, or from as many "
        "columns as half of the limit affords, and marked as such. Extrapolating from columns "
        "overestimates somewhat, since the graph is read once for all columns.",
    ],
    jobs,
    figures,
    time_bars,
)
