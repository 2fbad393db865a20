"""What became of each column is told for every one of them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from heatgraph import from_tables
from heatgraph.errors import InputError, TableWarning
from heatgraph.tables.from_tables import read_tables
from heatgraph.tables.node_table.column_uses import LEFT_OUT, ColumnUse
from heatgraph.tables.options import TableOptions

NONE = {"source": [], "target": []}
NODES = {
    "id": np.arange(30),
    "label": ["a", "b"] * 15,
    "size": np.linspace(0, 1, 30),
    "country": ["FR", "DE", "US"] * 10,
    "account": np.arange(30) + 5,
    "web": ["yes"] * 30,
    "y": np.arange(30),
}


def test_every_column_is_listed_once():
    result = read_tables(NODES, NONE, TableOptions())
    assert result.uses == [
        ColumnUse("id", "id", "id"),
        ColumnUse("label", "label", "label"),
        ColumnUse("size", "number", "number", 1),
        ColumnUse("country", "category", "category of 3 values", 3),
        ColumnUse("y", LEFT_OUT, "named like a label or a split"),
        ColumnUse("account", LEFT_OUT, "integers that look like ids"),
        ColumnUse("web", LEFT_OUT, "constant"),
    ]
    assert {use.column for use in result.uses} == set(NODES)


def test_columns_left_out_are_warned_of_and_can_be_named():
    with pytest.warns(TableWarning) as caught:
        from_tables(NODES, NONE)
    assert [str(warning.message) for warning in caught] == [
        "nodes: not used (named like a label or a split): y.",
        "nodes: not used (integers that look like ids): account.",
        "nodes: not used (constant): web.",
    ]
    assert caught[0].filename == __file__
    graph = from_tables(NODES, NONE, features=["account", "web", "y"]).graph
    assert graph.feature_names == ["account", "y", "web=yes"]


def test_columns_and_a_feature_table_together():
    table = {"node": [0, 0, 7], "feature": ["u", "v", "u"], "value": [3.0, 4.0, 2.0]}
    options = TableOptions(features=["size", "country", table])
    result = read_tables(NODES, NONE, options)
    graph = result.dataset.graph
    names = ["size", "country=DE", "country=FR", "country=US", "u", "v"]
    assert graph.feature_names == names
    X = graph.features.toarray()
    assert X[0, -2:].tolist() == pytest.approx([0.6, 0.8])
    assert X[7, -2:].tolist() == [1, 0]
    assert result.uses[-1] == ColumnUse(
        "features", "feature table", "a row per node and feature", 2
    )
    options = TableOptions(
        features=table, label="", model_features=names, model_encoder=graph.feature_encoder
    )
    again = read_tables(NODES, NONE, options)
    np.testing.assert_array_equal(again.dataset.graph.features.toarray(), X)


def test_numbers_beside_a_feature_table_are_standardised():
    table = {"node": [0], "feature": ["u"]}
    graph = from_tables(NODES, NONE, features=["size", table]).graph
    size = graph.features.toarray()[:, 0]
    assert graph.feature_encoder.settings.scaled
    assert (size.mean(), size.std()) == pytest.approx((0, 1), abs=1e-6)


def test_a_column_and_the_feature_table_of_the_same_name():
    table = {"node": [0], "feature": ["size"], "value": [1.0]}
    with pytest.raises(InputError, match="both have a feature called 'size'. Rename one of them"):
        from_tables(NODES, NONE, features=["size", table])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_categoricals_of_data_frames(frame):
    size = ["S", "M", "M"] * 10
    kinds = {
        pd.DataFrame: lambda: pd.Categorical(size, ["S", "M", "L"]),
        pl.DataFrame: lambda: pl.Series(size, dtype=pl.Enum(["S", "M", "L"])),
    }
    nodes = frame({"id": np.arange(30), "size": kinds[frame]()})
    graph = from_tables(nodes, NONE).graph
    assert graph.feature_names == ["size=M", "size=S"]
    graph = from_tables(nodes, NONE, features="size").graph
    np.testing.assert_array_equal(graph.features, [[s == "M", s == "S"] for s in size])
