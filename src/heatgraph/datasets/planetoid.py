"""Reader of Planetoid's original files: Cora, Citeseer and Pubmed with their public splits.

A data set is eight files ``ind.NAME.*``, seven of them pickles of Python 2. Unpickling runs any
code that a file names, so they are read by an unpickler that allows only the names in these files,
maps them to inert stand-in classes, and validates every array like other input.
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

    Features are not normalised. Test nodes have the indices in ``ind.NAME.test.index``. Citeseer's
    has gaps: nodes that no file describes are kept, without features and with the label -1.
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
    """Stand-in for csr_matrix: stores the pickled state."""

    def __setstate__(self, state: Any) -> None:
        self.state = dict(state)

    def read(self) -> sp.csr_array:
        """Build the matrix and check every index in it."""
        matrix = sp.csr_matrix(self.state["_shape"], dtype=np.float32)
        for name in ("data", "indices", "indptr"):
            setattr(matrix, name, self.state[name].array)
        return CSRBuilder.read(matrix, "features").matrix


class _Dtype:
    """Stand-in for dtype: numbers of a fixed size and byte order."""

    def __init__(self, code: str) -> None:
        if not re.fullmatch("[biuf][1248]", code):
            raise pickle.UnpicklingError(f"it has an array of {code!r}, which is no number")
        self.dtype = np.dtype(code)

    def __setstate__(self, state: Any) -> None:
        self.dtype = self.dtype.newbyteorder(">" if state[1] == ">" else "<")


class _Array:
    """Stand-in for ndarray: decodes the pickled bytes."""

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, is_fortran, raw = state
        content = raw.encode("latin1") if isinstance(raw, str) else raw
        array = np.frombuffer(content, dtype=dtype.dtype)
        array = array.reshape(shape, order="F" if is_fortran else "C")
        self.array = array.astype(dtype.dtype.newbyteorder("="))


class _ArrayUnpickler(pickle.Unpickler):
    """Allows the names in Planetoid's files and refuses all others.

    NumPy's own types are replaced too, since a pickled state can make an array or dtype that points
    to arbitrary memory. Stand-ins are created for each use, so that a file cannot modify them for
    the next one.
    """

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file, encoding="latin1")

    def find_class(self, module: str, name: str) -> Any:
        match f"{module}.{name}":
            case "scipy.sparse.csr.csr_matrix":
                return type(name, (_Matrix,), {})
            case "numpy.core.multiarray._reconstruct":
                return lambda *_: _Array()
            case "numpy.dtype":
                return lambda code, *_: _Dtype(code)
            case "collections.defaultdict":
                return lambda factory: {}
            case "numpy.ndarray" | "__builtin__.list" | "builtins.list":
                return name  # an argument of the functions above, which ignore it
        raise pickle.UnpicklingError(f"it names {module}.{name}, which no array needs")


def _unpickle(path: Path) -> Any:
    with path.open("rb") as file:
        try:
            return _ArrayUnpickler(file).load()
        except Exception as error:  # a damaged pickle can raise nearly anything
            raise FileFormatError(
                f"{path}: not a Planetoid file, or damaged: {error}. Get it again."
            ) from error
