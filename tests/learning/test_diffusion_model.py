"""What models of diffused features share, by all of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from strategies import planted

import heatgraph as hg
from heatgraph.errors import InputError, ShiftWarning

GRAPH, CLASSES = planted(n=60, kind="dense")
TARGETS = {
    hg.DGCClassifier: CLASSES,
    hg.DGCRegressor: CLASSES + 0.5,
    hg.DGCMultilabelClassifier: np.eye(3)[CLASSES],
}


def fitted(kind, graph=GRAPH):
    return kind(T=1.0, weight_decay=0.1, dtype="float64").fit(graph, TARGETS[kind])


@pytest.mark.parametrize("kind", TARGETS)
def test_columns_diffuse_as_features_would(kind):
    model = fitted(kind)
    columns = model._undiffused(GRAPH, model.coef_)
    diffused = model._diffused(GRAPH.with_features(columns))
    scaled = GRAPH.with_features(model.scaling_.apply(GRAPH.features, np.dtype(np.float64)))
    expected = hg.diffuse(scaled, T=1.0, dtype="float64") @ model.coef_.T
    assert_allclose(diffused, expected, atol=1e-5)


@pytest.mark.parametrize("kind", TARGETS)
def test_features_are_found_by_name(kind):
    names = [f"f{at}" for at in range(12)]
    model = fitted(kind, GRAPH.with_features(GRAPH.features, names))
    assert model.feature_names_in_ == names
    model.predict(GRAPH)
    other = GRAPH.with_features(GRAPH.features, [*names[:3], "x", *names[4:]])
    with pytest.raises(InputError, match="lacks 1 of the 12 features .* the first of them 'f3'"):
        model.predict(other)
    model.fit(GRAPH, TARGETS[kind])
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("kind", TARGETS)
def test_features_that_another_encoder_made(kind, recwarn):
    edges = {"source": [0, 1], "target": [1, 2]}

    def table(shift):
        sizes = (np.arange(60) % 7 + shift).tolist()
        return {"id": range(60), "size": sizes, "colour": ["red", "blue", "green"] * 20}

    model = fitted(kind, hg.from_tables(table(0), edges).graph)
    same, other = (hg.from_tables(table(shift), edges).graph for shift in (0, 5))
    model.predict(same)
    model.predict(hg.from_tables(table(5), edges, model=model).graph)
    assert not [one for one in recwarn if "encoded" in str(one.message)]
    with pytest.warns(ShiftWarning, match=r"encoded by .* its own table.* model=model\)"):
        model.predict(other)
    nodes = table(0) | {"colour": ["red", "black", "green"] * 20}
    with (
        pytest.warns(ShiftWarning, match="encoded by"),
        pytest.raises(InputError, match=r"'colour=blue'.*from_tables\(\.\.\., model=model\)"),
    ):
        model.predict(hg.from_tables(nodes, edges).graph)


@pytest.mark.parametrize("kind", TARGETS)
def test_a_model_without_features_knows_its_nodes(kind):
    model = fitted(kind, GRAPH.with_features(None))
    model.predict(GRAPH.with_features(None))
    smaller, _ = planted(n=30, kind=None)
    with pytest.raises(InputError, match="without features, so it knows nodes by position only"):
        model.predict(smaller)
