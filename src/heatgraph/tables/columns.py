"""Find the columns of a table: by the name given, else by common names, else by position.

The error for a missing column is raised here, by `require_column`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

import pyarrow as pa

from heatgraph.errors import InputError
from heatgraph.tables.input_table import InputTable
from heatgraph.tables.options import EDGE_COLUMNS, NODE_COLUMNS, TableOptions

# Common names of each column in lower case, the likeliest first.
COMMON_NAMES = {
    "id": ("id", "node", "node_id", "nodeid", "node id"),
    "label": ("label", "labels", "class", "y", "category", "target"),
    "split": ("split", "subset"),
    "source": ("source", "src", "from", "u", "node1", "node_1", "source_id", "start", "head"),
    "target": ("target", "dst", "to", "v", "node2", "node_2", "target_id", "end", "tail"),
    "weight": ("weight", "w", "weights"),
    "feature": ("feature", "word", "term", "column", "feature_id"),
    "value": ("value", "count", "weight", "val"),
}
# Columns with these names would leak the label: they are features only if the user names them.
LABEL_LIKE_NAMES = {*COMMON_NAMES["label"], *COMMON_NAMES["split"]}
# Position of a column that no name reveals.
DEFAULT_POSITIONS = {"id": 0, "source": 0, "target": 1}
# How Arrow names the levels of a pandas index as columns.
INDEX_PREFIX = "__index_level_"
PANDAS_INDEX = f"{INDEX_PREFIX}0__"


@dataclass(frozen=True)
class ColumnChoice:
    """The column chosen for a purpose (None if there is none), and whether it was detected."""

    name: str | None
    detected: bool


def find_column(
    purpose: str, given: str | None, names: list[str], table: str, position: int | None = None
) -> ColumnChoice:
    """Find the column for a purpose among `names`.

    `given` is a name, "" for no column, or None to detect one: by `COMMON_NAMES`, else at
    `position`.
    """
    if given == "":
        return ColumnChoice(None, False)
    if given is not None:
        return ColumnChoice(require_column(given, names, table), False)
    by_lower_name = {name.lower(): name for name in reversed(names)}
    for common in COMMON_NAMES[purpose]:
        if common in by_lower_name:
            return ColumnChoice(by_lower_name[common], True)
    if position is not None and position < len(names):
        return ColumnChoice(names[position], True)
    return ColumnChoice(None, True)


def require_column(name: str, names: list[str], table: str) -> str:
    """Return `name` if there is such a column; the error suggests a similar name."""
    if name in names:
        return name
    raise InputError(
        f"{table} has no column {name!r}.{did_you_mean(name, names)} It has {format_names(names)}."
    )


def match_columns(patterns: list[str], names: list[str], table: str) -> list[str]:
    """Columns by name or by pattern, such as ``word_*``, in the order of the patterns."""
    matched: dict[str, None] = {}
    known = set(names)
    for pattern in patterns:
        if pattern in known:
            matched[pattern] = None
            continue
        matches = [name for name in names if fnmatchcase(name, pattern)]
        if not matches:
            require_column(pattern, names, table)
        matched |= dict.fromkeys(matches)
    return list(matched)


def find_columns(
    purposes: Iterable[str], options: TableOptions, names: list[str], table: str
) -> dict[str, ColumnChoice]:
    """Find the column for each purpose, which is also the name of an option.

    A column that a model reads as a feature is not detected as anything else.
    """
    others = [name for name in names if name not in options.model_columns]
    return {
        purpose: find_column(
            purpose,
            given := getattr(options, purpose),
            others if given is None and purpose in ("label", "split") else names,
            table,
            DEFAULT_POSITIONS.get(purpose),
        )
        for purpose in purposes
    }


def find_node_columns(table: InputTable, options: TableOptions) -> dict[str, ColumnChoice]:
    """Find id, label and split. Only the id is required, and no column serves twice."""
    columns = find_columns(NODE_COLUMNS, options, table.column_names, table.name)
    if options.id is None and not is_common_id(columns["id"]):
        columns["id"] = _detect_id(table)
    if columns["id"].name is None:
        raise InputError(
            f"{table.name} needs a column of ids, strings or integers. It has "
            f"{format_names(table.column_names)}. If ids were an index, reset_index() makes it a "
            "column."
        )
    for purpose in ("label", "split"):
        if columns[purpose].name == columns["id"].name:
            columns[purpose] = _discard(columns[purpose], table, f"the id and the {purpose}")
        if columns[purpose].name in options.model_columns:
            raise InputError(
                f"{table.name}: column {columns[purpose].name!r} is a feature of the model, and "
                f"cannot be the {purpose}. Name another."
            )
    return columns


def is_common_id(choice: ColumnChoice) -> bool:
    """Whether a column has one of the common names of an id."""
    return str(choice.name).lower() in COMMON_NAMES["id"]


def _detect_id(table: InputTable) -> ColumnChoice:
    """The index of a data frame unless it holds integers; else the first column not label-like."""
    names = table.column_names
    if PANDAS_INDEX in names and not pa.types.is_integer(table.column(PANDAS_INDEX).type):
        return ColumnChoice(PANDAS_INDEX, True)
    candidates = (
        name
        for name in names
        if name.lower() not in LABEL_LIKE_NAMES
        and not pa.types.is_floating(table.column(name).type)
    )
    return ColumnChoice(next(candidates, None), True)


def find_edge_columns(table: InputTable, options: TableOptions) -> dict[str, ColumnChoice]:
    """Find source, target and weight. The weight is optional, and no column serves twice."""
    names = table.column_names
    columns = find_columns(EDGE_COLUMNS, options, names, table.name)
    source, target, weight = (columns[purpose].name for purpose in EDGE_COLUMNS)
    if source is None or target is None:
        raise InputError(
            f"{table.name} needs two columns of node ids, and has {format_names(names)}."
        )
    if source == target:
        other = [name for name in names if name != source]
        raise InputError(
            f"{table.name}: column {source!r} cannot be both source and target. "
            f"Name the two columns; there is also {format_names(other) or 'no other'}."
        )
    if weight in (source, target):
        columns["weight"] = _discard(columns["weight"], table, "the weight and an end of an edge")
    return columns


def _discard(choice: ColumnChoice, table: InputTable, both: str) -> ColumnChoice:
    """No column, in place of one that serves for something else; an error if the user named it."""
    if choice.detected:
        return ColumnChoice(None, True)
    raise InputError(f"{table.name}: column {choice.name!r} cannot be both {both}.")


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A sentence that suggests the most similar name; "" if none is similar."""
    close = difflib.get_close_matches(name, names, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def format_names(names: list[str], limit: int = 8) -> str:
    """The first few names, and how many there are, for a message."""
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown}, ... ({len(names):,} in all)"
