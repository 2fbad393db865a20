"""The search where targets are not classes: ratings, their errors, and the order of heads."""

import numpy as np
import pytest
from strategies import planted

import heatgraph as hg
from heatgraph.learning._search_space import SearchSpace, Setting
from heatgraph.learning._target_losses import LOGISTIC, SQUARED_ERROR
from heatgraph.learning._target_search import TargetResult, search_targets
from heatgraph.learning._target_task import TargetRegression, TargetTask


def make_task(loss, num_val=40, n=140):
    graph, classes = planted(n=n, kind="dense")
    Y = np.eye(3)[classes]
    train, val = np.arange(60), np.arange(60, 60 + num_val)
    return TargetTask(
        graph=graph,
        train=train,
        codes=classes[train],
        val=val if num_val else None,
        val_codes=classes[val] if num_val else None,
        num_classes=3,
        regression=TargetRegression("lbfgs", 1, 0, 1, loss=loss),
        engine={"tol": 1e-6, "dtype": "float32", "n_threads": 1, "memory_budget": None},
        seed=0,
        Y=Y,
        loss=loss,
    )


def space(**parameters):
    usual = {"T": "auto", "K": None, "scheme": None, "self_loops": True, "learning_rate": 1.0,
             "feature_scaling": "standard", "weight_decay": "auto"}  # fmt: skip
    return SearchSpace.read(**usual | parameters)


@pytest.mark.parametrize("loss", [SQUARED_ERROR, LOGISTIC], ids=["squared", "logistic"])
@pytest.mark.parametrize("num_val", [40, 0])
def test_time_zero_is_among_the_settings(loss, num_val):
    outcome = search_targets(make_task(loss, num_val), space())
    assert 0 in {result.setting.T for result in outcome.results}
    assert outcome.setting.T > 0
    heads = {result.head for result in outcome.results}
    assert heads == ({"ridge"} if loss is SQUARED_ERROR else {"ridge", "logistic"})
    assert all(result.error > 0 for result in outcome.results)
    if num_val:
        assert outcome.held_out is None
    else:
        scores, targets = outcome.held_out
        assert scores.shape == targets.shape == (60, 3)


def test_held_out_scores_do_not_see_their_targets():
    """The base and the weights of a fold come from its training part."""
    task = make_task(SQUARED_ERROR, num_val=0)
    scores, _ = search_targets(task, space(T=1.0, weight_decay=0.1)).held_out
    task.Y[0] = 1e6
    others, targets = search_targets(task, space(T=1.0, weight_decay=0.1)).held_out
    (row,) = np.flatnonzero(targets[:, 0] == 1e6)
    assert others[row] == pytest.approx(scores[row], abs=1e-5)
    assert not np.allclose(np.delete(others, row, 0), np.delete(scores, row, 0))


def test_records_have_the_metric_of_the_loss():
    setting = Setting(hg.Heat(2.0), True, "none", 0.1, 1.0)
    for loss, expected in ((SQUARED_ERROR, {"r2": -0.3}), (LOGISTIC, {"log_loss": 0.3})):
        record = TargetResult(setting, 1.0, -0.3, 0.01, -0.3, 0.3, "ridge", loss).record()
        assert record == {
            "scheme": "Heat", "T": 2.0, "K": None, "self_loops": True, "feature_scaling": "none",
            "weight_decay": 0.1, "head": "ridge", "standard_error": 0.01, **expected,
        }  # fmt: skip
