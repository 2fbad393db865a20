"""A graph that would not fit: features from a file, the result into a file, within a budget.

Small here, so that it runs in a moment; the calls are the same for a hundred million edges.
"""

import tempfile
from pathlib import Path

import numpy as np

import heatgraph as hg

NODES, EDGES, FEATURES = 20_000, 100_000, 96


def main(folder):
    random = np.random.default_rng(0)

    # Features arrive a few rows at a time, and go straight into a file.
    path = folder / "features.npy"
    X = np.lib.format.open_memmap(path, "w+", np.float32, (NODES, FEATURES))
    for start in range(0, NODES, 5000):
        X[start : start + 5000] = random.normal(size=(len(X[start : start + 5000]), FEATURES))
    X.flush()

    # The graph is checked once and saved; from then on it loads by memory map.
    src, dst = random.integers(NODES, size=(2, EDGES))
    mapped = np.load(path, mmap_mode="r")
    hg.Graph.from_edges(src, dst, features=mapped, symmetrize="max").save(folder / "graph.hg")
    graph = hg.Graph.load(folder / "graph.hg")
    print(graph)

    # What it will take, before it is begun.
    out = folder / "diffused.npy"
    print(hg.plan(graph, T=2.7, memory_budget="16MB", out=out))

    # Panel by panel into a file. If this is killed, the same call goes on where it was.
    X_T = hg.diffuse(graph, T=2.7, memory_budget="16MB", out=out)
    print(f"{type(X_T).__name__} of shape {X_T.shape} in {out.name}")
    print(f"first entries: {np.round(X_T[0, :3], 4)}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))
