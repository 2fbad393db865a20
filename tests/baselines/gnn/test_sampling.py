"""FastGCN against its dense formula, and the mean of its estimates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from trained_networks import GRAPH, VAL, S, scaled_features, trained, weights

pytestmark = pytest.mark.usefixtures("torch")


def test_fastgcn(torch):
    model = trained("fastgcn", options={"samples": 20_000})
    w = weights(model)
    hidden = np.maximum(S @ scaled_features(model) @ w["first.weight"].T + w["first.bias"], 0)
    scores = S @ hidden @ w["second.weight"].T + w["second.bias"]
    assert_allclose(model.decision_function(), scores, atol=1e-4)
    torch.manual_seed(0)
    inputs = model._inputs(GRAPH, model.scaling_, model.recipe_)
    with torch.no_grad():
        estimates = model.network_.sampled_scores(torch.from_numpy(VAL), *inputs).numpy()
    assert_allclose(estimates, scores[VAL], atol=0.05 * np.abs(scores).max())


def test_fastgcn_takes_batches():
    few = {"samples": 10, "batch": 4}
    model = trained("fastgcn", options=few, epochs=80)
    assert model.history_[-1]["loss"] < model.history_[0]["loss"]
