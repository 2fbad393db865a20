"""Lists in the rows of a column: of Arrow's list types, or text such as [1, 2] or ["a", "b"]."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heatgraph.encoding.column import LEAVE_OUT, Column, is_numeric, is_text

_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:nan|NaN|inf)"
_NUMBERS = rf"^\s*\[\s*((?:{_NUMBER})(\s*[,;\s]\s*(?:{_NUMBER}))*)?\s*\]\s*$"
_WORD = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_WORDS = re.compile(rf"\[\s*(?:(?:{_WORD}|{_NUMBER})(?:\s*,\s*(?:{_WORD}|{_NUMBER}))*)?\s*\]")
_ITEM = re.compile(rf"{_WORD}|{_NUMBER}")


@dataclass(frozen=True)
class Lists:
    """One list per row: all `items` one after another, and the number of items of each row.

    `items` are numbers or strings. `missing` (n,) are the rows without a list, which have no items.
    """

    items: pa.Array
    lengths: npt.NDArray[np.int64]
    missing: npt.NDArray[np.bool_]

    @property
    def has_numbers(self) -> bool:
        """Whether items are numbers."""
        return is_numeric(self.items.type)

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """The row of each item."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)


def read_lists(column: Column) -> Lists:
    """The lists of a column; other values, and lists of lists, are refused."""
    if is_text(column.kind):
        return _parse_lists(column)
    values = column.values.combine_chunks()
    missing = pc.is_null(values).to_numpy(zero_copy_only=False)
    lengths = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
    lengths = np.where(missing, 0, lengths).astype(np.int64)
    # Lists of a fixed size have items in missing rows too, which Arrow's flatten leaves out.
    items = pc.list_flatten(values)
    if pa.types.is_dictionary(items.type):
        items = items.cast(items.type.value_type)
    if items.type == pa.string_view() or pa.types.is_boolean(items.type):
        items = items.cast(pa.string())
    if not (is_numeric(items.type) or is_text(items.type) or pa.types.is_null(items.type)):
        first = int((lengths > 0).argmax())
        column.refuse(
            np.arange(len(lengths)) >= first,
            lambda row: f"has a list of {items.type}",
            f"Lists may hold numbers or strings, no lists or records: flatten them, {LEAVE_OUT}",
        )
    return Lists(items, lengths, missing)


def looks_like_list(text: str) -> bool:
    """Whether a text is in square brackets."""
    return text.startswith("[") and text.endswith("]")


def _parse_lists(column: Column) -> Lists:
    """Parse lists that are written as text: numbers by Arrow, strings one by one."""
    texts = pc.utf8_trim_whitespace(column.values.cast(pa.large_string()).combine_chunks())
    missing = ~column.texts.present
    are_numbers = pc.match_substring_regex(texts.filter(pa.array(~missing)), _NUMBERS)
    if pc.all(are_numbers, min_count=0).as_py():
        texts = pc.if_else(pa.array(missing), "[]", texts)
        inner = pc.utf8_trim(texts, "[] \t\r\n")
        parts = pc.split_pattern_regex(inner, r"\s*[,;\s]\s*")
        lengths = np.where(pc.equal(inner, "").to_numpy(zero_copy_only=False), 0,
                           pc.list_value_length(parts).to_numpy(zero_copy_only=False))  # fmt: skip
        items = pc.list_flatten(parts)
        return Lists(_to_numbers(items.filter(pc.not_equal(items, ""))), lengths, missing)
    return _parse_words(column, missing)


def _to_numbers(items: pa.Array) -> pa.Array:
    """Numbers as int64 if all of them are written as integers, else as float64."""
    try:
        return items.cast(pa.int64())
    except pa.ArrowInvalid:
        return items.cast(pa.float64())


def _parse_words(column: Column, missing: npt.NDArray[np.bool_]) -> Lists:
    texts = column.texts
    parsed = [_items(text) for text in texts.values]
    column.refuse_values(
        [items is None for items in parsed],
        "has {}, which is not a list such as [0.5, 1] or [\"a\", \"b\"]",
        f"Correct it, {LEAVE_OUT}",
    )  # fmt: skip
    lists = pa.array(parsed, pa.list_(pa.string()))
    rows = lists.take(pa.array(np.where(missing, 0, texts.codes)))
    lengths = pc.list_value_length(rows).to_numpy(zero_copy_only=False).astype(np.int64)
    keep = np.repeat(~missing, lengths)
    return Lists(rows.flatten().filter(pa.array(keep)), np.where(missing, 0, lengths), missing)


def _items(text: str) -> list[str] | None:
    """Items of a list as JSON or Python writes it; None if it is none."""
    if not _WORDS.fullmatch(text):
        return None
    return [_unquote(item) for item in _ITEM.findall(text)]


def _unquote(item: str) -> str:
    if item[0] == '"':
        with contextlib.suppress(ValueError):  # an escape that JSON does not have
            return str(json.loads(item))
        return item[1:-1]
    return re.sub(r"\\(.)", r"\1", item[1:-1]) if item[0] == "'" else item
