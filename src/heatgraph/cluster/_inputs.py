"""The inputs of a diffusion as files that workers map: the graph, the features, the rows.

A graph that was loaded from a file, and is not reordered, is read from that file; anything else is
written once by the client. Dense features are transposed into one file per panel, so that a worker
does not read a whole row-major file for a few of its columns.

Names of files contain a token of the diffusion, and each is written atomically: a file that exists
is complete, and a diffusion that is resumed uses it again.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._engine.panels import prepare_features
from heatgraph._engine.reordering import ReorderedGraph, reordered_graph
from heatgraph._engine.task import DiffusionTask, PanelInputs
from heatgraph._io.atomic_files import atomic_write
from heatgraph._io.tensor_file import map_tensors, read_checksum, write_tensors
from heatgraph.errors import FileFormatError
from heatgraph.graph import Graph
from heatgraph.graph._storage import KIND as GRAPH
from heatgraph.graph._storage import GraphArrays, StoredGraph, write_graph

Array = npt.NDArray[Any]

KIND = "input of a diffusion"
# Bytes of features that the client transposes at a time.
BLOCK_BYTES = 1 << 26


@dataclass(frozen=True)
class InputFile:
    """A tensor file that the client has verified."""

    path: str
    kind: str
    checksum: str
    size: int

    @classmethod
    def at(cls, path: str | Path, kind: str) -> InputFile:
        """Describe a file that this process has just written or verified."""
        return cls(str(path), kind, read_checksum(path), os.path.getsize(path))

    def map(self) -> dict[str, Array]:
        """Map its arrays; refuse a file whose size or header is not that of the client's."""
        if os.path.getsize(self.path) != self.size or read_checksum(self.path) != self.checksum:
            raise FileFormatError(
                f"{self.path} has changed since the diffusion began. Load the graph again and "
                "repeat the call."
            )
        return map_tensors(self.path, self.kind, verified=self.checksum)[1]


@dataclass(frozen=True)
class DiffusionInputs:
    """Where the inputs of a diffusion are.

    Attributes
    ----------
    graph : InputFile
        The edges, of the reordered graph if there is one.
    arrays : InputFile
        As far as there are such: "rows", "order", "rank", and the columns of sparse features.
    features : {"none", "sparse", "panels", "whole", "graph"}
        Whether features are in `arrays`, in a file per panel, in one, or in that of the graph.
    folder : str
        Folder of these files.
    token : str
        Prefix of their names.
    num_features : int
    """

    graph: InputFile
    arrays: InputFile
    features: str
    folder: str
    token: str
    num_features: int

    def feature_panel(self, panel: slice) -> Path:
        """The file of the columns `panel` of dense features."""
        return Path(self.folder) / f"{self.token}-features-{panel.start}-{panel.stop}.npy"

    @property
    def whole_features(self) -> Path:
        """The file of all columns of dense features."""
        return Path(self.folder) / f"{self.token}-features.npy"

    def open(self, self_loops: bool, dtype: np.dtype[Any]) -> PanelInputs:
        """Map what all panels are computed from; features by panel are added by `panel_inputs`."""
        tensors, arrays = self.graph.map(), self.arrays.map()
        graph = Graph._from_arrays(
            GraphArrays(tensors["indptr"], tensors["indices"], tensors.get("weights"))
        )
        reordered = None
        if "order" in arrays:
            reordered = ReorderedGraph(graph, arrays["order"], arrays["rank"])
        features: Any = None
        if self.features == "sparse":
            parts = tuple(arrays[f"features.{part}"] for part in ("data", "indices", "indptr"))
            features = sp.csc_array(parts, shape=(graph.num_nodes, self.num_features))
        elif self.features == "whole":
            features = np.load(self.whole_features, mmap_mode="r", allow_pickle=False)
        elif self.features == "graph":
            features = tensors["features"]
        return PanelInputs(
            graph.operator(self_loops, dtype), features, reordered, arrays.get("rows")
        )


def publish_inputs(
    task: DiffusionTask, folder: Path, token: str, with_roots: bool = False
) -> DiffusionInputs:
    """Write what workers cannot map yet; blocks of a graph need the roots of all degrees."""
    plan, graph = task.plan, task.graph
    reordered = reordered_graph(graph) if plan.reordered else None
    stored: StoredGraph | None = graph.cache.get("file")
    if stored is not None and read_checksum_or_none(stored.path) != stored.checksum:
        stored = None  # replaced by another file since it was mapped
    inputs = DiffusionInputs(
        graph=_publish_graph(graph, reordered, stored, folder, token),
        arrays=_publish_arrays(task, reordered, folder, token, with_roots),
        features=_features_kind(task, reordered, stored),
        folder=str(folder.resolve()),
        token=token,
        num_features=graph.num_features,
    )
    X = graph.features
    if inputs.features == "panels":
        _write_columns({inputs.feature_panel(panel): panel for panel in plan.panels}, X)
    elif inputs.features == "whole":
        _write_columns({inputs.whole_features: slice(0, X.shape[1])}, X)
    return inputs


def read_checksum_or_none(path: str) -> str | None:
    """The checksum in a file's header; None if there is no such file."""
    try:
        return read_checksum(path)
    except (OSError, FileFormatError):
        return None


def _publish_graph(
    graph: Graph,
    reordered: ReorderedGraph | None,
    stored: StoredGraph | None,
    folder: Path,
    token: str,
) -> InputFile:
    if stored is not None and reordered is None:
        return InputFile.at(stored.path, GRAPH)
    path = folder / f"{token}-graph.heatgraph"
    if not path.exists():
        source = graph if reordered is None else reordered.graph
        write_graph(path, GraphArrays(source.indptr, source.indices, source.weights))
    return InputFile.at(path, GRAPH)


def _publish_arrays(
    task: DiffusionTask,
    reordered: ReorderedGraph | None,
    folder: Path,
    token: str,
    with_roots: bool,
) -> InputFile:
    path = folder / f"{token}-arrays.safetensors"
    if path.exists():
        return InputFile.at(path, KIND)
    tensors: dict[str, Array] = {}
    order, rows = None, task.rows
    if reordered is not None:
        order = reordered.order
        tensors |= {"order": order, "rank": reordered.rank}
        rows = None if rows is None else reordered.rank[rows].astype(np.int64)
    if rows is not None:
        tensors["rows"] = rows
    if with_roots:
        ordered = task.graph if reordered is None else reordered.graph
        tensors["root"] = ordered.stationary(task.self_loops)
    if sp.issparse(task.graph.features):
        X = prepare_features(task.graph.features, task.plan.side, order, task.request.working_dtype)
        tensors |= {f"features.{part}": getattr(X, part) for part in ("data", "indices", "indptr")}
    write_tensors(path, KIND, {}, tensors)
    return InputFile.at(path, KIND)


def _features_kind(
    task: DiffusionTask, reordered: ReorderedGraph | None, stored: StoredGraph | None
) -> str:
    X = task.graph.features
    if X is None:
        return "none"
    if sp.issparse(X):
        return "sparse"
    if task.plan.side == "features" and len(task.plan.panels) > 1:
        return "panels"
    if stored is not None and reordered is None and X is stored.features:
        return "graph"
    return "whole"


def _write_columns(panels: dict[Path, slice], X: Array) -> None:
    """Write columns of row-major X to a file for each panel, in one pass over X."""
    panels = {path: panel for path, panel in panels.items() if not path.exists()}
    if not panels:
        return
    rows = max(1, BLOCK_BYTES // max(1, X[:1].nbytes))
    with contextlib.ExitStack() as stack:
        files = {}
        for path, panel in panels.items():
            file = files[path] = stack.enter_context(atomic_write(path))
            header = {
                "descr": X.dtype.str,
                "fortran_order": False,
                "shape": (len(X), panel.stop - panel.start),
            }
            np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, len(X), rows):
            block = X[start : start + rows]
            for path, panel in panels.items():
                files[path].write(np.ascontiguousarray(block[:, panel]).data)


def panel_inputs(
    inputs: DiffusionInputs, opened: PanelInputs, panel: slice
) -> tuple[PanelInputs, slice]:
    """The inputs of one panel, and its columns in their features."""
    if inputs.features != "panels":
        return opened, panel
    X = np.load(inputs.feature_panel(panel), mmap_mode="r", allow_pickle=False)
    columns = slice(0, panel.stop - panel.start)
    return PanelInputs(opened.P, np.asarray(X), opened.reordered, opened.rows), columns
