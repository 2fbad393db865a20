"""Models in files: what is written is read back, and anything else is refused."""

import json

import numpy as np
import pytest
from strategies import planted

import heatgraph as hg
from heatgraph import DGCClassifier, Euler, load
from heatgraph._io.tensor_file import read_tensors, write_tensors
from heatgraph.errors import FileFormatError, InputError, StabilityWarning
from heatgraph.learning._serialization import (
    deserialize_model,
    from_json_value,
    serialize_model,
    to_json_value,
)
from heatgraph.learning.classifier import from_fitted_model, to_fitted_model

GRAPH, LABELS = planted()
TRAIN, VAL = np.arange(15), np.arange(15, 45)


def fitted(graph=GRAPH, y=LABELS, **parameters):
    usual = {"T": 3.0, "weight_decay": 1e-3}
    return DGCClassifier(**(usual | parameters)).fit(graph, y, train=TRAIN)


def test_a_fitted_model_converts_to_values_and_back():
    clf = fitted(feature_scaling="idf")
    again = from_fitted_model(deserialize_model(*serialize_model(to_fitted_model(clf))))
    assert again.get_params() == clf.get_params()
    np.testing.assert_array_equal(again.predict_proba(GRAPH), clf.predict_proba())


def test_a_search_of_an_earlier_version_has_no_standard_errors():
    clf = DGCClassifier(T=[1.0, 2.0], weight_decay=1e-3, extensions=None).fit(GRAPH, LABELS, TRAIN)
    content, tensors = serialize_model(to_fitted_model(clf))
    del content["search"]["standard_error"]
    search = deserialize_model(content, tensors).search
    assert search == [record | {"standard_error": 0.0} for record in clf.search_]


@pytest.mark.parametrize("kind", ["words", "dense", None])
@pytest.mark.parametrize("names", [[3, 7, 12], ["x", "yy", "zß"], [3, 7, "x"], [0.0, 1.0, 5.0]])
def test_a_saved_model_predicts_the_same_bits(tmp_path, kind, names):
    graph, labels = planted(kind=kind)
    y = np.empty(90, dtype=object)
    y[:] = [names[c] for c in labels]
    clf = DGCClassifier(T=[1.0, 2.0], weight_decay=1e-3, calibrate=True).fit(graph, y, TRAIN, VAL)
    path = tmp_path / "model.safetensors"
    clf.save(path)
    again = load(path)
    assert again.get_params() == clf.get_params()
    assert again.search_ == clf.search_
    assert again.classes_.tolist() == clf.classes_.tolist()
    assert again.classes_.dtype == clf.classes_.dtype
    for name in ("T_", "K_", "scheme_", "self_loops_", "weight_decay_", "feature_scaling_",
                 "temperature_", "converged_", "n_features_in_", "learning_rate_"):  # fmt: skip
        assert getattr(again, name) == getattr(clf, name), name
    other = graph if kind is None else planted(n=60, seed=5, kind=kind)[0]
    for new in (graph, other):
        np.testing.assert_array_equal(again.predict_proba(new), clf.predict_proba(new))
        np.testing.assert_array_equal(again.predict(new), clf.predict(new))
    assert repr(again.explain(3, graph=graph)) == repr(clf.explain(3))
    with pytest.raises(InputError, match="has no graph of its own: pass graph="):
        again.predict()


@pytest.mark.parametrize(
    "parameters",
    [
        {"T": 2.0, "K": 3, "scheme": "rk4", "self_loops": False},
        {"T": "auto", "scheme": [hg.SGC(2), hg.PersonalizedPageRank(0.1)]},
        {"weight_decay": np.array([0.1, 1.0]), "random_state": np.int64(3)},
        {"dtype": np.float64, "memory_budget": "1GB", "n_threads": 1},
        {"dtype": float, "T": np.array(2.0)},
    ],
)
def test_all_parameters_can_be_saved(tmp_path, parameters):
    clf = fitted(**parameters)
    clf.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(GRAPH), clf.predict_proba())
    again.fit(GRAPH, LABELS, TRAIN)
    np.testing.assert_array_equal(again.predict_proba(GRAPH), clf.predict_proba())


def test_a_generator_is_not_saved(tmp_path):
    clf = fitted(random_state=np.random.default_rng(0))
    clf.save(tmp_path / "model")
    assert load(tmp_path / "model").random_state is None


def test_loading_an_unstable_model_does_not_warn_again(tmp_path):
    with pytest.warns(StabilityWarning):
        clf = fitted(K=2)
    clf.save(tmp_path / "model")
    assert load(tmp_path / "model").scheme_ == clf.scheme_


def test_the_graph_is_not_in_the_file(tmp_path):
    fitted(GRAPH).save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_size < 10_000


def test_an_incomplete_file_is_refused(tmp_path):
    write_tensors(tmp_path / "model", "DGCClassifier", {"parameters": {}}, {"bias": np.zeros(3)})
    with pytest.raises(FileFormatError, match="does not hold a valid model"):
        load(tmp_path / "model")


def crafted(tmp_path, **changes):
    """A model file with a valid checksum whose content is invalid."""
    content, tensors = serialize_model(to_fitted_model(fitted(feature_scaling="idf")))
    for name, value in changes.items():
        if name in tensors:
            tensors[name] = value
        else:
            content[name] = value
    write_tensors(tmp_path / "model", "DGCClassifier", content, tensors)
    return tmp_path / "model"


@pytest.mark.parametrize(
    "changes",
    [
        {"Theta": np.zeros(12, dtype=np.float32)},
        {"Theta": np.zeros((12, 4), dtype=np.float32)},
        {"Theta": np.full((12, 3), np.nan, dtype=np.float32)},
        {"Theta": np.zeros((12, 3), dtype=np.int8)},
        {"bias": np.zeros(1, dtype=np.float32)},
        {"bias": np.zeros((90, 3), dtype=np.float32)},
        {"factor": np.zeros(1)},
        {"factor": np.full(12, np.inf)},
        {"classes": [0, 1]},
        {"classes": [0, 1, 1]},
        {"classes": [0, 1, None]},
        {"classes": [0, 1, [2]]},
        {"classes": "abc"},
        {"classes": [0, 1, 10**30]},
        {"classes_kind": "<U500000000"},
        {"classes_kind": None},
        {"temperature": 0},
        {"temperature": float("nan")},
        {"temperature": "a"},
        {"feature_scaling": "evil"},
        {"feature_scaling": "rows"},
        {"self_loops": "yes"},
        {"num_features": "12"},
        {"num_features": 7},
        {"weight_decay": None},
        {"parameters": {"dtype": "O"}},
        {"parameters": {"tol": "x"}},
        {"parameters": {"unknown": 1}},
        {"scheme": {"kind": "Heat", "T": -1}},
        {"search": {}},
    ],
)
def test_crafted_files_are_refused(tmp_path, changes):
    path = crafted(tmp_path, **changes)
    with pytest.raises(FileFormatError, match="does not hold a valid model"):
        load(path)


def test_the_crafted_file_is_valid_without_changes(tmp_path):
    assert (load(crafted(tmp_path)).predict(GRAPH) == fitted(feature_scaling="idf").predict()).all()


def test_a_user_defined_scheme_cannot_be_saved(tmp_path):
    class Own(hg.Heat):
        pass

    with pytest.raises(InputError, match="no scheme of heatgraph"):
        fitted(T="auto", scheme=Own(2.0)).save(tmp_path / "model")


def test_labels_that_cannot_be_saved(tmp_path):
    y = np.empty(90, dtype=object)
    y[:] = [(c,) for c in LABELS]
    clf = fitted(y=y)
    with pytest.raises(InputError, match="cannot be written into a file"):
        clf.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "altered",
    [
        {"feature_names": ["a"]},
        {"feature_names": [1] * 12},
        {"nodes_digest": 7},
        {"validation_accuracy": "high"},
    ],
)
def test_crafted_files_with_invalid_names_or_accuracy_are_refused(tmp_path, altered):
    path = tmp_path / "model"
    fitted().save(path)
    content, tensors = read_tensors(path, "DGCClassifier")
    write_tensors(path, "DGCClassifier", content | altered, tensors)
    with pytest.raises(FileFormatError, match="does not hold a valid model"):
        load(path)


def test_parameters_convert_to_json_values_and_back():
    value = [1, np.float64(2.5), "x", None, True, np.arange(2), (Euler(2.0, 4), "y"), np.float32]
    plain = to_json_value(value)
    assert json.loads(json.dumps(plain)) == plain
    assert from_json_value(plain) == [
        1,
        2.5,
        "x",
        None,
        True,
        [0, 1],
        [Euler(2.0, 4), "y"],
        "float32",
    ]
    with pytest.raises(InputError, match="cannot be written into a file: it is a object"):
        to_json_value(object())
    with pytest.raises(InputError, match="is no scheme"):
        from_json_value({"kind": "os.system"})


# Models that carry their graph


@pytest.mark.parametrize("kind", ["words", "dense", None])
def test_a_model_carries_its_graph(tmp_path, kind):
    plain, labels = planted(kind=kind)
    names = None if kind is None else [f"f{at}" for at in range(12)]
    graph = hg.Graph(
        plain.adjacency, plain.features, [f"n{v}" for v in range(90)], feature_names=names
    )
    clf = fitted(graph, labels)
    clf.save(tmp_path / "alone")
    clf.save(tmp_path / "both", graph=True)
    graph.save(tmp_path / "graph")
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert abs(sizes["both"] - sizes["alone"] - sizes["graph"]) < 2000
    again = load(tmp_path / "both")
    np.testing.assert_array_equal(again.predict_proba(), clf.predict_proba())
    assert again.graph_.names.tolist() == graph.names.tolist()
    assert again.graph_.feature_names == names
    assert repr(again.explain(3)) == repr(clf.explain(3))
    if kind is not None:
        edges, ids = [("new", "n3")], ["new"]
        np.testing.assert_array_equal(
            again.predict_proba_new(graph.features[:1], edges, node_ids=ids),
            clf.predict_proba_new(graph.features[:1], edges, node_ids=ids),
        )
    again.save(tmp_path / "again", graph=True)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "both").read_bytes()
    with pytest.raises(InputError, match="a model that was loaded has none"):
        load(tmp_path / "alone").save(tmp_path / "none", graph=True)
    assert not (tmp_path / "none").exists()


def test_a_file_that_a_model_was_loaded_from_may_be_replaced(tmp_path):
    clf = fitted()
    clf.save(tmp_path / "model", graph=True)
    again = load(tmp_path / "model")
    again.save(tmp_path / "model", graph=True)
    fitted(weight_decay=0.1).save(tmp_path / "model", graph=True)
    np.testing.assert_array_equal(again.predict_proba(), clf.predict_proba())


@pytest.mark.parametrize(
    "break_graph",
    [
        lambda content, tensors: tensors.pop("graph.indices"),
        lambda content, tensors: tensors.update({"graph.more": np.zeros(1)}),
        lambda content, tensors: content.update(graph=3),
        lambda content, tensors: content["graph"].update(order="x"),
        lambda content, tensors: tensors["graph.indices"].__setitem__(0, -1),
        lambda content, tensors: tensors["graph.features.data"].__setitem__(0, np.nan),
        lambda content, tensors: content.update(num_features=0),
    ],
)
def test_a_carried_graph_is_validated(tmp_path, break_graph):
    path = tmp_path / "model"
    fitted().save(path, graph=True)
    content, tensors = read_tensors(path, "DGCClassifier")
    break_graph(content, tensors)
    write_tensors(path, "DGCClassifier", content, tensors)
    with pytest.raises(FileFormatError, match="does not hold a valid model"):
        load(path)


def test_a_graph_of_other_features_is_refused(tmp_path):
    path = tmp_path / "model"
    clf = fitted()
    clf.graph_ = planted(kind=None)[0]
    clf.save(path, graph=True)
    with pytest.raises(FileFormatError, match="features of the graph are not those of the model"):
        load(path)
