"""Reader of MUSAE's files: Facebook pages and Twitch streamers.

A graph of Rozemberczki, Allen and Sarkar (2021) is a folder with three files:

    *_edges.csv       two columns below a header: the ends of an undirected edge
    *_features.json   an object from node to the list of its features' indices
    *_target.csv      a table with a column of nodes 0, ..., n - 1 and a column of classes

Facebook's classes are ``page_type`` of node ``id``; Twitch's are ``mature`` of node ``new_id``. No
other column is a feature.

Twitch's files have quirks that are accepted and noted: a node may have several rows of the same
class, features may be listed for nodes that are not in the table, and may be missing.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from heatgraph._arguments import positive_integer
from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.text_files import (
    MAX_FEATURES,
    binary_features,
    check_numbering,
    read_edges,
    read_index,
    text_lines,
)
from heatgraph.errors import FileFormatError, InputError
from heatgraph.graph import Graph

SOURCE = "https://snap.stanford.edu/data"
CITATION = (
    "B. Rozemberczki, C. Allen, R. Sarkar. Multi-Scale Attributed Node Embedding. Journal of "
    "Complex Networks 9(2), 2021."
)
LICENCE = "not stated for the data; the code of MUSAE has the MIT licence"

_SUFFIXES = ("_edges.csv", "_features.json", "_target.csv")


def read_musae(
    folder: str | Path, label: str, *, node_id: str = "id", num_features: int | None = None
) -> Dataset:
    """Read a graph in MUSAE's CSV and JSON files.

    Every value is validated. Features are a sparse matrix of ones, labels are strings as in the
    file.

    Parameters
    ----------
    folder : str or Path
        With one file each ``*_edges.csv``, ``*_features.json`` and ``*_target.csv``.
    label : str
        Column of classes: "page_type" for Facebook, "mature" for Twitch.
    node_id : str, default "id"
        Column of node numbers: "new_id" for Twitch.
    num_features : int, optional
        Number of features; by default the largest index plus one.

    Examples
    --------
    >>> read_musae("nowhere", "page_type")
    Traceback (most recent call last):
    ...
    heatgraph.errors.InputError: nowhere must hold one file each *_edges.csv, *_features.json and
    *_target.csv, from https://snap.stanford.edu/data. It has 0 files *_edges.csv.
    """
    folder = Path(folder)
    edges_path, features_path, target_path = (_find(folder, suffix) for suffix in _SUFFIXES)
    labels, repeated = _read_target(target_path, node_id, label)
    n = len(labels)
    if num_features is None:
        lists, foreign = _read_features(features_path, n, MAX_FEATURES)
        width = 1 + max((max(indices) for indices in lists.values() if indices), default=-1)
    else:
        width = positive_integer(num_features, "num_features")
        lists, foreign = _read_features(features_path, n, width)
    if width == 0:
        raise FileFormatError(f"{features_path} has no feature of any node. Get it again.")
    features = binary_features([lists.get(node, []) for node in range(n)], width)
    src, dst = read_edges(edges_path, ",", n)
    graph = Graph.from_edges(src, dst, features=features, symmetrize="max")
    counts = {
        "{:,} rows of the table repeat a node.": repeated,
        "{:,} nodes have no entry in the file of features, and no features.": n - len(lists),
        "Features of {:,} nodes that are not in the table are left out.": foreign,
    }
    notes = " ".join(note.format(count) for note, count in counts.items() if count)
    values = np.array([labels[node] for node in range(n)])
    return Dataset(folder.absolute().name, graph, values, {}, LICENCE, CITATION, SOURCE, notes)


def _find(folder: Path, suffix: str) -> Path:
    """The one file of that suffix; hidden files do not count."""
    found = [
        path for path in sorted(folder.glob(f"*{suffix}"))
        if path.is_file() and not path.name.startswith(".")
    ]  # fmt: skip
    if len(found) == 1:
        return found[0]
    edges, features, target = (f"*{suffix}" for suffix in _SUFFIXES)
    raise InputError(
        f"{folder} must hold one file each {edges}, {features} and {target}, from {SOURCE}. It has "
        f"{len(found)} files *{suffix}."
    )


def _read_target(path: Path, node_id: str, label: str) -> tuple[dict[int, str], int]:
    """Read the class of every node, and count rows that repeat a node."""
    labels: dict[int, str] = {}
    places: dict[int, str] = {}
    repeated = 0
    for where, text, value in _read_columns(path, node_id, label):
        node = read_index(text, where, node_id)
        if not value:
            raise FileFormatError(f"{where}: expected a {label}. Got nothing. Get the file again.")
        if labels.setdefault(node, value) != value:
            raise FileFormatError(
                f"{where}: {label} of node {node} is {value[:40]!r}, and {labels[node][:40]!r} in "
                f"{places[node]}. Delete one of the rows, or get the file again."
            )
        repeated += node in places
        places.setdefault(node, where)
    if not labels:
        raise FileFormatError(f"{path} has a header and no rows. Get it again.")
    check_numbering(places)
    return labels, repeated


def _read_columns(path: Path, node_id: str, label: str) -> Iterator[tuple[str, str, str]]:
    """Place, node and class of every row of a CSV table."""
    reader = csv.reader(text_lines(path), strict=True)
    header: list[str] = []
    try:
        for row in reader:
            where = f"{path}, line {reader.line_num}"
            if not row:
                continue
            if not header:
                header = [name.strip() for name in row]
                at = [_position(where, header, name) for name in (node_id, label)]
                continue
            if len(row) != len(header):
                raise FileFormatError(
                    f"{where}: expected {len(header)} columns, as in the header. Got {len(row)}. "
                    "Get the file again."
                )
            yield where, row[at[0]].strip(), row[at[1]].strip()
    except csv.Error as error:
        raise FileFormatError(
            f"{path}, line {reader.line_num}: not a table in CSV ({error}). Get it again."
        ) from error
    if not header:
        raise FileFormatError(f"{path} is empty. Get it again.")


def _position(where: str, header: list[str], name: str) -> int:
    if header.count(name) == 1:
        return header.index(name)
    raise FileFormatError(
        f"{where}: expected a header with one column {name!r}. Got {', '.join(header)[:200]!r}. Is "
        "it the right file? Numbers such as monthly visits are no classes."
    )


def _read_features(path: Path, num_nodes: int, limit: int) -> tuple[dict[int, list[int]], int]:
    """Read the indices of nodes' features, and count entries of other nodes."""
    lists: dict[int, list[int]] = {}
    entries = _read_json(path)
    for key, indices in entries.items():
        where = f"{path}, node {key[:40]!r}"
        node = read_index(key, where, "a node")
        if node in lists:
            raise FileFormatError(f"{where}: the node has two entries. Get the file again.")
        if not isinstance(indices, list):
            raise FileFormatError(
                f"{where}: expected a list of feature indices. Got {type(indices).__name__}. Get "
                "the file again."
            )
        for at, index in enumerate(indices):
            # True is an int, and no index.
            if type(index) is not int or not 0 <= index < limit:
                shown = repr(index)[:40] if isinstance(index, int | float | str) else type(index)
                raise FileFormatError(
                    f"{where}: features must be integers in 0..{limit - 1}. Entry {at} is {shown}. "
                    "Get the file again."
                )
        lists[node] = indices
    known = {node: indices for node, indices in lists.items() if node < num_nodes}
    return known, len(lists) - len(known)


def _read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object whose keys are distinct."""

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        entries = dict(pairs)
        if len(entries) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            twice = next(key for key, count in counts.items() if count > 1)
            raise FileFormatError(f"{path}: two entries of {twice[:40]!r}. Get it again.")
        return entries

    try:
        value = json.loads("".join(text_lines(path)), object_pairs_hook=distinct)
    except FileFormatError:
        raise
    # Integers of thousands of digits are a ValueError of their own.
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}: not JSON, or damaged: {error}. Get it again.") from error
    if not isinstance(value, dict):
        raise FileFormatError(
            f"{path}: expected an object from node to features. Got {type(value).__name__}. Is it "
            "the right file?"
        )
    return value
