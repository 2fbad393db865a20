"""Read a graph with labels and a split from a node table and an edge table.

The node table has one row per node: an id, a label (blank where unknown), features, and perhaps a
split. The edge table has one row per edge: the ids of two nodes, and perhaps a weight. Sparse
features may come in a table of their own, with one row per nonzero value: node, feature, value.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp

from heatgraph.datasets.dataset import Dataset, labelled_nodes
from heatgraph.datasets.splits import Split
from heatgraph.errors import InputError, TableWarning, warn
from heatgraph.tables.columns import ColumnChoice, find_node_columns
from heatgraph.tables.edge_table.directions import Directions
from heatgraph.tables.edge_table.edges import read_edges
from heatgraph.tables.formats.node_files import open_node_table
from heatgraph.tables.ids import check_unique, describe_id_table, read_ids
from heatgraph.tables.input_table import InputTable
from heatgraph.tables.memory_estimate import node_table_bytes, require_budget
from heatgraph.tables.node_table.column_uses import ColumnUse
from heatgraph.tables.node_table.features import read_features
from heatgraph.tables.node_table.labels import read_split
from heatgraph.tables.node_table.targets import TargetColumn, read_targets
from heatgraph.tables.options import (
    Decimal,
    Directed,
    Duplicates,
    Missing,
    TableOptions,
    Task,
    UnknownEdges,
    model_options,
)
from heatgraph.tables.unused_columns import unused_index


@dataclass(frozen=True)
class ReadResult:
    """A data set read from tables, and how it was read.

    `columns` are the columns in use by purpose, `features_origin` says where the features were
    read from, and `notes` list what was left out or merged; `losses` are those among them of which
    a caller in Python is warned. `uses` tell what became of each column of the node table. Data
    that are no tables have no columns and no number of rows.
    """

    dataset: Dataset
    columns: dict[str, ColumnChoice]
    features_origin: str
    num_edge_rows: int | None
    directions: Directions | None = None
    notes: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    uses: list[ColumnUse] = field(default_factory=list)

    @property
    def id_column(self) -> str:
        """Name of the id column of the node table."""
        return str(self.columns["id"].name) if "id" in self.columns else "id"


def from_tables(
    nodes: Any,
    edges: Any,
    *,
    id: str | None = None,
    label: str | None = None,
    split: str | None = None,
    features: Any = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    directed: Directed = "max",
    duplicates: Duplicates = "error",
    unlabelled: Any = "",
    unknown_edges: UnknownEdges = "error",
    memory_budget: Any = None,
    task: Task = "classification",
    missing: Missing = "indicator",
    decimal: Decimal | None = None,
    model: Any = None,
) -> Dataset:
    """Read a graph with labels from a node table and an edge table.

    A table is the path of a file (CSV, Parquet, JSON lines and others: docs/files.md), a data
    frame of pandas, polars or anything else that exports Arrow, or a dictionary of columns. Columns
    that are not named are detected by common names, else by position: the id is the first column of
    `nodes`, source and target are the first two of `edges`. `edges` may also be a sparse adjacency
    matrix, or the file of one, whose row i is row i of `nodes`. A `TableWarning` tells what of the
    tables was not used.

    Parameters
    ----------
    nodes, edges : table
    id : str, optional
        Column of `nodes` with the node ids: strings or integers, kept exactly.
    label : str, optional
        Column with the labels, blank where unknown. "" reads none.
    split : str, optional
        Column with "train", "val", "test", or blank. "" reads none.
    features : str, list of str, table or matrix, optional
        Columns with features, by name or pattern (``"word_*"``); a table of node, feature, value
        for sparse features; a list of names and such a table; or a matrix of NumPy or SciPy, or the
        file of one, whose row i is row i of `nodes`. By default every column that is not in use,
        except for ids, constants and the like. "" reads none. Numbers, categories, text, dates and
        lists become features as docs/features.md describes; what this learns, it learns from the
        training nodes (those of the split, else all that are labelled).
    source, target, weight : str, optional
        Columns of `edges`.
    directed : {"max", "sum", "keep", "refuse"}
        Features diffuse along undirected edges. Where the two directions differ in weight, take the
        larger weight, take the sum, take the larger one and also keep the directed edges for
        `DGCClassifier` to learn from, or raise an error.
    duplicates : {"error", "sum", "max"}
        How to merge rows of the same edge that differ in weight.
    unlabelled : str or list of str
        Labels that mean "no label", such as ``["unknown", "?"]``.
    unknown_edges : {"error", "drop", "add"}
        Edges whose ends are not in `nodes`: raise an error, drop them, or add nodes without label
        and with features 0.
    memory_budget : int or str, optional
        Bytes, or a string such as "4GB"; by default all memory. Parsing a file
        may take half of it.
    task : {"classification", "multilabel", "regression", "auto"}
        What the column of labels holds: one label per node, a list of labels, or a number. "auto"
        decides by the values; `Dataset.task` says how.
    missing : {"indicator", "mean", "error"}
        What becomes of missing numbers and dates: the mean of the training nodes and a further
        feature that marks them, the mean alone, or an error.
    decimal : {".", ","}, optional
        The mark between a number and its fraction. If given, numbers may also have the other mark,
        a blank, an apostrophe or an underscore between groups of digits.
    model : DGCClassifier, DGCRegressor or DGCMultilabelClassifier, optional
        A fitted model: the tables are read to be labelled by it, with the features that it needs
        and, if they have labels, for its task.

    Returns
    -------
    Dataset
        Its graph has the node ids, the feature names, and the `FeatureEncoder` that made them.

    Warns
    -----
    TableWarning
        If columns are left out, values filled in, or values unknown to the encoder.

    Examples
    --------
    >>> nodes = {"id": ["a", "b", "c"], "label": ["x", None, "y"], "size": [1.0, 2.0, 3.0]}
    >>> data = from_tables(nodes, {"source": ["a", "b"], "target": ["b", "c"]})
    >>> data.graph
    Graph(3 nodes, 2 edges, 1 features, 0 isolated)
    >>> data.labels
    array(['x', None, 'y'], dtype=object)
    """
    options = TableOptions(
        id=id,
        label=label,
        split=split,
        features=features,
        source=source,
        target=target,
        weight=weight,
        directed=directed,
        duplicates=duplicates,
        unlabelled=unlabelled,
        unknown_edges=unknown_edges,
        memory_budget=memory_budget,
        task=task,
        missing=missing,
        decimal=decimal,
    )
    if model is not None:
        from heatgraph.learning.model_files import task_of

        options = replace(options, task=task_of(model), **model_options(model, directed))
    result = read_tables(nodes, edges, options)
    for loss in result.losses:
        warn(f"{loss}.", TableWarning)
    return result.dataset


def read_tables(nodes: Any, edges: Any, options: TableOptions) -> ReadResult:
    """Read a node table and an edge table, and report how they were read."""
    table, notes = open_node_table(nodes, options)
    if table.num_rows == 0:
        raise InputError(f"{table.name} has no rows. Expected one per node.")
    columns = find_node_columns(table, options)
    needed = node_table_bytes(table, _columns_in_use(table, columns, options))
    require_budget(table, needed, options.memory_bytes)
    ids = read_ids(table, str(columns["id"].name))
    check_unique(table, ids, columns["id"])
    with ThreadPoolExecutor(1) as pool:
        # Edges on one core, features and labels on another.
        future = pool.submit(
            read_edges,
            edges,
            ids,
            describe_id_table(table, columns["id"]),
            options.with_less_memory(needed),
        )
        label, split = columns["label"].name, columns["split"].name
        target, known = TargetColumn(), None
        if label is not None:
            target = read_targets(
                table, label, options.task, options.unlabelled_texts, options.decimal
            )
            known = labelled_nodes(target.values, target.task)
        splits = {} if split is None else {split: read_split(table, split, known)}
        train = _training_nodes(table.num_rows, known, splits)
        features = read_features(table, columns, ids, options, train)
    edge_part = future.result()
    graph = edge_part.graph
    if features.values is not None:
        X = _append_zero_rows(features.values, graph.num_nodes)
        graph = graph._with_features(X, features.names, features.encoder)
    labels = None if known is None else _append_unlabelled(target, graph.num_nodes)
    uses = [
        ColumnUse(choice.name, purpose, purpose)
        for purpose, choice in columns.items()
        if choice.name is not None
    ]
    losses = features.notes + unused_index(table, columns) + edge_part.losses
    columns |= edge_part.columns
    pa.default_memory_pool().release_unused()
    return ReadResult(
        Dataset(table.name, graph, labels, splits, task=target.task),
        {purpose: choice for purpose, choice in columns.items() if choice.name is not None},
        features.origin,
        edge_part.num_rows,
        edge_part.directions,
        notes + features.remarks + target.notes + edge_part.notes + losses,
        losses,
        uses + features.uses,
    )


def _columns_in_use(
    table: InputTable, columns: dict[str, ColumnChoice], options: TableOptions
) -> set[str | None]:
    """Columns that are converted: those of a purpose, and those that may be features."""
    used = {choice.name for choice in columns.values()}
    given = options.features
    if given is None:
        return used | (options.model_columns or set(table.column_names))
    patterns = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    named = [pattern for pattern in patterns if isinstance(pattern, str)]
    return used | {
        name for name in table.column_names if any(fnmatchcase(name, one) for one in named)
    }


def _append_unlabelled(target: TargetColumn, num_rows: int) -> Any:
    """Labels (n,) with missing ones for the nodes that the edges added."""
    added = num_rows - len(target.values)
    if added == 0:
        return target.values
    if target.task == "regression":
        return np.concatenate([target.values, np.full(added, np.nan)])
    return np.concatenate([target.values.astype(object), np.full(added, None)])


def _append_zero_rows(X: Any, num_rows: int) -> Any:
    """Features (n, d) with zeros for the nodes that the edges added."""
    added = num_rows - X.shape[0]
    if added == 0:
        return X
    if sp.issparse(X):
        return sp.vstack([X, sp.csr_array((added, X.shape[1]), dtype=X.dtype)], format="csr")
    return np.vstack([X, np.zeros((added, X.shape[1]), dtype=X.dtype)])


def _training_nodes(
    num_nodes: int, known: npt.NDArray[np.bool_] | None, splits: dict[str, Split]
) -> npt.NDArray[np.int64]:
    """Nodes that encodings are learned from: those to train on, or all without labels.

    `known` (n,) tells which nodes have a label.
    """
    nodes = np.arange(num_nodes) if known is None else np.flatnonzero(known)
    for split in splits.values():
        held_out = np.union1d(split.val, split.test)
        nodes = split.train if len(split.train) else np.setdiff1d(nodes, held_out)
    return nodes if len(nodes) else np.arange(num_nodes)
