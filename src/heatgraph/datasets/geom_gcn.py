"""Reader of Geom-GCN's text files: WebKB pages, Wikipedia articles and actors.

A data set of Pei, Wei, Chang, Lei and Yang (2020) is a folder with two files of columns separated
by tabs, below a header:

    out1_node_feature_label.txt   node_id, feature, label; one line per node 0, ..., n - 1
    out1_graph_edges.txt          source and target of a directed link

``feature`` has d values 0 or 1, separated by commas. Actor ("film") has the indices of the nonzero
features instead, and ``feature(feature_amount:931)`` in its header, where 931 is the largest index.
Beside them may be splits, ``NAME_split_0.6_0.2_0.npz`` and so on: train_mask, val_mask and
test_mask (n,), of about 48, 32 and 20 percent of the nodes in spite of the name.

A link in either direction is an edge to diffuse along; the graph keeps the directed links too.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.npz import read_npz
from heatgraph.datasets.splits import Split
from heatgraph.datasets.text_files import (
    MAX_FEATURES,
    binary_features,
    check_numbering,
    read_edges,
    read_index,
    split_lines,
)
from heatgraph.errors import FileFormatError, InputError
from heatgraph.graph import Graph

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

NODES_FILE = "out1_node_feature_label.txt"
EDGES_FILE = "out1_graph_edges.txt"
SOURCE = "https://github.com/graphdml-uiuc-jlu/geom-gcn"

CITATION = (
    "H. Pei, B. Wei, K. C.-C. Chang, Y. Lei, B. Yang. Geom-GCN: Geometric Graph Convolutional "
    "Networks. International Conference on Learning Representations, 2020."
)
LICENCE = "not stated by its authors"
DUPLICATE_NODES = (
    "Many nodes are duplicates, with the same neighbours and label, so that test nodes have copies "
    "among the training nodes and accuracies are inflated (Platonov et al., A critical look at the "
    "evaluation of GNNs under heterophily, ICLR 2023)."
)
SPLITS = (
    "The splits are Geom-GCN's: about 48, 32 and 20 percent of the nodes, although their files are "
    "named 0.6_0.2."
)

# Names of the folder and of the splits of Actor, whose features are lists of indices.
ACTOR_NAMES = ("film", "actor")
WITH_DUPLICATES = ("chameleon", "squirrel")

_MASKS = ("train_mask", "val_mask", "test_mask")
_AMOUNT = re.compile(r"feature_amount:(\d{1,9})\b")


@dataclass(frozen=True)
class _Node:
    """A line of the file of nodes."""

    where: str
    features: Indices
    label: str


def read_geom_gcn(folder: str | Path, name: str | None = None) -> Dataset:
    """Read a data set in Geom-GCN's text files.

    Every value is validated. Features are a sparse matrix of ones. Labels are integers if all of
    them are, else strings.

    Parameters
    ----------
    folder : str or Path
        With ``out1_node_feature_label.txt`` and ``out1_graph_edges.txt``. Splits are found in it,
        in its folder ``splits``, and in a folder ``splits`` beside it or beside its parent.
    name : str, optional
        Name of the data set and of its splits; by default the folder's. "film" and "actor" are the
        same, and their features are indices.

    Returns
    -------
    Dataset
        Its splits are "geom-gcn 0", "geom-gcn 1" and so on; none without their files.

    Examples
    --------
    >>> read_geom_gcn("nowhere")
    Traceback (most recent call last):
    ...
    heatgraph.errors.InputError: nowhere must hold out1_node_feature_label.txt and
    out1_graph_edges.txt, from new_data/ in https://github.com/graphdml-uiuc-jlu/geom-gcn. Of these,
    it has none.
    """
    folder = Path(folder)
    name = Path(os.path.abspath(folder)).name if name is None else name
    present = [file for file in (NODES_FILE, EDGES_FILE) if (folder / file).is_file()]
    if len(present) < 2:
        raise InputError(
            f"{folder} must hold {NODES_FILE} and {EDGES_FILE}, from new_data/ in {SOURCE}. Of "
            f"these, it has {' and '.join(present) or 'none'}."
        )
    nodes, num_features = _read_nodes(folder / NODES_FILE, name in ACTOR_NAMES)
    n = len(nodes)
    src, dst = read_edges(folder / EDGES_FILE, "\t", n)
    features = binary_features([nodes[node].features for node in range(n)], num_features)
    graph = Graph.from_edges(src, dst, features=features, directed=True)
    splits = _read_splits(folder, name, n)
    notes = [
        f"Links are directed; {_count_one_way(src, dst, n):,} of the {graph.num_edges:,} edges are "
        "links in one direction only. Features diffuse along both directions, and DGCClassifier "
        "may read the directions as channels."
    ]
    notes += [SPLITS] if splits else []
    notes += [DUPLICATE_NODES] if name in WITH_DUPLICATES else []
    labels = _read_labels([nodes[node].label for node in range(n)])
    return Dataset(name, graph, labels, splits, LICENCE, CITATION, SOURCE, " ".join(notes))


def _read_nodes(path: Path, indices: bool) -> tuple[dict[int, _Node], int]:
    """Read the nodes by their number, and the number of features."""
    lines = split_lines(path, "\t", 3)
    where, header = next(lines)
    amount = _AMOUNT.search(header[1])
    limit = MAX_FEATURES
    if amount is not None:
        limit = 1 + read_index(amount[1], where, "feature_amount", MAX_FEATURES)
    nodes: dict[int, _Node] = {}
    width = limit if amount is not None else 0
    for where, (number, values, label) in lines:
        node = read_index(number, where, "node_id")
        if node in nodes:
            raise FileFormatError(
                f"{where}: node {node} must have one line. It has another: {nodes[node].where}. "
                "Get the file again."
            )
        if not label:
            raise FileFormatError(f"{where}: expected a label. Got nothing. Get the file again.")
        if indices or amount is not None:
            nonzero = _read_indices(values, where, limit)
            width = max(width, int(nonzero.max()) + 1)
        else:
            nonzero, length = _read_values(values, where)
            width = width or length
            if length != width:
                raise FileFormatError(
                    f"{where}: expected {width:,} features, as in the first line. Got {length:,}. "
                    "Get the file again."
                )
        nodes[node] = _Node(where, nonzero, label)
    if not nodes:
        raise FileFormatError(f"{path} has a header and no nodes. Get it again.")
    check_numbering({node: line.where for node, line in nodes.items()})
    return nodes, width


def _read_indices(text: str, where: str, limit: int) -> Indices:
    indices = [read_index(entry, where, "a feature index", limit) for entry in text.split(",")]
    return np.array(indices, dtype=np.int64)


def _read_values(text: str, where: str) -> tuple[Indices, int]:
    """Indices of the ones among values 0 and 1, and the number of values."""
    codes = np.frombuffer(text.encode("utf-8"), dtype=np.uint8)
    values, commas = codes[::2], codes[1::2]
    ones = values == ord("1")
    is_binary = len(commas) < len(values) and (ones | (values == ord("0"))).all()
    if is_binary and (commas == ord(",")).all():
        return np.flatnonzero(ones), len(values)
    entries = text.split(",")
    bad = next(at for at, entry in enumerate(entries) if entry not in ("0", "1"))
    raise FileFormatError(
        f"{where}: features must be 0 or 1, separated by commas. Entry {bad} is "
        f"{entries[bad][:40]!r}. Get the file again; lists of indices are read if the header says "
        "feature_amount, or from a folder actor or film."
    )


def _read_labels(labels: list[str]) -> Array:
    """Labels as integers if all of them are, else as strings."""
    if all(label.isascii() and label.isdigit() and len(label) < 19 for label in labels):
        return np.array([int(label) for label in labels], dtype=np.int64)
    return np.array(labels)


def _count_one_way(src: Indices, dst: Indices, num_nodes: int) -> int:
    """Number of distinct links v -> w, v != w, without the link w -> v."""
    apart = src != dst
    forward = np.unique(src[apart] * num_nodes + dst[apart])
    backward = forward % num_nodes * num_nodes + forward // num_nodes
    return int(np.count_nonzero(~np.isin(forward, backward)))


def _read_splits(folder: Path, name: str, num_nodes: int) -> dict[str, Split]:
    """Read the splits in the first place that has any, in the order of their numbers."""
    here = Path(os.path.abspath(folder))
    names = {name, here.name} | (set(ACTOR_NAMES) if name in ACTOR_NAMES else set())
    pattern = re.compile(
        rf"(?:{'|'.join(map(re.escape, sorted(names)))})_split_[\d.]+_[\d.]+_(\d{{1,9}})\.npz"
    )
    for place in (here, here / "splits", here.parent / "splits", here.parent.parent / "splits"):
        matches = [pattern.fullmatch(path.name) for path in place.glob("*_split_*.npz")]
        found = {int(match[1]): place / match[0] for match in matches if match}
        if found:
            return {
                f"geom-gcn {number}": _read_split(found[number], num_nodes)
                for number in sorted(found)
            }
    return {}


def _read_split(path: Path, num_nodes: int) -> Split:
    parts = []
    for name, mask in read_npz(path, _MASKS).items():
        if mask.shape != (num_nodes,) or mask.dtype.kind not in "biuf":
            raise FileFormatError(
                f"{path}: {name} must have one entry per node, {num_nodes:,}. Got shape "
                f"{mask.shape} of {mask.dtype}. Get the split of this data set."
            )
        bad = np.flatnonzero((mask != 0) & (mask != 1))
        if len(bad):
            raise FileFormatError(
                f"{path}: {name} must be 0 or 1. Entry {bad[0]} is {mask[bad[0]]} ({len(bad):,} "
                "such in all). Get it again."
            )
        parts.append(np.flatnonzero(mask))
    try:
        return Split(*parts)
    except InputError as error:
        raise FileFormatError(f"{path}: {error} Get it again.") from error
