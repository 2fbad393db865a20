"""Sections of a fit's report on its data: what was read, and the graph in figures."""

from __future__ import annotations

from typing import Any

import numpy as np

from heatgraph._io.formatting import format_number
from heatgraph.datasets.dataset import Dataset
from heatgraph.graph import Graph
from heatgraph.report.document import MISSING, Part, Section, Table, literal
from heatgraph.report.summary import neighbours_summary

# Columns, classes and notes that are listed.
MAX_COLUMNS, MAX_CLASSES, MAX_NOTES = 60, 40, 30
QUANTILES = {"smallest": 0.0, "median": 0.5, "90%": 0.9, "99%": 0.99, "largest": 1.0}


def data_section(data: Dataset, read: dict[str, Any] | None) -> Section:
    """What was read: counts, columns and their encoding, and what was dropped or repaired.

    `read` is the summary of `heatgraph.report.summary.read_summary`; None if no tables were read.
    """
    parts: list[Part] = [_counts_table(data, read)]
    if read is not None:
        parts += _column_parts(read)
    parts += _label_parts(data)
    remarks = [] if read is None else read["remarks"]
    if remarks:
        rows = [[literal(remark)] for remark in remarks[:MAX_NOTES]]
        more = [f"And {len(remarks) - MAX_NOTES:,} more."] * (len(remarks) > MAX_NOTES)
        parts += [Table("Dropped, merged or filled in", ["note"], rows, 1, False), *more]
    return Section("data", "What was read", parts)


def _counts_table(data: Dataset, read: dict[str, Any] | None) -> Table:
    graph, read = data.graph, read or {}
    rows = [["nodes", f"{graph.num_nodes:,}"], ["edges", f"{graph.num_edges:,}"]]
    counts = {
        "rows of the edge table": read.get("edge_rows"),
        "duplicates merged": graph.num_duplicates,
        "edges in both directions": read.get("both_directions"),
        "self-loops": graph.num_self_loops,
        "nodes without edges": graph.num_isolated,
        "features": graph.num_features,
        "labelled nodes": int(data.labelled.sum()),
    }
    rows += [[name, f"{count:,}"] for name, count in counts.items() if count is not None]
    kinds = ["weighted"] * (graph.weights is not None)
    kinds += ["directed"] * (graph.directed_adjacency is not None)
    rows[1][0] += f" ({', '.join(kinds)})" if kinds else ""
    if data.splits:
        split = data.split
        parts = {"training": split.train, "validation": split.val, "test": split.test}
        rows += [[f"{name} nodes", f"{len(part):,}"] for name, part in parts.items()]
    return Table(literal(data.name), ["", "count"], rows, sortable=False)


def _column_parts(read: dict[str, Any]) -> list[Part]:
    """How each column was used, those of edges first."""
    rows = [
        [literal(entry["column"]), purpose + ", detected" * entry["guessed"], "", MISSING]
        for purpose, entry in read["columns"].items()
        if purpose in ("source", "target", "weight")
    ]
    guessed = {purpose for purpose, entry in read["columns"].items() if entry["guessed"]}
    for use in read["column_uses"]:
        same = use["description"] == use["use"]
        count = f"{use['num_features']:,}" if use["num_features"] else MISSING
        name = use["use"] + ", detected" * (use["use"] in guessed)
        rows.append(
            [literal(use["column"]), name, "" if same else literal(use["description"]), count]
        )
    if not rows:
        return []
    parts: list[Part] = [
        Table("Columns", ["column", "used as", "how", "features"], rows[:MAX_COLUMNS], 3)
    ]
    if len(rows) > MAX_COLUMNS:
        parts.append(f"And {len(rows) - MAX_COLUMNS:,} more columns.")
    return parts


def _label_parts(data: Dataset) -> list[Part]:
    """The classes, labels or numbers to learn from."""
    assert data.labels is not None
    known = data.labels[data.labelled]
    if data.task == "regression":
        values = np.quantile(known.astype(float), list(QUANTILES.values()))
        rows = [[name, format_number(v)] for name, v in zip(QUANTILES, values, strict=True)]
        mean, spread = float(np.mean(known)), float(np.std(known))
        rows += [["mean", format_number(mean)], ["standard deviation", format_number(spread)]]
        return [Table("Numbers", ["", "value"], rows, sortable=False)]
    sets = known if data.task == "multilabel" else [(label,) for label in known]
    listed = [str(label) for labels in sets for label in labels]
    names, counts = np.unique(listed, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    rows = [
        [literal(names[at]), f"{counts[at]:,}", f"{counts[at] / len(known):.1%}"]
        for at in order[:MAX_CLASSES]
    ]
    title = "Labels of nodes" if data.task == "multilabel" else "Classes"
    parts: list[Part] = [Table(title, ["label", "nodes", "share"], rows)]
    if len(names) > MAX_CLASSES:
        parts.append(f"And {len(names) - MAX_CLASSES:,} more.")
    return parts


def graph_section(data: Dataset) -> Section:
    """Degrees, components, and how the labels of neighbours are related."""
    graph = data.graph
    neighbours = np.diff(graph.indptr)
    sizes = np.bincount(graph.components)
    values = np.quantile(neighbours, list(QUANTILES.values()))
    degrees = [[name, f"{value:,.0f}"] for name, value in zip(QUANTILES, values, strict=True)]
    degrees.insert(2, ["mean", f"{neighbours.mean():,.1f}"])
    reached = f"{sizes.max() / graph.num_nodes:.1%} of the nodes"
    parts: list[Part] = [
        f"{len(sizes):,} connected components; the largest has {sizes.max():,} nodes, {reached}."
        if len(sizes) > 1
        else "The graph is connected.",
        *_homophily_parts(data),
        Table("Neighbours per node", ["", "count"], degrees, sortable=False),
    ]
    return Section("graph", "The graph", parts)


def _homophily_parts(data: Dataset) -> list[Part]:
    if data.task == "regression":
        assert data.labels is not None
        found = number_assortativity(data.graph, np.asarray(data.labels, dtype=float))
        if found is None:
            return []
        return [f"The correlation of the numbers at the two ends of an edge is {found:.2f}."]
    if data.task != "classification":
        return []
    measured = neighbours_summary(data)
    if measured is None:
        return ["Too few edges join labelled nodes to tell whether neighbours share their labels."]
    homophily, told = measured["homophily"], measured["informativeness"]
    return [
        f"{measured['finding']} {measured['consequence']}",
        f"Of {homophily['edges']:,} edges between labelled nodes, {homophily['share']:.1%} join "
        f"two of the same label, where chance would give {homophily['chance']:.1%}: adjusted "
        f"homophily {homophily['value']:.2f} (standard error {homophily['error']:.2f}; 0 is "
        f"chance, 1 full agreement). Label informativeness is {told['value']:.2f}. Labels of test "
        "nodes are not read for this.",
    ]


def number_assortativity(graph: Graph, numbers: Any) -> float | None:
    """Correlation of numbers (n,) across edges; None if fewer than two edges or no variation.

    Missing numbers are NaN; self-loops do not count.

    Examples
    --------
    >>> square = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], num_nodes=4, symmetrize="max")
    >>> number_assortativity(square, np.array([0.0, 1.0, 0.0, 1.0]))
    -1.0
    """
    source = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
    ends = numbers[source], numbers[graph.indices]
    counted = ~np.isnan(ends[0]) & ~np.isnan(ends[1]) & (source != graph.indices)
    x, y = ends[0][counted], ends[1][counted]
    if len(x) < 4 or x.std() == 0:
        return None
    return round(float(np.corrcoef(x, y)[0, 1]), 12)
