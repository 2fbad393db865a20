r"""Compiled kernels: a fused pass over rows of P, sums of vectors, label propagation, permutation.

P is S as a `NormalizedOperator` has it: S itself if the graph is weighted, and else the random walk
R^(-1) S R, whose rows are constant, so that a product adds rows and multiplies once. On panels of w
columns with M accumulators, for rows i in [start, stop), `recur` computes in place

    out[i]      <-  alpha (P current)[i] + beta out[i]       (w,)
    sums[m, i]  <-  sums[m, i] + coefficients[m] out[i]      (w,)   for m = 0, ..., M - 1,

the three-term recurrence of the Chebyshev polynomials (alpha = 2, beta = -1, `out` holding the
vector before `current`), or, with beta = 0, a product. `heatgraph._engine.kernel_arguments` has the
details. If M is 1 and beta is 0, ``sums[0]`` may double as `out`. Neighbours are visited tile by
tile: for all rows those below `tile`, then those below 2 `tile`, ..., so that the rows of a tile of
`current` stay in the cache. Rows are independent and no operation is reordered, so callers may
split rows over threads in any way without changing a bit of the result.

`combine` computes, on vectors that were kept at R rows and for rows i in [start, stop),

    out[m, i]  <-  sum_k coefficients[m, k] vectors[k, i]   (w,)

which is a matrix product, but one that does not start the threads of BLAS.

`propagate_labels` is one pass of label propagation, and `permute_symmetric` fills the arrays of
A[order][:, order]. Both take ranges of nodes, in ascending order.

The inner loop of `recur` is `heatgraph._engine.row_sum_codegen`, or `heatgraph._engine.row_sum`
where the former does not compile. Kernels have no options and check nothing. `recur_reference` and
`combine_reference` compute the same with SciPy and NumPy, for tests.
"""

from __future__ import annotations

import hashlib
import inspect
import threading
from collections.abc import Callable
from importlib.metadata import requires, version
from types import ModuleType
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from heatgraph._engine import kernel_arguments, row_sum
from heatgraph._engine.kernel_arguments import Accumulators, OperatorArrays, Step
from heatgraph.errors import HeatgraphWarning, warn
from heatgraph.graph._normalized_operator import NormalizedOperator

Array = npt.NDArray[Any]
Kernel = Callable[..., None]

# Time of a product with the plain loop relative to generated code: 2.6 to 3.4 times, measured on a
# random graph with 200,000 nodes, 3 million entries and 64 columns of float32.
PLAIN_LOOP_COST = "about 3 times"
# Prefetch distance, in rows. Within a tile, the edges and the output of a row do not follow those
# of the row before in memory.
ROW_PREFETCH_DISTANCE = 8


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first use, and cache machine code on disk where numba finds a writable folder."""
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:
        return numba.njit(nogil=True)(function)


def _inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile as part of the kernels that call it.

    Left to LLVM, functions with tuples of arrays are called once per row, and a product on a graph
    that fits the cache takes half as long again.
    """
    compiled: Callable[..., Any] = numba.njit(inline="always")(function)
    return compiled


def make_recur(row_sums: Any, sources_digest: str) -> Kernel:
    """The fused pass, not yet compiled, with the inner loop of a module such as `row_sum`.

    numba's cache on disk is keyed by the state of this file and by the values that the function
    closes over, but not by other modules: `sources_digest` stands for those.
    """

    def recur(
        operator: OperatorArrays,
        step: Step,
        accumulators: Accumulators,
        start: int,
        stop: int,
        tile: int,
    ) -> None:
        _ = sources_digest
        indptr, indices, values = operator.indptr, operator.indices, operator.values
        alpha, row_scale = step.alpha, operator.row_scale
        current, out = step.current, step.out
        n = len(current)
        if tile >= n:
            last_prefetch = indptr[stop] - 1
            for i in range(start, stop):
                _initialize_row(operator, step, i)
                row_sums.add_rows(
                    out[i],
                    alpha * row_scale[i],
                    current,
                    indices,
                    values,
                    indptr[i],
                    indptr[i + 1],
                    last_prefetch,
                )
                _accumulate_row(step, accumulators, i)
            return
        for i in range(start, stop):
            _initialize_row(operator, step, i)
        next_edge = indptr[start:stop].copy()
        for tile_end in range(tile, n + tile, tile):
            for i in range(start, stop):
                ahead = min(i + ROW_PREFETCH_DISTANCE, stop - 1)
                row_sums.prefetch_indices(indices, next_edge[ahead - start])
                row_sums.prefetch_row(out, ahead)
                first = last = next_edge[i - start]
                while last < indptr[i + 1] and indices[last] < tile_end:
                    last += 1
                row_sums.add_rows(
                    out[i],
                    alpha * row_scale[i],
                    current,
                    indices,
                    values,
                    first,
                    last,
                    last - 1,
                )
                next_edge[i - start] = last
        for i in range(start, stop):
            _accumulate_row(step, accumulators, i)

    return recur


@_inlined
def _initialize_row(operator: OperatorArrays, step: Step, i: int) -> None:
    """``out[i] <- alpha diagonal[i] current[i] + beta out[i]``."""
    weight, beta = step.alpha * operator.diagonal[i], step.beta
    source, target = step.current[i], step.out[i]
    # With beta = 0 the target is uninitialised and may hold NaN; never read it.
    if beta == 0:
        for c in range(len(target)):
            target[c] = weight * source[c]
    else:
        for c in range(len(target)):
            target[c] = weight * source[c] + beta * target[c]


@_inlined
def _accumulate_row(step: Step, accumulators: Accumulators, i: int) -> None:
    """``sums[m, i] <- sums[m, i] + coefficients[m] out[i]``; the first step overwrites."""
    source, vector, scale = step.current[i], step.out[i], accumulators.scale
    for m in range(len(accumulators.coefficients)):
        initial, coefficient = accumulators.initial[m], accumulators.coefficients[m]
        total = accumulators.sums[m, i]
        if step.beta == 0:
            for c in range(len(vector)):
                total[c] = initial * source[c] + coefficient * vector[c]
        else:
            for c in range(len(vector)):
                total[c] += coefficient * vector[c]
        if len(scale) > 0:
            for c in range(len(vector)):
                total[c] *= scale[i]


def _combine(start: int, stop: int, coefficients: Array, vectors: Array, out: Array) -> None:
    schemes, terms = coefficients.shape
    width = vectors.shape[2]
    for i in range(start, stop):
        for m in range(schemes):
            target = out[m, i]
            for c in range(width):
                target[c] = 0
            for k in range(terms):
                coefficient = coefficients[m, k]
                vector = vectors[k, i]
                for c in range(width):
                    target[c] += coefficient * vector[c]


def _propagate_labels(
    indptr: Array,
    indices: Array,
    labels: Array,
    sizes: Array,
    counts: Array,
    sampled_neighbours: int,
    max_size: int,
    start: int,
    stop: int,
) -> int:
    """Give each node the most frequent label of a sample of its neighbours; count the changes.

    A label of `max_size` nodes accepts no more; in a tie, a node keeps its label. `sizes` (n,)
    counts the nodes of each label, and `counts` (n,) is scratch space, zero before and after.
    """
    changed = 0
    for i in range(start, stop):
        first, last = indptr[i], indptr[i + 1]
        step = max(1, (last - first) // sampled_neighbours)
        current = labels[i]
        best, best_count = current, 0
        for edge in range(first, last, step):
            label = labels[indices[edge]]
            counts[label] += 1
            count = counts[label]
            better = count > best_count or (count == best_count and label == current)
            if better and (label == current or sizes[label] < max_size):
                best, best_count = label, count
        for edge in range(first, last, step):
            counts[labels[indices[edge]]] = 0
        if best != current:
            labels[i] = best
            sizes[current] -= 1
            sizes[best] += 1
            changed += 1
    return changed


def _permute_symmetric(
    indptr: Array,
    indices: Array,
    weights: Array | None,
    order: Array,
    rank: Array,
    row_end: Array,
    new_indices: Array,
    new_weights: Any,
    start: int,
    stop: int,
) -> None:
    """Fill columns [start, stop) of A[order][:, order], whose row i is filled up to `row_end[i]`.

    A is symmetric. Column by column, the indices of each row come out sorted.
    """
    for column in range(start, stop):
        node = order[column]
        for edge in range(indptr[node], indptr[node + 1]):
            row = rank[indices[edge]]
            new_indices[row_end[row]] = column
            if weights is not None:
                new_weights[row_end[row]] = weights[edge]
            row_end[row] += 1


combine = _compiled(_combine)
# Not cached on disk: they run once per graph, on large ones only.
propagate_labels: Callable[..., int] = numba.njit(nogil=True)(_propagate_labels)
permute_symmetric: Callable[..., None] = numba.njit(nogil=True)(_permute_symmetric)

_recur_compiled: Kernel | None = None
_choosing_recur = threading.Lock()


def recur(
    P: NormalizedOperator,
    step: Step,
    accumulators: Accumulators,
    rows: tuple[int, int],
    tile: int,
) -> None:
    """Run the fused pass over the rows [start, stop); it releases the GIL."""
    kernel = _recur_compiled or _choose_recur(P)
    alpha, beta, current, out = step
    number = P.dtype.type
    step = Step(number(alpha), number(beta), current, out)
    kernel(_operator_arrays(P), step, accumulators, *rows, tile)


def no_accumulators(P: NormalizedOperator, out: Array) -> Accumulators:
    """Accumulators with M = 0, of the types that the kernel is compiled for."""
    empty = np.empty(0, dtype=P.dtype)
    return Accumulators(empty, empty, out[np.newaxis], P.row_scale[:0])


def compile_for(P: NormalizedOperator) -> None:
    """Compile the kernels for the types of P, or load them, before threads call them."""
    _compile_recur(_recur_compiled or _choose_recur(P), P)
    panel = np.zeros((0, 0), dtype=P.dtype)
    _compile(combine, 0, 0, panel, panel[np.newaxis], panel[np.newaxis])


def _choose_recur(P: NormalizedOperator) -> Kernel:
    """Choose the fused pass of this process: with generated code if that compiles, or without."""
    global _recur_compiled
    failure = None
    with _choosing_recur:
        if _recur_compiled is None:
            try:
                from heatgraph._engine import row_sum_codegen

                kernel = _with_row_sums(row_sum_codegen)
                _compile_recur(kernel, P)
            except Exception as error:  # whatever a change of numba or llvmlite leads to
                failure, kernel = error, _with_row_sums(row_sum)
            _recur_compiled = kernel
    if failure is not None:
        declared = [
            requirement
            for requirement in requires("heatgraph") or ()
            if requirement.startswith(("numba", "llvmlite"))
        ]
        warn(
            f"products will take {PLAIN_LOOP_COST} as long: their inner loop cannot be generated "
            f"with numba {version('numba')} and llvmlite {version('llvmlite')} "
            f"({type(failure).__name__}: {str(failure).strip().partition(chr(10))[0]}), so a plain "
            "loop takes its place, with the same results. 'pip install heatgraph' installs "
            f"versions that work: {', '.join(declared)}.",
            HeatgraphWarning,
        )
    return _recur_compiled


def _with_row_sums(row_sums: ModuleType) -> Kernel:
    """The fused pass with the inner loop of a module, to be compiled when it is called."""
    try:
        sources = [inspect.getsource(module) for module in (kernel_arguments, row_sum, row_sums)]
    except OSError:
        sources = []  # without source files numba does not cache
    digest = hashlib.sha256("".join(sources).encode()).hexdigest()
    return _compiled(make_recur(row_sums, digest))


def _compile_recur(kernel: Kernel, P: NormalizedOperator) -> None:
    number, panel = P.dtype.type, np.zeros((0, 0), dtype=P.dtype)
    step = Step(number(1), number(0), panel, panel)
    _compile(kernel, _operator_arrays(P), step, no_accumulators(P, panel), 0, 0, 1)


def _compile(kernel: Kernel, *arguments: Any) -> None:
    """Compile a kernel for the types of arguments by a call, which should be one on no rows."""
    try:
        kernel(*arguments)
    except OSError:
        # Compiled, but not cached, for example on a full disk: the second call finds it in memory.
        kernel(*arguments)


def _operator_arrays(P: NormalizedOperator) -> OperatorArrays:
    return OperatorArrays(P.indptr, P.indices, P.values, P.row_scale, P.diagonal)


def recur_reference(
    P: NormalizedOperator,
    step: Step,
    accumulators: Accumulators,
    rows: tuple[int, int],
    tile: int,
) -> None:
    """Compute what `recur` does with SciPy. `tile` only orders the work."""
    alpha, beta, current, out = step
    initial, coefficients, sums, scale = accumulators
    block = slice(*rows)
    vector = alpha * (P.walk() @ current)[block]
    if beta == 0:
        previous = np.multiply.outer(initial, current[block])
    else:
        vector += beta * out[block]
        previous = sums[:, block]
    out[block] = vector
    sums[:, block] = previous + np.multiply.outer(coefficients, vector)
    if len(scale) > 0:
        sums[:, block] *= scale[block, np.newaxis]


def combine_reference(
    start: int, stop: int, coefficients: Array, vectors: Array, out: Array
) -> None:
    """Compute what `combine` does with NumPy."""
    out[:, start:stop] = np.tensordot(coefficients, vectors[:, start:stop], axes=1)
