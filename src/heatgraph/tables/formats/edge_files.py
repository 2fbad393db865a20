"""Open the edges: a table, a list of edges in text, a graph file, or an adjacency matrix.

Text may lack a header, may begin with comments (``#`` as in SNAP's files, ``%`` as in KONECT's),
and its columns may be separated by blanks. Rows and columns of a matrix are nodes by position.
"""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from heatgraph.errors import InputError
from heatgraph.tables.columns import COMMON_NAMES
from heatgraph.tables.formats import csv_files
from heatgraph.tables.formats.csv_files import DELIMITERS, Dialect
from heatgraph.tables.formats.file_formats import (
    GRAPH_FORMATS,
    MATRIX_FORMATS,
    detect_format,
    read_start,
)
from heatgraph.tables.formats.files import SHARE_OF_MEMORY, read_table_file, text_columns_for
from heatgraph.tables.formats.graph_files import read_graph_file, read_json_table
from heatgraph.tables.formats.json_files import read_json_document
from heatgraph.tables.formats.matrix_files import read_matrix
from heatgraph.tables.ids import find_ids
from heatgraph.tables.input_table import InputTable, as_input_table, is_path
from heatgraph.tables.options import EDGE_COLUMNS, TableOptions
from heatgraph.tables.values import is_number

# What NetworkX writes behind the two ends of an edge: a dictionary of attributes.
_ATTRIBUTES = re.compile(rb"(?m)^([ \t]*[^\s{]+[ \t]+[^\s{]+)[ \t]+\{([^\r\n]*)\}[ \t]*(?=\r?$)")
_WEIGHT = re.compile(rb"""['"]weight['"]: *([^,}\s]+)""")
_COMMENT = re.compile(rb"(?m)^[ \t]*[#%][^\r\n]*")
_BLANKS = re.compile(rb"[ \t]+")
_OUTER_TABS = re.compile(rb"(?m)^\t|\t(?=\r?$)")


def open_edge_table(
    edges: Any, ids: pa.ChunkedArray, options: TableOptions
) -> tuple[InputTable, list[str]]:
    """Read edges between the nodes `ids` as a table, with notes for the user."""
    if sp.issparse(edges):
        return _adjacency_table(edges, "edges", ids), []
    if not is_path(edges):
        return as_input_table(edges, "edges"), []
    path = Path(edges)
    start = read_start(path)
    file_format = detect_format(path, start)
    limit = options.memory_bytes * SHARE_OF_MEMORY
    if file_format in MATRIX_FORMATS and file_format != "svmlight":
        return _adjacency_table(read_matrix(path, file_format, limit), str(path), ids), []
    if file_format == "json" and isinstance(read_json_document(path, limit), list):
        return read_json_table(path, limit), []
    if file_format in GRAPH_FORMATS:
        return read_graph_file(path, file_format, limit).edges, []
    text_columns = text_columns_for(("source", "target"), options, str(path))
    if file_format not in ("text", "svmlight"):
        return read_table_file(path, text_columns, options.memory_bytes, options.decimal), []
    notes: list[str] = []
    dialect = _find_dialect(path, start, ids, options, notes)
    return csv_files.read_csv(path, text_columns, limit, dialect, options.decimal), notes


def _adjacency_table(matrix: Any, name: str, ids: pa.ChunkedArray) -> InputTable:
    """The nonzero entries of an adjacency matrix (n, n), row i being the node ``ids[i]``."""
    n = len(ids)
    if matrix.shape != (n, n):
        raise InputError(
            f"{name} must be an adjacency matrix of the {n:,} nodes, of shape ({n}, {n}). It has "
            f"shape {matrix.shape}. Row i belongs to row i of the node table."
        )
    A = sp.coo_array(matrix)
    columns = {"source": ids.take(pa.array(A.row)), "target": ids.take(pa.array(A.col))}
    if not (A.data == 1).all():
        columns["weight"] = pa.chunked_array([A.data.astype(np.float64)])
    return InputTable.from_arrow(
        pa.table(columns),
        name,
        lambda at: f"{name}, entry ({A.row[at]}, {A.col[at]}) counted from 0",
    )


def _find_dialect(
    path: Path, start: bytes, ids: pa.ChunkedArray, options: TableOptions, notes: list[str]
) -> Dialect:
    """How a text file is written; notes are added when its first row is read."""
    text = start.removeprefix(codecs.BOM_UTF8).lstrip()
    has_comments = text.startswith((b"#", b"%")) and not _any_id_starts_with(text[:1], ids)
    if has_comments:
        text = _COMMENT.sub(b"", text).lstrip()
    first_line = text.split(b"\n", 1)[0]
    has_attributes = _ATTRIBUTES.search(first_line) is not None
    if has_attributes:
        first_line = _ATTRIBUTES.sub(_weight_alone, first_line)
    delimiters = "".join(DELIMITERS).encode() + b'"'
    by_blanks = b" " in first_line.strip() and not any(mark in delimiters for mark in first_line)

    def clean(content: bytes) -> bytes:
        if has_comments:
            content = _COMMENT.sub(b"", content)
        if has_attributes:
            content = _ATTRIBUTES.sub(_weight_alone, content)
        if by_blanks:
            content = _OUTER_TABS.sub(b"", _BLANKS.sub(b"\t", content))
        return content

    def name_columns(row: list[str]) -> tuple[list[str], bool]:
        return _name_columns(row, str(path), ids, options, notes)

    is_plain = not (has_comments or has_attributes or by_blanks)
    return Dialect(None if is_plain else clean, name_columns)


def _any_id_starts_with(mark: bytes, ids: pa.ChunkedArray) -> bool:
    """Whether a mark of comments begins a node id, such as that of a hashtag."""
    if pa.types.is_integer(ids.type):
        return False
    return bool(pa.compute.any(pa.compute.starts_with(ids, mark.decode())).as_py())


def _weight_alone(match: re.Match[bytes]) -> bytes:
    weight = _WEIGHT.search(match[2])
    return match[1] if weight is None else match[1] + b" " + weight[1]


def _name_columns(
    row: list[str], name: str, ids: pa.ChunkedArray, options: TableOptions, notes: list[str]
) -> tuple[list[str], bool]:
    """Names of the columns, and whether the first row has them; else it is an edge."""
    cells = [cell.strip() for cell in row]
    if _is_header(cells, ids, options):
        if len(cells) > 1 and cells[0] == cells[1]:
            return [f"{cells[0]}_1", f"{cells[1]}_2", *row[2:]], True
        if _num_known(cells, ids) == 2:
            notes.append(
                f"{name}: the first row was read as the names of columns, although there are nodes "
                f"{cells[0]!r} and {cells[1]!r}"
            )
        return row, True
    names = ["source", "target", *(f"column_{at}" for at in range(3, len(cells) + 1))]
    names = names[: len(cells)]
    if len(cells) > 2 and is_number(cells[2]):
        names[2] = "weight"
    notes.append(
        f"{name}: the first row is an edge, not a header; columns were read as {', '.join(names)}"
    )
    return names, False


def _is_header(cells: list[str], ids: pa.ChunkedArray, options: TableOptions) -> bool:
    if any(getattr(options, purpose) for purpose in EDGE_COLUMNS):
        return True
    if all(is_number(cell) for cell in cells):
        return False
    common = {*COMMON_NAMES["source"], *COMMON_NAMES["target"], *COMMON_NAMES["id"]}
    return all(cell.lower() in common for cell in cells[:2]) or not _num_known(cells, ids)


def _num_known(cells: list[str], ids: pa.ChunkedArray) -> int:
    """How many of the first two cells are ids of nodes."""
    found = find_ids(pa.chunked_array([pa.array(cells[:2], pa.string())]), ids)
    return len(found) - int(found.null_count)
