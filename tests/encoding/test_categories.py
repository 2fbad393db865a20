"""Categories: one-hot, by the values of training nodes."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from heatgraph.encoding import categories
from heatgraph.encoding.block import Settings
from heatgraph.encoding.categories import CategoryEncoding, most_frequent
from heatgraph.encoding.column import NothingToEncode


def fit(column, train=None):
    train = np.arange(len(column)) if train is None else np.array(train)
    return CategoryEncoding.fit(column, train, Settings())


def test_one_hot_against_pandas(column):
    random = np.random.default_rng(0)
    values = random.choice(["b", "a", "c", ""], 50)
    x = column(values.tolist())
    encoding = fit(x)
    assert encoding.names == ["x=a", "x=b", "x=c"]
    assert encoding.description == "category of 3 values"
    expected = pd.get_dummies(pd.Series(values)).drop(columns="")
    block = encoding.encode(x, Settings())
    assert block.values.dtype == np.float32
    assert_array_equal(block.values.toarray(), expected)
    assert "is blank in " in block.notes[0]


def test_values_that_no_training_node_has(column):
    x = column(["a", "b", "z", None, "y"])
    block = fit(x, [0, 1]).encode(x, Settings())
    assert block.values.toarray().tolist() == [[1, 0], [0, 1], [0, 0], [0, 0], [0, 0]]
    assert block.notes == [
        "t: column 'x' is blank in 1 of 5 nodes: all its features are 0 there",
        "t: column 'x' has in 2 of 5 nodes a value that no training node has (such as 'z'): all "
        "its features are 0",
    ]


@pytest.mark.parametrize(
    "again", [[1, 2], [1.0, 2.0], ["1", "2"], pa.array(["1", "2"]).dictionary_encode()]
)
def test_the_same_values_of_another_type(column, again):
    encoding = fit(column(["1", "2"]))
    assert encoding.encode(column(again), Settings()).values.toarray().tolist() == [[1, 0], [0, 1]]


def test_the_most_frequent_values_are_kept(monkeypatch, column):
    monkeypatch.setattr(categories, "MAX_VALUES", 2)
    assert fit(column(["c", "b", "c", "a", "b"])).values == ("b", "c")
    assert most_frequent(["u", "v"], np.array([1]), 9) == ["v"]


def test_no_values(column):
    with pytest.raises(NothingToEncode, match="blank at every training node"):
        fit(column([None, "a"]), [0])
