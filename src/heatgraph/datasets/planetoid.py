"""Reader of Planetoid's original files: Cora, Citeseer and Pubmed with their public splits.

A data set is eight files ``ind.NAME.*``, seven of them pickles made by Python 2. Unpickling runs
whatever code a file names, so these are read by an unpickler that knows the few names they contain,
has stand-ins of its own for them, and checks every array like any other input.
"""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.splits import Split
from heatgraph.errors import FileFormatError
from heatgraph.graph import Graph
from heatgraph.graph._validation import CSRBuilder

VALIDATION_NODES = 500


def read_planetoid(folder: str | Path, name: str) -> Dataset:
    """Read the files ``ind.NAME.*`` in `folder`: the graph, its labels and its public split.

    Features are as they are in the files, not normalised. Test nodes come last, in the order of
    ``ind.NAME.test.index``. Citeseer's has gaps: nodes that no file describes. They are kept, as
    nodes without features or label (-1).
    """
    folder = Path(folder)

    def part(suffix: str) -> Any:
        return _unpickle(folder / f"ind.{name}.{suffix}")

    try:
        order = np.array((folder / f"ind.{name}.test.index").read_text().split(), dtype=np.int64)
        known, test = part("allx").read(), part("tx").read()
        neighbours = part("graph")
        n = len(neighbours)
        nodes = np.concatenate([np.arange(known.shape[0]), order])
        if len(np.unique(nodes)) < len(nodes):
            raise ValueError("a node is described twice")
        features = sp.coo_array(sp.vstack([known, test]))
        features = sp.coo_array(
            (features.data, (nodes[features.row], features.col)), shape=(n, known.shape[1])
        )
        labels = np.full(n, -1, dtype=np.int64)
        one_hot = np.concatenate([part("ally").array, part("ty").array])
        labelled = one_hot.any(axis=1)
        labels[nodes[labelled]] = one_hot.argmax(axis=1)[labelled]
        edges = [(v, w) for v, others in neighbours.items() for w in others]
        src, dst = zip(*edges, strict=True)
        graph = Graph.from_edges(src, dst, features=features, symmetrize="max")
        train = np.arange(len(part("y").array))
        val = len(train) + np.arange(VALIDATION_NODES)
        if val[-1] >= known.shape[0]:
            raise ValueError(f"{len(train)} training nodes leave too few for validation")
        split = Split(train, val, order)
    except FileFormatError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise FileFormatError(
            f"{folder}: the files ind.{name}.* do not fit together ({error}). Get them again."
        ) from error
    return Dataset(name, graph, labels, {"public": split})


class _Matrix:
    """Holds what a file says of a csr_matrix, and does nothing with it."""

    def __setstate__(self, state: Any) -> None:
        self.state = dict(state)

    def read(self) -> sp.csr_array:
        """Assemble the matrix and check every index in it."""
        matrix = sp.csr_matrix(self.state["_shape"], dtype=np.float32)
        for name in ("data", "indices", "indptr"):
            setattr(matrix, name, self.state[name].array)
        return CSRBuilder.read(matrix, "features").matrix


class _Number:
    """Holds what a file says of a dtype: a plain number, in one byte order or the other."""

    def __init__(self, code: str) -> None:
        if not re.fullmatch("[biuf][1248]", code):
            raise pickle.UnpicklingError(f"it has an array of {code!r}, which is no number")
        self.dtype = np.dtype(code)

    def __setstate__(self, state: Any) -> None:
        self.dtype = self.dtype.newbyteorder(">" if state[1] == ">" else "<")


class _Numbers:
    """Holds what a file says of an array: so many bytes, read as numbers of that kind."""

    def __setstate__(self, state: Any) -> None:
        _, shape, number, by_column, raw = state
        content = raw.encode("latin1") if isinstance(raw, str) else raw
        array = np.frombuffer(content, dtype=number.dtype)
        array = array.reshape(shape, order="F" if by_column else "C")
        self.array = array.astype(number.dtype.newbyteorder("="))


class _ArrayUnpickler(pickle.Unpickler):
    """Knows the names in Planetoid's files and refuses all others.

    Not even NumPy's own types are handed out, since an array or a dtype of a file's making can
    point anywhere in memory. What stands in for them is made anew each time, so that nothing a file
    does to it lasts.
    """

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file, encoding="latin1")

    def find_class(self, module: str, name: str) -> Any:
        match f"{module}.{name}":
            case "scipy.sparse.csr.csr_matrix":
                return type(name, (_Matrix,), {})
            case "numpy.core.multiarray._reconstruct":
                return lambda *_: _Numbers()
            case "numpy.dtype":
                return lambda code, *_: _Number(code)
            case "collections.defaultdict":
                return lambda factory: {}
            case "numpy.ndarray" | "__builtin__.list" | "builtins.list":
                return name  # only ever handed to the ones above
        raise pickle.UnpicklingError(f"it names {module}.{name}, which no array needs")


def _unpickle(path: Path) -> Any:
    with path.open("rb") as file:
        try:
            return _ArrayUnpickler(file).load()
        except Exception as error:  # a damaged pickle can raise nearly anything
            raise FileFormatError(
                f"{path}: not a Planetoid file, or damaged: {error}. Get it again."
            ) from error
