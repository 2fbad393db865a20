"""`Dataset`: a graph with labels and named splits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph._io.hashing import fingerprint
from heatgraph._io.notebook_html import html_table, html_text, html_view
from heatgraph.datasets.splits import Split
from heatgraph.errors import InputError
from heatgraph.graph import Graph
from heatgraph.learning._labels import Labels

Indices = npt.NDArray[np.int64]

# Splits that notebooks list.
SHOWN_SPLITS = 5


@dataclass(frozen=True, repr=False)
class Dataset:
    """A graph with labels and named splits.

    Attributes
    ----------
    name : str
    graph : Graph
    labels : array of shape (n,), or None
        A label per node; -1, None or NaN where there is none. For other tasks a tuple of labels, or
        a number, and None or NaN where there is none.
    splits : dict from name to Split
        The first one is the default, which `split` returns.
    licence, citation, source, notes : str
        Documentation of published data; empty by default.
    task : {"classification", "multilabel", "regression"}
        What `labels` are.
    class_names : dict from label to str
        What labels that are numbers stand for, if that is known.
    """

    name: str
    graph: Graph
    labels: npt.NDArray[Any] | None = None
    splits: Mapping[str, Split] = field(default_factory=dict)
    licence: str = ""
    citation: str = ""
    source: str = ""
    notes: str = ""
    task: str = "classification"
    class_names: Mapping[Any, str] = field(default_factory=dict)

    @property
    def labelled(self) -> npt.NDArray[np.bool_]:
        """Which nodes have a label (n,)."""
        if self.labels is None:
            return np.zeros(self.graph.num_nodes, dtype=bool)
        return labelled_nodes(self.labels, self.task)

    @property
    def split(self) -> Split:
        """The default split, the first of `splits`."""
        if not self.splits:
            raise InputError(
                f"{self.name} comes without a split. heatgraph.random_split(labels) and "
                "heatgraph.fraction_split(labels) make one."
            )
        return next(iter(self.splits.values()))

    @property
    def statistics(self) -> dict[str, Any]:
        """Counts of nodes, edges, features, classes, and of the parts of each split."""
        counts: dict[str, Any] = {
            "nodes": self.graph.num_nodes,
            "edges": self.graph.num_edges,
            "self_loops": self.graph.num_self_loops,
            "features": self.graph.num_features,
        }
        if self.labels is not None:
            known = np.flatnonzero(self.labelled)
            counts["labelled"] = len(known)
            if self.task == "classification":
                labels = Labels.read(self.labels, self.graph.num_nodes)
                counts["classes"] = len(labels.classes(known))
        counts["splits"] = {
            name: tuple(len(part) for part in (split.train, split.val, split.test))
            for name, split in self.splits.items()
        }
        return counts

    def partition(self) -> tuple[Indices | None, Indices | None, Indices | None]:
        """Training, validation and test nodes of the default split; None for an empty part.

        A split without training nodes trains on all labelled nodes outside its other parts. Test
        nodes without a label are left out. Without a split, all three are None.

        Examples
        --------
        >>> path = Graph.from_edges([0, 1, 2], [1, 2, 3], num_nodes=4, symmetrize="max")
        >>> data = Dataset("path", path, np.array([0, 1, 1, -1]), {"mine": Split([], [], [1, 3])})
        >>> data.partition()
        (array([0, 2]), None, array([1]))
        """
        if not self.splits:
            return None, None, None
        split, known = self.split, self.labelled
        test = split.test[known[split.test]]
        train = split.train
        if len(train) == 0:
            train = np.setdiff1d(np.flatnonzero(known), np.union1d(split.val, split.test))
        return train, split.val if len(split.val) else None, test if len(test) else None

    def with_named_classes(self) -> Dataset:
        """The same data with names as labels, and None for no label, if `class_names` has names.

        Examples
        --------
        >>> path = Graph.from_edges([0, 1], [1, 2], num_nodes=3, symmetrize="max")
        >>> data = Dataset("path", path, np.array([1, 0, -1]), class_names={0: "a", 1: "b"})
        >>> data.with_named_classes().labels
        array(['b', 'a', None], dtype=object)
        """
        if not self.class_names or self.labels is None:
            return self
        names = [self.class_names.get(label) for label in np.asarray(self.labels).tolist()]
        return replace(self, labels=np.array(names, dtype=object), class_names={})

    def digest(self) -> str:
        """SHA-256 of the graph, features, labels and splits, to recognise the same data."""
        graph = self.graph
        labels = None if self.labels is None else np.asarray(self.labels)
        parts = [[split.train, split.val, split.test] for split in self.splits.values()]
        arrays = [graph.indptr, graph.indices, graph.weights, graph.features]
        if graph.directed_adjacency is not None:
            arrays.append(graph.directed_adjacency)
        return fingerprint(*arrays, labels, *chain(*parts))

    def _repr_html_(self) -> str:
        counts = self.statistics
        splits = counts.pop("splits")
        rows = [(name.replace("_", "-"), f"{count:,}") for name, count in counts.items()]
        parts = [html_table([("task", self.task), *rows])]
        if splits:
            shown = [(name, *(f"{size:,}" for size in sizes)) for name, sizes in splits.items()]
            parts.append(html_table(shown[:SHOWN_SPLITS], ["split", "train", "val", "test"]))
            if len(shown) > SHOWN_SPLITS:
                parts.append(html_text(f"and {len(shown) - SHOWN_SPLITS:,} more splits"))
        return html_view(f"Dataset {self.name}", *parts)

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}, {self.graph!r}, splits={dict(self.splits)})"


def labelled_nodes(labels: npt.NDArray[Any], task: str) -> npt.NDArray[np.bool_]:
    """Which entries (n,) of labels for a task are not missing."""
    if task == "classification":
        return Labels.read(labels, len(labels)).known
    if task == "regression":
        return np.asarray(~np.isnan(labels))
    return np.array([entry is not None for entry in labels], dtype=bool)
