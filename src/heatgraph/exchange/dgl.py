"""Conversion of DGL graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy.typing as npt

from heatgraph.datasets.dataset import Dataset
from heatgraph.errors import InputError
from heatgraph.exchange.tensors import (
    read_array,
    read_column,
    read_features,
    read_labels,
    read_splits,
)
from heatgraph.graph import Graph
from heatgraph.graph._validation import Merge

Array = npt.NDArray[Any]

_WEIGHT_NAMES = ("w", "weight")


def from_dgl(
    g: Any,
    *,
    symmetrize: Merge | None = None,
    directed: bool = False,
    duplicates: Literal["error"] | Merge = "error",
) -> Dataset:
    """Convert a homogeneous DGL graph to a Dataset.

    Parameters
    ----------
    g : dgl.DGLGraph
        Optional node data are ``ndata["feat"]``, ``ndata["label"]`` (-1 or NaN if unknown), and the
        masks ``ndata["train_mask"]``, ``["val_mask"]`` and ``["test_mask"]``, which become splits
        as in `from_pyg`. Optional weights are ``edata["w"]`` or ``edata["weight"]``.
    symmetrize, directed, duplicates
        As in `Graph`: edges are expected to be listed in both directions, unless one of the first
        two is given.

    Examples
    --------
    ::

        from_dgl(dgl.data.CoraGraphDataset()[0]).split
        # Split(train=140, val=500, test=1,000)
    """
    if not all(hasattr(g, name) for name in ("ndata", "edata", "edges", "num_nodes")):
        raise InputError(f"g must be a DGL graph. Got {type(g).__name__}.")
    if not g.is_homogeneous or getattr(g, "is_block", False):
        raise InputError(
            "g must be homogeneous, with one node type and one edge type. Got several types, or a "
            "block; dgl.to_homogeneous(g) merges them."
        )
    if getattr(g, "batch_size", 1) > 1:
        raise InputError(
            f"g must be a single graph. Got a batch of {g.batch_size}; dgl.unbatch(g) splits it."
        )
    n = int(g.num_nodes())
    src, dst = (read_array(ends, "edges") for ends in g.edges())
    graph = Graph.from_edges(
        src, dst, _weights(g.edata), n, features=read_features(g.ndata.get("feat"), "feat"),
        symmetrize=symmetrize, directed=directed, duplicates=duplicates,
    )  # fmt: skip
    return Dataset(
        "DGL graph", graph, read_labels(g.ndata.get("label"), n), read_splits(g.ndata, n)
    )


def _weights(edata: Mapping[str, Any]) -> Array | None:
    found = [name for name in _WEIGHT_NAMES if edata.get(name) is not None]
    if len(found) > 1:
        raise InputError(
            f"edata must have one array of weights. Got {found[0]!r} and {found[1]!r}; drop one."
        )
    return read_column(edata[found[0]], found[0]) if found else None
