"""Read the labels and the split of nodes."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heatgraph.datasets.splits import Split, column_split
from heatgraph.errors import InputError
from heatgraph.learning._labels import Labels
from heatgraph.tables.ids import to_integers
from heatgraph.tables.input_table import InputTable
from heatgraph.tables.values import first_value, is_text, refuse_rows, to_numpy

Array = npt.NDArray[Any]

# Text labels that are all numbers, some of them fractions, are classes up to this many, such as
# version numbers; beyond, they are measurements.
MAX_FRACTIONAL_CLASSES = 20


def read_labels(table: InputTable, name: str) -> Array:
    """Labels in their own type, None where missing; text that is all integers as integers."""
    column = table.column(name)
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
    return to_numpy(column)


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
        "Bin measurements first, or name another column of labels.",
    )  # fmt: skip


def read_split(table: InputTable, name: str, labels: Array | None) -> Split:
    """Read a split, and refuse training and validation nodes without a label."""
    split = column_split(table.column(name).to_pylist(), table.locate)
    if labels is None:
        return split
    known = Labels.read(labels, len(labels)).known
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
