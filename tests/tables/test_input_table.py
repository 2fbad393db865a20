"""Tables of other libraries."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from heatgraph.errors import InputError
from heatgraph.tables.from_tables import from_tables

EDGE = {"source": ["a"], "target": ["b"]}
PAIR = {"id": ["a", "b"]}
NODES = pa.table(
    {"id": ["a", "b", "c"], "label": ["u", None, "v"], "x": [0.5, 1, 2], "n": [1, 2, 3]}
)


class OnlyStream:
    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class OnlyInterchange:
    def __init__(self, table):
        self.table = table

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return self.table.__dataframe__(nan_as_null, allow_copy)


@pytest.mark.parametrize(
    "make",
    [
        lambda table: table,
        lambda table: table.to_pydict(),
        lambda table: table.to_pandas(),
        lambda table: table.to_pandas().convert_dtypes(),
        lambda table: table.to_pandas().astype({table.column_names[1]: "category"}),
        pl.from_arrow,
        OnlyStream,
        OnlyInterchange,
        lambda table: table.to_reader(),
        lambda table: table.to_batches()[0],
        lambda table: {name: np.array(column) for name, column in table.to_pydict().items()},
    ],
)
def test_every_library_gives_the_same_table(make):
    edges = pa.table({"source": ["a", "b"], "target": ["b", "c"], "weight": [1.5, 2.0]})
    data = from_tables(make(NODES), make(edges))
    assert data.graph.node_ids.tolist() == ["a", "b", "c"]
    assert data.labels.tolist() == ["u", None, "v"]
    assert data.graph.feature_names == ["x", "n"]
    assert_array_equal(data.graph.features, np.array([[0.5, 1], [1, 2], [2, 3]]))
    assert data.graph.adjacency.toarray()[0, 1] == 1.5


def test_missing_features_in_a_data_frame():
    frame = pd.DataFrame({"id": ["a", "b"], "x": [1, np.nan]})
    with pytest.raises(InputError, match=r"nodes, row 1 .*column 'x' is blank"):
        from_tables(frame, EDGE, missing="error")


def test_integer_column_names():
    for nodes in ({0: ["a", "b"], 1: [1, 2]}, pd.DataFrame([["a", 1], ["b", 2]])):
        assert from_tables(nodes, EDGE).graph.feature_names == ["1"]


@pytest.mark.parametrize("thing", [5, None, [1, 2], np.eye(2), pl.LazyFrame(PAIR), object()])
def test_other_objects_are_refused(thing):
    with pytest.raises(InputError, match="nodes must be a path, a data frame .* Got"):
        from_tables(thing, EDGE)
    with pytest.raises(InputError, match="edges must be a path, a data frame .* Got"):
        from_tables(PAIR, thing)


@pytest.mark.parametrize(
    "nodes",
    [
        {"id": ["a", 1]}, {"id": ["a", "b"], "x": [1]}, {"id": ["a"], "x": 1},
        {"id": ["a", "b"], "x": np.eye(2)}, {"id": [10**20]}, {"id": [1j]},
        pd.DataFrame([["a", 1, 2]], columns=["id", "x", "x"]), pd.DataFrame({"id": ["a", 1]}),
    ],
)  # fmt: skip
def test_malformed_columns_are_refused(nodes):
    with pytest.raises(InputError, match="nodes cannot be read as a table: .* values of one type"):
        from_tables(nodes, EDGE)
