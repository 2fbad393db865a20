"""Data to benchmark on, stored once in a folder by ``-m benchmarks.workloads NAME FOLDER``.

=================================  ================================================================
"cora", "citeseer", "pubmed"       citation graphs
"blocks-N"                         block graph of N nodes, each with ten edges and 64 features
"reddit-like-SCALE"                block graph in the dimensions of Reddit, times SCALE
"pages-SCALE"                      block graph like one of linked pages, with sparse binary features
"classes-N"                        block graph of N nodes in 400 classes, with 64 features
"rows-N"                           block graph of N nodes in 20 classes, with 600 features
"tables-N"                         CSV files of N nodes with 64 features and five edges per node
=================================  ================================================================

Graphs are stored as plain arrays. With them is S = D^(-1/2) (A + I) D^(-1/2), (n, n) in float32
with 32-bit indices, computed without heatgraph, so that no peer spends time on it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from heatgraph import Graph, load_dataset, make_block_graph
from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.splits import Split
from heatgraph.datasets.synthetic import reddit_like
from heatgraph.tables.writing import write_dataset

EDGES_PER_NODE, BLOCK_FEATURES, BLOCK_CLASSES = 10, 64, 8
# Smaller workloads are not made, at whatever scale.
MIN_NODES, MIN_REDDIT_SCALE, MIN_PAGES_SCALE = 500, 0.001, 0.1
# A graph of pages that link to each other: sizes of a published one of Facebook pages.
PAGES, PAGE_LINKS, PAGE_CLASSES, PAGE_HOMOPHILY = 22_470, 171_000, 4, 0.88
PAGE_WORDS, WORDS_PER_PAGE, TOPICAL_SHARE = 4_700, 14, 0.3
MANY_CLASSES, MANY_FEATURES = 400, 600
TABLE_EDGES_PER_NODE, TABLE_FEATURES, TABLE_CLASSES, TABLE_LABELLED = 5, 64, 5, 0.1
FIRST_ID = 10**18  # node ids of 19 digits
# Entries of S that are normalised at a time.
CHUNK = 1 << 24
# Size of the part of a result that is compared between peers.
SAMPLED_ROWS, SAMPLED_COLUMNS = 1000, 2
TINY_NODES = 60


class MissingFiles(Exception):
    """Files of a data set are missing."""


def blocks(nodes: float) -> str:
    """Name of a block graph."""
    return f"blocks-{max(MIN_NODES, round(nodes))}"


def reddit(scale: float) -> str:
    """Name of a graph like Reddit."""
    return f"reddit-like-{max(MIN_REDDIT_SCALE, scale):g}"


def pages(scale: float) -> str:
    """Name of a graph of pages."""
    return f"pages-{max(MIN_PAGES_SCALE, scale):g}"


def many_classes(nodes: float) -> str:
    """Name of a graph with many classes."""
    return f"classes-{max(10 * MANY_CLASSES, round(nodes))}"


def many_rows(nodes: float) -> str:
    """Name of a graph with many labelled nodes and features."""
    return f"rows-{max(MIN_NODES, round(nodes))}"


def tables(nodes: float) -> str:
    """Name of a pair of CSV files."""
    return f"tables-{max(MIN_NODES, round(nodes))}"


def load_graph(name: str) -> Dataset:
    """Load or generate a graph by the name of its workload.

    Cora's files are read from the folder that HEATGRAPH_DATA names; they are not downloaded.
    """
    kind, _, size = name.rpartition("-")
    if kind == "blocks":
        n = int(size)
        return make_block_graph(n, EDGES_PER_NODE * n, BLOCK_CLASSES, BLOCK_FEATURES)
    if kind == "reddit-like":
        return reddit_like(scale=float(size))
    if kind == "pages":
        return make_pages(float(size))
    if kind == "classes":
        n = int(size)
        return make_block_graph(n, TABLE_EDGES_PER_NODE * n, MANY_CLASSES, BLOCK_FEATURES)
    if kind == "rows":
        n = int(size)
        return make_block_graph(n, EDGES_PER_NODE * n, num_classes=20, num_features=MANY_FEATURES)
    folder = os.environ.get("HEATGRAPH_DATA")
    if name == "cora" and not (folder and Path(folder, "planetoid", "ind.cora.graph").exists()):
        raise MissingFiles(f"no files of {name}; HEATGRAPH_DATA names the parent of their folder")
    return load_dataset(name, folder)


def make_pages(scale: float) -> Dataset:
    """A block graph whose nodes have 14 words each, some of them typical of the node's class.

    Words have popularities as in Zipf's law. A share of a node's words is drawn from those of its
    class, in which every word has another rank.
    """
    n, links = round(PAGES * scale), round(PAGE_LINKS * scale)
    data = make_block_graph(n, links, PAGE_CLASSES, 1, homophily=PAGE_HOMOPHILY)
    random = np.random.default_rng(0)
    popularity = 1 / np.arange(1, PAGE_WORDS + 1)
    popularity /= popularity.sum()
    words = random.choice(PAGE_WORDS, (n, WORDS_PER_PAGE), p=popularity)
    for code in range(PAGE_CLASSES):
        typical = random.permutation(PAGE_WORDS)
        chosen = (data.labels == code)[:, np.newaxis] & (random.random(words.shape) < TOPICAL_SHARE)
        words[chosen] = typical[random.choice(PAGE_WORDS, int(chosen.sum()), p=popularity)]
    owners = np.repeat(np.arange(n), WORDS_PER_PAGE)
    ones = np.ones(words.size, dtype=np.float32)
    X = sp.csr_array((ones, (owners, words.ravel())), shape=(n, PAGE_WORDS))
    X.data[:] = 1
    return replace(data, graph=data.graph.with_features(X))


def normalize(adjacency: sp.csr_array) -> sp.csr_array:
    """S = D^(-1/2) (A + I) D^(-1/2) in float32, with the whole diagonal stored."""
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


def write_arrays(data: Dataset, folder: Path) -> None:
    """Store a graph, its S, labels and split as arrays."""
    graph, split = data.graph, data.split
    adjacency = graph.adjacency
    S = normalize(adjacency)
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
    about = {
        "title": str(graph),
        "nodes": graph.num_nodes,
        "entries": int(S.nnz),
        "features": graph.num_features,
        "feature_bytes": 4 * graph.num_nodes * graph.num_features,
        "graph_bytes": graph.indices.nbytes + graph.indptr.nbytes,
    }
    (folder / "about.json").write_text(json.dumps(about))


def write_tables(nodes: int, folder: Path) -> None:
    """Store nodes with features, a tenth of them labelled, and edges as CSV files."""
    # Half a percent of the generated edges are duplicates.
    edges = round(TABLE_EDGES_PER_NODE * nodes / 0.995)
    data = make_block_graph(nodes, edges, TABLE_CLASSES, TABLE_FEATURES, homophily=0.5)
    random = np.random.default_rng(0)
    graph = data.graph.with_features(data.graph.features.round(4))
    graph.node_ids = FIRST_ID + np.arange(nodes)
    labels = np.where(random.random(nodes) < TABLE_LABELLED, data.labels, -1)
    write_dataset(replace(data, graph=graph, labels=labels, splits={}), folder)
    sizes = [(folder / f"{name}.csv").stat().st_size / 1e6 for name in ("nodes", "edges")]
    about = {
        "title": "nodes.csv and edges.csv have {:.0f} and {:.0f} MB".format(*sizes),
        "feature_bytes": 4 * nodes * TABLE_FEATURES,
    }
    (folder / "about.json").write_text(json.dumps(about))


def prepare(name: str, parent: Path) -> Path:
    """The folder of a workload; a process of its own writes it if it does not exist."""
    folder = parent / name
    if not folder.exists():
        command = [sys.executable, "-m", "benchmarks.workloads", name, str(folder)]
        done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True)
        if done.returncode:
            error = done.stderr.decode(errors="replace").strip().splitlines()
            raise MissingFiles(error[-1].partition(": ")[2] if error else "could not be written")
    return folder


@dataclass(frozen=True)
class Workload:
    """A stored workload; every array is read from disk when it is accessed."""

    folder: Path

    @cached_property
    def about(self) -> dict[str, Any]:
        return json.loads((self.folder / "about.json").read_text())

    def _load(self, name: str, mapped: bool = False) -> np.ndarray:
        return np.load(self.folder / f"{name}.npy", mmap_mode="r" if mapped else None)

    @property
    def is_tables(self) -> bool:
        return (self.folder / "nodes.csv").exists()

    def tiny(self, folder: Path) -> Workload:
        """A tiny workload of the same kind, written to a folder."""
        if self.is_tables:
            write_tables(MIN_NODES, folder)
            return Workload(folder)
        small = make_block_graph(TINY_NODES, 200, 3, 8)
        if self.is_sparse:
            words = sp.csr_array(np.abs(small.graph.features))
            small = replace(small, graph=small.graph.with_features(words))
        write_arrays(small, folder)
        return Workload(folder)

    @property
    def is_sparse(self) -> bool:
        return not (self.folder / "X.npy").exists()

    def S(self) -> sp.csr_array:
        parts = (self._load(f"S_{name}") for name in ("data", "indices", "indptr"))
        return sp.csr_array(tuple(parts), shape=(self.about["nodes"],) * 2)

    def features(self, mapped: bool = False) -> Any:
        """Features X (n, d), dense or sparse; `mapped` opens dense ones as a memory map."""
        if not self.is_sparse:
            return self._load("X", mapped)
        parts = (self._load(f"X_{name}") for name in ("data", "indices", "indptr"))
        return sp.csr_array(tuple(parts), shape=(self.about["nodes"], self.about["features"]))

    def dense_features(self) -> np.ndarray:
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
        """The graph for heatgraph, with its own features or the given ones."""
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

    def sample(self, value: np.ndarray) -> np.ndarray:
        """The rows and columns of a result (n, d) that are compared."""
        return np.asarray(value[self.sampled_rows(), :SAMPLED_COLUMNS], dtype=np.float64)

    def product_bytes(self, bytes_per_entry: int, itemsize: int) -> int:
        """The least that one product S X reads and writes: entries, gathered rows, results."""
        n, entries, d = (self.about[name] for name in ("nodes", "entries", "features"))
        return entries * bytes_per_entry + d * itemsize * (entries + n)


def main(name: str, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = folder.with_name(f".{name}-{os.getpid()}")
    unfinished.mkdir()
    try:
        kind, _, size = name.rpartition("-")
        if kind == "tables":
            write_tables(int(size), unfinished)
        else:
            write_arrays(load_graph(name), unfinished)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
