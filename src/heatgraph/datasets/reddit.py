"""Reader of the Reddit graph, in its two public formats.

The graph of Hamilton, Ying and Leskovec (2017): a node per post of September 2014, an edge where
one person commented on both posts, a class per community. With n posts and d features:

    DGL            reddit_data.npz    feature (n, d), label (n,), node_types (n,): 1 for training,
                                      2 for validation, 3 for test
                   reddit_graph.npz   A (n, n), as scipy.sparse.save_npz writes it
    FastGCN, SGC   reddit.npz         feats (n, d), and for train, val and test: PART_index (m,),
                                      y_PART (m,)
                   reddit_adj.npz     A (n, n), which may have each edge in one direction only

Either way, A is symmetrised and its weights are ignored. Arrays are read one at a time and released
before the next, so that peak memory stays near the size of the arrays themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._arguments import INDEX_LIMIT, check_range
from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.npz import NpzArchive, read_sparse_npz
from heatgraph.datasets.splits import Split
from heatgraph.errors import FileFormatError, InputError
from heatgraph.graph import Graph

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

DGL_FILES = ("reddit_data.npz", "reddit_graph.npz")
SGC_FILES = ("reddit.npz", "reddit_adj.npz")

CITATION = (
    "W. Hamilton, R. Ying, J. Leskovec. Inductive Representation Learning on Large Graphs. "
    "Advances in Neural Information Processing Systems 30, 2017."
)
LICENCE = "not stated by its authors"
INDUCTIVE = (
    "The split is inductive: fit a model on graph.subgraph(split.train), which has no node and no "
    "edge of the other parts, and predict on the whole graph. "
)
PAPER_COUNTS = (
    "The DGC paper's Table 7 has 233K nodes, 11.6M edges and 152K/24K/55K nodes to train, validate "
    "and test. "
)
DGL_NOTES = (
    "DGL's files have 232,965 nodes, 114,615,892 directed edges and 153,431/23,831/55,703: about "
    "ten times the paper's edges, and other splits."
)
SGC_NOTES = (
    "SGC's and FastGCN's files have 152,410/23,699/55,334, as the paper; nodes in no part have the "
    "label -1. SGC's code standardises each feature, which this reader leaves to you."
)

_PARTS = ("train", "val", "test")


def read_reddit(folder: str | Path) -> Dataset:
    """Read Reddit from a folder with the two files of DGL, or else those of FastGCN and SGC.

    Every array is validated. Features are not normalised. Duplicate entries of A count once;
    entries of weight zero are dropped.

    Parameters
    ----------
    folder : str or Path
        With ``reddit_data.npz`` and ``reddit_graph.npz``, or ``reddit.npz`` and ``reddit_adj.npz``.

    Returns
    -------
    Dataset
        Its split "public" is inductive: see its notes.

    Examples
    --------
    >>> read_reddit("nowhere")
    Traceback (most recent call last):
    ...
    heatgraph.errors.InputError: nowhere must hold reddit_data.npz and reddit_graph.npz (DGL's, from
    https://data.dgl.ai/dataset/reddit.zip), or reddit.npz and reddit_adj.npz (FastGCN's and SGC's,
    linked from https://github.com/Tiiiger/SGC). Of these, it has none.
    """
    folder = Path(folder)
    present = [name for name in DGL_FILES + SGC_FILES if (folder / name).is_file()]
    if set(DGL_FILES) <= set(present):
        return _read_dgl(*(folder / name for name in DGL_FILES))
    if set(SGC_FILES) <= set(present):
        return _read_sgc(*(folder / name for name in SGC_FILES))
    raise InputError(
        f"{folder} must hold reddit_data.npz and reddit_graph.npz (DGL's, from "
        "https://data.dgl.ai/dataset/reddit.zip), or reddit.npz and reddit_adj.npz (FastGCN's and "
        "SGC's, linked from https://github.com/Tiiiger/SGC). Of these, it has "
        f"{' and '.join(present) or 'none'}."
    )


def _read_dgl(data_path: Path, graph_path: Path) -> Dataset:
    with NpzArchive(data_path) as data, _errors_naming(data_path):
        labels = _read_integers(data.read("label"), "label")
        types = _read_integers(data.read("node_types"), "node_types")
        if len(types) != len(labels):
            raise InputError(
                f"node_types must have one entry per label, {len(labels):,}. Got {len(types):,}."
            )
        invalid = np.flatnonzero((types < 1) | (types > 3))
        if len(invalid):
            raise InputError(
                f"node_types must be 1 (train), 2 (validate) or 3 (test). Entry {invalid[0]} is "
                f"{types[invalid[0]]} ({len(invalid):,} such in all)."
            )
        split = Split(*(np.flatnonzero(types == kind) for kind in (1, 2, 3)))
        adjacency, duplicates = _read_adjacency(graph_path, len(labels))
        graph = Graph._from_canonical(adjacency, data.read("feature"))
    graph.num_duplicates = duplicates
    return _dataset(graph, labels, split, "https://data.dgl.ai/dataset/reddit.zip", DGL_NOTES)


def _read_sgc(data_path: Path, graph_path: Path) -> Dataset:
    adjacency, duplicates = _read_adjacency(graph_path, None)
    n = adjacency.shape[0]
    labels = np.full(n, -1, dtype=np.int64)
    parts = []
    with NpzArchive(data_path) as data, _errors_naming(data_path):
        for part in _PARTS:
            nodes = _read_nodes(data.read(f"{part}_index"), f"{part}_index", n)
            values = _read_integers(data.read(f"y_{part}"), f"y_{part}")
            if len(values) != len(nodes):
                raise InputError(
                    f"y_{part} must have one entry per node in {part}_index, {len(nodes):,}. Got "
                    f"{len(values):,}."
                )
            labels[nodes] = values
            parts.append(nodes)
        split = Split(*parts)
        graph = Graph._from_canonical(adjacency, data.read("feats"))
    graph.num_duplicates = duplicates
    return _dataset(graph, labels, split, "https://github.com/Tiiiger/SGC", SGC_NOTES)


def _dataset(graph: Graph, labels: Indices, split: Split, source: str, notes: str) -> Dataset:
    return Dataset(
        "reddit",
        graph,
        labels,
        {"public": split},
        licence=LICENCE,
        citation=CITATION,
        source=source,
        notes=INDUCTIVE + PAPER_COUNTS + notes,
    )


def _read_adjacency(path: Path, num_nodes: int | None) -> tuple[sp.csr_array, int]:
    """Read A, symmetrise it, and count its duplicate entries."""
    matrix = read_sparse_npz(path)
    rows, columns = matrix.shape
    # Before any array of that length is allocated.
    if rows != columns or rows == 0 or num_nodes not in (None, rows):
        expected = (
            f"{num_nodes:,} by {num_nodes:,}, as the labels"
            if num_nodes
            else "square, with at least one node"
        )
        raise FileFormatError(
            f"{path}: the adjacency must be {expected}. Got {rows:,} by {columns:,}. Get both "
            "files again, from one place."
        )
    _drop_weights(matrix, path)
    entries = matrix.nnz
    if matrix.format == "csc":
        matrix = matrix.T  # CSR without a conversion; A is symmetrised below
    matrix = matrix.tocsr()
    matrix.sum_duplicates()
    duplicates = entries - matrix.nnz
    # Duplicates were summed in int8, where 256 ones overflow to zero.
    matrix.data[:] = 1
    transposed = matrix.T.tocsr()
    if not (
        np.array_equal(matrix.indptr, transposed.indptr)
        and np.array_equal(matrix.indices, transposed.indices)
    ):
        matrix = sp.csr_array(matrix.maximum(transposed))
    return matrix, duplicates


def _drop_weights(matrix: Any, path: Path) -> None:
    """Replace weights by ones, in place, and drop entries of weight zero."""
    weights = matrix.data
    if weights.dtype == np.int8 and (weights == 1).all():
        return
    bad = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))
    if len(bad):
        raise FileFormatError(
            f"{path}: weights must be finite and not negative. Entry {bad[0]} of 'data' is "
            f"{weights[bad[0]]} ({len(bad):,} such in all). Get it again."
        )
    if not weights.all():
        matrix.eliminate_zeros()
    matrix.data = np.ones(matrix.nnz, dtype=np.int8)


def _read_integers(values: Array, name: str) -> Indices:
    """Read an array of integers >= 0, which may be stored as floats."""
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        raise InputError(
            f"{name} must be a list of integers. Got shape {values.shape} of {values.dtype}."
        )
    bad = np.flatnonzero(~((values >= 0) & (values <= INDEX_LIMIT) & (values == np.rint(values))))
    if len(bad):
        raise InputError(
            f"{name} must be integers >= 0. Entry {bad[0]} is {values[bad[0]]} ({len(bad):,} "
            "such in all)."
        )
    return values.astype(np.int64)


def _read_nodes(values: Array, name: str, num_nodes: int) -> Indices:
    nodes = _read_integers(values, name)
    check_range(nodes, num_nodes, name + "[{}]: node")
    distinct, counts = np.unique(nodes, return_counts=True)
    if len(distinct) < len(nodes):
        raise InputError(
            f"{name} must name each node once. Node {distinct[counts > 1][0]} occurs several "
            f"times ({np.count_nonzero(counts > 1):,} such nodes in all)."
        )
    return nodes


@contextmanager
def _errors_naming(path: Path) -> Iterator[None]:
    """Add the file to error messages about its arrays."""
    try:
        yield
    except InputError as error:
        raise FileFormatError(f"{path}: {error} Get it again.") from error
