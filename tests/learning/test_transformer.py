import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from strategies import planted

import heatgraph as hg
from heatgraph import GraphDiffusion
from heatgraph.errors import InputError
from heatgraph.learning.scaling import Scaling

GRAPH, LABELS = planted(kind="dense")
TRAIN = np.arange(45)


def test_transform_is_diffuse():
    X = GraphDiffusion(T=2.0, K=30).fit_transform(GRAPH)
    np.testing.assert_array_equal(X, hg.diffuse(GRAPH, 2.0, 30))
    some = GraphDiffusion(T=2.0, K=30, graph=GRAPH).fit_transform([5, 3])
    np.testing.assert_array_equal(some, hg.diffuse(GRAPH, 2.0, 30, rows=[5, 3]))
    column = GraphDiffusion(T=2.0, K=30, graph=GRAPH).fit_transform(np.array([[5], [3]]))
    np.testing.assert_array_equal(column, some)


def test_scaling_is_learned_from_the_nodes_it_is_fitted_to():
    diffusion = GraphDiffusion(T=2.0, feature_scaling="auto", graph=GRAPH).fit(TRAIN)
    scaled = Scaling.learn("standard", GRAPH.features, TRAIN)
    expected = hg.diffuse(
        GRAPH.with_features(scaled.apply(GRAPH.features, np.dtype(np.float32))), 2.0
    )
    np.testing.assert_allclose(diffusion.transform(np.arange(90)), expected, atol=1e-6)
    np.testing.assert_allclose(diffusion.transform(GRAPH), expected, atol=1e-6)


def test_another_graph():
    diffusion = GraphDiffusion(T=1.0).fit(GRAPH)
    other, _ = planted(n=30, seed=4, kind="dense")
    np.testing.assert_array_equal(diffusion.transform(other), hg.diffuse(other, 1.0))
    sparse = other.with_features(sp.csr_array(other.features))
    np.testing.assert_allclose(diffusion.transform(sparse), hg.diffuse(other, 1.0), atol=1e-6)


def test_without_features():
    ring = GRAPH.with_features(None)
    np.testing.assert_array_equal(
        GraphDiffusion(T=1.0).fit_transform(ring), hg.diffuse(ring, T=1.0)
    )


def test_pipelines_and_searches():
    model = make_pipeline(GraphDiffusion(T=3.0, graph=GRAPH), LogisticRegression(max_iter=1000))
    test = np.arange(45, 90)
    assert model.fit(TRAIN, LABELS[TRAIN]).score(test, LABELS[test]) > 0.85
    assert cross_val_score(model, TRAIN, LABELS[TRAIN], cv=3).mean() > 0.7
    search = GridSearchCV(model, {"graphdiffusion__T": [0.0, 3.0]}, cv=3).fit(TRAIN, LABELS[TRAIN])
    assert search.best_params_ == {"graphdiffusion__T": 3.0}


def test_clones_share_the_graph():
    diffusion = GraphDiffusion(T=1.0, graph=GRAPH)
    assert clone(diffusion).graph is GRAPH


def test_feature_names_out():
    names = GraphDiffusion(T=1.0).fit(GRAPH).get_feature_names_out()
    assert names.tolist() == [f"graphdiffusion{j}" for j in range(12)]


@pytest.mark.parametrize(
    ("parameters", "X", "message"),
    [
        ({}, GRAPH, "T is missing"),
        ({"T": 1.0, "feature_scaling": "row"}, GRAPH, "feature_scaling must be one of"),
        ({"T": 1.0}, [1, 2], "X must be a heatgraph.Graph. Got list; .* give it as graph="),
        ({"T": 1.0, "graph": GRAPH}, [1, 90], r"X\[1\]: node 90 is outside 0..89"),
        ({"T": 1.0, "graph": "graph"}, [1], "graph must be a heatgraph.Graph"),
    ],
)
def test_invalid_input_is_refused(parameters, X, message):
    with pytest.raises(InputError, match=message):
        GraphDiffusion(**parameters).fit(X)


def test_other_features_are_refused():
    diffusion = GraphDiffusion(T=1.0).fit(GRAPH)
    with pytest.raises(InputError, match="expected 12 features .* Got a graph with 3 features"):
        diffusion.transform(GRAPH.with_features(np.ones((90, 3))))
    alone = GraphDiffusion(T=1.0).fit(GRAPH.with_features(None))
    with pytest.raises(InputError, match="expected 90 features .* Got a graph with 90 features"):
        alone.transform(GRAPH.with_features(np.eye(90)))
    with pytest.raises(InputError, match="X names no node"):
        GraphDiffusion(T=1.0, graph=GRAPH).fit([])
    with pytest.raises(NotFittedError):
        GraphDiffusion(T=1.0).transform(GRAPH)
