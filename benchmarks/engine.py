"""The engine on Pubmed at the published setting, T = 6.0498 and K = 900, against its peers."""

from __future__ import annotations

import tracemalloc
from dataclasses import asdict

import numpy as np
import torch

import heatgraph as hg
from benchmarks import peers
from benchmarks.turns import compare, take_turns, write
from heatgraph.crew import Crew, thread_count
from heatgraph.kernels import recur
from heatgraph.schedule import readable_bytes, row_ranges

T, K = 6.0498, 900
GRID = [hg.Heat(t) for t in np.linspace(0, 2 * T, 51)[1:]]


def fused_step(graph: hg.Graph, X: np.ndarray, crew: Crew):
    """One product, recurrence and accumulation with all columns at once, on all threads."""
    S = graph.operator()
    out, sums = np.zeros_like(X), np.zeros_like(X)[np.newaxis]
    coefficient = np.array([0.1], dtype=np.float32)
    ranges = row_ranges(S.indptr, X.shape[1], 1, crew.threads)
    return lambda: crew.map(
        lambda rows: recur(S, *rows, 2.0, -1.0, X, out, coefficient, sums), ranges
    )


def peak_arrays(graph: hg.Graph) -> float:
    """Peak memory of a full dense diffusion, features included, in arrays of the features' size."""
    tracemalloc.start()
    hg.diffuse(graph, T, K)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (graph.features.nbytes + peak) / graph.features.nbytes


def run(rounds: int) -> None:
    data = hg.load_dataset("pubmed")
    graph, train, val = data.graph, data.split.train, data.split.val
    X = graph.features.toarray() if hasattr(graph.features, "toarray") else graph.features
    dense = graph.with_features(X)
    both = np.concatenate([train, val])
    S = graph.operator().to_scipy()
    X_torch, csr = torch.from_numpy(X), peers.torch_csr(S)
    with Crew(thread_count(None)) as crew:
        times = take_turns(
            {
                "published algorithm": lambda: peers.published(S, X_torch, T, K),
                "expm_multiply": lambda: peers.matrix_exponential(S, X, T),
                "all features": lambda: hg.diffuse(dense, T, K),
                "training rows": lambda: hg.diffuse(graph, T, K, rows=train),
                "grid of T": lambda: hg.diffuse_many(graph, GRID, rows=both),
                "fused step": fused_step(dense, X, crew),
                "SciPy's product": lambda: S @ X,
                "torch's CSR product": lambda: csr @ X_torch,
            },
            rounds,
        )

    exact = hg.diffuse(dense, T, K, tol=1e-13, dtype=np.float64)
    mine, literal = hg.diffuse(dense, T, K), peers.published(S, X_torch, T, K).numpy()

    def difference(one: np.ndarray, other: np.ndarray) -> float:
        return float(np.linalg.norm(one - other) / np.linalg.norm(other))

    def ratio(slow: str, fast: str) -> float:
        return times[slow].median / times[fast].median

    everything, rows = hg.plan(dense, T, K), hg.plan(graph, T, K, rows=train)
    figures = [
        ("published / all features", ratio("published algorithm", "all features"), ">= 150"),
        ("published / training rows", ratio("published algorithm", "training rows"), ">= 800"),
        ("expm_multiply / all features", ratio("expm_multiply", "all features"), ">= 1"),
        ("fused step / SciPy's product", ratio("fused step", "SciPy's product"), "<= 0.7"),
        ("fused step / torch's CSR", ratio("fused step", "torch's CSR product"), "<= 1"),
        ("grid of 50 T at 560 rows / all features", ratio("grid of T", "all features"), "<= 2"),
        ("products", everything.products, "<= 16"),
        ("difference to torch's 900 steps in float32", difference(mine, literal), "<= 1e-5"),
        ("   our own error (against float64)", difference(mine, exact), ""),
        ("   that of torch's steps", difference(literal, exact), ""),
        ("peak memory, in arrays of the features' size", peak_arrays(dense), "<= 4"),
    ]
    lines = [f"Pubmed: {graph}", f"T = {T}, K = {K}, {thread_count(None)} threads", ""]
    lines += [f"{way:<22}{timing}" for way, timing in times.items()]
    lines += ["", *compare(figures)]
    lines += ["", f"all features: {everything}", f"training rows: {rows}"]
    lines += [f"the published algorithm moves at least {readable_bytes(published_bytes(S, X))}"]
    text = "\n".join(lines)
    print(text)
    write(
        "engine",
        "The engine against its peers",
        text,
        {
            "data": "Pubmed",
            "figures": {label.strip(): value for label, value, _ in figures},
            "seconds": {way: asdict(timing) for way, timing in times.items()},
        },
    )


def published_bytes(S, X) -> int:
    """What K products must at least read and write: entries, gathered rows and results."""
    return K * (S.nnz * (8 + 8 + 4) + X.shape[1] * 4 * (S.nnz + X.shape[0]))
