"""A graph with labels and a split, from a table of nodes and a table of edges.

Nodes have one row each: an id, a label (blank where there is none), features, and perhaps a split.
Edges have one row each: the ids of two nodes, and perhaps a weight. Features may also come in a
table of their own, with a row for each value that is not zero: node, feature, value.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heatgraph._io.memory import memory_budget_bytes
from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.splits import Split, column_split
from heatgraph.errors import InputError
from heatgraph.graph import Graph
from heatgraph.graph._validation import Merge
from heatgraph.learning._labels import Labels
from heatgraph.tables import columns
from heatgraph.tables.edges import check_both_ways, check_conflicts, positions
from heatgraph.tables.features import read_features
from heatgraph.tables.reading import read_source
from heatgraph.tables.roles import USUAL, Role, choose, listed
from heatgraph.tables.source import Source, is_path, source_of

Array = npt.NDArray[Any]

# What pandas calls the index of a data frame as a column.
INDEX = "__index_level_0__"


@dataclass(frozen=True)
class Options:
    """How to read a pair of tables: names of columns ("" for none, None for a guess), and more.

    `features` names columns, by name or pattern, or the table that has them. `known_features` are
    the names of a model's features, which are then the ones to find.
    """

    id: str | None = None
    label: str | None = None
    split: str | None = None
    features: Any = None
    source: str | None = None
    target: str | None = None
    weight: str | None = None
    directed: Literal["max", "sum", "refuse"] = "max"
    duplicates: Literal["error"] | Merge = "error"
    memory: Any = None
    known_features: list[str] | None = None


@dataclass(frozen=True)
class Reading:
    """What was read, and how.

    `roles` are the columns in use by what they serve as, `features` says where features are from,
    `num_rows` counts the rows of edges, and `remarks` are the rest of what a user should know.
    """

    data: Dataset
    roles: dict[str, Role]
    features: str
    num_rows: int
    remarks: list[str] = field(default_factory=list)

    @property
    def id_column(self) -> str:
        """What the table of nodes calls its ids."""
        return str(self.roles["id"].column)


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
    directed: Literal["max", "sum", "refuse"] = "max",
    duplicates: Literal["error"] | Merge = "error",
    memory_budget: Any = None,
) -> Dataset:
    """Read a graph with labels from a table of nodes and a table of edges.

    A table is the path of a CSV or Parquet file, a data frame of pandas, polars or anything else
    that exports Arrow, or a dictionary of columns. Columns that are not named are found by their
    usual names, else by their place: the id comes first, and so do source and target.

    Parameters
    ----------
    nodes, edges : table
    id : str, optional
        Column of `nodes` with the names of the nodes: texts or whole numbers, kept exactly.
    label : str, optional
        Column with the labels, blank where there is none. "" leaves labels aside.
    split : str, optional
        Column that says "train", "val", "test", or nothing. "" leaves it aside.
    features : str, list of str or table, optional
        Columns with features, by name or pattern (``"word_*"``); one column of lists; or a table of
        node, feature, value for features that are mostly zero. By default every column of numbers
        that serves for nothing else. "" leaves features aside.
    source, target, weight : str, optional
        Columns of `edges`.
    directed : {"max", "sum", "refuse"}
        Edges are read as undirected. Where the two directions differ, an edge gets the larger
        weight, the sum, or an error.
    duplicates : {"error", "sum", "max"}
        What to make of an edge that is listed several times with different weights.
    memory_budget : int or str, optional
        Bytes, or a text such as "4GB". Reading takes half of it at most.

    Returns
    -------
    Dataset
        With node ids and names of features in its graph.

    Examples
    --------
    >>> nodes = {"id": ["a", "b", "c"], "label": ["x", None, "y"], "size": [1.0, 2.0, 3.0]}
    >>> data = from_tables(nodes, {"source": ["a", "b"], "target": ["b", "c"]})
    >>> data.graph
    Graph(3 nodes, 2 edges, 1 features, 0 isolated)
    >>> data.labels
    array(['x', None, 'y'], dtype=object)
    """
    for name, value in (("id", id), ("label", label), ("split", split), ("source", source),
                        ("target", target), ("weight", weight)):  # fmt: skip
        if not isinstance(value, str | None):
            raise InputError(f"{name} must be the name of a column. Got {value!r}.")
    options = Options(
        id, label, split, features, source, target, weight, directed, duplicates, memory_budget
    )
    return read_tables(nodes, edges, options).data


def read_tables(nodes: Any, edges: Any, options: Options) -> Reading:
    """Read a pair of tables, and tell how they were read."""
    if options.directed not in ("max", "sum", "refuse"):
        raise InputError(f"directed must be 'max', 'sum' or 'refuse'. Got {options.directed!r}.")
    memory = memory_budget_bytes(options.memory)
    table = _open(nodes, "nodes", ("id", "label", "split"), options, memory)
    if table.table.num_rows == 0:
        raise InputError(f"{table.name} has no rows. Expected one per node.")
    remarks: list[str] = []
    roles = _node_roles(table, options)
    ids = columns.read_ids(table, roles["id"].column or "")
    _check_distinct(table, ids, roles["id"])
    with ThreadPoolExecutor(1) as pool:
        # Edges on one core, the rest of the nodes on another.
        linked = pool.submit(_read_edges, edges, _called(table, roles["id"]), ids, options, memory)
        taken = {role.column for role in roles.values() if role.column is not None}
        aside = _left_aside(table, taken)
        features, names, described = read_features(
            table, ids, taken, aside, options.features, options.known_features, memory, remarks
        )
        labels = None
        if roles["label"].column is not None:
            labels = columns.read_labels(table, roles["label"].column)
        splits = {}
        if roles["split"].column is not None:
            splits[roles["split"].column] = _split(table, roles["split"].column, labels)
    links, edge_roles, graph, weightless = linked.result()
    graph = graph if features is None else graph.with_features(features, names)
    roles |= edge_roles
    used = {key: role for key, role in roles.items() if role.column is not None}
    data = Dataset(table.name, graph, labels, splits)
    return Reading(data, used, described, links.table.num_rows, remarks + weightless)


def _open(thing: Any, name: str, texts: Sequence[str], options: Options, memory: float) -> Source:
    if not is_path(thing):
        return source_of(thing, name)

    def exact(names: list[str]) -> list[str]:
        found = [
            choose(role, getattr(options, role, None), names, str(thing), _place(role)).column
            for role in texts
        ]
        return [column for column in dict.fromkeys(found) if column is not None]

    return read_source(thing, exact, memory)


def _place(role: str) -> int | None:
    """Where a column stands if nothing tells it by name."""
    return {"id": 0, "source": 0, "target": 1}.get(role)


def _node_roles(table: Source, options: Options) -> dict[str, Role]:
    names = table.table.column_names
    roles = {
        role: choose(role, getattr(options, role), names, table.name, _place(role))
        for role in ("id", "label", "split")
    }
    if options.id is None and str(roles["id"].column).lower() not in USUAL["id"]:
        roles["id"] = _id_by_place(table)
    if roles["id"].column is None:
        raise InputError(f"{table.name} needs a column of ids. It has {listed(names)}.")
    for role in ("label", "split"):
        if roles[role].column == roles["id"].column:
            roles[role] = _apart(role, roles[role], table)
    return roles


def _id_by_place(table: Source) -> Role:
    """The index of a data frame, unless it counts; else the first that is no label or split."""
    names = table.table.column_names
    if INDEX in names and not pa.types.is_integer(table.column(INDEX).type):
        return Role(INDEX, True)
    usual = {*USUAL["label"], *USUAL["split"]}
    return Role(next((name for name in names if name.lower() not in usual), None), True)


def _left_aside(table: Source, taken: set[str]) -> set[str]:
    """Columns that are called like a label or a split, and would give the answer away."""
    usual = {*USUAL["label"], *USUAL["split"]}
    return {name for name in table.table.column_names if name.lower() in usual} - taken


def _apart(role: str, found: Role, table: Source) -> Role:
    if found.guessed:
        return Role(None, True)
    raise InputError(f"{table.name}: column {found.column!r} cannot be both the id and the {role}.")


def _check_distinct(table: Source, ids: pa.ChunkedArray, role: Role) -> None:
    first = columns.find(ids, ids).to_numpy()
    again = np.flatnonzero(first != np.arange(len(first)))
    if len(again):
        row = int(again[0])
        other = f" {role.column!r} was guessed to be the id." if role.guessed else ""
        raise InputError(
            f"{table.place(row)}: id {ids[row].as_py()!r} was there before "
            f"({len(again):,} repeated ids in all). Each node has one row.{other}"
        )


def _called(table: Source, role: Role) -> str:
    """What an unknown id is no id of."""
    if role.guessed and str(role.column).lower() not in USUAL["id"]:
        return f"{table.name}, where {role.column!r} was guessed to be the id"
    return table.name


def _split(table: Source, column: str, labels: Array | None) -> Split:
    """Read a split, and refuse nodes to learn from or to choose by that have no label."""
    split = column_split(table.column(column).to_pylist(), table.place)
    if labels is None:
        return split
    known = Labels.read(labels, len(labels)).known
    for part in ("train", "val"):
        nodes = getattr(split, part)
        missing = nodes[~known[nodes]]
        if len(missing):
            raise InputError(
                f"{table.place(int(missing[0]))}: the split is {part!r}, and there is no label "
                f"({len(missing):,} such nodes in all). Fill in the label, or leave the split "
                "blank."
            )
    return split


def _edge_roles(links: Source, options: Options) -> dict[str, Role]:
    names = links.table.column_names
    roles = {
        role: choose(role, getattr(options, role), names, links.name, _place(role))
        for role in ("source", "target", "weight")
    }
    for role in ("source", "target"):
        if roles[role].column is None:
            raise InputError(
                f"{links.name} needs two columns of node ids, and has {listed(names)}."
            )
    if roles["source"].column == roles["target"].column:
        other = [name for name in names if name != roles["source"].column]
        raise InputError(
            f"{links.name}: column {roles['source'].column!r} cannot be both source and target. "
            f"Name the two columns; there is also {listed(other) or 'no other'}."
        )
    if roles["weight"].column in (roles["source"].column, roles["target"].column):
        if not roles["weight"].guessed:
            raise InputError(
                f"{links.name}: column {roles['weight'].column!r} cannot be both the weight and an "
                "end of an edge."
            )
        roles["weight"] = Role(None, True)
    return roles


def _read_edges(
    edges: Any, nodes: str, ids: pa.ChunkedArray, options: Options, memory: float
) -> tuple[Source, dict[str, Role], Graph, list[str]]:
    """Read the table of edges into a graph without features; with its remarks."""
    links = _open(edges, "edges", ("source", "target"), options, memory)
    roles = _edge_roles(links, options)
    ends = [roles[role].column or "" for role in ("source", "target")]
    src, dst = positions(links, ends, ids, nodes)
    weight = None
    if roles["weight"].column is not None:
        weight = columns.read_weights(links, roles["weight"].column)
        if options.duplicates == "error":
            check_conflicts(links, ids, src, dst, weight)
    if options.directed == "refuse":
        check_both_ways(links, ids, src, dst, weight, options.duplicates)
    graph = Graph.from_edges(
        src,
        dst,
        weight,
        len(ids),
        node_ids=columns.to_numpy(ids),
        symmetrize=None if options.directed == "refuse" else options.directed,
        duplicates=options.duplicates,
    )
    remarks = []
    if weight is not None and not weight.all():
        zeros = np.count_nonzero(weight == 0)
        remarks.append(f"{links.name}: {zeros:,} rows of weight zero are no edges")
    return links, roles, graph, remarks
