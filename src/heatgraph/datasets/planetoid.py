"""Reader of Planetoid's original files: Cora, Citeseer and Pubmed with their public splits.

A data set is eight files ``ind.NAME.*``, seven of them pickles of Python 2. Unpickling runs any
code that a file names, so they are read by an unpickler that allows only the names in these files,
maps them to inert stand-in classes, and validates every array like other input.

A pickle is a program, and a short one can take all memory (a large index into the memo) or overflow
the stack (nested tuples, which are hashed by recursion). So its opcodes are checked before they are
executed: which there are, how many, and their indices.
"""

from __future__ import annotations

import io
import os
import pickle
import pickletools
import re
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from heatgraph._io.formatting import format_bytes
from heatgraph._io.regular_files import open_regular_file
from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.splits import Split
from heatgraph.datasets.text_files import MAX_FEATURES
from heatgraph.errors import FileFormatError
from heatgraph.graph import Graph
from heatgraph.graph._validation import CSRBuilder

VALIDATION_NODES = 500
# Limits of a file. The largest of Planetoid's has 7.6 MB, another one 178,216 opcodes.
MAX_BYTES = 64_000_000
MAX_OPCODES = 2_000_000
# The files have at most 29 of these, so that nothing in them is nested more deeply.
STRUCTURE_OPCODES = {
    "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "EMPTY_TUPLE", "EMPTY_DICT", "NEWOBJ", "REDUCE", "BUILD",
}  # fmt: skip
MAX_STRUCTURE_OPCODES = 100
MEMO_OPCODES = {"BINPUT", "LONG_BINPUT"}
OTHER_OPCODES = {
    "APPEND", "APPENDS", "BINBYTES", "BINFLOAT", "BINGET", "BININT", "BININT1", "BININT2",
    "BINSTRING", "BINUNICODE", "EMPTY_LIST", "GLOBAL", "LONG1", "LONG_BINGET", "MARK", "NEWFALSE",
    "NEWTRUE", "NONE", "PROTO", "SETITEM", "SETITEMS", "SHORT_BINBYTES", "SHORT_BINSTRING", "STOP",
}  # fmt: skip


def read_planetoid(folder: str | Path, name: str) -> Dataset:
    """Read the files ``ind.NAME.*`` in `folder`: the graph, its labels and its public split.

    Features are not normalised. Test nodes have the indices in ``ind.NAME.test.index``. Citeseer's
    has gaps: nodes that no file describes are kept, without features and with the label -1.
    """
    folder = Path(folder)

    def part(suffix: str) -> Any:
        return _unpickle(folder / f"ind.{name}.{suffix}")

    try:
        index = _read(folder / f"ind.{name}.test.index")
        order = np.array(index.decode("utf-8").split(), dtype=np.int64)
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
        if not all(type(end) is int for edge in edges for end in edge):
            raise ValueError("an edge does not end at the number of a node")
        src, dst = zip(*edges, strict=True)
        graph = Graph.from_edges(src, dst, features=features, symmetrize="max")
        train = np.arange(len(part("y").array))
        val = len(train) + np.arange(VALIDATION_NODES)
        if val[-1] >= known.shape[0]:
            raise ValueError(f"{len(train)} training nodes leave too few for validation")
        split = Split(train, val, order)
    except FileFormatError:
        raise
    except (
        ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError,
    ) as error:  # fmt: skip
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
        rows, columns = self.state["_shape"]
        # Checked first, since SciPy allocates as many row pointers.
        if rows != len(self.state["indptr"].array) - 1 or not 0 < columns <= MAX_FEATURES:
            raise ValueError(f"a matrix has the shape {rows} × {columns}")
        matrix = sp.csr_matrix((rows, columns), dtype=np.float32)
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
        if not all(type(size) is int for size in shape):
            raise pickle.UnpicklingError("it has an array whose shape is not of integers")
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
    raw = _read(path)
    try:
        _check_opcodes(raw)
        return _ArrayUnpickler(io.BytesIO(raw)).load()
    except Exception as error:  # a damaged pickle can raise nearly anything
        raise FileFormatError(
            f"{path}: not a Planetoid file, or damaged: {error}. Get it again."
        ) from error


def _read(path: Path) -> bytes:
    with open_regular_file(path) as file:
        if os.fstat(file.fileno()).st_size > MAX_BYTES:
            raise FileFormatError(
                f"{path}: not a Planetoid file: it has more than {format_bytes(MAX_BYTES)}. Get it "
                "again."
            )
        return file.read()


def _check_opcodes(raw: bytes) -> None:
    """Refuse a pickle that takes more memory, time or stack than its size allows for."""
    structures = memo_size = 0
    for count, (opcode, argument, _) in enumerate(pickletools.genops(raw)):
        if count == MAX_OPCODES:
            raise pickle.UnpicklingError(f"it has more than {MAX_OPCODES:,} opcodes")
        if opcode.name in STRUCTURE_OPCODES:
            structures += 1
            if structures > MAX_STRUCTURE_OPCODES:
                raise pickle.UnpicklingError("it has too many tuples and objects")
        elif opcode.name in MEMO_OPCODES:
            memo_size += 1
            if int(argument or 0) > memo_size:
                raise pickle.UnpicklingError(f"its memo has a gap before {argument:,}")
        elif opcode.name not in OTHER_OPCODES:
            raise pickle.UnpicklingError(f"it has the opcode {opcode.name}, which no array needs")
