"""Estimators on a cluster: the model and its predictions have the same bits as without."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import heatgraph as hg
from heatgraph.cluster import Cluster, _run
from heatgraph.errors import InputError

DATA = hg.make_block_graph(300, 1500, 3, 12)
TRAIN = np.arange(100)
SETTINGS = {"T": [1.0, 3.0], "weight_decay": [1e-4, 1e-2]}
ESTIMATORS = {
    hg.DGCClassifier: (SETTINGS | {"extensions": None}, DATA.labels),
    hg.DGCRegressor: (SETTINGS, DATA.graph.features[:, 0]),
    hg.DGCMultilabelClassifier: (SETTINGS, [[label] for label in DATA.labels.tolist()]),
}


@pytest.fixture
def cluster(client, tmp_path):
    """A cluster that takes every diffusion, however short."""
    return Cluster(client, folder=tmp_path, local_seconds=0)


@pytest.fixture
def runs(monkeypatch):
    """The diffusions on a cluster, as tasks."""
    tasks, run = [], _run.run_to_file
    monkeypatch.setattr(
        _run, "run_to_file", lambda task, *rest: tasks.append(task) or run(task, *rest)
    )
    return tasks


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_the_same_model_and_predictions(cluster, runs, tmp_path, kind):
    settings, y = ESTIMATORS[kind]
    alone = kind(**settings).fit(DATA.graph, y, TRAIN)
    model = clone(kind(**settings, cluster=cluster)).fit(DATA.graph, y, TRAIN)
    assert model.cluster is cluster
    assert len(runs) >= 1
    assert_array_equal(model.coef_, alone.coef_)
    assert_array_equal(model.intercept_, alone.intercept_)
    assert model.search_ == alone.search_
    predict = "predict" if kind is hg.DGCRegressor else "predict_proba"
    fitted_by = len(runs)
    for _ in range(2):
        assert_array_equal(getattr(model, predict)(), getattr(alone, predict)())
    assert len(runs) >= fitted_by + 2
    model.save(tmp_path / "model")
    assert hg.load(tmp_path / "model").cluster is None


def test_the_transformer(cluster, runs):
    diffused = hg.GraphDiffusion(T=2.0, cluster=cluster).fit_transform(DATA.graph)
    assert_array_equal(diffused, hg.GraphDiffusion(T=2.0).fit_transform(DATA.graph))
    assert len(runs) == 1


@pytest.mark.parametrize("kind", [*ESTIMATORS, hg.GraphDiffusion])
def test_clones_share_a_client(client, kind):
    for cluster in (client, "local:2"):
        assert clone(kind(T=2.0, cluster=cluster)).cluster is cluster


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_another_cluster_is_refused(kind):
    settings, y = ESTIMATORS[kind]
    with pytest.raises(InputError, match=r"cluster must be a dask\.distributed Client"):
        kind(**settings, cluster=3).fit(DATA.graph, y, TRAIN)
