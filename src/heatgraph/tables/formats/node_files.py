"""Open the nodes: a table, or a list of nodes in text without a header.

Columns of a list are separated by tabs or blanks, and comments may precede it:

==========================  ========================================================================
id label                    the id is an integer: SNAP's lists of communities and departments
id number ... number label  the label is no number: LINQS' files ``.content``
==========================  ========================================================================
"""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import Any

from heatgraph.tables.columns import COMMON_NAMES
from heatgraph.tables.formats import csv_files
from heatgraph.tables.formats.csv_files import Dialect
from heatgraph.tables.formats.file_formats import detect_format, read_start
from heatgraph.tables.formats.files import SHARE_OF_MEMORY, open_table, text_columns_for
from heatgraph.tables.input_table import InputTable, is_path
from heatgraph.tables.options import NODE_COLUMNS, TableOptions
from heatgraph.tables.values import is_number

_COMMENT = re.compile(rb"(?m)^[ \t]*[#%][^\r\n]*")
_BLANKS = re.compile(rb"[ \t]+")
_OUTER_BLANKS = re.compile(rb"(?m)^[ \t]+|[ \t]+(?=\r?$)")
# Marks that columns of CSV are separated by, or quoted with.
_CSV_MARKS = re.compile(rb'[,;|"]')


def open_node_table(nodes: Any, options: TableOptions) -> tuple[InputTable, list[str]]:
    """Read nodes as a table, with notes for the user."""
    notes: list[str] = []
    if is_path(nodes):
        path = Path(nodes)
        start = read_start(path)
        if detect_format(path, start) == "text":
            dialect = _find_dialect(path, start, notes)
            if dialect is not None:
                text_columns = text_columns_for(NODE_COLUMNS, options, str(path))
                limit = options.memory_bytes * SHARE_OF_MEMORY
                table = csv_files.read_csv(path, text_columns, limit, dialect, options.decimal)
                return table, notes
    return open_table(nodes, "nodes", NODE_COLUMNS, options), notes


def _find_dialect(path: Path, start: bytes, notes: list[str]) -> Dialect | None:
    """How a list of nodes is written, None if the file is none; the note on its columns."""
    text = start.removeprefix(codecs.BOM_UTF8).lstrip()
    has_comments = text.startswith((b"#", b"%"))
    if has_comments:
        text = _COMMENT.sub(b"", text)
    lines = [line.strip() for line in text.splitlines()[:1000] if line.strip()]
    if not lines or _CSV_MARKS.search(lines[0]):
        return None
    separator = b"\t" if b"\t" in lines[0] else None
    rows = [[cell.decode(errors="replace") for cell in line.split(separator)] for line in lines[:2]]
    has_header = separator is None and _is_header(rows)
    names = rows[0] if has_header else _list_columns(rows[0])
    if names is None:
        return None
    if not has_header:
        shown = ", ".join(names if len(names) <= 4 else [*names[:2], "...", *names[-2:]])
        notes.append(f"{path}: the first row is a node, not a header; columns were read as {shown}")

    def clean(content: bytes) -> bytes:
        if has_comments:
            content = _COMMENT.sub(b"", content)
        if separator is None:
            content = _BLANKS.sub(b"\t", _OUTER_BLANKS.sub(b"", content))
        return content

    return Dialect(clean, lambda row: (names, has_header))


def _list_columns(cells: list[str]) -> list[str] | None:
    """Names of the columns of a list by its first row; None if that looks like a header."""
    first, *numbers, last = cells if len(cells) > 1 else ("", "", "")
    if len(cells) == 2 and first.isdecimal():
        return ["id", "label"]
    if len(cells) > 2 and all(map(is_number, numbers)) and not is_number(last):
        return ["id", *(f"f{at}" for at in range(len(numbers))), "label"]
    return None


def _is_header(rows: list[list[str]]) -> bool:
    """Whether a row separated by blanks begins with a usual name of ids, and others are alike."""
    same_length = len(rows) == 2 and len(rows[0]) == len(rows[1]) > 1
    return same_length and rows[0][0].lower() in COMMON_NAMES["id"]
