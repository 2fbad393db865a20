"""Noise in features."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from strategies import planted

from heatgraph import Dataset, fraction_split
from heatgraph.datasets.noise import add_feature_noise
from heatgraph.errors import InputError


def dataset(kind):
    graph, labels = planted(n=300, kind=kind)
    return Dataset("planted", graph, labels, {"fractions": fraction_split(labels)})


def test_features_are_only_scaled_without_noise():
    words = add_feature_noise(dataset("words"), 0.0, seed=0).graph.features
    assert sp.issparse(words)
    sums = words.sum(axis=1)
    assert_allclose(sums[sums > 0], 1, rtol=1e-5)
    data = dataset("dense")
    train = data.split.train
    assert_allclose(add_feature_noise(data, 0.0, 0).graph.features[train].std(axis=0), 1, rtol=1e-3)


@pytest.mark.parametrize("kind", ["words", "dense"])
def test_noise_has_the_given_deviation(kind):
    data = dataset(kind)
    clean, noisy, again, other = (
        add_feature_noise(data, noise, seed).graph.features
        for noise, seed in ((0.0, 0), (0.3, 0), (0.3, 0), (0.3, 1))
    )
    clean = clean.toarray() if sp.issparse(clean) else clean
    assert np.std(noisy - clean) == pytest.approx(0.3, rel=0.05)
    assert_array_equal(noisy, again)
    assert (noisy != other).any()


def test_graph_labels_and_splits_are_the_same():
    data = dataset("dense")
    noisy = add_feature_noise(data, 0.5, seed=0)
    assert_array_equal(noisy.graph.indices, data.graph.indices)
    assert noisy.labels is data.labels
    assert noisy.split is data.split


def test_graphs_without_features_are_refused():
    with pytest.raises(InputError, match="the graph has no features to add noise to"):
        add_feature_noise(dataset(None), 0.1, seed=0)
