"""DGI against its dense formula."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from trained_networks import S, scaled_features, trained, weights

pytestmark = pytest.mark.usefixtures("torch")


@pytest.mark.parametrize("network", ["dgi", "dgi-random"])
def test_dgi(network):
    options = {"encoder_epochs": 5} if network == "dgi" else None
    model = trained(network, options=options)
    w = weights(model)
    H = S @ scaled_features(model) @ w["encoder.layer.lin.weight"].T + w["encoder.layer.bias"]
    slopes = w["encoder.activation.weight"]
    H = np.where(H > 0, H, slopes * H)
    assert np.any(slopes != 0.25) == (network == "dgi")
    scores = H @ w["read.weight"].T + w["read.bias"]
    assert_allclose(model.decision_function(), scores, atol=1e-4)
