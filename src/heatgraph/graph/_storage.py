"""Graph files: the arrays of a graph in a tensor file, memory-mapped and validated on reading.

A graph of n nodes, with m stored entries in A and d features, is a file of
`heatgraph._io.tensor_file` with the arrays

    indptr, indices      A in CSR form: (n + 1,) and (m,)
    weights              (m,); only if the graph is weighted
    features             (n, d); sparse features as features.indptr, .indices and .data
    node_ids             (n,); strings as node_ids.text, UTF-8 without gaps, and .offsets, (n + 1,)
    feature_names        as feature_names.text and .offsets, (d + 1,)
    order                a permutation of the nodes, (n,), if `heatgraph._engine.reordering` found
                         one
    directed             directed edges, if the graph keeps them, in CSR form as directed.indptr,
                         .indices and, if they are weighted, .weights

The checksum of a file detects damage, not malice, and compiled code reads these arrays without
bounds checks. So reading validates again everything that `Graph` guarantees, block by block, in
constant memory: sorted rows, indices in range, finite weights and features, distinct names, and
directed edges only where A has an edge.

The symmetry A = A^T is verified in the same pass (`heatgraph.graph._symmetry_hash`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._arguments import check_finite, float_dtype, index_dtype
from heatgraph._io.tensor_file import CACHE_LINE_ALIGNMENT, map_tensors, write_tensors
from heatgraph.errors import FileFormatError, InputError
from heatgraph.graph._symmetry_hash import SymmetryHash

if TYPE_CHECKING:
    from heatgraph.encoding.encoder import FeatureEncoder

Array = npt.NDArray[Any]

KIND = "graph"
# Entries, rows or strings validated at a time.
BLOCK = 1 << 16
# Node ids become a fixed-width string array if it takes at most this many times their size in the
# file; else an object array.
MAX_PADDING = 64

_FLOATS = (np.float32, np.float64)
_INDICES = (np.int32, np.int64)
_INTEGERS = (*_INDICES, np.int8, np.int16, np.uint8, np.uint16, np.uint32, np.uint64)
# Names of the arrays in a file, by the values of `content` in its header.
_FEATURE_ARRAYS = {
    None: (),
    "dense": ("features",),
    "sparse": ("features.data", "features.indices", "features.indptr"),
}
_STRING_ID_ARRAYS = ("node_ids.text", "node_ids.offsets")
_ID_ARRAYS = {
    None: (),
    "numbers": ("node_ids",),
    "texts": _STRING_ID_ARRAYS,
    "objects": _STRING_ID_ARRAYS,
}
_NAME_ARRAYS = {False: (), True: ("feature_names.text", "feature_names.offsets")}
_WEIGHT_ARRAYS = {False: (), True: ("weights",)}
_ORDER_ARRAYS = {False: (), True: ("order",)}
_DIRECTED_ARRAYS = {
    None: (),  # files of earlier versions do not mention them
    "unweighted": ("directed.indptr", "directed.indices"),
    "weighted": ("directed.indptr", "directed.indices", "directed.weights"),
}


class EdgeArrays(NamedTuple):
    """A square matrix in CSR form; without `weights` its entries are 1."""

    indptr: Array
    indices: Array
    weights: Array | None


@dataclass(frozen=True)
class GraphArrays:
    """Everything that a graph file holds: what `Graph.save` writes and `Graph.load` reads.

    `features` is None, an array or a CSR matrix of shape (n, d); `order` is a permutation of the
    nodes; `directed` are the edges before they were symmetrised, if the graph keeps them.
    """

    indptr: Array
    indices: Array
    weights: Array | None
    features: Any = None
    node_ids: Array | None = None
    feature_names: list[str] | None = None
    feature_encoder: FeatureEncoder | None = None
    num_duplicates: int = 0
    order: Array | None = None
    directed: EdgeArrays | None = None

    @property
    def num_nodes(self) -> int:
        """Number of nodes, n."""
        return len(self.indptr) - 1


class StoredGraph(NamedTuple):
    """Where the edges of a graph are stored, and the features that are stored with them."""

    path: str
    checksum: str
    features: Any


def write_graph(path: str | Path, graph: GraphArrays) -> None:
    """Write a graph to a file atomically."""
    write_tensors(path, KIND, *serialize_graph(graph), alignment=CACHE_LINE_ALIGNMENT)


def serialize_graph(graph: GraphArrays) -> tuple[dict[str, Any], dict[str, Array]]:
    """The JSON values and the arrays of a graph file; `deserialize_graph` is the inverse."""
    edges = EdgeArrays(graph.indptr, graph.indices, graph.weights)
    tensors = _edge_tensors("", edges)
    directed = None
    if graph.directed is not None:
        tensors |= _edge_tensors("directed.", graph.directed)
        directed = "unweighted" if graph.directed.weights is None else "weighted"
    features, num_features = None, 0
    if graph.features is not None:
        num_features = int(graph.features.shape[1])
        if sp.issparse(graph.features):
            features = "sparse"
            for part in ("data", "indices", "indptr"):
                tensors[f"features.{part}"] = getattr(graph.features, part)
        else:
            features = "dense"
            tensors["features"] = graph.features
    ids = None
    if graph.node_ids is not None:
        ids = _node_id_kind(graph.node_ids)
        if ids == "numbers":
            tensors["node_ids"] = graph.node_ids.astype(graph.node_ids.dtype.newbyteorder("="))
        else:
            tensors |= _encode_strings("node_ids", graph.node_ids)
    if graph.feature_names is not None:
        tensors |= _encode_strings("feature_names", graph.feature_names)
    if graph.order is not None:
        tensors["order"] = graph.order
    content = {
        "weights": graph.weights is not None,
        "features": features,
        "num_features": num_features,
        "node_ids": ids,
        "feature_names": graph.feature_names is not None,
        "feature_encoder": graph.feature_encoder and graph.feature_encoder.to_json(),
        "num_duplicates": int(graph.num_duplicates),
        "order": graph.order is not None,
        "directed": directed,
    }
    return content, tensors


def _edge_tensors(prefix: str, edges: EdgeArrays) -> dict[str, Array]:
    tensors = {prefix + "indptr": edges.indptr, prefix + "indices": edges.indices}
    if edges.weights is not None:
        dtype = float_dtype(edges.weights.dtype)
        is_kept = edges.weights.dtype == dtype
        tensors[prefix + "weights"] = edges.weights if is_kept else edges.weights.astype(dtype)
    return tensors


def read_graph(path: str | Path) -> GraphArrays:
    """Memory-map and validate a graph file; the arrays are read-only views of the map."""
    content, tensors = map_tensors(path, KIND)
    try:
        return deserialize_graph(content, tensors)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        reason = str(error).rstrip(".")
        raise FileFormatError(
            f"{path} does not hold a valid graph: {reason}. Save the graph again."
        ) from error


def deserialize_graph(content: dict[str, Any], tensors: dict[str, Array]) -> GraphArrays:
    """Check everything that `Graph` guarantees; a violation raises ValueError or LookupError."""
    _check_tensor_names(content, tensors)
    n = tensors["indptr"].size - 1
    if n < 1:
        raise ValueError("it has no nodes")
    indptr, indices = _csr_arrays(tensors, "", n, [np.int64], [index_dtype(n)])
    weights = None
    if content["weights"]:
        weights = _array(tensors, "weights", _FLOATS, indices.shape)
    _check_edges(indptr, indices, weights)
    features = _features(content, tensors, n)
    names = None
    if content["feature_names"]:
        d = 0 if features is None else features.shape[1]
        names = list(chain.from_iterable(_decode_strings(tensors, "feature_names", d)))
        if len(set(names)) < len(names):
            raise ValueError("feature_names are not distinct")
    return GraphArrays(
        indptr=indptr,
        indices=indices,
        weights=weights,
        features=features,
        node_ids=_node_ids(content, tensors, n),
        feature_names=names,
        feature_encoder=read_encoder(content, names),
        num_duplicates=_count(content, "num_duplicates"),
        order=_order(tensors, n) if content["order"] else None,
        directed=_directed_edges(content, tensors, indptr, indices),
    )


def read_encoder(content: dict[str, Any], names: list[str] | None) -> FeatureEncoder | None:
    """The encoder of the features; None in files without one, such as those of older versions."""
    if content.get("feature_encoder") is None:
        return None
    from heatgraph.encoding.encoder import FeatureEncoder

    return FeatureEncoder.read(content["feature_encoder"], names)


def _check_tensor_names(content: dict[str, Any], tensors: dict[str, Array]) -> None:
    """Check that a file has exactly the arrays that its content announces."""
    expected = {"indptr", "indices"}
    choices: list[tuple[str, dict[Any, tuple[str, ...]]]] = [
        ("weights", _WEIGHT_ARRAYS),
        ("features", _FEATURE_ARRAYS),
        ("node_ids", _ID_ARRAYS),
        ("feature_names", _NAME_ARRAYS),
        ("order", _ORDER_ARRAYS),
        ("directed", _DIRECTED_ARRAYS),
    ]
    for name, arrays in choices:
        value = content.get(name)
        if not isinstance(value, str | bool | None) or value not in arrays:
            raise ValueError(f"its content has an unknown value {value!r} for {name}")
        expected.update(arrays[value])
    if expected != set(tensors):
        name = sorted(expected ^ set(tensors))[0]
        raise ValueError(f"array {name!r} is {'missing' if name in expected else 'unexpected'}")


def _order(tensors: dict[str, Array], n: int) -> Array:
    """The permutation of the nodes, validated."""
    order = _array(tensors, "order", [index_dtype(n)], (n,))
    if order.min() < 0 or order.max() >= n or np.bincount(order, minlength=n).max() > 1:
        raise ValueError("order must contain each node once")
    return order


def _count(content: dict[str, Any], name: str) -> int:
    value = content.get(name)
    if type(value) is not int or not 0 <= value <= np.iinfo(np.int64).max:
        raise ValueError(f"{name} must be an integer. Got {value!r}")
    return value


def _array(
    tensors: dict[str, Array], name: str, dtypes: Sequence[Any], shape: tuple[int, ...]
) -> Array:
    found = tensors[name]
    if found.dtype not in dtypes or found.shape != shape:
        expected = " or ".join(str(np.dtype(dtype)) for dtype in dtypes)
        raise ValueError(
            f"{name} must be {expected} of shape {shape}. Got {found.dtype} of shape {found.shape}"
        )
    return found


def _offsets(tensors: dict[str, Array], name: str, count: int, dtypes: Sequence[Any]) -> Array:
    """Validated offsets of `count` items: from 0, never decreasing."""
    offsets = _array(tensors, name, dtypes, (count + 1,))
    if offsets[0] != 0:
        raise ValueError(f"{name} must start at 0. Got {offsets[0]}")
    for start in range(0, count, BLOCK):
        block = offsets[start : start + BLOCK + 1]
        decreases = np.flatnonzero(block[1:] < block[:-1])
        if len(decreases):
            at = start + int(decreases[0]) + 1
            raise ValueError(f"{name} must never decrease. Got {offsets[at]} at position {at}")
    return offsets


def _csr_arrays(
    tensors: dict[str, Array],
    prefix: str,
    n: int,
    indptr_dtypes: Sequence[Any],
    index_dtypes: Sequence[Any],
) -> tuple[Array, Array]:
    """`indptr` and `indices` of n rows: valid offsets, and as many indices as they announce."""
    indptr = _offsets(tensors, prefix + "indptr", n, indptr_dtypes)
    return indptr, _array(tensors, prefix + "indices", index_dtypes, (int(indptr[-1]),))


def _validated_entries(
    indptr: Array, indices: Array, num_columns: int, name: str
) -> Iterator[tuple[slice, Array, Array]]:
    """Yield positions, rows and columns block by block, validated: in range and sorted by row."""
    last = (-1, -1)
    for first in range(0, len(indptr) - 1, BLOCK):
        bounds = indptr[first : first + BLOCK + 1].astype(np.int64)
        for start in range(int(bounds[0]), int(bounds[-1]), BLOCK):
            stop = min(start + BLOCK, int(bounds[-1]))
            low = int(np.searchsorted(bounds, start, side="right")) - 1
            high = int(np.searchsorted(bounds, stop, side="left"))
            counts: Array = np.diff(np.clip(bounds[low : high + 1], start, stop))
            rows = np.repeat(np.arange(first + low, first + high, dtype=np.int64), counts)
            columns = indices[start:stop]
            if columns.min() < 0 or columns.max() >= num_columns:
                at = int(np.flatnonzero((columns < 0) | (columns >= num_columns))[0])
                raise ValueError(
                    f"{name}[{start + at}] is {columns[at]}, outside 0..{num_columns - 1}"
                )
            steps = np.flatnonzero(columns[1:] <= columns[:-1]) + 1
            unsorted = steps[rows[steps] == rows[steps - 1]]
            if rows[0] == last[0] and columns[0] <= last[1]:
                unsorted = np.zeros(1, dtype=np.int64)
            if len(unsorted):
                at = int(unsorted[0])
                raise ValueError(
                    f"{name} must increase within each row. {name}[{start + at}] is {columns[at]}, "
                    f"in row {rows[at]}, and the index before it is not smaller"
                )
            last = (rows[-1], columns[-1])
            yield slice(start, stop), rows, columns


def _check_edges(indptr: Array, indices: Array, weights: Array | None) -> None:
    """Check that A is canonical and symmetric, with positive weights and finite degrees."""
    n = len(indptr) - 1
    symmetry = SymmetryHash()
    balance, largest = 0, 0.0
    for positions, rows, columns in _validated_entries(indptr, indices, n, "indices"):
        factor = None
        if weights is not None:
            block = weights[positions]
            _check_weights(block, positions.start)
            largest = max(largest, float(block.max()))
            factor = symmetry.hash_weights(block)
        balance += symmetry.balance(rows, columns, factor)
    if balance % 2**64:
        raise ValueError(
            "its edges are not symmetric: some have one direction only, or weights that differ "
            "between directions"
        )
    if weights is not None and largest > np.finfo(np.float64).max / n:
        with np.errstate(over="ignore"):
            sums = np.add.reduceat(weights, indptr[:-1][np.diff(indptr) > 0])
        if not np.isfinite(sums).all():
            raise ValueError("its weights are too large: at some node they add up to infinity")


def _check_weights(block: Array, start: int, name: str = "weights") -> None:
    valid = (block > 0) & np.isfinite(block)
    if not valid.all():
        at = int(np.flatnonzero(~valid)[0])
        raise ValueError(f"{name} must be finite and positive. {name}[{start + at}] is {block[at]}")


def _directed_edges(
    content: dict[str, Any], tensors: dict[str, Array], indptr: Array, indices: Array
) -> EdgeArrays | None:
    """Directed edges, validated: canonical, with positive weights, where A has edges."""
    if content.get("directed") is None:
        return None
    n, name = len(indptr) - 1, "directed.indices"
    starts, columns = _csr_arrays(tensors, "directed.", n, [np.int64], [index_dtype(n)])
    weights = None
    if content["directed"] == "weighted":
        weights = _array(tensors, "directed.weights", _FLOATS, columns.shape)
    for positions, sources, targets in _validated_entries(starts, columns, n, name):
        if weights is not None:
            _check_weights(weights[positions], positions.start, "directed.weights")
        missing = np.flatnonzero(~_are_edges(indptr, indices, sources, targets))
        if len(missing):
            at = int(missing[0])
            raise ValueError(
                f"its directed edge {sources[at]} -> {targets[at]} is not an edge of the graph"
            )
    return EdgeArrays(starts, columns, weights)


def _are_edges(indptr: Array, indices: Array, rows: Array, columns: Array) -> Array:
    """Whether each (row, column) is an entry of a canonical CSR matrix, by bisection."""
    low, high = indptr[rows], indptr[rows + 1]
    ends = high
    while (low < high).any():
        # Where low = high, the search is over, and `middle` may be the end of all entries.
        middle = (low + high) // 2
        is_open = low < high
        is_smaller = is_open & (indices[np.where(is_open, middle, 0)] < columns)
        low = np.where(is_smaller, middle + 1, low)
        high = np.where(is_open & ~is_smaller, middle, high)
    found: Array = low < ends
    found[found] = indices[low[found]] == columns[found]
    return found


def _features(content: dict[str, Any], tensors: dict[str, Array], n: int) -> Any:
    d = _count(content, "num_features")
    if content["features"] is None:
        return None
    if d == 0:
        raise ValueError("its features have no columns")
    if content["features"] == "dense":
        X: Any = _array(tensors, "features", _FLOATS, (n, d))
    else:
        index = [tensors["features.indptr"].dtype]
        indptr, indices = _csr_arrays(tensors, "features.", n, _INDICES, index)
        data = _array(tensors, "features.data", _FLOATS, indices.shape)
        for _ in _validated_entries(indptr, indices, d, "features.indices"):
            pass
        X = sp.csr_array((data, indices, indptr), shape=(n, d))
    check_finite(X, "features")
    return X


def _node_id_kind(ids: Array) -> str:
    """How a file stores node ids: a key of `_ID_ARRAYS`."""
    if ids.dtype.kind in "iu":
        return "numbers"
    if ids.dtype.kind == "U":
        return "texts"
    for position, name in enumerate(ids.tolist()):
        if not isinstance(name, str):
            raise InputError(
                "node_ids must be integers or strings to be saved. Entry "
                f"{position} is {name!r}, of type {type(name).__name__}; make the graph with "
                "node_ids=[str(name) for name in ids]."
            )
    return "objects"


def _node_ids(content: dict[str, Any], tensors: dict[str, Array], n: int) -> Array | None:
    kind = content["node_ids"]
    if kind is None:
        return None
    if kind == "numbers":
        ids = _array(tensors, "node_ids", _INTEGERS, (n,))
        if _has_duplicates(ids):
            raise ValueError("node_ids are not distinct")
        return ids
    dtype = np.dtype(object)
    if kind == "texts":
        width = max(max(map(len, block)) for block in _decode_strings(tensors, "node_ids", n))
        padded = np.dtype(f"U{max(1, width)}")
        stored = sum(tensors[name].nbytes for name in _STRING_ID_ARRAYS)
        if n * padded.itemsize <= MAX_PADDING * stored:
            dtype = padded
    ids, hashes, start = np.empty(n, dtype=dtype), np.empty(n, dtype=np.int64), 0
    for block in _decode_strings(tensors, "node_ids", n):
        part = slice(start, start + len(block))
        ids[part] = block
        hashes[part] = [hash(string) for string in ids[part].tolist()]
        start = part.stop
    # Distinct hashes prove distinct strings, and take less memory than a set of the strings.
    if _has_duplicates(hashes) and len(set(ids.tolist())) < n:
        raise ValueError("node_ids are not distinct")
    return ids


def _has_duplicates(numbers: Array) -> bool:
    ordered = np.sort(numbers)
    return bool((ordered[1:] == ordered[:-1]).any())


def _encode_strings(name: str, strings: Sequence[str] | Array) -> dict[str, Array]:
    """Arrays of strings: their UTF-8 bytes without gaps, and the offset of each."""
    offsets, blocks = np.zeros(len(strings) + 1, dtype=np.int64), []
    for start in range(0, len(strings), BLOCK):
        block = strings[start : start + BLOCK]
        encoded = [string.encode("utf-8", "surrogatepass") for string in block]
        offsets[start + 1 : start + 1 + len(encoded)] = [len(raw) for raw in encoded]
        blocks.append(b"".join(encoded))
    joined = b"".join(blocks)
    text: Array = np.ndarray(len(joined), np.uint8, buffer=joined)
    return {f"{name}.text": text, f"{name}.offsets": np.cumsum(offsets, out=offsets)}


def _decode_strings(tensors: dict[str, Array], name: str, count: int) -> Iterator[list[str]]:
    """Yield the strings that `_encode_strings` stored, in blocks."""
    offsets = _offsets(tensors, f"{name}.offsets", count, [np.int64])
    text = _array(tensors, f"{name}.text", [np.uint8], (int(offsets[-1]),))
    for start in range(0, count, BLOCK):
        bounds = offsets[start : start + BLOCK + 1]
        raw = text[bounds[0] : bounds[-1]].tobytes()
        slices = pairwise((bounds - bounds[0]).tolist())
        yield [raw[begin:end].decode("utf-8", "surrogatepass") for begin, end in slices]
