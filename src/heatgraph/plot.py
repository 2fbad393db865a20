"""Plots of fitted models for notebooks and papers; each returns a matplotlib ``Axes``.

Colours are those of the reports (`heatgraph.report.palette`). Pass ``ax=`` to draw into axes of
your own; without, a new figure is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from heatgraph._arguments import positive_integer
from heatgraph.errors import InputError
from heatgraph.explorer.layout import graph_layout
from heatgraph.graph import Graph, check_graph
from heatgraph.learning._labels import Labels
from heatgraph.report.held_out import HeldOut
from heatgraph.report.metrics import ClassificationMetrics, reliability_curve
from heatgraph.report.palette import LIGHT, class_colours
from heatgraph.report.search_curves import plateau
from heatgraph.report.search_section import score_axis, time_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = npt.NDArray[Any]

# Edges that are drawn; of more, a sample.
MAX_EDGES = 50_000


def accuracy_over_time(model: Any, ax: Axes | None = None) -> Axes:
    """Plot the score on held-out nodes over T, with its standard error, the plateau and the choice.

    Parameters
    ----------
    model : DGCClassifier, DGCRegressor or DGCMultilabelClassifier
        Fitted with a search over T. The score is the one that settings were chosen by: accuracy,
        R^2, or log-loss.
    ax : Axes, optional

    Examples
    --------
    >>> from heatgraph import DGCClassifier, load_dataset
    >>> karate = load_dataset("karate")
    >>> ax = accuracy_over_time(DGCClassifier().fit(karate.graph, karate.labels))
    >>> ax.get_xlabel()
    'diffusion time T'
    """
    points = time_points(model)
    if len(points) < 2:
        raise InputError("there was no search over T, so there is nothing to plot.")
    name, factor = score_axis(model)
    axes = _axes(ax)
    x = np.array([point.x for point in points])
    y = factor * np.array([point.score for point in points])
    error = abs(factor) * np.array([point.error for point in points])
    axes.fill_between(x, y - error, y + error, color=LIGHT.classes[0], alpha=0.2, lw=0)
    axes.plot(x, y, "o-", color=LIGHT.classes[0], ms=4, label="best setting at each T")
    if x[0] == 0:
        label = "T = 0, no diffusion"
        axes.axhline(y[0], color=LIGHT.classes[6], ls=":", label=label)
    if model.T_ is not None:
        found = plateau(points, model.T_)
        if found is not None:
            axes.axvspan(*found, color=LIGHT.soft, alpha=0.15, lw=0, label="plateau")
        label = f"chosen: T = {model.T_:.3g}"
        axes.axvline(model.T_, color=LIGHT.classes[1], ls="--", label=label)
    axes.set_xlabel("diffusion time T")
    axes.set_ylabel(f"{name} on held-out nodes")
    axes.legend(frameon=False)
    return axes


def confusion(
    model: Any, y: Any, nodes: Any = None, graph: Graph | None = None, ax: Axes | None = None
) -> Axes:
    """Plot the confusion matrix: labels in rows, predictions in columns, shaded by row.

    Parameters
    ----------
    model : DGCClassifier, or another node classifier of this package
    y : sequence of length n
        True labels.
    nodes : indices or mask, optional
        By default all that have a label; take nodes that the model has not learned from.
    graph : Graph, optional
        By default the one that was fitted.
    ax : Axes, optional

    Examples
    --------
    >>> from heatgraph import DGCClassifier, load_dataset
    >>> karate = load_dataset("karate")
    >>> clf = DGCClassifier(T=2.0, weight_decay=1e-3).fit(karate.graph, karate.labels)
    >>> confusion(clf, karate.labels).get_xlabel()
    'predicted'
    """
    probabilities, labels = _predicted(model, y, nodes, graph)
    metrics = ClassificationMetrics.measure(probabilities, model.classes_, labels)
    counts = np.array(metrics.confusion)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    names = [str(label) for label in model.classes_.tolist()]
    rows = [*names, "(unknown)"][: len(counts)]
    axes = _axes(ax)
    axes.imshow(shares, cmap=_shades(), vmin=0, vmax=1, aspect="auto")
    for (row, column), count in np.ndenumerate(counts):
        colour = LIGHT.background if shares[row, column] > 0.6 else LIGHT.ink
        axes.text(column, row, f"{count:,}", ha="center", va="center", color=colour)
    long = max(map(len, names)) > 6 and len(names) > 3
    axes.set_xticks(range(len(names)), names, rotation=45 * long, ha="right" if long else "center",
                    parse_math=False)  # fmt: skip
    axes.set_yticks(range(len(rows)), rows, parse_math=False)
    axes.set_xlabel("predicted")
    axes.set_ylabel("label")
    axes.grid(visible=False)
    return axes


def reliability(
    model: Any, y: Any, nodes: Any = None, graph: Graph | None = None, ax: Axes | None = None
) -> Axes:
    """Plot accuracy over confidence, before and after calibration.

    Parameters as in `confusion`. Points are groups of equally many nodes.

    Examples
    --------
    >>> from heatgraph import DGCClassifier, load_dataset
    >>> karate = load_dataset("karate")
    >>> clf = DGCClassifier(T=2.0, weight_decay=1e-3).fit(karate.graph, karate.labels)
    >>> reliability(clf, karate.labels).get_ylabel()
    'accuracy'
    """
    probabilities, labels = _predicted(model, y, nodes, graph)
    known = {label: code for code, label in enumerate(model.classes_.tolist())}
    codes = np.array([known.get(label, -1) for label in labels])
    found = HeldOut("test", codes, probabilities, temperature=model.temperature_)
    shown = {"not calibrated": (probabilities, 0)}
    if model.temperature_ != 1:
        shown = {"before calibration": (found.uncalibrated, 1)}
        shown["after calibration"] = (probabilities, 0)
    axes = _axes(ax)
    least = 1.0
    for name, (values, colour) in shown.items():
        curve = reliability_curve(values, codes)
        x, heights = ([getattr(one, key) for one in curve] for key in ("confidence", "accuracy"))
        axes.plot(x, heights, "o-", color=LIGHT.classes[colour], ms=4, label=name)
        least = min(least, *x)
    axes.plot([least, 1], [least, 1], ls="--", color=LIGHT.classes[6], label="perfect")
    axes.set_xlabel("confidence")
    axes.set_ylabel("accuracy")
    axes.legend(frameon=False)
    return axes


def graph(
    graph: Graph,
    labels: Any = None,
    positions: Any = None,
    size: float | None = None,
    max_edges: int = MAX_EDGES,
    ax: Axes | None = None,
) -> Axes:
    """Draw a graph, its nodes coloured by label.

    Parameters
    ----------
    graph : Graph
    labels : sequence of length n, optional
        Such as true labels, or those that a model predicts; nodes without label are pale.
    positions : array of shape (n, 2), optional
        By default a layout that is the same in every run.
    size : float, optional
        Area of a node in points squared.
    max_edges : int
        Of more edges, a sample of as many is drawn.
    ax : Axes, optional

    Examples
    --------
    >>> from heatgraph import load_dataset
    >>> karate = load_dataset("karate")
    >>> len(globals()["graph"](karate.graph, karate.labels).collections)
    2
    """
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    check_graph(graph)
    points = graph_layout(graph) if positions is None else np.asarray(positions, dtype=float)
    if points.shape != (graph.num_nodes, 2):
        raise InputError(
            f"positions must have the shape ({graph.num_nodes:,}, 2). Got {points.shape}."
        )
    axes = _axes(ax)
    source = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
    once = np.flatnonzero(source < graph.indices)
    if len(once) > positive_integer(max_edges, "max_edges"):
        once = np.random.default_rng(0).choice(once, max_edges, replace=False)
    ends: Any = np.stack([points[source[once]], points[graph.indices[once]]], axis=1)
    axes.add_collection(LineCollection(ends, colors=LIGHT.soft, linewidths=0.4, alpha=0.3))
    colours, legend = [LIGHT.classes[0]] * graph.num_nodes, []
    if labels is not None:
        read = Labels.read(labels, graph.num_nodes)
        known = np.flatnonzero(read.known)
        classes = read.classes(known)
        codes = read.encode(classes, known)
        palette = class_colours(len(classes))
        colours = [LIGHT.line] * graph.num_nodes
        for node, code in zip(known.tolist(), codes.tolist(), strict=True):
            colours[node] = palette[code]
        legend = [
            Line2D([], [], marker="o", ls="", color=colour, label=str(label))
            for colour, label in zip(palette, classes.tolist(), strict=True)
        ]
    area = float(np.clip(20_000 / max(graph.num_nodes, 1), 2, 60)) if size is None else size
    axes.scatter(points[:, 0], points[:, 1], c=colours, s=area, linewidths=0, zorder=2)
    if 0 < len(legend) <= 24:
        found = axes.legend(handles=legend, frameon=False, loc="center left",
                            bbox_to_anchor=(1, 0.5))  # fmt: skip
        for text in found.get_texts():
            text.set_parse_math(False)
    axes.set_aspect("equal")
    axes.autoscale_view()
    axes.set_axis_off()
    return axes


def _predicted(model: Any, y: Any, nodes: Any, graph: Graph | None) -> tuple[Array, list[Any]]:
    """Probabilities (m, C) of labelled nodes, and their labels."""
    on = model._graph_to_label(graph)
    labels = Labels.read(y, on.num_nodes)
    labelled = labels.labelled(nodes, "nodes")
    if len(labelled) == 0:
        raise InputError("there is no labelled node to plot.")
    return model.predict_proba(graph, labelled), labels.values[labelled].tolist()


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    from matplotlib import pyplot

    _, axes = pyplot.subplots(layout="constrained")
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _shades() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("shades", [LIGHT.background, LIGHT.classes[0]])
