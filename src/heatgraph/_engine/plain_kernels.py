r"""The kernels as plain loops: what they compute, and the fallback where no code can be generated.

P is S as a `NormalizedOperator` has it: S itself if the graph is weighted, and else the random walk
R^(-1) S R, whose rows are constant, so that a product adds rows and multiplies once. On panels of w
columns with M accumulators, for rows i in [start, stop), `recur` computes in place

    out[i]      <-  alpha (P current)[i] + beta out[i]       (w,)
    sums[m, i]  <-  sums[m, i] + coefficients[m] out[i]      (w,)   for m = 0, ..., M - 1,

the three-term recurrence of the Chebyshev polynomials (alpha = 2, beta = -1, `out` holding the
vector before `current`), or, with beta = 0, a product. `heatgraph._engine.kernel_arguments` has the
details. If M is 1 and beta is 0, ``sums[0]`` may double as `out`. Neighbours are visited tile by
tile: for all rows those below ``tile_ends[0]``, then those below ``tile_ends[1]``, ..., so that the
rows of a tile of `current` stay in the cache.

`multiply` computes rows of the product of a sparse matrix and a dense one, and `combine`, on
vectors that were kept at R rows and for rows i in [start, stop),

    out[m, i]  <-  sum_k coefficients[m, k] vectors[k, i]   (w,).

Rows are independent and no operation is reordered, so callers may split rows over threads in any
way without changing a bit of the result. `heatgraph._engine.kernel_code` gives the same bits.

`keep_nearest` looks through similarities of pairs of nodes for those among the k largest of either
node. Several ranges of rows must not run at the same time.

`propagate_labels` is one pass of label propagation, and `permute_symmetric` fills the arrays of
A[order][:, order]. Both take ranges of nodes, in ascending order, and exist in this form only.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from heatgraph._engine.kernel_arguments import Accumulators, NearestLists, OperatorArrays, Step

Array = npt.NDArray[Any]

# Block of the two-level summation: blocks of this many rows are summed first, then as many block
# sums, so that rounding grows with 2 SUM_BLOCK and not with the millions of neighbours of a hub.
SUM_BLOCK = 256


@numba.njit(nogil=True)
def recur(
    operator: OperatorArrays,
    step: Step,
    accumulators: Accumulators,
    start: int,
    stop: int,
    tile_ends: Array,
) -> None:
    """One fused pass over the rows [start, stop)."""
    indptr, indices, values = operator.indptr, operator.indices, operator.values
    alpha, row_scale = step.alpha, operator.row_scale
    current, out = step.current, step.out
    for i in range(start, stop):
        _initialize_row(operator, step, i)
    next_edge = indptr[start:stop].copy()
    for tile_end in tile_ends:
        for i in range(start, stop):
            first = last = next_edge[i - start]
            while last < indptr[i + 1] and indices[last] < tile_end:
                last += 1
            add_rows(out[i], alpha * row_scale[i], current, indices, values, first, last)
            next_edge[i - start] = last
    for i in range(start, stop):
        _accumulate_row(step, accumulators, i)


@numba.njit(nogil=True)
def multiply(
    indptr: Array, indices: Array, values: Array, dense: Array, out: Array, start: int, stop: int
) -> None:
    """``out[i] <- sum_e values[e] dense[indices[e]]`` over the entries e of the rows i."""
    one = dense.dtype.type(1)
    for i in range(start, stop):
        out[i] = 0
        add_rows(out[i], one, dense, indices, values, indptr[i], indptr[i + 1])


@numba.njit(nogil=True)
def combine(coefficients: Array, vectors: Array, out: Array, start: int, stop: int) -> None:
    """Sums of vectors at the rows [start, stop)."""
    schemes, terms = coefficients.shape
    for i in range(start, stop):
        for m in range(schemes):
            target = out[m, i]
            for c in range(len(target)):
                target[c] = 0
            for k in range(terms):
                coefficient, vector = coefficients[m, k], vectors[k, i]
                for c in range(len(target)):
                    target[c] += coefficient * vector[c]


@numba.njit(nogil=True)
def keep_nearest(
    values: Array,
    nearest: NearestLists,
    first_row: int,
    first_column: int,
    start: int,
    stop: int,
) -> None:
    """Insert pairs into the lists of both nodes, for the rows [start, stop) of `values`.

    ``values[i, c]`` is the similarity of the nodes ``first_row + i`` and ``first_column + c``; it
    counts if the second is the smaller one.
    """
    for row in range(start, stop):
        node = first_row + row
        for column in range(values.shape[1]):
            other, value = first_column + column, values[row, column]
            accepted = value >= nearest.smallest[node] or value >= nearest.smallest[other]
            if other < node and accepted:
                _insert(nearest, node, other, value)
                _insert(nearest, other, node, value)


@numba.njit(nogil=True)
def _insert(nearest: NearestLists, node: int, other: int, value: float) -> None:
    """Insert into the list of a node, by decreasing similarity; among equals by index."""
    nodes, similarity = nearest.nodes[node], nearest.similarity[node]
    k = len(nodes)
    place = k
    while place > 0 and (
        value > similarity[place - 1]
        or (value == similarity[place - 1] and other < nodes[place - 1])
    ):
        if place < k:
            nodes[place], similarity[place] = nodes[place - 1], similarity[place - 1]
        place -= 1
    if place < k:
        nodes[place], similarity[place] = other, value
        if similarity[k - 1] > 0:
            nearest.smallest[node] = similarity[k - 1]


@numba.njit(nogil=True)
def add_rows(
    target: Array,
    weight: float,
    X: Array,
    indices: Array,
    values: Array | None,
    first: int,
    last: int,
) -> None:
    """Add ``weight * sum_e values[e] X[indices[e]]`` for e in [first, last) to `target`.

    `values` of None stands for ones.
    """
    for start in range(first, last, SUM_BLOCK**2):
        stop = min(start + SUM_BLOCK**2, last)
        total = np.zeros_like(target)
        for block in range(start, stop, SUM_BLOCK):
            block_total = np.zeros_like(target)
            for edge in range(block, min(block + SUM_BLOCK, stop)):
                row = X[indices[edge]]
                # Over columns, since numba would allocate an array for the product of values.
                if values is None:
                    for c in range(len(target)):
                        block_total[c] += row[c]
                else:
                    value = values[edge]
                    for c in range(len(target)):
                        block_total[c] += value * row[c]
            for c in range(len(target)):
                total[c] += block_total[c]
        for c in range(len(target)):
            target[c] += weight * total[c]


@numba.njit(nogil=True)
def _initialize_row(operator: OperatorArrays, step: Step, i: int) -> None:
    """``out[i] <- alpha diagonal[i] current[i] + beta out[i]``."""
    weight, beta = step.alpha * operator.diagonal[i], step.beta
    source, target = step.current[step.offset + i], step.out[i]
    # With beta = 0 the target is uninitialised and may hold NaN; never read it.
    if beta == 0:
        for c in range(len(target)):
            target[c] = weight * source[c]
    else:
        for c in range(len(target)):
            target[c] = weight * source[c] + beta * target[c]


@numba.njit(nogil=True)
def _accumulate_row(step: Step, accumulators: Accumulators, i: int) -> None:
    """``sums[m, i] <- sums[m, i] + coefficients[m] out[i]``; the first step overwrites."""
    source, vector, scale = step.current[step.offset + i], step.out[i], accumulators.scale
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


@numba.njit(nogil=True)
def propagate_labels(
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


@numba.njit(nogil=True)
def permute_symmetric(
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
