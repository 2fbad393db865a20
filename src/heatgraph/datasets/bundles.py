"""Data sets that come with the package, in a compact lossless format.

A bundle is a tensor file (`heatgraph._io.tensor_file`) compressed with xz. Features are stored by
column, where values of a word resemble each other; edges are stored once each, by row of the upper
triangle. Both are delta-encoded: an index is stored as its difference from the previous one, modulo
2^16. ``scripts/bundle_datasets.py`` writes the bundles.
"""

from __future__ import annotations

import lzma
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._io.atomic_files import atomic_write
from heatgraph._io.tensor_file import tensors_from_bytes, tensors_to_bytes
from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.splits import Split
from heatgraph.errors import FileFormatError
from heatgraph.graph import Graph

KIND = "Dataset"
SUFFIX = ".heatgraph.xz"
# Nodes are indexed by uint16.
MAX_NODES = 1 << 16

Array = npt.NDArray[Any]


def load_bundle(name: str) -> Dataset:
    """Load a data set that comes with the package."""
    file = resources.files("heatgraph.datasets") / "files" / (name + SUFFIX)
    with resources.as_file(file) as path:
        return read_bundle(path)


def read_bundle(path: Path) -> Dataset:
    """Read a bundle that `write_bundle` wrote."""
    try:
        raw = lzma.decompress(path.read_bytes())
    except (lzma.LZMAError, EOFError) as error:
        raise FileFormatError(
            f"{path} is incomplete or damaged. If it came with heatgraph, install it again: pip "
            "install --force-reinstall heatgraph"
        ) from error
    content, tensors = tensors_from_bytes(raw, KIND, path, noun="data set")
    features = None
    if "feature_counts" in tensors:
        shape = (content["nodes"], len(tensors["feature_counts"]))
        features = sp.csr_array(_delta_decode(tensors, "feature", shape[::-1]).T)
    upper = sp.csr_array(_delta_decode(tensors, "edge", (content["nodes"],) * 2))
    labels = np.array(content["classes"])[tensors["labels"]]
    labels[tensors["labels"] < 0] = -1
    split = Split(*(tensors[part].astype(np.int64) for part in ("train", "val", "test")))
    graph = Graph(upper, features, symmetrize="max")
    name = path.name.removesuffix(SUFFIX)
    return Dataset(name, graph, labels, {"public": split}, source=content["provenance"])


def write_bundle(path: str | Path, data: Dataset, provenance: str) -> None:
    """Write a data set as a bundle."""
    graph, split, labels = data.graph, data.split, np.asarray(data.labels)
    if graph.num_nodes > MAX_NODES or graph.weights is not None:
        raise ValueError(f"a bundle holds up to {MAX_NODES:,} nodes, and edges without weights")
    labelled = labels.astype(str) != "-1"
    classes, codes = np.unique(labels[labelled]), np.full(graph.num_nodes, -1)
    codes[labelled] = np.searchsorted(classes, labels[labelled])
    parts = {part: getattr(split, part).astype(np.uint16) for part in ("train", "val", "test")}
    tensors = parts | {"labels": codes.astype(np.int8)}
    tensors |= _delta_encode("edge", sp.triu(graph.adjacency, format="csr"))
    if graph.features is not None:
        tensors |= _delta_encode("feature", sp.csr_array(graph.features.T))
    content = {
        "nodes": graph.num_nodes,
        "classes": classes.tolist(),
        "provenance": provenance,
    }
    with atomic_write(path) as file:
        file.write(
            lzma.compress(tensors_to_bytes(KIND, content, tensors), preset=9 | lzma.PRESET_EXTREME)
        )


def _delta_encode(name: str, matrix: sp.csr_array) -> dict[str, Array]:
    """Encode a matrix: entries per row, differences of column indices, values if not all 1."""
    matrix.sort_indices()
    columns = matrix.indices.astype(np.uint16)
    tensors = {
        f"{name}_counts": np.diff(matrix.indptr).astype(np.uint16),
        f"{name}_steps": np.diff(columns, prepend=np.uint16(0)),
    }
    if not (matrix.data == 1).all():
        tensors[f"{name}_values"] = matrix.data
    return tensors


def _delta_decode(tensors: dict[str, Array], name: str, shape: tuple[int, int]) -> sp.csr_array:
    """Decode a matrix that `_delta_encode` encoded."""
    columns = np.cumsum(tensors[f"{name}_steps"], dtype=np.uint16).astype(np.int32)
    values = tensors.get(f"{name}_values", np.ones(len(columns), dtype=np.float32))
    indptr = np.concatenate([[0], np.cumsum(tensors[f"{name}_counts"], dtype=np.int64)])
    return sp.csr_array((values, columns, indptr), shape=shape)
