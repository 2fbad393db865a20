"""What every node classifier promises, checked for all of them.

Classes are found by walking the package: one without an entry in `QUICK` is tested with its default
parameters. scikit-learn's own checks are in tests/learning/test_estimator_checks.py.
"""

import importlib
import importlib.util
import inspect
import pickle
import pkgutil

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from strategies import planted

from heatgraph import DGCClassifier, baselines, learning
from heatgraph.baselines.deepwalk import DeepWalkClassifier
from heatgraph.baselines.gnn.estimator import GNNClassifier
from heatgraph.baselines.gnn.grid_search import GRIDS, TunedGNNClassifier
from heatgraph.baselines.gnn.recipes import RECIPES
from heatgraph.baselines.schemes import features_alone, personalized_pagerank, sgc
from heatgraph.baselines.stacked import PairNormClassifier, SIGNClassifier
from heatgraph.errors import InputError
from heatgraph.learning._node_classifier import NodeClassifier
from heatgraph.learning.progress import FitProgress

GRAPH, LABELS = planted()
NAMES = np.array(["x", "y", "z"])[LABELS]
TRAIN, VAL, TEST = np.arange(15), np.arange(15, 45), np.arange(45, 90)
METHODS = ("predict", "predict_proba", "decision_function")

# Parameters with which a class is fast to fit and has nothing left to choose.
QUICK = {
    DGCClassifier: {"T": 2.0, "weight_decay": 0.1},
    SIGNClassifier: {"r": 2, "weight_decay": 0.1},
    PairNormClassifier: {"K": 2, "weight_decay": 0.1},
    DeepWalkClassifier: {
        "dimensions": 16, "num_walks": 10, "walk_length": 20, "weight_decay": 0.001,
    },
    GNNClassifier: {"hidden": 4, "epochs": 2, "n_threads": 1},
    TunedGNNClassifier: {"grid": {"hidden": [4, 8]}, "epochs": 2, "n_threads": 1},
}  # fmt: skip
GNN_CLASSES = (GNNClassifier, TunedGNNClassifier)
LIBRARIES = {
    DeepWalkClassifier: ("gensim",),
    **dict.fromkeys(GNN_CLASSES, ("torch", "torch_geometric", "torchdiffeq")),
}


def classes():
    """Every concrete subclass of `NodeClassifier` in the package."""
    for package in (learning, baselines):
        for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
            importlib.import_module(module.name)

    def below(cls):
        for subclass in cls.__subclasses__():
            yield subclass
            yield from below(subclass)

    for cls in below(NodeClassifier):
        if cls.__module__.startswith("heatgraph.") and not inspect.isabstract(cls):
            yield cls


def network(name):
    options = {"encoder_epochs": 1} if name == "dgi" else None
    return GNNClassifier(name, options=options, **QUICK[GNNClassifier])


MODELS = {cls.__name__: cls(**QUICK.get(cls, {})) for cls in classes() if cls not in GNN_CLASSES}
MODELS |= {
    "SGC": sgc(2, weight_decay=0.1),
    "PageRank": personalized_pagerank(0.1, weight_decay=0.1),
    "features alone": features_alone(weight_decay=0.1),
}
NETWORKS = {name: network(name) for name in RECIPES} | {
    f"{name}, tuned": TunedGNNClassifier(name, **QUICK[TunedGNNClassifier]) for name in GRIDS
}


def cases(models):
    for name, model in models.items():
        missing = [
            lib for lib in LIBRARIES.get(type(model), ()) if not importlib.util.find_spec(lib)
        ]
        marks = [pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")]
        if isinstance(model, GNN_CLASSES):
            marks.append(pytest.mark.torch)
        yield pytest.param(model, id=name, marks=marks)


every_model = pytest.mark.parametrize("model", list(cases(MODELS | NETWORKS)))
without_early_stopping = pytest.mark.parametrize("model", list(cases(MODELS)))


def fitted(model, labels=NAMES):
    return clone(model).fit(GRAPH, labels, TRAIN, VAL)


@pytest.fixture(scope="module")
def fit_once():
    """Fit a model to three named classes, and give the same fit to every test that only reads."""
    fits = {}

    def fit(model):
        if id(model) not in fits:
            fits[id(model)] = fitted(model)
        return fits[id(model)]

    return fit


def test_classes_are_found():
    assert {"DGCClassifier", "SIGNClassifier", "LabelPropagation"} <= set(MODELS)
    assert "StackedClassifier" not in MODELS  # abstract


@without_early_stopping
@pytest.mark.parametrize("val", [VAL, None], ids=["validation nodes", "folds"])
def test_better_than_chance(model, val):
    model = clone(model).fit(GRAPH, LABELS, TRAIN, val)
    assert model.score(GRAPH, LABELS, TEST) > 0.4


@every_model
def test_fitted_attributes(model, fit_once):
    clf = fit_once(model)
    assert_array_equal(clf.classes_, ["x", "y", "z"])
    assert clf.graph_ is GRAPH
    assert clf.n_features_in_ == GRAPH.num_features


@every_model
def test_fit_returns_the_estimator(model):
    clf = clone(model)
    assert clf.fit(GRAPH, LABELS, TRAIN) is clf


@every_model
def test_probabilities(model, fit_once):
    probabilities = fit_once(model).predict_proba()
    assert probabilities.shape == (90, 3)
    assert probabilities.min() >= 0
    assert_allclose(probabilities.sum(axis=1), 1, atol=1e-6)


@every_model
def test_scores_probabilities_and_labels_agree(model, fit_once):
    clf = fit_once(model)
    scores = clf.decision_function()
    assert scores.shape == (90, 3)
    for values in (scores, clf.predict_proba()):
        assert_array_equal(clf.classes_[values.argmax(axis=1)], clf.predict())


@pytest.mark.filterwarnings("ignore::heatgraph.errors.OneClassWarning")
@every_model
def test_two_classes_have_one_score(model):
    clf = fitted(model, np.where(LABELS == 0, "x", "y"))
    difference = clf.decision_function()
    assert difference.shape == (90,)
    assert_array_equal(clf.classes_[(difference > 0).astype(int)], clf.predict())
    assert clf.predict_proba().shape == (90, 2)


@every_model
@pytest.mark.parametrize("method", METHODS)
def test_nodes_are_indices_or_a_mask(model, method, fit_once):
    predict = getattr(fit_once(model), method)
    nodes = TEST[::-1]
    assert_array_equal(predict(nodes=nodes), predict()[nodes])
    assert_array_equal(predict(nodes=np.isin(np.arange(90), TEST)), predict()[TEST])
    assert_array_equal(predict(GRAPH), predict())
    with pytest.raises(InputError, match="nodes"):
        predict(nodes=[90])


@every_model
def test_score_is_the_share_of_correct_labels(model, fit_once):
    clf = fit_once(model)
    correct = clf.predict() == NAMES
    assert clf.score(GRAPH, NAMES, TEST) == pytest.approx(correct[TEST].mean())
    some = NAMES.astype(object)
    some[TEST] = None
    assert clf.score(None, some) == pytest.approx(correct[:45].mean())
    unknown = np.full(90, "never seen")
    assert clf.score(None, unknown) == 0


@every_model
def test_score_needs_labels(model, fit_once):
    clf = fit_once(model)
    with pytest.raises(InputError, match="there is no labelled node to score"):
        clf.score(None, np.full(90, -1))
    with pytest.raises(InputError, match="there is no labelled node to score"):
        clf.score(None, NAMES, [])
    with pytest.raises(InputError, match="nodes names nodes without a label. Node 45"):
        clf.score(None, [*LABELS[:45], *[-1] * 45], TEST)
    with pytest.raises(InputError, match="y must have one label per node, 90 in all"):
        clf.score(None, NAMES[:10])


@every_model
def test_unlabelled_nodes(model):
    names = NAMES.astype(object)
    names[TEST] = None
    clf = clone(model).fit(GRAPH, names, val=VAL)
    assert set(clf.predict(GRAPH)) <= {"x", "y", "z"}
    assert names[TEST[0]] is None


@without_early_stopping
def test_validation_nodes_are_not_learned_from(model):
    wrong = np.roll(["x", "y", "z"], 1)[LABELS]
    wrong[TRAIN] = NAMES[TRAIN]
    assert_array_equal(fitted(model).predict(), fitted(model, wrong).predict())


@every_model
def test_clones_and_refits_are_the_same(model, fit_once):
    clf = fit_once(model)
    assert str(clf.get_params()) == str(model.get_params())
    copy = clone(clf)
    assert not hasattr(copy, "classes_")
    again = copy.fit(GRAPH, LABELS, TRAIN).fit(GRAPH, NAMES, TRAIN, VAL)
    assert_array_equal(again.predict_proba(), clf.predict_proba())


@every_model
def test_pickles_predict_the_same(model, fit_once):
    clf = fit_once(model)
    assert_array_equal(pickle.loads(pickle.dumps(clf)).predict_proba(), clf.predict_proba())


@every_model
def test_unfitted(model):
    for method in METHODS:
        with pytest.raises(NotFittedError):
            getattr(clone(model), method)(GRAPH)
    with pytest.raises(NotFittedError):
        clone(model).score(GRAPH, LABELS)


@every_model
def test_wrong_graphs(model, fit_once):
    clf = fit_once(model)
    narrow = GRAPH.with_features(np.ones((90, 3)))
    for method in METHODS:
        for graph in (narrow, GRAPH.adjacency):
            with pytest.raises(InputError, match="graph"):
                getattr(clf, method)(graph)
    with pytest.raises(InputError, match=r"Got a graph with 3\.|and no other\. Fit again\."):
        clf.score(narrow, NAMES)


@every_model
def test_wrong_training_data(model):
    with pytest.raises(InputError, match="must be a heatgraph.Graph"):
        clone(model).fit(GRAPH.adjacency, LABELS)
    with pytest.raises(InputError, match="at least two classes"):
        clone(model).fit(GRAPH, np.zeros(90, dtype=int))
    with pytest.raises(InputError, match="train and val overlap"):
        clone(model).fit(GRAPH, LABELS, TRAIN, TRAIN)
    with pytest.raises(InputError, match="y must have one label per node, 90 in all"):
        clone(model).fit(GRAPH, LABELS[:10])


@every_model
def test_progress_never_exceeds_its_total(model):
    calls = []
    clone(model).fit(GRAPH, LABELS, TRAIN, VAL, progress=calls.append)
    for call in calls:
        assert isinstance(call, FitProgress)
        assert 0 <= call.done <= call.total
        assert call.seconds >= 0


@every_model
def test_tags(model):
    assert is_classifier(model)
    assert not get_tags(model).input_tags.two_d_array
