"""Read a column of targets: classes, sets of labels, or numbers; and tell which of them it holds.

==================  ================================================================================
"classification"    one label per node (`heatgraph.tables.node_table.labels`)
"multilabel"        a list of labels per node: a column of lists, or text such as ["a", "b"]; with
                    the task given, also labels with |, ; or commas between them
"regression"        a number per node
==================  ================================================================================

A blank cell is unlabelled; an empty list, [], says that a node has none of the labels.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heatgraph.encoding.block import Settings
from heatgraph.encoding.column import is_list
from heatgraph.encoding.numbers import decimal_hint, parse_number
from heatgraph.errors import InputError
from heatgraph.tables.ids import to_integers
from heatgraph.tables.input_table import InputTable
from heatgraph.tables.node_table.labels import MAX_FRACTIONAL_CLASSES, find_unlabelled, read_labels
from heatgraph.tables.options import Decimal
from heatgraph.tables.values import is_number, is_numeric, is_text

Array = npt.NDArray[Any]

# Integers are classes up to this many, and beyond if most of them are those of so many nodes.
MAX_INTEGER_CLASSES, MIN_NODES_PER_CLASS = 100, 5
# What stands between labels in a cell, by preference.
SEPARATORS = ("|", ";", ",")
# Cells that mean a missing number.
MISSING_NUMBERS = {"", "nan", "na", "null", "none"}
# From so many labelled nodes on, labels are no classes if this share of them is distinct.
MIN_LABELS, MAX_DISTINCT_SHARE = 20, 0.9
OVERRIDE = "`heatgraph fit --task {}` reads them as {}."


@dataclass(frozen=True)
class TargetColumn:
    """Targets (n,): labels, tuples of labels or floats; None or NaN where missing.

    `notes` tell how the task was decided, if that is not obvious, and which values are no labels.
    """

    task: str = "classification"
    values: Array = field(default_factory=lambda: np.empty(0))
    notes: list[str] = field(default_factory=list)


def read_targets(
    table: InputTable,
    name: str,
    task: str,
    unlabelled: list[str] | None = None,
    decimal: Decimal | None = None,
) -> TargetColumn:
    """Read a column for a task, or with "auto" for the one that its values suggest.

    `unlabelled` are texts that mean that a node has no label, and `decimal` is the decimal mark
    of numbers.
    """
    column, notes = find_unlabelled(table, name, unlabelled or [])
    if decimal is not None and is_text(column.type):
        column = _plain_numbers(column, decimal)
    decided, is_detected = "", task == "auto"
    if is_detected:
        task, decided = _detect_task(name, column)
    if task == "classification":
        values, notes = read_labels(table, name, unlabelled)
        if is_detected:
            _refuse_distinct(table, name, values)
    else:
        read = _read_label_sets if task == "multilabel" else _read_numbers
        values = read(table, name, column)
        notes = [note for note in notes if "count as classes" not in note]
    return TargetColumn(task, values, notes + [f"{table.name}: {decided}"] * bool(decided))


def _plain_numbers(column: pa.ChunkedArray, decimal: Decimal) -> pa.ChunkedArray:
    """Text with the numbers among it as programs write them: 1234.5 for 1,234.5."""
    settings = Settings(missing="error", decimal=decimal)

    def plain(text: str | None) -> str | None:
        number = None if text is None else parse_number(text.strip(), settings)
        return text if number is None else f"{number:.17g}"

    return pa.chunked_array([pa.array([plain(text) for text in column.to_pylist()], pa.string())])


def _refuse_distinct(table: InputTable, name: str, values: Array) -> None:
    """Refuse labels that hardly two nodes share: ids, or numbers that are not read as such."""
    labels = [str(value) for value in values.tolist() if value is not None]
    distinct = list(dict.fromkeys(labels))
    if not _are_nearly_distinct(len(distinct), len(labels)):
        return
    hint = decimal_hint(distinct)
    if not hint and any(mark.isdigit() for mark in distinct[0]):
        hint = "Numbers must be written without currencies and units. "
    raise InputError(
        f"{table.name}: column {name!r} has {len(distinct):,} distinct labels at {len(labels):,} "
        f"nodes, such as {distinct[0]!r}: too few nodes share one to learn from. {hint}Name "
        f"another column (--label); {OVERRIDE.format('classification', 'classes')[:-1]} all the "
        "same."
    )


def _are_nearly_distinct(distinct: int, count: int) -> bool:
    return count >= MIN_LABELS and distinct > MAX_DISTINCT_SHARE * count


def _detect_task(name: str, column: pa.ChunkedArray) -> tuple[str, str]:
    """The task that a column suggests, and a sentence that says why, if it is not obvious."""
    if is_list(column.type):
        return "multilabel", f"column {name!r} has lists: several labels per node (multilabel)."
    if is_text(column.type):
        column = column.cast(pa.string())
        return _detect_task_of_text(name, pc.if_else(pc.equal(column, ""), None, column))
    if pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        return _judge_numbers(name, column.cast(pa.float64()))
    if pa.types.is_integer(column.type):
        return _judge_integers(name, column)
    return "classification", ""


def _detect_task_of_text(name: str, column: pa.ChunkedArray) -> tuple[str, str]:
    texts = column.drop_null()
    if len(texts) and pc.all(pc.starts_with(pc.utf8_ltrim_whitespace(texts), "[")).as_py():
        return "multilabel", f"column {name!r} has lists: several labels per node (multilabel)."
    integers = to_integers(column)
    if pa.types.is_integer(integers.type):
        return _judge_integers(name, integers)
    distinct = texts.unique().to_pylist()
    numbers = [text for text in distinct if is_number(text)]
    fractions = [text for text in numbers if not float(text).is_integer()]
    if fractions and 2 * len(numbers) > len(distinct) > MAX_FRACTIONAL_CLASSES:
        return "regression", (
            f"column {name!r} has {len(distinct):,} distinct values, most of them numbers such as "
            f"{fractions[0]}: read as numbers (regression)."
        )
    for separator in SEPARATORS[:2]:
        parts = {part.strip() for text in distinct for part in text.split(separator)}
        if len(parts) < len(distinct) and any(separator in text for text in distinct):
            return "classification", (
                f"column {name!r} has {separator!r} within labels, which are read as classes. "
                + OVERRIDE.format("multilabel", "several labels per node")
            )
    return "classification", ""


def _judge_numbers(name: str, column: pa.ChunkedArray) -> tuple[str, str]:
    values = column.drop_null().to_numpy()
    values = values[~np.isnan(values)]
    distinct = np.unique(values)
    fractions = distinct[distinct != np.rint(distinct)]
    if len(fractions) == 0:
        return _judge_integers(name, pa.chunked_array([values]))
    return "regression", (
        f"column {name!r} has {len(distinct):,} distinct numbers, such as {fractions[0]:g}: read "
        "as numbers (regression)."
    )


def _judge_integers(name: str, column: pa.ChunkedArray) -> tuple[str, str]:
    """Many integers of few nodes each are counts or other measurements, and else classes."""
    values = column.drop_null().to_numpy()
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= MAX_INTEGER_CLASSES and not _are_nearly_distinct(
        len(distinct), len(values)
    ):
        return "classification", ""
    found = (
        f"column {name!r} has {len(distinct):,} distinct integers from {distinct[0]:,.0f} to "
        f"{distinct[-1]:,.0f}"
    )
    if np.median(counts) < MIN_NODES_PER_CLASS:
        return "regression", (
            f"{found}, most of fewer than {MIN_NODES_PER_CLASS} nodes: read as numbers "
            "(regression). " + OVERRIDE.format("classification", "classes")
        )
    return "classification", (
        f"{found}, most of {MIN_NODES_PER_CLASS} nodes and more: read as classes. "
        + OVERRIDE.format("regression", "numbers")
    )


def _read_numbers(table: InputTable, name: str, column: pa.ChunkedArray) -> Array:
    """A column as float64, NaN where missing; infinity and text are refused with their row."""
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if is_text(column.type):
        texts = [(text or "").strip() for text in column.to_pylist()]
        values = np.full(len(texts), np.nan)
        bad = []
        for row, text in enumerate(texts):
            if text.lower() in MISSING_NUMBERS:
                continue
            if is_number(text):
                values[row] = float(text)
            else:
                bad.append(row)
        if bad:
            hint = decimal_hint([texts[row] for row in bad])
            raise InputError(
                f"{table.locate(bad[0])}: column {name!r} has {texts[bad[0]]!r} among numbers "
                f"({len(bad):,} such in all). {hint}Correct it, or leave it blank where the number "
                "is unknown; classes are read with the task classification."
            )
    elif is_numeric(column.type):
        values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        values = np.array(values, dtype=np.float64)
    else:
        raise InputError(
            f"{table.name}: column {name!r} must be numeric for a regression, and has type "
            f"{column.type}."
        )
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise InputError(
            f"{table.locate(int(infinite[0]))}: column {name!r} is infinite ({len(infinite):,} "
            "such in all). Correct it, or leave it blank where the number is unknown."
        )
    return values


def _read_label_sets(table: InputTable, name: str, column: pa.ChunkedArray) -> Array:
    """A column as tuples of labels, None where missing."""
    if not (is_list(column.type) or is_text(column.type) or pa.types.is_null(column.type)):
        raise InputError(
            f"{table.name}: labels of several per node must be lists or text, and column {name!r} "
            f"has type {column.type}."
        )
    cells = column.to_pylist()
    separator = next((mark for mark in SEPARATORS if _occurs(mark, cells)), None)
    values = np.empty(len(cells), dtype=object)
    for row, cell in enumerate(cells):
        if cell is None or cell == "":
            continue
        labels = _parse_cell(cell, separator) if isinstance(cell, str) else cell
        bad = [one for one in labels if not isinstance(one, str | int | float) or one == ""]
        if bad:
            raise InputError(
                f"{table.locate(row)}: column {name!r} has {bad[0]!r} among the labels of a list, "
                "where text or numbers are expected. Correct it, or write [] for no label."
            )
        values[row] = tuple(dict.fromkeys(labels))
    return values


def _occurs(mark: str, cells: list[Any]) -> bool:
    return any(isinstance(cell, str) and not _is_bracketed(cell) and mark in cell for cell in cells)


def _is_bracketed(text: str) -> bool:
    text = text.strip()
    return text.startswith("[") and text.endswith("]")


def _parse_cell(text: str, separator: str | None) -> list[Any]:
    """Labels of a cell: a JSON list, a list in other quotes, or labels between separators."""
    if not _is_bracketed(text):
        return [part.strip() for part in text.split(separator)] if separator else [text.strip()]
    try:
        found = json.loads(text)
    except (RecursionError, ValueError):
        inner = text.strip()[1:-1].strip()
        rows = csv.reader([inner], quotechar="'", skipinitialspace=True)
        found = [part.strip().strip('"') for part in next(rows, [])]
    return list(found)
