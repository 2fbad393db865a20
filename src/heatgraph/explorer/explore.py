"""`explore`: a fitted classifier on its graph, as a page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from heatgraph._arguments import short_repr
from heatgraph._io.atomic_files import atomic_write
from heatgraph.datasets.dataset import Dataset
from heatgraph.errors import InputError
from heatgraph.explorer.page import to_html
from heatgraph.explorer.page_data import MAX_NODES, ExploreProgress, page_data
from heatgraph.learning.classifier import DGCClassifier


def explore(
    model: DGCClassifier,
    data: Dataset,
    path: str | Path,
    *,
    max_nodes: int = MAX_NODES,
    progress: ExploreProgress | None = None,
) -> Path:
    """Write a page that shows a fitted classifier on a graph.

    The page is one HTML file that opens from disk and loads nothing from elsewhere. It draws the
    graph by class, confidence or error; shows how predictions change with T, each by a classifier
    fitted at that T; and explains the score of any node exactly.

    Parameters
    ----------
    model : DGCClassifier
    data : Dataset
        The graph, and as far as known its labels and split: those that the model was fitted to, or
        others.
    path : path
        File to write.
    max_nodes : int
        Larger graphs are shown by a sample of so many nodes, with the edges between them.
    progress : callable, optional
        Called with what is being done, a number of steps that are done, and that of all.

    Returns
    -------
    Path
        Of the page.

    Examples
    --------
    >>> from heatgraph import DGCClassifier, explore, load_dataset
    >>> data = load_dataset("karate")
    >>> clf = DGCClassifier(T=2.0, weight_decay=1e-3).fit(data.graph, data.labels)
    >>> explore(clf, data, "karate.html")  # doctest: +SKIP
    PosixPath('karate.html')
    """
    check_explorable(model)
    if not isinstance(data, Dataset):
        raise InputError(
            "explore shows a Dataset: a graph with its labels and split, as load_dataset and "
            f"from_tables return. Got {short_repr(data)}."
        )
    html = to_html(page_data(model, data, max_nodes, progress))
    with atomic_write(path) as file:
        file.write(html.encode())
    return Path(path)


def check_explorable(model: Any) -> None:
    """Refuse what is no classifier."""
    if not isinstance(model, DGCClassifier):
        raise InputError(
            "explore shows a DGCClassifier, which predicts one class per node. Got "
            f"{type(model).__name__}."
        )
