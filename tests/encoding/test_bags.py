"""Bags: counts of the items of training nodes."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.feature_extraction.text import CountVectorizer

from heatgraph.encoding import bags
from heatgraph.encoding.bags import BagEncoding, unit_rows
from heatgraph.encoding.block import Settings
from heatgraph.encoding.column import NothingToEncode
from heatgraph.errors import InputError


def test_counts_against_scikit_learn(column):
    random = np.random.default_rng(0)
    rows = [random.choice(list("abcdef"), random.integers(5)).tolist() for _ in range(40)]
    x, train = column(rows), np.arange(0, 40, 3)
    encoding = BagEncoding.fit(x, train, Settings())
    oracle = CountVectorizer(analyzer=lambda row: row).fit([rows[at] for at in train])
    assert encoding.names == [f"x={item}" for item in oracle.get_feature_names_out()]
    X = encoding.encode(x, Settings()).values
    assert X.dtype == np.float32
    assert X.toarray().tolist() == oracle.transform(rows).toarray().tolist()
    lengths = np.linalg.norm(encoding.encode(x, Settings(scaled=True)).values.toarray(), axis=1)
    assert_allclose(lengths, [bool(set(row) & set(encoding.items)) for row in rows], rtol=1e-6)


@pytest.mark.parametrize(
    "values",
    [[[1, 17], [17, 203, 17]], ["[1, 17]", "[17, 203, 17]"], [[1.0, 17.0], [17.0, 203, 17]]],
)
def test_integers_of_every_type(column, rows, values):
    x = column(values)
    encoding = BagEncoding.fit(x, rows(x), Settings())
    assert encoding.names == ["x=1", "x=17", "x=203"]
    assert encoding.encode(x, Settings()).values.toarray().tolist() == [[1, 1, 0], [0, 2, 1]]


def test_unknown_and_missing_items(column):
    x = column([["a"], ["b", "a", "z"], None, []])
    block = BagEncoding.fit(x, np.array([0]), Settings()).encode(x, Settings())
    assert block.values.toarray().tolist() == [[1], [1], [0], [0]]
    assert block.notes == [
        "t: column 'x' is blank in 1 of 4 nodes: all its features are 0 there",
        "t: column 'x' has in 1 of 4 nodes items that no training node has (such as 'b'): they "
        "are ignored",
    ]
    with pytest.raises(NothingToEncode, match="empty lists at every training node"):
        BagEncoding.fit(x, np.array([2, 3]), Settings())


def test_the_most_frequent_items_are_kept(monkeypatch, column, rows):
    monkeypatch.setattr(bags, "MAX_ITEMS", 1)
    x = column([["a", "b"], ["b"]])
    encoding = BagEncoding.fit(x, rows(x), Settings())
    assert (encoding.items, encoding.description) == (("b",), "bag of 1 item")


def test_bad_bags(column, rows):
    encoding = BagEncoding("x", ("1",))
    with pytest.raises(InputError, match=r"row 1: column 'x' has a fraction in a list of ids"):
        encoding.encode(column([[1.0], [0.5, 2.0]]), Settings())
    with pytest.raises(InputError, match="column 'x' must be lists, and has type int64"):
        encoding.encode(column([1]), Settings())


def test_unit_rows_keep_zeros():
    X = unit_rows(sp.csr_array(np.array([[3, 4], [0, 0]], dtype=np.float32)))
    assert_allclose(X.toarray(), [[0.6, 0.8], [0, 0]])
