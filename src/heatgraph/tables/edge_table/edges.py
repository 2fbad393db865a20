"""Read the edge table: pairs of node ids, perhaps with weights, into a graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp

from heatgraph.errors import InputError
from heatgraph.graph import Graph
from heatgraph.graph._validation import CSRBuilder
from heatgraph.tables.columns import ColumnChoice, find_edge_columns
from heatgraph.tables.edge_table.directions import Directions, count_directions
from heatgraph.tables.edge_table.unknown_nodes import read_edge_ends
from heatgraph.tables.formats.edge_files import open_edge_table
from heatgraph.tables.input_table import InputTable
from heatgraph.tables.memory_estimate import edge_table_bytes, require_budget
from heatgraph.tables.options import Decimal, Duplicates, TableOptions
from heatgraph.tables.unused_columns import unused_edge_columns
from heatgraph.tables.values import read_numbers, to_numpy

Array = npt.NDArray[Any]

# For tables that a model predicts, which may hold new nodes alone.
NEW_NODES = (
    " If these are nodes that the model was fitted on, `heatgraph predict --new` (`predict_new` in "
    "Python) labels new nodes that have edges to them."
)


@dataclass(frozen=True)
class Edges:
    """The graph without features, the columns it was read from, and notes for the user.

    `losses` are further notes, on what the graph lacks without the user having asked for that.
    """

    graph: Graph
    columns: dict[str, ColumnChoice]
    num_rows: int
    directions: Directions
    notes: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)


def read_edges(edges: Any, ids: pa.ChunkedArray, nodes: str, options: TableOptions) -> Edges:
    """Read the edges between the nodes `ids`; `nodes` names their table in errors."""
    table, notes = open_edge_table(edges, ids, options)
    require_budget(table, edge_table_bytes(table), options.memory_bytes)
    columns = find_edge_columns(table, options)
    losses = unused_edge_columns(table, columns, options)
    num_rows = table.num_rows
    names = [str(columns[purpose].name) for purpose in ("source", "target")]
    advice = NEW_NODES * (options.model_features is not None)
    ends = read_edge_ends(table, names, ids, nodes, options.unknown_edges, advice)
    table, source, target, ids = ends.table, ends.source, ends.target, ends.ids
    notes += ends.notes
    weight = None
    if columns["weight"].name is not None:
        weight = read_weights(table, columns["weight"].name, options.decimal)
        if options.duplicates == "error":
            _check_conflicts(table, ids, source, target, weight)
        if not weight.all():
            zeros = np.count_nonzero(weight == 0)
            notes.append(f"{table.name}: ignored {zeros:,} rows of weight zero")
    if options.directed == "refuse":
        _check_symmetric(table, ids, source, target, weight, options.duplicates)
    graph = Graph.from_edges(
        source,
        target,
        weight,
        len(ids),
        node_ids=to_numpy(ids),
        symmetrize=options.directed if options.directed in ("max", "sum") else None,
        directed=options.directed == "keep",
        duplicates=options.duplicates,
    )
    if weight is None:
        # Distinct rows, less distinct edges.
        both = len(source) - graph.num_duplicates - graph.num_edges
        directions = Directions(both, 0)
    else:
        directions = count_directions(source, target, weight, len(ids), options.duplicates)
    if directions.unequal and options.directed == "max":
        losses.append(
            f"{table.name}: {directions.both:,} edges are listed in both directions, "
            f"{directions.unequal:,} of them with different weights; the larger one was taken "
            "(directed='max')"
        )
    if directions.both and weight is not None and options.directed == "sum":
        notes.append(
            f"{table.name}: {directions.both:,} edges are listed in both directions, "
            f"{directions.unequal:,} of them with different weights; the two were summed"
        )
    return Edges(graph, columns, num_rows, directions, notes, losses)


def read_weights(table: InputTable, name: str, decimal: Decimal | None = None) -> Array:
    """Edge weights: finite, >= 0, none missing."""
    weights = read_numbers(table, name, decimal)
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(bad.argmax())
        raise InputError(
            f"{table.locate(row)}: weight {weights[row]:g} in column {name!r} is not a finite "
            f"number >= 0 ({bad.sum():,} such in all). Correct or drop these edges."
        )
    return weights


def _check_conflicts(
    table: InputTable, ids: pa.ChunkedArray, source: Array, target: Array, weight: Array
) -> None:
    """Refuse an edge that is listed several times with different weights."""
    order = np.lexsort((np.arange(len(source)), target, source))
    s, t, w = source[order], target[order], weight[order]
    conflicts = np.flatnonzero((s[1:] == s[:-1]) & (t[1:] == t[:-1]) & (w[1:] != w[:-1]))
    if len(conflicts):
        at = conflicts[order[conflicts + 1].argmin()]
        raise InputError(
            f"{table.locate(int(order[at + 1]))}: edge {_format_id(ids, s[at])} -> "
            f"{_format_id(ids, t[at])} has weight {w[at + 1]:g}, and had {w[at]:g} before "
            f"({len(conflicts):,} such in all). "
            "Drop one, or set duplicates (--duplicates) to 'sum' or 'max'."
        )


def _check_symmetric(
    table: InputTable,
    ids: pa.ChunkedArray,
    source: Array,
    target: Array,
    weight: Array | None,
    duplicates: Duplicates,
) -> None:
    """Refuse an edge whose opposite direction is missing or has another weight."""
    values = np.ones(len(source), dtype=bool) if weight is None else weight
    entries = CSRBuilder.from_coordinates(source, target, values, (len(ids), len(ids)), "edge")
    entries.merge_duplicates("max" if weight is None else duplicates)
    A = entries.matrix
    difference = sp.coo_array(A - A.T)
    difference.eliminate_zeros()
    if difference.nnz:
        v, w = int(difference.row[0]), int(difference.col[0])
        raise InputError(
            f"{table.name}: edge {_format_id(ids, v)} -> {_format_id(ids, w)} has no counterpart "
            f"of equal weight ({difference.nnz // 2:,} such pairs in all). List both directions, "
            "or set directed (--directed) to 'max', 'sum' or 'keep'."
        )


def _format_id(ids: pa.ChunkedArray, row: int) -> str:
    return repr(ids[int(row)].as_py())
