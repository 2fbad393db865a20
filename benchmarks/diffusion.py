"""A full diffusion at published settings."""

from __future__ import annotations

from benchmarks.jobs import OURS, Benchmark, Figure, Job
from benchmarks.ours import REDDIT_K, REDDIT_T, REDDIT_TOL
from benchmarks.product import bars, reddit
from benchmarks.rows import Results, Row
from heatgraph.experiments.paper.settings import AUTHORS

STEPPED = ("published algorithm", "torch CSR", "MKL", "PyG SGConv, CSR", "SciPy")
HEAT = ("expm_multiply", "PyGSP", "scikit-network", "PyG GDC")
KERNEL, ROWS, GRID = "heatgraph, heat kernel", "heatgraph, training rows", "heatgraph, 50 times T"
PUBLISHED = STEPPED[0]
WORKS = {name: f"Diffusion: {name.capitalize()}" for name in AUTHORS}
PUBMED, REDDIT = WORKS["pubmed"], "Diffusion: like Reddit"
TOL = 1e-6


def _jobs(work: str, data: str, T: float, K: int, tol: float) -> list[Job]:
    steps, heat = {"T": T, "K": K, "tol": tol}, {"T": T, "tol": tol}
    return [
        Job(work, "diffusion", OURS, data, steps),
        Job(work, "diffusion", KERNEL, data, heat),
        *(Job(work, "diffusion", peer, data, steps) for peer in STEPPED),
        *(Job(work, "diffusion", peer, data, heat) for peer in HEAT),
    ]


def jobs(scale: float) -> list[Job]:
    listed = []
    for name, setting in AUTHORS.items():
        settings = {"T": setting.T, "K": setting.K}
        listed += _jobs(WORKS[name], name, setting.T, setting.K, TOL)
        listed += [
            Job(WORKS[name], "training rows", ROWS, name, settings, checked=False),
            Job(WORKS[name], "grid", GRID, name, {"T": setting.T}, checked=False),
        ]
    return listed + _jobs(REDDIT, reddit(scale), REDDIT_T, REDDIT_K, REDDIT_TOL)


def noted(label: str, row: Row | None) -> str:
    """A label that tells of an extrapolation."""
    return f"{label} ({row.note})" if row is not None and row.note else label


def figures(results: Results) -> list[Figure]:
    ratio, value = results.ratio, results.value
    slow = results.find(PUBMED, PUBLISHED)
    slow_reddit = results.find(REDDIT, PUBLISHED)
    return [
        Figure(
            noted("Pubmed: published / all features", slow),
            ratio(PUBMED, PUBLISHED, OURS),
            ">= 150",
        ),
        Figure(
            noted("Pubmed: published / training rows", slow),
            ratio(PUBMED, PUBLISHED, ROWS),
            ">= 800",
        ),
        Figure(
            "Pubmed: expm_multiply / heat kernel", ratio(PUBMED, "expm_multiply", KERNEL), ">= 1"
        ),
        Figure(
            "Pubmed: grid of 50 T at 560 rows / all features", ratio(PUBMED, GRID, OURS), "<= 2"
        ),
        *(
            Figure(
                f"Pubmed: one of the products / {peer}'s step", _per_product(results, peer), wanted
            )
            for peer, wanted in (("SciPy", "<= 0.7"), ("torch CSR", "<= 1"))
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
            "Pubmed: our own difference to float64",
            value(PUBMED, OURS, lambda row: row.difference),
            "<= 1e-5",
        ),
        Figure(
            "Pubmed: peak memory, in arrays of the features' size",
            _arrays(results, PUBMED, lambda memory, X, graph: (X + memory) / X),
            "<= 4",
        ),
        Figure(
            noted("like Reddit: published with K = 100 / heatgraph", slow_reddit),
            ratio(REDDIT, PUBLISHED, OURS),
            ">= 20",
        ),
        Figure(
            "like Reddit: peak memory / (graph and three copies of the features)",
            _arrays(
                results, REDDIT, lambda memory, X, graph: (graph + X + memory) / (graph + 3 * X)
            ),
            "<= 1",
        ),
        Figure(
            "like Reddit: plan's memory off the measured peak, as a share",
            plan_off(results, REDDIT),
            "<= 0.15",
        ),
    ]


def _per_product(results: Results, peer: str) -> float | None:
    """Seconds over products, of heatgraph against a peer."""
    ours, other = (
        results.value(PUBMED, name, lambda row: row.seconds / row.products) for name in (OURS, peer)
    )
    return ours / other if ours and other else None


def _arrays(results: Results, work: str, made) -> float | None:
    row = results.find(work)
    if row is None or row.memory is None:
        return None
    about = results.data[row.data]
    return made(row.memory, about["feature_bytes"], about["graph_bytes"])


def plan_off(results: Results, work: str) -> float | None:
    """How far the memory that was planned is off what was measured."""
    row = results.find(work)
    if row is None or not row.memory or row.planned_memory is None:
        return None
    return abs(row.planned_memory / row.memory - 1)


DIFFUSION = Benchmark(
    "diffusion",
    "A full diffusion",
    [
        "All features of a graph, dense and in float32, at the T and K that the authors print, and "
        "on the graph like Reddit at T = 2.7 with K = 100 and a tolerance of 1e-4. The published "
        "algorithm takes K literal steps with a COO tensor of torch; torch CSR, MKL, SciPy and "
        "SGConv's propagation take the same steps by their own products. heatgraph computes the "
        "same polynomial, within the tolerance, with the few products of a Chebyshev series. Its "
        "tests compare it with its own literal steps on all of Pubmed, and hold it to 1e-5; those "
        "of torch in float32 are further than that from the same in float64, as the figures say.",
        "Others have the heat kernel itself, the limit of many steps, and heatgraph's row for it "
        "is *heat kernel*. `expm_multiply` and PyGSP work in float64. PyGSP's filter gets the "
        "degree that heatgraph certifies, and the interval of the spectrum, instead of its own "
        "guess. scikit-network has no heat kernel: its `Polynome` gets Taylor's coefficients. "
        "PyTorch Geometric's GDC makes the dense n × n kernel, which fits for small graphs only; "
        "it is not made sparse again, so that it computes the same.",
        "What would take longer than the limit is extrapolated, from three steps or more, or from "
        "as many columns as half of the limit is enough for (which is not in their favour: the "
        "graph is read once for all columns), and says so.",
    ],
    jobs,
    figures,
    lambda results: bars(results, "diffusion"),
)
