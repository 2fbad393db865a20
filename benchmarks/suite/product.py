"""One product S X of the normalised adjacency (n, n) with dense features (n, d) in float32."""

from __future__ import annotations

import numpy as np

import heatgraph as hg
from benchmarks.benchmark import OURS, Benchmark, Figure, Job, Outcome, Task
from benchmarks.charts import time_bars
from benchmarks.peers import MULTIPLIERS
from benchmarks.results import Results
from benchmarks.workloads import Workload, blocks, reddit

PUBMED, BLOCKS, REDDIT = "One product: Pubmed", "One product: blocks", "One product: like Reddit"
BLOCK_NODES = 1_000_000


def multiply(job: Job, data: Workload) -> Task:
    """heatgraph's diffusion with the response r(s) = s, or a peer's product."""
    X = data.dense_features()
    facts = {"reference": {"what": "product"}}
    if job.peer == OURS:
        graph, out, scheme = data.graph(X), np.empty_like(X), hg.SGC(1)
        plan = hg.plan(graph, scheme=scheme, out=out)

        def run() -> Outcome:
            value = hg.diffuse(graph, scheme=scheme, n_threads=job.threads, out=out)
            return Outcome(value, facts=facts)

        return Task(run, data.sample, plan.products, plan.bytes_moved)
    multiplier = MULTIPLIERS[job.peer](data.S())
    operand = multiplier.from_numpy(X)
    return Task(
        lambda: Outcome(multiplier.multiply(operand), facts=facts),
        lambda value: data.sample(multiplier.to_numpy(value)),
        1,
        data.product_bytes(multiplier.bytes_per_entry, 4),
        self_limiting=False,
    )


def jobs(scale: float) -> list[Job]:
    workloads = {PUBMED: "pubmed", BLOCKS: blocks(BLOCK_NODES * scale), REDDIT: reddit(scale)}
    return [
        Job(work, multiply, peer, data)
        for work, data in workloads.items()
        for peer in (OURS, *MULTIPLIERS)
    ]


def figures(results: Results) -> list[Figure]:
    return [
        results.ratio_figure("Pubmed: SciPy / heatgraph", PUBMED, "SciPy"),
        results.ratio_figure("Pubmed: torch CSR / heatgraph", PUBMED, "torch CSR"),
        results.ratio_figure("blocks: torch CSR / heatgraph", BLOCKS, "torch CSR"),
        results.ratio_figure(
            "like Reddit: torch CSR / heatgraph", REDDIT, "torch CSR", target=">= 3"
        ),
    ]


PRODUCT = Benchmark(
    "product",
    "One product",
    [
        "S X for features X in float32, with S = D^(-1/2) (A + I) D^(-1/2). Peers get S ready-made "
        "in their own format; heatgraph gets the graph. Its product is a whole `diffuse` with the "
        "response r(s) = s: arguments are validated, a plan is made, threads start, and the result "
        "is checked. Where quick runs are repeated, what a graph caches at first use is paid for "
        "once. On small graphs the copies around a product take as long as the product; for the "
        "time of one product among many, see *A full diffusion*.",
        "A product is bound by memory bandwidth: it reads every entry of S, gathers a row of X for "
        "it and writes a row of the result. Its bytes per second are therefore given as a share of "
        "what this machine can copy and gather; more than 100 % of gathering means that caches "
        "helped.",
    ],
    jobs,
    figures,
    time_bars,
)
