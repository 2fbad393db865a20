"""Diffuse on a graph larger than memory: features and result in files, within a memory budget.

The graph here is small, so that the example runs in seconds. The calls are the same for a hundred
million edges.
"""

import tempfile
from pathlib import Path

import numpy as np

import heatgraph as hg

NODES, EDGES, FEATURES = 20_000, 100_000, 96


def main(folder):
    random = np.random.default_rng(0)

    # Features are written to a file, a few rows at a time.
    path = folder / "features.npy"
    X = np.lib.format.open_memmap(path, "w+", np.float32, (NODES, FEATURES))
    for start in range(0, NODES, 5000):
        X[start : start + 5000] = random.normal(size=(len(X[start : start + 5000]), FEATURES))
    X.flush()

    # The graph is validated and saved once; loading it maps the file into memory.
    src, dst = random.integers(NODES, size=(2, EDGES))
    mapped = np.load(path, mmap_mode="r")
    hg.Graph.from_edges(src, dst, features=mapped, symmetrize="max").save(folder / "graph.hg")
    graph = hg.Graph.load(folder / "graph.hg")
    print(graph)

    # Memory and products of the computation, before it starts.
    out = folder / "diffused.npy"
    print(hg.plan(graph, T=2.7, memory_budget="16MB", out=out))

    # The result is written panel by panel. After a crash, the same call resumes.
    X_T = hg.diffuse(graph, T=2.7, memory_budget="16MB", out=out)
    print(f"{type(X_T).__name__} of shape {X_T.shape} in {out.name}")
    print(f"first entries: {np.round(X_T[0, :3], 4)}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))
