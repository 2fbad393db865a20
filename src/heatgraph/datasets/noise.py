"""Data with noise in the features, to see what methods make of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from heatgraph.datasets.dataset import Dataset
from heatgraph.errors import InputError
from heatgraph.learning.scaling import Scaling, candidate_scalings


def disturbed(data: Dataset, noise: float, seed: int) -> Dataset:
    """The same data set with features scaled and then disturbed by normal noise.

    Features are scaled as suits them, words by row and others to unit deviation, so that `noise` is
    in their units. Without noise they are scaled only.
    """
    X = data.graph.features
    if X is None:
        raise InputError("there are no features that noise could disturb.")
    train = data.split.train
    scaling = Scaling.learn(candidate_scalings(X, train)[0], X, train)
    X = scaling.apply(X, np.dtype(np.float32))
    if noise:
        random = np.random.default_rng(seed)
        X = X.toarray() if sp.issparse(X) else X
        X = X + np.float32(noise) * random.standard_normal(X.shape, dtype=np.float32)
    return replace(data, graph=data.graph.with_features(X))
