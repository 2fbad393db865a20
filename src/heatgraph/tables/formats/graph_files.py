"""Read files that hold a whole graph as two tables: GraphML, GEXF, and JSON as NetworkX writes it.

NetworkX parses GraphML and GEXF. Attributes of nodes and edges become columns; what GEXF calls the
label of a node is the column ``name``.
"""

from __future__ import annotations

import io
import xml.etree.ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from heatgraph.errors import FileFormatError, MissingExtraError
from heatgraph.tables.formats.file_formats import TITLES, Format, read_content
from heatgraph.tables.formats.json_files import read_json_document, table_from_records
from heatgraph.tables.input_table import InputTable

# Bytes of NetworkX's objects and the XML tree per byte of XML, roughly.
MEMORY_PER_BYTE = 20

EXPECTED_JSON = (
    'Expected a list of objects, or a graph as NetworkX writes it: {"nodes": [{"id": ...}, ...], '
    '"links": [{"source": ..., "target": ...}, ...]}'
)


class GraphTables(NamedTuple):
    """Tables of the nodes and the edges of one file."""

    nodes: InputTable
    edges: InputTable


def read_graph_file(path: Path, file_format: Format, limit: float) -> GraphTables:
    """Read GraphML, GEXF or JSON ("json") whose content takes at most `limit` bytes in memory."""
    if file_format == "json":
        return _read_json(path, read_json_document(path, limit))
    return _read_xml(path, file_format, limit)


def read_json_table(path: Path, limit: float) -> InputTable:
    """The rows of a list of objects, or else the nodes of a graph."""
    value = read_json_document(path, limit)
    if isinstance(value, list):
        return table_from_records(value, str(path), _place(path, "item"))
    return _read_json(path, value).nodes


def _read_json(path: Path, value: Any) -> GraphTables:
    """A graph by links between ids, or by a list of neighbours for each node."""
    if not isinstance(value, dict) or not isinstance(value.get("nodes"), list):
        raise FileFormatError(f"{path} is not a graph in JSON. {EXPECTED_JSON}.")
    nodes = value["nodes"]
    for at, node in enumerate(nodes):
        if not isinstance(node, dict) or node.get("id") is None:
            raise FileFormatError(f"{path}, node {at} (counted from 0) has no id. {EXPECTED_JSON}.")
    key = next((key for key in ("links", "edges", "adjacency") if key in value), None)
    if key is None or not isinstance(value[key], list):
        raise FileFormatError(f"{path} has no list of links. {EXPECTED_JSON}.")
    links = value[key]
    if key == "adjacency":
        links = list(_links_of_neighbours(path, nodes, links))
    for at, link in enumerate(links):
        if not isinstance(link, dict) or not {"source", "target"} <= link.keys():
            raise FileFormatError(
                f"{path}, edge {at} (counted from 0) lacks a source or a target. {EXPECTED_JSON}."
            )
    table = table_from_records(nodes, str(path), _place(path, "node"))
    return GraphTables(table, _edge_table(path, links))


def _links_of_neighbours(path: Path, nodes: list[Any], lists: list[Any]) -> Iterator[Any]:
    if len(lists) != len(nodes):
        raise FileFormatError(
            f"{path} has {len(nodes):,} nodes, and {len(lists):,} lists of neighbours in "
            "'adjacency'. Expected one for each node."
        )
    for at, neighbours in enumerate(lists):
        for neighbour in neighbours if isinstance(neighbours, list) else [None]:
            if not isinstance(neighbour, dict) or neighbour.get("id") is None:
                raise FileFormatError(
                    f"{path}: 'adjacency' of node {at} (counted from 0) must be a list of objects "
                    "with an id."
                )
            more = {key: value for key, value in neighbour.items() if key != "id"}
            yield {"source": nodes[at]["id"], "target": neighbour["id"]} | more


def _edge_table(path: Path, links: list[dict[str, Any]]) -> InputTable:
    """Edges without what identifies them: their ids, and the keys of parallel ones."""
    if not links:
        empty = pa.table({"source": pa.array([], pa.string()), "target": pa.array([], pa.string())})
        return InputTable.from_arrow(empty, str(path), _place(path, "edge"))
    kept = ({k: v for k, v in link.items() if k not in ("id", "key")} for link in links)
    return table_from_records(kept, str(path), _place(path, "edge"))


def _read_xml(path: Path, file_format: Format, limit: float) -> GraphTables:
    try:
        import networkx as nx
    except ImportError as error:
        raise MissingExtraError(
            f"{path} is {TITLES[file_format]}, which NetworkX reads. Install it: pip install "
            "networkx"
        ) from error
    content = read_content(path, limit / MEMORY_PER_BYTE)
    if b"<!ENTITY" in content:
        raise FileFormatError(
            f"{path} defines XML entities, which can expand without bound, and which no graph "
            "needs. Write it again without them."
        )
    read = nx.read_graphml if file_format == "graphml" else nx.read_gexf
    try:
        graph = read(io.BytesIO(content), node_type=str)
    except xml.etree.ElementTree.ParseError as error:
        line, position = error.position
        raise FileFormatError(
            f"{path}, line {line}: this is not XML at position {position + 1} "
            f"({str(error).split(':')[0]}). Is the file complete?"
        ) from error
    # What NetworkX raises depends on where the file differs from what it expects.
    except Exception as error:
        raise FileFormatError(
            f"{path} cannot be read as {TITLES[file_format]}: {str(error)[:200]}. Write it again."
        ) from error
    nodes = [{"id": node} | attributes for node, attributes in graph.nodes(data=True)]
    if file_format == "gexf":
        # There, a label is the name that is drawn beside a node, not its class.
        nodes = [{_gexf_name(key): value for key, value in node.items()} for node in nodes]
    links = [
        attributes | {"source": source, "target": target}
        for source, target, attributes in graph.edges(data=True)
    ]
    table = table_from_records(nodes, str(path), _place(path, "node"))
    return GraphTables(table, _edge_table(path, links))


def _gexf_name(key: str) -> str:
    return "name" if key == "label" else key


def _place(path: Path, kind: str) -> Any:
    return lambda row: f"{path}, {kind} {row} (counted from 0)"
