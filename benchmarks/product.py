"""One product S X of the normalised adjacency with dense features."""

from __future__ import annotations

from benchmarks.jobs import OURS, Benchmark, Figure, Job
from benchmarks.rows import Results
from heatgraph.report.document import Bars, Chart, Panel

PUBMED, BLOCKS, REDDIT = "One product: Pubmed", "One product: blocks", "One product: like Reddit"
PEERS = (
    OURS, "torch CSR", "torch COO", "PyG SGConv", "PyG SGConv, CSR", "MKL", "SciPy",
    "scikit-network",
)  # fmt: skip
BLOCK_NODES, FEWEST_NODES, SMALLEST_REDDIT = 1_000_000, 500, 0.001


def blocks(nodes: float) -> str:
    return f"blocks-{max(FEWEST_NODES, round(nodes))}"


def reddit(scale: float) -> str:
    return f"reddit-like-{max(SMALLEST_REDDIT, scale):g}"


def jobs(scale: float) -> list[Job]:
    works = {PUBMED: "pubmed", BLOCKS: blocks(BLOCK_NODES * scale), REDDIT: reddit(scale)}
    return [Job(work, "product", peer, data) for work, data in works.items() for peer in PEERS]


def figures(results: Results) -> list[Figure]:
    ratio = results.ratio
    return [
        Figure("Pubmed: SciPy / heatgraph", ratio(PUBMED, "SciPy", OURS)),
        Figure("Pubmed: torch CSR / heatgraph", ratio(PUBMED, "torch CSR", OURS)),
        Figure("blocks: torch CSR / heatgraph", ratio(BLOCKS, "torch CSR", OURS)),
        Figure("like Reddit: torch CSR / heatgraph", ratio(REDDIT, "torch CSR", OURS), ">= 3"),
    ]


def bars(results: Results, name: str) -> list[Chart]:
    """Seconds of each peer, a panel for each work."""
    panels = []
    for work in results.works:
        done = sorted((row for row in results.of(work) if row.turns), key=lambda row: row.seconds)
        if len(done) > 1:
            names = [row.peer + " (extrapolated)" * bool(row.note) for row in done]
            content = Bars(names, [row.seconds for row in done])
            panels.append(Panel(work.partition(": ")[2], content, "seconds", log="x"))
    return [Chart(name, "Seconds, on a logarithmic axis.", panels, 2)] if panels else []


PRODUCT = Benchmark(
    "product",
    "One product",
    [
        "S X for features X in float32, S being that of A + I. Peers get S ready-made in the form "
        "that is theirs; heatgraph gets the graph. Its product is a whole `diffuse` with the "
        "response r(s) = s: arguments checked, plan made, threads started, result looked at; where "
        "a turn repeats quick work, what a graph keeps from its first use is paid for once. On "
        "small graphs the copies around it take as long as the product; what one of many products "
        "takes is under *a full diffusion*.",
        "A product has nothing to save by cleverness: it reads every entry of S, gathers a row of "
        "X for it and writes a row of the result. So its bytes per second stand beside what this "
        "machine can copy and gather; more than 100 % of gathering means that the cache helped.",
    ],
    jobs,
    figures,
    lambda results: bars(results, "product"),
)
