"""Records of encodings: what is written is read, and nothing else is."""

import json

import numpy as np
import pytest

from heatgraph.encoding.block import count_nodes, from_record, to_record
from heatgraph.encoding.categories import CategoryEncoding
from heatgraph.encoding.dates import DateEncoding
from heatgraph.encoding.numbers import NumberEncoding
from heatgraph.encoding.texts import TextEncoding
from heatgraph.encoding.vectors import VectorEncoding

NUMBER = NumberEncoding("x", 1 / 3, 1e-30, True, False)


@pytest.mark.parametrize(
    "encoding",
    [
        NUMBER,
        CategoryEncoding("x", ("\N{SNOWMAN}", "b")),
        TextEncoding("x", ("u", "v"), (1.0, 2.5)),
        DateEncoding("x", 0.1, 2.0, (1999, 2001), (1, 12), (0, 6), False),
        VectorEncoding("x", (1.0, 2.0), (1.0, 1.0), True),
    ],
)
def test_a_round_trip_through_json(encoding):
    record = json.loads(json.dumps(to_record(encoding)))
    assert from_record(type(encoding), record) == encoding


@pytest.mark.parametrize(
    "change",
    [
        {"mean": float("nan")}, {"mean": "1"}, {"mean": True}, {"column": 5}, {"more": 1},
        {"has_indicator": 1},
    ],
)  # fmt: skip
def test_other_records_are_refused(change):
    with pytest.raises(ValueError, match="encoding must"):
        from_record(NumberEncoding, to_record(NUMBER) | change)


@pytest.mark.parametrize(
    ("kind", "record"),
    [
        (CategoryEncoding, {"column": "x", "values": "ab"}),
        (CategoryEncoding, {"column": "x", "values": [1]}),
        (TextEncoding, {"column": "x", "words": ["a"], "idf": []}),
        (TextEncoding, {"column": "x", "words": ["a", "a"], "idf": [1, 1]}),
        (VectorEncoding, {"column": "x", "mean": [1], "scale": [], "has_indicator": False}),
        (DateEncoding, to_record(DateEncoding("x", 0.0, 1.0, (), (1,), (1,), False))
         | {"months": [13]}),
    ],
)  # fmt: skip
def test_records_that_contradict_themselves_are_refused(kind, record):
    with pytest.raises(ValueError, match="encoding|months"):
        from_record(kind, record | {"kind": kind.kind})


def test_counts():
    assert count_nodes(np.array([True, False, True])) == "2 of 3 nodes"
