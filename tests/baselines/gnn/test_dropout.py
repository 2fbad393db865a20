"""Dropout: shares, scales, gradients and repeatability of its masks."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

pytestmark = pytest.mark.usefixtures("torch")
SIZE = 400_000
# Of a share of so many entries, at most; four of them contain all but one in 15,000 draws.
STANDARD_ERROR = 0.5 * SIZE**-0.5


@pytest.mark.parametrize("p", [0.0, 0.2, 0.5, 0.6, 0.9, 1 - 1e-7])
def test_a_mask_keeps_the_right_share_and_has_an_expectation_of_one(torch, p):
    from heatgraph.baselines.gnn.dropout import LEVELS, scaled_mask

    torch.manual_seed(0)
    mask = scaled_mask(torch.Size([SIZE // 4, 4]), p).numpy()
    assert mask.shape == (SIZE // 4, 4)
    assert mask.dtype == np.float32
    kept = mask > 0
    assert kept.mean() == pytest.approx(1 - p, abs=4 * STANDARD_ERROR + 1 / LEVELS)
    (scale,) = np.unique(mask[kept]) if kept.any() else [np.float32(LEVELS)]
    if p < 0.99:
        assert scale == pytest.approx(1 / (1 - p), rel=1e-3)
    # Rows and columns are independent: so is one entry from the next.
    assert_allclose(kept.mean(axis=0), kept.mean(), atol=8 * STANDARD_ERROR)
    both = (kept[:-1] & kept[1:]).mean()
    assert both == pytest.approx(kept.mean() ** 2, abs=8 * STANDARD_ERROR)


def test_masks_repeat_with_the_seed_and_differ_within_it(torch):
    from heatgraph.baselines.gnn.dropout import scaled_mask

    masks = []
    for _ in range(2):
        torch.manual_seed(7)
        masks.append([scaled_mask(torch.Size([1001]), 0.5).numpy() for _ in range(2)])
    assert_array_equal(masks[0], masks[1])
    assert (masks[0][0] != masks[0][1]).any()


def test_gradients_pass_through_kept_entries(torch):
    from heatgraph.baselines.gnn.dropout import dropout

    X = torch.ones(50, 4, requires_grad=True)
    dropped = dropout(X, 0.5, training=True)
    dropped.sum().backward()
    assert_array_equal(X.grad.numpy(), dropped.detach().numpy())
    assert set(np.unique(dropped.detach().numpy())) == {0.0, 2.0}


def test_evaluation_drops_nothing(torch):
    from heatgraph.baselines.gnn.dropout import dropout

    X = torch.ones(5, 4)
    assert_array_equal(dropout(X, 0.5, training=False), X)
    assert_array_equal(dropout(X, 0.0, training=True), X)


def test_stored_entries_of_sparse_features(torch):
    from heatgraph.baselines.gnn.dropout import dropout
    from heatgraph.baselines.gnn.features import feature_tensor

    counts = np.random.default_rng(0).poisson(0.7, (8, 5)).astype(np.float32)
    X = feature_tensor(sp.csr_array(counts), sparse=True)
    assert_array_equal(dropout(X, 0.5, training=False).entries, X.entries)
    dropped = dropout(X, 0.5, training=True)
    assert ((dropped.entries == 0) | (dropped.entries == 2 * X.entries)).all()
    assert dropped.pattern is X.pattern
