"""Reader of Planetoid's original files: Cora, Citeseer and Pubmed with their public splits.

A data set is eight files ``ind.NAME.*``, seven of them pickles made by Python 2. Unpickling runs
whatever code a file names, so these are read by an unpickler that knows NumPy's and SciPy's array
types and nothing else, and every array in them is checked like any other input.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph.entries import Entries
from heatgraph.errors import FileFormatError, InputError
from heatgraph.graph import Graph

VALIDATION_NODES = 500


@dataclass(frozen=True)
class Planetoid:
    """A citation graph with its public split.

    Attributes
    ----------
    graph : Graph
        With sparse features as they are in the files, not normalised.
    labels : array of shape (n,)
        Class of each node; -1 for the few nodes of Citeseer that have none.
    train, val, test : arrays of node indices
    """

    graph: Graph
    labels: npt.NDArray[np.int64]
    train: npt.NDArray[np.int64]
    val: npt.NDArray[np.int64]
    test: npt.NDArray[np.int64]


def read_planetoid(folder: str | Path, name: str) -> Planetoid:
    """Read the files ``ind.NAME.*`` in `folder`.

    Test nodes come last and in the order of ``ind.NAME.test.index``. Citeseer's has gaps: nodes
    that no file describes. They are kept, as nodes without features or label.
    """
    folder = Path(folder)

    def part(suffix: str) -> Any:
        return _unpickle(folder / f"ind.{name}.{suffix}")

    try:
        order = np.array((folder / f"ind.{name}.test.index").read_text().split(), dtype=np.int64)
        known, test = _matrix(part("allx")), _matrix(part("tx"))
        neighbours = part("graph")
        n = len(neighbours)
        nodes = np.concatenate([np.arange(known.shape[0]), order])
        features = sp.coo_array(sp.vstack([known, test]))
        features = sp.coo_array(
            (features.data, (nodes[features.row], features.col)), shape=(n, known.shape[1])
        )
        labels = np.full(n, -1, dtype=np.int64)
        one_hot = np.concatenate([part("ally"), part("ty")])
        labelled = one_hot.any(axis=1)
        labels[nodes[labelled]] = one_hot.argmax(axis=1)[labelled]
        graph = Graph.from_edges(
            np.repeat(
                np.fromiter(neighbours, dtype=np.int64), [len(v) for v in neighbours.values()]
            ),
            np.concatenate([np.asarray(v, dtype=np.int64) for v in neighbours.values()]),
            features=features,
            symmetrize="max",
        )
        train = np.arange(len(part("y")))
    except (AttributeError, IndexError, InputError, TypeError, ValueError) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(
            f"{folder}: the files ind.{name}.* do not fit together ({error}). Get them again."
        ) from error
    val = np.arange(len(train), len(train) + VALIDATION_NODES)
    return Planetoid(graph, labels, train, val, np.sort(order))


class _SparseState:
    """Stands in for a pickled csr_matrix: holds what the file says, and does nothing with it."""

    data: Any
    indices: Any
    indptr: Any
    _shape: Any


def _empty_array(kind: Any, shape: Any, code: Any) -> npt.NDArray[np.int8]:
    # Files name the size here too, but the array is filled, and sized, by its state.
    return np.ndarray.__new__(np.ndarray, (0,), dtype=np.int8)


class _ArrayUnpickler(pickle.Unpickler):
    """Knows the types in Planetoid's files, and refuses every other name."""

    known = {  # noqa: RUF012
        ("numpy", "ndarray"): np.ndarray,
        ("numpy", "dtype"): np.dtype,
        ("numpy.core.multiarray", "_reconstruct"): _empty_array,
        ("scipy.sparse.csr", "csr_matrix"): _SparseState,
        ("collections", "defaultdict"): lambda factory: {},
        ("__builtin__", "list"): list,
        ("builtins", "list"): list,
    }

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file, encoding="latin1")

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.known:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which no array needs")
        return self.known[module, name]

    def persistent_load(self, pid: Any) -> NoReturn:
        raise pickle.UnpicklingError("it refers to objects outside the file")


def _unpickle(path: Path) -> Any:
    with path.open("rb") as file:
        try:
            return _ArrayUnpickler(file).load()
        except Exception as error:  # a damaged pickle can raise nearly anything
            raise FileFormatError(
                f"{path}: not a Planetoid file, or damaged: {error}. Get it again."
            ) from error


def _matrix(state: _SparseState) -> sp.csr_array:
    matrix = sp.csr_matrix(state._shape, dtype=np.float32)
    matrix.data, matrix.indices, matrix.indptr = state.data, state.indices, state.indptr
    return Entries.read(matrix, "features").matrix
