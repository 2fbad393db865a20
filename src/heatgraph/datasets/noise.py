"""Data sets with noise added to the features, to measure robustness."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from heatgraph.datasets.dataset import Dataset
from heatgraph.errors import InputError
from heatgraph.learning.scaling import Scaling


def add_feature_noise(data: Dataset, noise: float, seed: int) -> Dataset:
    """Scale the features of a data set and add normal noise of standard deviation `noise`.

    Scaling is the default of "auto": words and counts by row, other features to unit variance, so
    that `noise` is in units of the scaled features. With `noise` 0, features are only scaled.
    """
    X = data.graph.features
    if X is None:
        raise InputError("the graph has no features to add noise to.")
    X = Scaling.learn("auto", X, data.split.train).apply(X, np.dtype(np.float32))
    if noise:
        random = np.random.default_rng(seed)
        X = X.toarray() if sp.issparse(X) else X
        X = X + np.float32(noise) * random.standard_normal(X.shape, dtype=np.float32)
    return replace(data, graph=data.graph._with_features(X))
