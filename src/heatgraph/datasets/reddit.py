"""Reader of Reddit's posts, in the two forms that are public.

The graph of Hamilton, Ying and Leskovec (2017): a node per post of September 2014, an edge where
one person commented on both posts, a class per community. With n posts and d features:

    DGL            reddit_data.npz    feature (n, d), label (n,), node_types (n,): 1 to learn from,
                                      2 to validate, 3 to test
                   reddit_graph.npz   A (n, n), as scipy.sparse.save_npz writes it
    FastGCN, SGC   reddit.npz         feats (n, d), and for train, val and test: PART_index (m,),
                                      y_PART (m,)
                   reddit_adj.npz     A (n, n), which may have one direction of each edge alone

Either way an edge counts in both directions and without a weight. Arrays are read one after the
other, each used up before the next, so that memory stays near the size of the arrays themselves.
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
from heatgraph.datasets.archives import Archive, read_sparse_npz
from heatgraph.datasets.dataset import Dataset
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
    """Read Reddit from a folder with DGL's two files, or else FastGCN's and SGC's two.

    Every array is checked. Features are as in the file. Entries of A that are given several times
    count once, entries of weight zero not at all.

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
    there = [name for name in DGL_FILES + SGC_FILES if (folder / name).is_file()]
    if set(DGL_FILES) <= set(there):
        return _read_dgl(*(folder / name for name in DGL_FILES))
    if set(SGC_FILES) <= set(there):
        return _read_sgc(*(folder / name for name in SGC_FILES))
    raise InputError(
        f"{folder} must hold reddit_data.npz and reddit_graph.npz (DGL's, from "
        "https://data.dgl.ai/dataset/reddit.zip), or reddit.npz and reddit_adj.npz (FastGCN's and "
        "SGC's, linked from https://github.com/Tiiiger/SGC). Of these, it has "
        f"{' and '.join(there) or 'none'}."
    )


def _read_dgl(data_path: Path, graph_path: Path) -> Dataset:
    with Archive(data_path) as data, _file_named(data_path):
        labels = _whole_numbers(data.read("label"), "label")
        types = _whole_numbers(data.read("node_types"), "node_types")
        if len(types) != len(labels):
            raise InputError(
                f"node_types must have one entry per label, {len(labels):,}. Got {len(types):,}."
            )
        strange = np.flatnonzero((types < 1) | (types > 3))
        if len(strange):
            raise InputError(
                f"node_types must be 1 (train), 2 (validate) or 3 (test). Entry {strange[0]} is "
                f"{types[strange[0]]} ({len(strange):,} such in all)."
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
    with Archive(data_path) as data, _file_named(data_path):
        for part in _PARTS:
            nodes = _distinct_nodes(data.read(f"{part}_index"), f"{part}_index", n)
            values = _whole_numbers(data.read(f"y_{part}"), f"y_{part}")
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
    """Read A, make it symmetric and canonical, and tell how often entries were repeated."""
    matrix = read_sparse_npz(path)
    rows, columns = matrix.shape
    # Compared before anything of that length is made.
    if rows != columns or rows == 0 or num_nodes not in (None, rows):
        wanted = (
            f"{num_nodes:,} by {num_nodes:,}, as the labels" if num_nodes else "square, with a node"
        )
        raise FileFormatError(
            f"{path}: the adjacency must be {wanted}. Got {rows:,} by {columns:,}. Get both files "
            "again, from one place."
        )
    _drop_weights(matrix, path)
    entries = matrix.nnz
    if matrix.format == "csc":
        matrix = matrix.T  # the rows of the transposed one, which is as good
    matrix = matrix.tocsr()
    matrix.sum_duplicates()
    duplicates = entries - matrix.nnz
    # One byte each: 256 times the same entry adds up to zero.
    matrix.data[:] = 1
    transposed = matrix.T.tocsr()
    if not (
        np.array_equal(matrix.indptr, transposed.indptr)
        and np.array_equal(matrix.indices, transposed.indices)
    ):
        matrix = sp.csr_array(matrix.maximum(transposed))
    return matrix, duplicates


def _drop_weights(matrix: Any, path: Path) -> None:
    """Put ones in the place of weights, in place; an entry of weight zero goes."""
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


def _whole_numbers(values: Array, name: str) -> Indices:
    """Read a list of whole numbers >= 0, which may be stored as floats."""
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        raise InputError(
            f"{name} must be a list of whole numbers. Got shape {values.shape} of {values.dtype}."
        )
    bad = np.flatnonzero(~((values >= 0) & (values <= INDEX_LIMIT) & (values == np.rint(values))))
    if len(bad):
        raise InputError(
            f"{name} must be whole numbers >= 0. Entry {bad[0]} is {values[bad[0]]} ({len(bad):,} "
            "such in all)."
        )
    return values.astype(np.int64)


def _distinct_nodes(values: Array, name: str, num_nodes: int) -> Indices:
    nodes = _whole_numbers(values, name)
    check_range(nodes, num_nodes, name + "[{}]: node")
    distinct, times = np.unique(nodes, return_counts=True)
    if len(distinct) < len(nodes):
        raise InputError(
            f"{name} must name each node once. Node {distinct[times > 1][0]} is there several "
            f"times ({np.count_nonzero(times > 1):,} such nodes in all)."
        )
    return nodes


@contextmanager
def _file_named(path: Path) -> Iterator[None]:
    """Say which file it is that cannot be used."""
    try:
        yield
    except InputError as error:
        raise FileFormatError(f"{path}: {error} Get it again.") from error
