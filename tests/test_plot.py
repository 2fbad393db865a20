"""Plots for notebooks."""

import matplotlib
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from strategies import planted

import heatgraph as hg
from heatgraph.errors import InputError
from heatgraph.report.metrics import reliability_curve
from heatgraph.report.palette import LIGHT, class_colours

GRAPH, CLASSES = planted(n=90, kind="dense", noise=2.0)
LABELS = np.array(["$a$", "b_1", "c"], dtype=object)[CLASSES]
TRAIN, TEST = np.arange(50), np.arange(50, 90)


@pytest.fixture(autouse=True)
def backend():
    """No windows, and no figures left over."""
    from matplotlib import pyplot

    with matplotlib.rc_context():
        matplotlib.use("agg")
        yield
        pyplot.close("all")


@pytest.fixture(scope="module")
def model():
    return hg.DGCClassifier().fit(GRAPH, LABELS, TRAIN)


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_accuracy_over_time(model):
    axes = hg.plot.accuracy_over_time(model)
    assert isinstance(axes, Axes)
    curve = next(line for line in axes.get_lines() if "best" in line.get_label())
    best = {}
    for record in model.search_:
        if record["head"] == "ridge":
            best[record["T"]] = max(best.get(record["T"], 0), 100 * record["accuracy"])
    assert len(curve.get_xdata()) > 5
    assert all(y <= best[x] + 1e-9 for x, y in zip(*curve.get_data(), strict=True))
    assert f"chosen: T = {model.T_:.3g}" in legend(axes)
    assert axes.get_ylabel() == "accuracy (%) on held-out nodes"


def test_other_scores_over_time():
    numbers = hg.DGCRegressor().fit(GRAPH, CLASSES + 0.01 * np.arange(90))
    assert hg.plot.accuracy_over_time(numbers).get_ylabel() == "R² on held-out nodes"
    sets = hg.DGCMultilabelClassifier().fit(GRAPH, [[str(code)] for code in CLASSES])
    axes = hg.plot.accuracy_over_time(sets)
    assert axes.get_ylabel() == "log-loss on held-out nodes"
    assert min(axes.get_lines()[0].get_ydata()) > 0
    fixed = hg.DGCClassifier(T=2.0).fit(GRAPH, LABELS)
    with pytest.raises(InputError, match="no search over T"):
        hg.plot.accuracy_over_time(fixed)


def test_confusion(model):
    axes = hg.plot.confusion(model, LABELS, TEST)
    predicted = model.predict(nodes=TEST)
    expected = [[int(((LABELS[TEST] == a) & (predicted == b)).sum()) for b in model.classes_]
                for a in model.classes_]  # fmt: skip
    shown = {tuple(map(int, text.get_position())): text.get_text() for text in axes.texts}
    assert shown == {(b, a): str(expected[a][b]) for a in range(3) for b in range(3)}
    assert [text.get_text() for text in axes.get_xticklabels()] == ["$a$", "b_1", "c"]
    axes.figure.canvas.draw()  # names with dollars are no formulas


def test_reliability(model):
    axes = hg.plot.reliability(model, LABELS, TEST)
    before, after, perfect = axes.get_lines()
    assert legend(axes) == ["before calibration", "after calibration", "perfect"]
    codes = np.array([model.classes_.tolist().index(label) for label in LABELS[TEST]])
    curve = reliability_curve(model.predict_proba(nodes=TEST), codes)
    assert after.get_xdata() == pytest.approx([one.confidence for one in curve])
    assert after.get_ydata() == pytest.approx([one.accuracy for one in curve])
    assert before.get_xdata() != pytest.approx(after.get_xdata())
    np.testing.assert_array_equal(perfect.get_xdata(), perfect.get_ydata())
    plain = hg.DGCClassifier(T=2.0, weight_decay=1e-3, calibrate=False).fit(GRAPH, LABELS, TRAIN)
    assert legend(hg.plot.reliability(plain, LABELS, TEST)) == ["not calibrated", "perfect"]


def test_graphs_are_coloured_by_label():
    labels = LABELS.copy()
    labels[0] = None
    axes = hg.plot.graph(GRAPH, labels)
    edges, nodes = axes.collections
    assert len(edges.get_segments()) == GRAPH.num_edges
    colours = [matplotlib.colors.to_hex(colour) for colour in nodes.get_facecolors()]
    assert colours[0] == LIGHT.line
    assert colours[1:] == [class_colours(3)[code] for code in CLASSES[1:]]
    assert legend(axes) == ["$a$", "b_1", "c"]
    again = hg.plot.graph(GRAPH).collections[1].get_offsets()
    np.testing.assert_array_equal(again, nodes.get_offsets())


def test_positions_edges_and_axes_of_ones_own():
    ax = Figure().add_subplot()
    positions = np.random.default_rng(0).normal(size=(90, 2))
    assert hg.plot.graph(GRAPH, positions=positions, max_edges=10, ax=ax) is ax
    edges, nodes = ax.collections
    assert len(edges.get_segments()) == 10
    np.testing.assert_array_equal(nodes.get_offsets(), positions)
    with pytest.raises(InputError, match=r"positions must have the shape \(90, 2\)"):
        hg.plot.graph(GRAPH, positions=positions[:3])


def test_unlabelled_nodes_cannot_be_plotted(model):
    with pytest.raises(InputError, match="no labelled node to plot"):
        hg.plot.confusion(model, np.full(90, None))
