"""Text: tf-idf of the words of training nodes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.feature_extraction.text import TfidfVectorizer

from heatgraph.encoding import texts
from heatgraph.encoding.block import Settings
from heatgraph.encoding.column import NothingToEncode
from heatgraph.encoding.texts import TextEncoding

TITLES = ["Deep neural networks", "Neural fields", "Galaxies and stars", "", "Cells", "deep, DEEP"]


def test_against_scikit_learn(column):
    x = column(TITLES)
    train = np.array([0, 1, 2, 5])
    encoding = TextEncoding.fit(x, train, Settings())
    oracle = TfidfVectorizer(sublinear_tf=True).fit([TITLES[at] for at in train])
    assert encoding.names == [f"x: {word}" for word in oracle.get_feature_names_out()]
    assert encoding.description == f"text of {len(encoding.words)} words"
    block = encoding.encode(x, Settings())
    assert block.values.dtype == np.float32
    assert_allclose(block.values.toarray(), oracle.transform(TITLES).toarray(), atol=1e-6)
    assert block.notes == [
        "t: column 'x' is blank in 1 of 6 nodes: all its features are 0 there",
        "t: column 'x' has in 1 of 6 nodes none of the words of training nodes",
    ]


def test_bounds_on_words(monkeypatch, column, rows):
    monkeypatch.setattr(texts, "MANY_TEXTS", 5)
    x = column(TITLES)
    assert TextEncoding.fit(x, rows(x), Settings()).words == ("deep", "neural")
    monkeypatch.setattr(texts, "MAX_WORDS", 1)
    assert TextEncoding.fit(x, rows(x), Settings()).words == ("deep",)


@pytest.mark.parametrize("values", [["! ?", "a b"], [None, "word"]])
def test_no_words(column, values):
    with pytest.raises(NothingToEncode, match="no words among the training nodes"):
        TextEncoding.fit(column(values), np.array([0]), Settings())
