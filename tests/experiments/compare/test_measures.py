"""What is measured of one run, and the process that it has to itself."""

import os
import signal
import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import accuracy_score, f1_score

from heatgraph import DGCClassifier
from heatgraph._io.memory import require_memory
from heatgraph.baselines.stacked import SIGNClassifier
from heatgraph.errors import InputError
from heatgraph.experiments.compare import measures
from heatgraph.experiments.compare.contestants import CONTESTANTS, LINEAR, Contestant
from heatgraph.experiments.compare.isolation import RunFailed, isolated
from heatgraph.experiments.compare.measures import (
    Job,
    count_parameters,
    judged,
    known_settings,
    measure,
    rights,
)


def silent(*_):
    pass


def test_judged(data):
    rng = np.random.default_rng(0)
    test = data.split.test
    P = rng.dirichlet([1, 1, 1], len(test))
    found = judged(P, np.array([0, 1, 2]), data, test)
    truth, guessed = data.labels[test], P.argmax(axis=1)
    assert found["accuracy"] == accuracy_score(truth, guessed)
    assert found["macro_f1"] == pytest.approx(f1_score(truth, guessed, average="macro"))
    assert_array_equal(rights(found), truth == guessed)
    assert (found["test_nodes"], found["test_share"]) == (45, 0.5)


def test_classes_without_training_nodes_are_always_wrong(data):
    names = np.array(["a", "b", "c", "d", "e"], dtype=object)[np.arange(90) % 5]
    test = data.split.test
    P = np.random.default_rng(0).dirichlet([1, 1], len(test))
    found = judged(P, np.array(["b", "d"], dtype=object), replace(data, labels=names), test)
    guessed = np.where(P[:, 0] > P[:, 1], "b", "d")
    assert found["accuracy"] == accuracy_score(names[test], guessed)
    assert found["macro_f1"] == pytest.approx(f1_score(names[test], guessed, average="macro"))


@pytest.mark.parametrize(
    "method", [name for name in CONTESTANTS if name in LINEAR or name in ("gcn", "gwnn", "sgc-pyg")]
)
def test_measure(method, data):
    if not CONTESTANTS[method].is_installed:
        pytest.skip(f"{method} needs the extra {CONTESTANTS[method].extra}")
    found = measure(Job(method, data, threads=1), silent)
    assert found["accuracy"] > 0.4
    assert found["fit_seconds"] > 0
    assert found["predict_seconds"] > 0
    assert (found["refit_seconds"] is None) == (
        method in ("label-propagation", "deepwalk", "gcn", "gwnn", "sgc-pyg")
    )
    if sys.platform != "win32":
        assert 10e6 < found["peak_bytes"] < 100e9
    assert (found["parameters"] > 0) == (method != "label-propagation")


def test_noise(data):
    clean, noisy = (measure(Job("dgc", data, noise=noise), silent) for noise in (0.0, 9.0))
    assert noisy["accuracy"] < clean["accuracy"]


def test_without_features(data):
    bare = replace(data, graph=data.graph.with_features(None))
    assert measure(Job("dgc", bare), silent)["accuracy"] > 0.4


@pytest.mark.parametrize("model", [DGCClassifier(), SIGNClassifier(r=(1, 2))])
def test_known_settings_make_the_same_model(model, data):
    split = data.split
    fitted = model.fit(data.graph, data.labels, split.train, split.val)
    again = known_settings(fitted).fit(data.graph, data.labels, split.train, split.val)
    assert_array_equal(again.predict(), fitted.predict())
    assert again.weight_decay_ == fitted.weight_decay_
    assert count_parameters(again) == count_parameters(fitted) > 12


def test_a_process_of_its_own(data):
    reports = []
    found = isolated(Job("dgc", data), lambda *report: reports.append(report))
    here = measure(Job("dgc", data), silent)
    assert found["right"] == here["right"]
    assert reports
    assert isinstance(reports[0][0], str)


class Falls:
    """A job that ends the process as it comes there."""

    def __init__(self, how, *arguments):
        self.how, self.arguments = how, arguments

    def __reduce__(self):
        return self.how, self.arguments


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (Falls(os._exit, 7), r"ended without a result \(exit code 7\)"),
        (Falls(bytearray, 1 << 62), r"there was not enough memory\.$"),
        (Falls(np.empty, 1 << 50), "there was not enough memory. Unable to allocate 8.00 PiB"),
        (Falls(require_memory, "it", 1e18), "it needs .*, and this machine has"),
        (Falls(int, "x"), "ValueError: invalid literal"),
    ],
)
def test_a_process_that_fails(job, message):
    with pytest.raises(RunFailed, match=message):
        isolated(job, silent)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize(
    ("number", "message"),
    [("SIGKILL", "most likely since the machine ran out of memory"), ("SIGSEGV", "SIGSEGV")],
)
def test_a_process_that_is_killed(number, message):
    with pytest.raises(RunFailed, match=message):
        isolated(Falls(signal.raise_signal, getattr(signal, number)), silent)


class Large:
    """A job that takes long to send, to a process that does not live that long."""

    def __reduce__(self):
        return _fall_down, (Falls(os._exit, 7), bytes(50_000_000))


def _fall_down(*_):
    raise AssertionError


def test_a_process_that_fails_before_it_has_its_job():
    with pytest.raises(RunFailed, match="exit code 7"):
        isolated(Large(), silent)


def test_a_method_that_diverges(data, monkeypatch):
    class Diverging(DGCClassifier):
        def predict_proba(self, graph=None, nodes=None):
            return np.full((len(nodes), 3), np.nan)

    monkeypatch.setitem(CONTESTANTS, "dgc", Contestant("DGC", lambda _: Diverging(T=1.0)))
    with pytest.raises(InputError, match="its training diverged"):
        measure(Job("dgc", data), silent)


def test_a_second_fit_that_fails_costs_nothing(data, monkeypatch):
    monkeypatch.setattr(measures, "known_settings", lambda model: "no estimator")
    assert measure(Job("dgc", data), silent)["refit_seconds"] is None


def test_errors_are_told_in_words(data):
    bare = replace(data, graph=data.graph.with_features(None))
    with pytest.raises(RunFailed, match="SIGNClassifier needs a graph with features"):
        isolated(Job("sign", bare), silent)
