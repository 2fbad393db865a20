"""Write a graph file from edges that exceed memory: the bytes of `Graph.from_edges(...).save()`.

Edges come in batches and go into buckets of rows (`heatgraph.graph._edge_buckets`). Each part that
fits into memory is sorted, its duplicates and directions are merged as `Graph` merges them, and
its rows are appended to the arrays of A, which then become one file.

Temporary files are in the folder ``NAME.unfinished`` beside the file, which the next run deletes if
this one is killed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from heatgraph._arguments import check_real, float_dtype, index_dtype, range_error
from heatgraph._io.file_lock import FileLock
from heatgraph._io.formatting import format_bytes
from heatgraph._io.memory import memory_budget_bytes
from heatgraph.errors import InputError, MemoryBudgetError
from heatgraph.graph._csr_files import CSRFiles
from heatgraph.graph._edge_buckets import MARGIN, EdgeBuckets, fewest_buckets
from heatgraph.graph._entry_merger import EntryMerger
from heatgraph.graph._feature_files import open_npy, validated_features
from heatgraph.graph._storage import GraphArrays, write_graph
from heatgraph.graph._validation import (
    Merge,
    check_choice,
    count_nodes,
    validate_node_ids,
    weight_error,
)

Array = npt.NDArray[Any]
# Called with the name of a stage, and steps of it that are done and to be done.
Progress = Callable[[str, int, int], object]

# Peak bytes for each entry that is sorted and merged, and for each edge of a batch with what its
# reader holds; by whether they have weights.
ENTRY_BYTES = {False: 64, True: 84}
EDGE_BYTES = {False: 130, True: 180}
# Edges of a batch at most: larger ones are no faster.
MAX_BATCH = 1 << 18
# Buffers of files and blocks that are copied.
FIXED_BYTES = 3 << 20
# Edges that a batch can hold at least.
MIN_EDGES = 16
LOCK_FILE = "lock"


class EdgeBatch(NamedTuple):
    """Ends of edges, integers of shape (b,), and their weights."""

    sources: Array
    targets: Array
    weights: Array | None


@dataclass(frozen=True)
class EdgeSource:
    """A list of `num_edges` edges, which `read` yields in batches of at most so many.

    `weight_dtype` is None for unweighted edges.
    """

    num_edges: int
    weight_dtype: np.dtype[Any] | None
    read: Callable[[int], Iterable[EdgeBatch]]


@dataclass(frozen=True)
class ConversionReport:
    """What was written: the numbers of `Graph` of the same name, and how it was done."""

    num_nodes: int
    num_entries: int
    num_self_loops: int
    num_isolated: int
    num_duplicates: int
    weighted: bool
    num_features: int
    blocks: int
    parts: int

    @property
    def num_edges(self) -> int:
        """Number of undirected edges, self-loops included."""
        return (self.num_entries + self.num_self_loops) // 2


def write_graph_from_edges(
    path: str | Path,
    edges: EdgeSource,
    num_nodes: int | None = None,
    *,
    features: str | Path | None = None,
    node_ids: Any = None,
    symmetrize: Merge | None = None,
    duplicates: Literal["error"] | Merge = "error",
    blocks: int | None = None,
    memory_budget: int | float | str | None = None,
    progress: Progress | None = None,
) -> ConversionReport:
    """Write a graph file within a memory budget, for `Graph.load`.

    `features` is the path of a ``.npy`` file, which is copied block by block. `blocks` is the
    number of buckets, by default what the budget needs. Other parameters, and the bytes of the
    file, are those of `Graph.from_edges` and `Graph.save`. `node_ids` are held in memory.
    """
    check_choice("symmetrize", symmetrize, (None, *get_args(Merge)))
    check_choice("duplicates", duplicates, ("error", *get_args(Merge)))
    if blocks is not None and blocks < 1:
        raise InputError(f"blocks must be an integer >= 1. Got {blocks!r}.")
    if edges.weight_dtype is not None:
        check_real(edges.weight_dtype, "weight")
    matrix = None if features is None else open_npy(features)
    n = count_nodes(num_nodes, None if matrix is None else np.broadcast_to(0.0, matrix.shape))
    if n == 0:
        raise InputError("a graph needs at least one node. Got none.")
    ids = validate_node_ids(node_ids, n)
    limits = _Limits.from_budget(memory_budget, ids, edges.weight_dtype is not None)
    report = progress or (lambda *_: None)
    path = Path(path)
    with _temporary_folder(path) as folder:
        if matrix is not None:
            report("reading the features", 0, 1)
            matrix = validated_features(matrix, n, folder)
        dtype = None if edges.weight_dtype is None else np.dtype(float_dtype(edges.weight_dtype))
        if blocks is None:
            blocks = int(2 * MARGIN * edges.num_edges / limits.entries) + 1
        blocks = min(max(blocks, fewest_buckets(n)), n)
        buckets = EdgeBuckets(folder, n, blocks, dtype, limits.entries)
        _fill(buckets, edges, limits.edges, report)
        # As in `Graph`, booleans are unweighted edges.
        if edges.weight_dtype is None or edges.weight_dtype.kind == "b":
            symmetrize, duplicates = symmetrize and "max", "max"
        merger = EntryMerger(n, symmetrize, duplicates)
        with CSRFiles(folder, n, np.dtype(index_dtype(n)), dtype) as csr:
            parts = _merge(buckets, merger, csr, edges.num_edges, report)
            merger.check()
            arrays: Any = csr.finish()
        report("writing the file", 0, 1)
        indptr, indices, weights = arrays
        write_graph(
            path,
            GraphArrays(
                indptr,
                indices,
                weights,
                features=matrix,
                node_ids=ids,
                num_duplicates=merger.num_duplicates,
            ),
        )
    return ConversionReport(
        num_nodes=n,
        num_entries=csr.num_entries,
        num_self_loops=merger.num_self_loops,
        num_isolated=n - csr.num_linked,
        num_duplicates=merger.num_duplicates,
        weighted=weights is not None,
        num_features=0 if matrix is None else matrix.shape[1],
        blocks=buckets.count,
        parts=parts,
    )


class _Limits(NamedTuple):
    """Entries that are sorted at once, and edges of a batch."""

    entries: int
    edges: int

    @classmethod
    def from_budget(
        cls, memory_budget: int | float | str | None, ids: Array | None, weighted: bool
    ) -> _Limits:
        budget = memory_budget_bytes(memory_budget)
        fixed = FIXED_BYTES + (0 if ids is None else ids.nbytes)
        least = fixed + MIN_EDGES * max(2 * ENTRY_BYTES[weighted], EDGE_BYTES[weighted])
        if budget < least:
            raise MemoryBudgetError(
                f"needs {format_bytes(least)}, budget {format_bytes(budget)}. Raise memory_budget=."
            )
        entries = int(min((budget - fixed) // ENTRY_BYTES[weighted], np.iinfo(np.int64).max))
        return cls(entries, int(min((budget - fixed) // EDGE_BYTES[weighted], MAX_BATCH)))


class _Violations:
    """Nodes or weights that are not allowed: how many, and the first by some order."""

    def __init__(self) -> None:
        self.count = 0
        self.first: tuple[int, ...] = ()
        self.value: Any = None

    def add(self, are_bad: Array, order: tuple[Array, ...], values: Array) -> None:
        """Count the bad ones; the first is that of the lowest tuple of `order`."""
        found = np.flatnonzero(are_bad)
        self.count += len(found)
        if len(found):
            at = found[np.lexsort([column[found] for column in reversed(order)])[0]]
            place = tuple(int(column[at]) for column in order)
            if not self.first or place < self.first:
                self.first, self.value = place, values[at]


def _fill(buckets: EdgeBuckets, edges: EdgeSource, batch_size: int, report: Progress) -> None:
    """Check all edges, with the errors of `Graph`, and put them into buckets."""
    n, done = buckets.num_nodes, 0
    sources, targets, weights = _Violations(), _Violations(), _Violations()
    for batch in edges.read(batch_size):
        places = np.arange(done, done + len(batch.sources))
        for ends, violations in ((batch.sources, sources), (batch.targets, targets)):
            if len(ends) and (ends.min() < 0 or ends.max() >= n):
                violations.add((ends < 0) | (ends >= n), (places,), ends)
        numbers = None
        if batch.weights is not None:
            numbers = batch.weights.astype(buckets.weight_dtype, copy=False)
            valid = (numbers >= 0) & np.isfinite(numbers)
            if not valid.all():
                # The order in which `Graph` finds them: by row.
                weights.add(~valid, (batch.sources, places, batch.targets), numbers)
        if not (sources.count or targets.count or weights.count):
            buckets.add(
                batch.sources.astype(np.int64, copy=False),
                batch.targets.astype(np.int64, copy=False),
                numbers,
            )
        done += len(places)
        report("reading edges", done, edges.num_edges)
    for violations in (sources, targets):
        if violations.count:
            where = f"edge {violations.first[0]}: node"
            raise range_error(where, violations.value, n, violations.count)
    if weights.count:
        row, _, column = weights.first
        raise weight_error(f"edge {row} -> {column}", weights.value, weights.count)


def _merge(
    buckets: EdgeBuckets, merger: EntryMerger, csr: CSRFiles, num_edges: int, report: Progress
) -> int:
    """Append the merged entries of all buckets to the matrix; return the number of parts."""
    done = parts = 0
    for part in buckets.sorted_parts():
        parts += 1
        done += len(part.keys)
        csr.append(merger.merge(part))
        report("sorting edges", done // 2, num_edges)
    return parts


@contextlib.contextmanager
def _temporary_folder(path: Path) -> Iterator[Path]:
    """A locked folder beside a file, without what an earlier run left; deleted at the end."""
    if not path.name or path.is_dir():
        raise InputError(f"{path} is a folder. Name a file, such as graph.heatgraph.")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}. Make it first.")
    folder = path.with_name(path.name + ".unfinished")
    lock = FileLock(folder / LOCK_FILE, path)
    try:
        _delete_files(folder)
        yield folder
    finally:
        _delete_files(folder)
        lock.release()
        with contextlib.suppress(OSError):  # another process may have locked it since
            folder.rmdir()


def _delete_files(folder: Path) -> None:
    for entry in folder.iterdir():
        if entry.name != LOCK_FILE and not entry.is_dir():
            entry.unlink()
