"""Graphs to work on, made once and kept on disk as plain arrays: ``-m benchmarks.workloads NAME``.

Names are "cora", "citeseer", "pubmed"; "blocks-N", a block graph of N nodes with ten edges each and
64 features; and "reddit-like-SCALE". Beside the graph lies S in float32 with 32-bit indices, made
without heatgraph, so that each peer gets it ready-made.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from heatgraph import Graph, make_block_graph
from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.splits import Split
from heatgraph.datasets.synthetic import reddit_like

EDGES_PER_NODE, BLOCK_FEATURES, BLOCK_CLASSES = 10, 64, 8
# Entries of S that are made at a time.
CHUNK = 1 << 24
# Rows and columns of a result that are compared between peers.
SAMPLED_ROWS, SAMPLED_COLUMNS = 1000, 2


class NoFiles(Exception):
    """A data set's files are not here."""


def read(name: str) -> Dataset:
    kind, _, size = name.rpartition("-")
    if kind == "blocks":
        n = int(size)
        return make_block_graph(n, EDGES_PER_NODE * n, BLOCK_CLASSES, BLOCK_FEATURES)
    if kind == "reddit-like":
        return reddit_like(scale=float(size))
    from benchmarks.citations import read as read_citations

    data = read_citations(name)
    if data is None:
        raise NoFiles(f"no files of {name}; HEATGRAPH_DATA names the parent of their folder")
    return data


def normalised(adjacency: sp.csr_array) -> sp.csr_array:
    """S = D^(-1/2) (A + I) D^(-1/2) in float32, with an entry on the whole diagonal."""
    n = adjacency.shape[0]
    looped = sp.csr_array(adjacency + sp.eye_array(n, dtype=adjacency.dtype, format="csr"))
    looped.sort_indices()
    indptr, indices = looped.indptr.astype(np.int32), looped.indices.astype(np.int32)
    data = looped.data.astype(np.float32)
    del looped
    ends = indptr.astype(np.int64)
    sums = np.add.reduceat(data, ends[:-1], dtype=np.float64)
    scale = 1 / np.sqrt(sums)
    for start in range(0, n, max(1, CHUNK * n // len(data))):
        stop = min(start + max(1, CHUNK * n // len(data)), n)
        part = slice(ends[start], ends[stop])
        own = np.repeat(scale[start:stop], np.diff(ends[start : stop + 1]))
        data[part] *= own * scale[indices[part]]
    return sp.csr_array((data, indices, indptr), shape=(n, n))


def write(data: Dataset, folder: Path) -> None:
    """Write a data set as arrays."""
    graph, split = data.graph, data.split
    adjacency = graph.adjacency
    S = normalised(adjacency)
    arrays: dict[str, Any] = {
        "A_indptr": graph.indptr,
        "A_indices": graph.indices,
        "S_indptr": S.indptr,
        "S_indices": S.indices,
        "S_data": S.data,
        "labels": data.labels,
        "train": split.train,
        "val": split.val,
        "test": split.test,
    }
    if graph.weights is not None:
        arrays["A_weights"] = graph.weights
    X = graph.features
    if sp.issparse(X):
        arrays |= {"X_data": X.data, "X_indices": X.indices, "X_indptr": X.indptr}
    else:
        arrays["X"] = X
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    described = {
        "title": str(graph),
        "nodes": graph.num_nodes,
        "entries": int(S.nnz),
        "features": graph.num_features,
        "feature_bytes": 4 * graph.num_nodes * graph.num_features,
        "graph_bytes": graph.indices.nbytes + graph.indptr.nbytes,
    }
    (folder / "about.json").write_text(json.dumps(described))


def prepare(name: str, parent: Path) -> Path:
    """Make a workload, in a process of its own, unless it is there; give its folder."""
    folder = parent / name
    if not folder.exists():
        command = [sys.executable, "-m", "benchmarks.workloads", name, str(folder)]
        done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True)
        if done.returncode:
            error = done.stderr.decode(errors="replace").strip().splitlines()
            raise NoFiles(error[-1].partition(": ")[2] if error else "could not be made")
    return folder


@dataclass(frozen=True)
class Workload:
    """A graph with features and a split, each read from disk when it is asked for."""

    folder: Path

    @cached_property
    def about(self) -> dict[str, Any]:
        return json.loads((self.folder / "about.json").read_text())

    def _load(self, name: str, mapped: bool = False) -> np.ndarray:
        return np.load(self.folder / f"{name}.npy", mmap_mode="r" if mapped else None)

    @property
    def is_sparse(self) -> bool:
        return not (self.folder / "X.npy").exists()

    def S(self) -> sp.csr_array:
        parts = (self._load(f"S_{name}") for name in ("data", "indices", "indptr"))
        return sp.csr_array(tuple(parts), shape=(self.about["nodes"],) * 2)

    def features(self, mapped: bool = False) -> Any:
        """Features as they are: dense, or sparse."""
        if not self.is_sparse:
            return self._load("X", mapped)
        parts = (self._load(f"X_{name}") for name in ("data", "indices", "indptr"))
        return sp.csr_array(tuple(parts), shape=(self.about["nodes"], self.about["features"]))

    def dense(self) -> np.ndarray:
        X = self.features()
        return np.ascontiguousarray(X.toarray() if self.is_sparse else X, dtype=np.float32)

    def adjacency(self, mapped: bool = False) -> sp.csr_array:
        indices, indptr = self._load("A_indices", mapped), self._load("A_indptr", mapped)
        if (self.folder / "A_weights.npy").exists():
            data = self._load("A_weights")
        else:
            data = np.ones(len(indices), dtype=np.int8)
        return sp.csr_array((data, indices, indptr), shape=(self.about["nodes"],) * 2)

    def graph(self, features: Any = None, mapped: bool = False) -> Graph:
        """The graph as heatgraph has it, with its own features or others."""
        X = self.features(mapped) if features is None else features
        return Graph._from_canonical(self.adjacency(mapped), X)

    @property
    def labels(self) -> np.ndarray:
        return self._load("labels")

    @property
    def split(self) -> Split:
        return Split(*(self._load(name) for name in ("train", "val", "test")))

    def sampled_rows(self) -> np.ndarray:
        n = self.about["nodes"]
        random = np.random.default_rng(0)
        return np.sort(random.choice(n, min(n, SAMPLED_ROWS), replace=False))

    def sampled_columns(self) -> np.ndarray:
        """The first columns of the features, (n, 2) in float64."""
        if self.is_sparse:
            return self.features()[:, :SAMPLED_COLUMNS].toarray().astype(np.float64)
        return self.features(mapped=True)[:, :SAMPLED_COLUMNS].astype(np.float64)


def main(name: str, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = folder.with_name(f".{name}-{os.getpid()}")
    unfinished.mkdir()
    try:
        write(read(name), unfinished)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
