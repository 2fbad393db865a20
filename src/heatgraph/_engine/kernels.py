"""The compiled kernels: a fused pass of a recurrence, sparse times dense products, sums of vectors.

`heatgraph._engine.plain_kernels` says what they compute. Here they are called, on a range of rows
[start, stop) and without the GIL, in the code of `heatgraph._engine.kernel_code`, which is compiled
when a type of arguments first occurs. Where that fails, because of a new version of llvmlite, the
plain loops take its place, with a warning.

Kernels have no options and check nothing. `recur_reference`, `multiply_reference` and
`combine_reference` compute the same with SciPy and NumPy, for tests.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import requires, version
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._engine.kernel_arguments import Accumulators, NearestLists, OperatorArrays, Step
from heatgraph.errors import HeatgraphWarning, warn
from heatgraph.graph._normalized_operator import NormalizedOperator

Array = npt.NDArray[Any]
Kernel = Callable[..., None]

# Time of a product with the plain loop relative to generated code: 2.6 to 3.4 times, measured on a
# random graph with 200,000 nodes, 3 million entries and 64 columns of float32.
PLAIN_LOOP_COST = "about 3 times"

# A dense factor up to this size mostly stays in the cache, and prefetching its rows takes longer
# than it saves: a fifth to a half of the time.
CACHED_BYTES = 1 << 22

_COMPILING = threading.RLock()
_warned_about_plain_loops = False


def recur(
    P: NormalizedOperator,
    step: Step,
    accumulators: Accumulators,
    rows: tuple[int, int],
    tile_ends: Array,
) -> None:
    """Run the fused pass over the rows [start, stop), tile by tile (`ranges.tile_ends`)."""
    start, stop = rows
    kernel = compiled_recur(P.dtype.name, P.indices.dtype.name, P.values is not None)
    if kernel is None:
        from heatgraph._engine import plain_kernels

        number = P.dtype.type
        typed = step._replace(alpha=number(step.alpha), beta=number(step.beta))
        arrays = OperatorArrays(P.indptr, P.indices, P.values, P.row_scale, P.diagonal)
        plain_kernels.recur(arrays, typed, accumulators, start, stop, tile_ends)
        return
    next_edge = np.empty(stop - start if len(tile_ends) > 1 else 0, dtype=np.int64)
    sums = accumulators.sums
    kernel(
        _address(P.indptr),
        _address(P.indices),
        None if P.values is None else _address(P.values),
        _address(P.row_scale),
        _address(P.diagonal),
        _address(step.current),
        _address(step.out),
        step.alpha,
        step.beta,
        step.offset,
        step.out.shape[1],
        len(accumulators.coefficients),
        _address(accumulators.initial),
        _address(accumulators.coefficients),
        _address(sums),
        sums.strides[0] // sums.itemsize,
        _address(accumulators.scale),
        len(accumulators.scale) > 0,
        start,
        stop,
        len(tile_ends),
        _address(tile_ends),
        _address(next_edge),
    )


def multiply(matrix: sp.csr_array, dense: Array, out: Array, rows: tuple[int, int]) -> None:
    """Rows [start, stop) of the product of a sparse and a dense matrix of the same precision."""
    is_cached = dense.nbytes <= CACHED_BYTES
    kernel = compiled_multiply(dense.dtype.name, matrix.indices.dtype.name, not is_cached)
    if kernel is None:
        from heatgraph._engine import plain_kernels

        arrays = (matrix.indptr, matrix.indices, matrix.data)
        plain_kernels.multiply(*arrays, dense, out, *rows)
        return
    kernel(
        _address(matrix.indptr),
        _address(matrix.indices),
        _address(matrix.data),
        _address(dense),
        _address(out),
        dense.shape[1],
        *rows,
    )


def combine(coefficients: Array, vectors: Array, out: Array, rows: tuple[int, int]) -> None:
    """Sum vectors (K, R, w) to results (M, R, w) at the rows [start, stop).

    It is a matrix product, but one that does not start the threads of BLAS.
    """
    kernel = compiled_combine(coefficients.dtype.name)
    if kernel is None:
        from heatgraph._engine import plain_kernels

        plain_kernels.combine(coefficients, vectors, out, *rows)
        return
    schemes, terms = coefficients.shape
    kernel(
        _address(coefficients), _address(vectors), _address(out),
        schemes, terms, *vectors.shape[1:], *rows,
    )  # fmt: skip


def keep_nearest(
    values: Array, nearest: NearestLists, first: tuple[int, int], rows: tuple[int, int]
) -> None:
    """Insert pairs into the lists of both nodes, for the rows [start, stop) of similarities.

    `values` are those of the nodes from ``first[0]`` on with those from ``first[1]`` on.
    """
    kernel = compiled_keep_nearest()
    if kernel is None:
        from heatgraph._engine import plain_kernels

        plain_kernels.keep_nearest(values, nearest, *first, *rows)
        return
    kernel(
        _address(values), _address(nearest.nodes), _address(nearest.similarity),
        _address(nearest.smallest), values.shape[1], nearest.nodes.shape[1], *first, *rows,
    )  # fmt: skip


def no_accumulators(P: NormalizedOperator, out: Array) -> Accumulators:
    """Accumulators with M = 0."""
    empty = np.empty(0, dtype=P.dtype)
    return Accumulators(empty, empty, out[np.newaxis], empty)


@cache
def compiled_recur(number: str, index: str, is_weighted: bool) -> Kernel | None:
    """The fused pass for a precision, a type of indices, and edges with or without values."""
    return _compile("recur_module", number, index, is_weighted)


@cache
def compiled_multiply(number: str, index: str, prefetches: bool) -> Kernel | None:
    """The product of sparse and dense matrices."""
    return _compile("multiply_module", number, index, prefetches)


@cache
def compiled_combine(number: str) -> Kernel | None:
    """The sums of vectors."""
    return _compile("combine_module", number)


@cache
def compiled_keep_nearest() -> Kernel | None:
    """The search for nearest neighbours among similarities."""
    return _compile("keep_nearest_module", module="nearest_code")


def _compile(name: str, *types: Any, module: str = "kernel_code") -> Kernel | None:
    """Compile generated code; None, with a warning, if that fails."""
    global _warned_about_plain_loops
    try:
        from heatgraph._engine.jit import compile_function

        code = import_module(f"heatgraph._engine.{module}")
        return compile_function(getattr(code, name)(*types))
    except Exception as error:  # whatever a change of llvmlite leads to
        failure = error
    with _COMPILING:
        is_first, _warned_about_plain_loops = not _warned_about_plain_loops, True
    if is_first:
        declared = [
            requirement
            for requirement in requires("heatgraph") or ()
            if requirement.startswith("llvmlite")
        ]
        warn(
            f"products will take {PLAIN_LOOP_COST} as long: their inner loop cannot be generated "
            f"with llvmlite {version('llvmlite')} "
            f"({type(failure).__name__}: {str(failure).strip().partition(chr(10))[0]}), so plain "
            "loops take its place, with the same results. 'pip install heatgraph' installs a "
            f"version that works: {', '.join(declared)}.",
            HeatgraphWarning,
        )
    return None


def _address(array: Array) -> int:
    return int(array.ctypes.data)


def recur_reference(
    P: NormalizedOperator,
    step: Step,
    accumulators: Accumulators,
    rows: tuple[int, int],
    tile_ends: Array,
) -> None:
    """Compute what `recur` does with SciPy. Tiles only order the work."""
    alpha, beta, current, out, _ = step
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


def multiply_reference(
    matrix: sp.csr_array, dense: Array, out: Array, rows: tuple[int, int]
) -> None:
    """Compute what `multiply` does with SciPy."""
    out[slice(*rows)] = matrix[slice(*rows)] @ dense


def combine_reference(
    coefficients: Array, vectors: Array, out: Array, rows: tuple[int, int]
) -> None:
    """Compute what `combine` does with NumPy."""
    block = slice(*rows)
    out[:, block] = np.tensordot(coefficients, vectors[:, block], axes=1)
