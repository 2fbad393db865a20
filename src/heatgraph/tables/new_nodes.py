"""Read tables of nodes that join a known graph: their features, and edges to known nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from heatgraph.errors import InputError
from heatgraph.graph import Graph
from heatgraph.tables.columns import find_node_columns
from heatgraph.tables.edge_table.edges import read_edges
from heatgraph.tables.formats.files import open_table
from heatgraph.tables.ids import check_unique, find_ids, read_ids
from heatgraph.tables.input_table import is_path
from heatgraph.tables.memory_estimate import node_table_bytes, require_budget
from heatgraph.tables.node_table.features import read_features
from heatgraph.tables.options import NODE_COLUMNS, TableOptions
from heatgraph.tables.values import to_numpy

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class NewNodeTables:
    """New nodes as a graph without edges, and edges for `DGCClassifier.predict_new`.

    `edges` (m, 2) are names, of dtype object, or indices if the known graph has no ids, and
    `weight` (m,) is None if all are 1.
    """

    nodes: Graph
    id_column: str
    edges: Array
    weight: Array | None
    num_edge_rows: int
    notes: list[str] = field(default_factory=list)

    def arguments(self, known: Graph) -> dict[str, Any]:
        """Arguments of `DGCClassifier.predict_new`."""
        return {
            "features": self.nodes.features,
            "edges": self.edges,
            "weight": self.weight,
            "node_ids": None if known.node_ids is None else self.nodes.node_ids,
        }


def read_new_node_tables(
    nodes: Any, edges: Any, known: Graph, options: TableOptions
) -> NewNodeTables:
    """Read a table of new nodes, and one of their edges, which refer to ids of both."""
    if options.unknown_edges == "add":
        raise InputError(
            "unknown_edges (--unknown-edges) cannot be 'add' for new nodes: each of them needs a "
            "row in their table. Drop such edges, or add these rows."
        )
    table = open_table(nodes, "nodes", NODE_COLUMNS, options)
    if table.num_rows == 0:
        raise InputError(f"{table.name} has no rows. Expected one per new node.")
    require_budget(table, node_table_bytes(table), options.memory_bytes)
    columns = find_node_columns(table, options)
    ids = read_ids(table, str(columns["id"].name))
    check_unique(table, ids, columns["id"])
    known_ids = pa.chunked_array([pa.array(known.names.tolist())])
    taken = pc.is_valid(find_ids(ids, known_ids)).to_numpy()
    if taken.any():
        row = int(taken.argmax())
        raise InputError(
            f"{table.locate(row)}: node {ids[row].as_py()!r} is in the graph already "
            f"({taken.sum():,} such in all). Leave out known nodes: edges may refer to them."
        )
    features = read_features(table, columns, ids, options)
    both = [known_ids, ids]
    if ids.type != known_ids.type:
        both = [part.cast(pa.string()) for part in both]
    all_ids = pa.chunked_array([chunk for part in both for chunk in part.chunks])
    part = read_edges(edges, all_ids, f"{table.name} or of the graph", options)
    upper = sp.coo_array(sp.triu(part.graph.adjacency))
    among_known = np.flatnonzero(upper.col < known.num_nodes)
    if len(among_known):
        v, w = (known.names[[end[among_known[0]]]].tolist()[0] for end in (upper.row, upper.col))
        name = edges if is_path(edges) else "edges"
        raise InputError(
            f"{name}: edge {v!r} - {w!r} is between known nodes ({len(among_known):,} such in "
            "all). Leave these rows out: the graph is as it was, and each edge has a new node at "
            "one end at least."
        )
    pairs: Array = np.stack([upper.row, upper.col], axis=1)
    joined = Graph.from_edges(
        [], [], num_nodes=len(ids), features=features.values, node_ids=to_numpy(ids)
    )
    if known.node_ids is not None:
        names = np.array([*known.names.tolist(), *joined.names.tolist()], dtype=object)
        pairs = names[pairs]
    return NewNodeTables(
        nodes=joined,
        id_column=str(columns["id"].name),
        edges=pairs,
        weight=None if part.graph.weights is None else upper.data,
        num_edge_rows=part.num_rows,
        notes=features.notes + features.remarks + part.notes + part.losses,
    )
