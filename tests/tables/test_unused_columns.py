"""What is not read is told, in Python by a warning."""

import warnings

import pandas as pd
import pytest

from heatgraph.errors import TableWarning
from heatgraph.tables.from_tables import from_tables, read_tables
from heatgraph.tables.options import TableOptions

NODES = {"id": ["a", "b"], "x": [1.0, 2.0]}
EDGES = {"source": ["a"], "target": ["b"]}


def warnings_of(nodes, edges, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        from_tables(nodes, edges, **options)
    return [str(warning.message) for warning in caught]


def test_columns_of_edges():
    edges = EDGES | {"year": [1999], "kind": ["x"]}
    with pytest.warns(TableWarning, match="edges: not used: year, kind."):
        from_tables(NODES, edges)
    assert read_tables(NODES, edges, TableOptions()).notes == ["edges: not used: year, kind"]


def test_weights_that_the_user_wants_ignored():
    assert warnings_of(NODES, EDGES | {"weight": [2.0]}, weight="") == []


def test_the_index_of_a_data_frame():
    nodes = pd.DataFrame({"id": ["a", "b"], "x": [1.0, 2.0]}, index=["u", "v"])
    (message,) = warnings_of(nodes, EDGES)
    assert message.startswith(
        "nodes: the index of the data frame is not used; the ids are in 'id'."
    )
    shuffled = nodes.set_axis([7, 3])
    assert warnings_of(shuffled, EDGES) == []
    assert warnings_of(shuffled.rename(columns={"id": "city"}), EDGES)
    assert warnings_of(shuffled.rename(columns={"id": "city"}), EDGES, id="city") == []
    assert warnings_of(nodes.drop(columns="id").set_axis(["a", "b"]), EDGES) == []


def test_the_index_of_edges():
    edges = pd.DataFrame(EDGES, index=["first"])
    assert warnings_of(NODES, edges) == ["edges: not used: __index_level_0__."]
    assert warnings_of(NODES, edges.set_axis([5])) == []
    pairs = pd.DataFrame(
        {"weight": [2.0]}, index=pd.MultiIndex.from_tuples([("a", "b")], names=["source", "target"])
    )
    assert warnings_of(NODES, pairs) == []


def test_a_plain_table_gives_no_warning():
    assert warnings_of(pd.DataFrame(NODES), pd.DataFrame(EDGES)) == []
