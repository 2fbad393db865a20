"""Which kind of feature a column holds, or why it holds none.

Kinds are detected from all rows; what a kind learns, it learns from the training nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from heatgraph.encoding.bags import BagEncoding
from heatgraph.encoding.block import Decimal, Settings
from heatgraph.encoding.categories import CategoryEncoding
from heatgraph.encoding.column import Column, NothingToEncode, is_date, is_list, is_numeric, is_text
from heatgraph.encoding.dates import ISO_DATE, DateEncoding
from heatgraph.encoding.lists import looks_like_list, read_lists
from heatgraph.encoding.numbers import (
    MISSING_WORDS,
    NumberEncoding,
    has_leading_zero,
    is_plain_number,
    parse_number,
    read_numbers,
    unusual_number,
)
from heatgraph.encoding.texts import TextEncoding
from heatgraph.encoding.vectors import VectorEncoding

Kind = (
    type[NumberEncoding] | type[VectorEncoding] | type[CategoryEncoding] | type[TextEncoding]
    | type[DateEncoding] | type[BagEncoding]
)  # fmt: skip

# Distinct texts that the kind is detected from.
NUM_SAMPLED = 200
# Values of free text have at least this many words on average.
MIN_WORDS = 2.5
# Rows from which on values that are all distinct are evidence of ids.
MIN_ROWS = 20
# Texts of several words with more distinct values than this are free text even if they repeat.
MANY_VALUES = 1000
# Distinct integers of at least this many digits each, or above what float32 tells apart, are ids.
ID_DIGITS, MAX_EXACT = 7, 2**24
# Dates whose order of day and month is unknown, or that have another mark between them.
_OTHER_DATE = re.compile(
    r"([0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{2,4}|[0-9]{4}[./][0-9]{1,2}[./][0-9]{1,2})([ T].*)?"
)
_ID_NAME = re.compile(r"(?i:(?:^|[_\-. ])(?:id|uuid|guid)$)|(?<=[a-z])I[dD]$")


def detect_kind(column: Column, settings: Settings, is_named: bool) -> Kind:
    """The kind of a column; `NothingToEncode` says why there is none.

    A column that the user names is used even if it looks like ids or is constant.
    """
    kind = column.kind
    if pa.types.is_null(kind) or column.values.null_count == len(column):
        raise NothingToEncode("blank in every row")
    if column.is_categorical and (is_text(kind) or is_numeric(kind)):
        return _category(column, is_named)
    if is_numeric(kind):
        return _number_kind(column, settings, is_named)
    if is_date(kind):
        return DateEncoding
    if is_list(kind):
        return _list_kind(column)
    if is_text(kind):
        return _text_kind(column, settings, is_named)
    raise NothingToEncode(f"of type {kind}")


def _number_kind(column: Column, settings: Settings, is_named: bool) -> Kind:
    if pa.types.is_boolean(column.kind):
        return NumberEncoding
    values = read_numbers(column, Settings(decimal=settings.decimal))
    present = values[~np.isnan(values)]
    if len(present) == 0:
        raise NothingToEncode("blank in every row")
    least, largest = present.min(), present.max()
    if not is_named and least == largest and len(present) == len(values) > 1:
        raise NothingToEncode("constant")
    has_id_name = _ID_NAME.search(column.name) is not None
    # In a range of fewer integers than rows, they cannot all be distinct.
    may_be_distinct = len(present) >= MIN_ROWS and largest - least >= len(present) - 1
    if (has_id_name or may_be_distinct) and (present == np.round(present)).all():
        distinct = len(np.unique(present))
        if has_id_name and distinct < len(present) / 2:
            return CategoryEncoding
        if not is_named and (has_id_name or _are_ids(distinct, len(present), least, largest)):
            raise NothingToEncode("integers that look like ids")
    return NumberEncoding


def _are_ids(distinct: int, count: int, least: float, largest: float) -> bool:
    """Whether integers are all distinct, and either long or too dense to be so by chance."""
    if distinct < count:
        return False
    digits = {len(str(int(abs(value)))) for value in (least, largest)}
    same_length = len(digits) == 1 and min(digits) >= ID_DIGITS
    # n draws from a range of size R collide with probability 1 - exp(-n^2 / 2R).
    dense = count**2 > 20 * (largest - least)
    return same_length or dense or max(abs(least), abs(largest)) > MAX_EXACT


def _list_kind(column: Column) -> Kind:
    lists = read_lists(column)
    if len(lists.items) == lists.items.null_count:
        raise NothingToEncode("empty lists in every row")
    if not lists.has_numbers:
        return BagEncoding
    lengths = lists.lengths[~lists.missing]
    are_ids = pa.types.is_integer(lists.items.type) and (lengths != lengths[0]).any()
    return BagEncoding if are_ids else VectorEncoding


def _text_kind(column: Column, settings: Settings, is_named: bool) -> Kind:
    texts = column.texts
    if not texts.values:
        raise NothingToEncode("blank in every row")
    sample = texts.values[:NUM_SAMPLED]
    if 2 * sum(looks_like_list(text) for text in sample) >= len(sample):
        return _list_kind(column)
    if _most(ISO_DATE.fullmatch(text) is not None for text in sample):
        return DateEncoding
    words = [text for text in sample if text not in MISSING_WORDS]
    is_code = any(has_leading_zero(text) for text in words)
    plain = [is_plain_number(text) for text in words]
    if settings.decimal is not None:
        plain = [parse_number(text, settings) is not None for text in words]
    if _most(plain) and not is_code:
        return _number_kind(column, settings, is_named)
    if not is_code and (problem := _why_no_numbers(words, settings)):
        raise NothingToEncode(problem)
    count, distinct = int(np.count_nonzero(texts.present)), len(texts.values)
    if _mean_words(sample) >= MIN_WORDS and (2 * distinct > count or distinct > MANY_VALUES):
        return TextEncoding
    if not is_named and count >= MIN_ROWS and 2 * distinct > count:
        if _most(_OTHER_DATE.fullmatch(text) is not None for text in sample):
            raise NothingToEncode("dates are read as ISO 8601, such as 2024-05-17: rewrite them")
        raise NothingToEncode("names or ids: most nodes have a value of their own")
    return _category(column, is_named)


def _why_no_numbers(words: list[str], settings: Settings) -> str:
    """How texts that people read as numbers are written, and what reads them; "" if they are none.

    Without this, they would be names, or categories.
    """
    if settings.decimal is not None:
        other: Decimal = "," if settings.decimal == "." else "."
        if not _most(parse_number(text, Settings(decimal=other)) is not None for text in words):
            return ""
        return (
            f"numbers with the decimal mark {other!r}, where decimal (--decimal) is "
            f"{settings.decimal!r}; one mark holds for all columns: rewrite some"
        )
    unusual = [how for text in words if (how := unusual_number(text))]
    if not unusual or 2 * (len(unusual) + sum(map(is_plain_number, words))) <= len(words):
        return ""
    mark = "," if "decimal commas" in unusual else "."
    or_else = " (or '.', if commas separate thousands)" if mark == "," else ""
    return f"numbers with {unusual[0]}; set decimal (--decimal) to {mark!r} to read them{or_else}"


def _category(column: Column, is_named: bool) -> Kind:
    texts = column.texts
    if not is_named and len(texts.values) == 1 and texts.present.all() and len(column) > 1:
        raise NothingToEncode("constant")
    return CategoryEncoding


def _most(flags: Iterable[bool]) -> bool:
    """Whether more than half are True."""
    found = list(flags)
    return 2 * sum(found) > len(found)


def _mean_words(texts: list[str]) -> float:
    return sum(len(text.split()) for text in texts) / len(texts)
