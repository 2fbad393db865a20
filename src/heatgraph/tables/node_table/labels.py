"""Read the labels and the split of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heatgraph.datasets.splits import Split, column_split
from heatgraph.errors import InputError
from heatgraph.tables.ids import to_integers
from heatgraph.tables.input_table import InputTable
from heatgraph.tables.values import first_value, is_text, refuse_rows, to_numpy

Array = npt.NDArray[Any]

# Text labels that are all numbers, some of them fractions, are classes up to this many, such as
# version numbers; beyond, they are measurements.
MAX_FRACTIONAL_CLASSES = 20


# Texts that often mean that a label is missing.
MISSING_WORDS = {"unknown", "nan", "?", "n/a", "na", "none", "null", "-"}


def find_unlabelled(
    table: InputTable, name: str, texts: list[str]
) -> tuple[pa.ChunkedArray, list[str]]:
    """A column of labels with null for `texts`, and notes on them and on words that look alike."""
    column = table.column(name)
    if pa.types.is_nested(column.type):
        return column, []
    as_text = column.cast(pa.string())
    counts = {
        entry["values"]: entry["counts"]
        for entry in as_text.value_counts().to_pylist()
        if entry["values"] is not None
    }
    found = [f"{text} ({counts[text]:,})" for text in texts if text in counts]
    notes = [f"{table.name}: read as no label: {', '.join(found)}"] if found else []
    absent = [text for text in texts if text not in counts]
    if absent:
        notes.append(f"{table.name}: no label is {' or '.join(map(repr, absent))}")
    alike = [text for text in counts if text.strip().lower() in MISSING_WORDS - set(texts)]
    alike = [text for text in alike if text not in texts]
    if alike and is_text(column.type):
        listed = ", ".join(f"{text!r} ({counts[text]:,})" for text in alike)
        notes.append(
            f"{table.name}: {listed} count as classes; unlabelled (--unlabelled) reads them as no "
            "label"
        )
    if not found:
        return column, notes
    is_none = pc.is_in(as_text, value_set=pa.array(texts, pa.string()))
    return pc.if_else(is_none, pa.scalar(None, column.type), column), notes


def read_labels(
    table: InputTable, name: str, unlabelled: list[str] | None = None
) -> tuple[Array, list[str]]:
    """Labels in their own type, None where missing, and notes; all-integer text as integers."""
    column, notes = find_unlabelled(table, name, unlabelled or [])
    if is_text(column.type) or pa.types.is_null(column.type):
        column = column.cast(pa.string())
        column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
        column = to_integers(column)
        if is_text(column.type) and len(column.unique()) > MAX_FRACTIONAL_CLASSES:
            _refuse_fractions(table, name, column)
    elif pa.types.is_floating(column.type):
        _refuse_fractions(table, name, column)
    elif not (pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)):
        raise InputError(
            f"{table.name}: labels must be strings, numbers or booleans, and column {name!r} has "
            f"type {column.type}."
        )
    return to_numpy(column), notes


def _refuse_fractions(table: InputTable, name: str, column: pa.ChunkedArray) -> None:
    """Refuse labels that are measurements rather than classes."""
    try:
        numbers = column.cast(pa.float64())
    except pa.ArrowInvalid:
        return
    fractions = pc.fill_null(pc.not_equal(numbers, pc.round(numbers)), False)
    fractions = pc.and_(fractions, pc.fill_null(pc.is_finite(numbers), False))
    first = first_value(column.filter(fractions))
    refuse_rows(
        table, fractions, f"column {name!r} has {first}, where a class is expected",
        "Bin measurements first, name another column of labels, or predict numbers: the task "
        "regression.",
    )  # fmt: skip


def read_split(table: InputTable, name: str, known: npt.NDArray[np.bool_] | None) -> Split:
    """Read a split; refuse training and validation nodes without a label, if there are some."""
    split = column_split(table.column(name).to_pylist(), table.locate)
    if known is None:
        return split
    for part in ("train", "val"):
        nodes = getattr(split, part)
        unlabelled = nodes[~known[nodes]]
        if len(unlabelled):
            raise InputError(
                f"{table.locate(int(unlabelled[0]))}: the split is {part!r}, and there is no label "
                f"({len(unlabelled):,} such nodes in all). Fill in the label, or leave the split "
                "blank."
            )
    return split
