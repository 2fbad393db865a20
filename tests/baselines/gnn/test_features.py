"""Features as tensors: sparse ones against dense ones."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from trained_networks import GRAPH, trained

from heatgraph.baselines.gnn.recipes import RECIPES

pytestmark = pytest.mark.usefixtures("torch")
COUNTS = np.random.default_rng(0).poisson(0.7, (8, 5)).astype(np.float32)


@pytest.mark.parametrize("network", RECIPES)
def test_sparse_and_dense_features_give_the_same_scores(network):
    X = np.random.default_rng(1).poisson(0.3, GRAPH.features.shape).astype(float)
    options = {"encoder_epochs": 3} if network == "dgi" else None
    dense, sparse = (
        trained(
            network,
            graph=GRAPH.with_features(features),
            feature_scaling="rows",
            options=options,
        ).decision_function()
        for features in (X, sp.csr_array(X))
    )
    assert_allclose(sparse, dense, atol=1e-4)


def test_dense_features_are_in_float32(torch):
    from heatgraph.baselines.gnn.features import feature_tensor

    for X in (COUNTS, sp.csr_array(COUNTS)):
        tensor = feature_tensor(X, sparse=False)
        assert tensor.dtype == torch.float32
        assert_array_equal(tensor.numpy(), COUNTS)


def test_linear_layers_and_gradients(torch):
    from heatgraph.baselines.gnn.features import feature_tensor

    results = []
    for sparse in (False, True):
        weight = torch.ones(2, 5, requires_grad=True)
        X = feature_tensor(sp.csr_array(COUNTS), sparse=sparse)
        product = torch.nn.functional.linear(X, weight, torch.tensor([1.0, 2.0]))
        product.square().sum().backward()
        results.append((product.detach().numpy(), weight.grad.numpy()))
    assert_allclose(results[1][0], results[0][0], rtol=1e-6)
    assert_allclose(results[1][1], results[0][1], rtol=1e-6)


def test_permuted_rows(torch):
    from heatgraph.baselines.gnn.features import feature_tensor, permute_rows

    order = np.random.default_rng(2).permutation(8)
    for sparse in (False, True):
        X = permute_rows(
            feature_tensor(sp.csr_array(COUNTS), sparse=sparse), torch.from_numpy(order)
        )
        rows = torch.nn.functional.linear(X, torch.eye(5))
        assert_array_equal(rows.numpy(), COUNTS[order])
