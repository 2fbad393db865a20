r"""The only compiled code: a fused pass over rows of P, and weighted sums of what passes leave.

P is S as a `NormalizedOperator` has it: S itself if the graph is weighted, and else the walk
R^(-1) S R, in which a row's entries are all the same, so that a product adds rows up and multiplies
once. With w columns, M sums and rows i in [start, stop), `recur` does

    out[i]  <-  alpha (P current)[i] + beta out[i]          (w,)
    sums[m, i]  <-  sums[m, i] + coefficients[m] out[i]     (w,)   for m = 0, ..., M - 1

in place. This is the three-term recurrence of the Chebyshev polynomials (alpha = 2, beta = -1, and
`out` holding the last vector but one). With beta = 0 it is the plain product, and begins the sums
with ``own[m] current[i]``, whatever they held; the last product multiplies them by ``scale[i]``,
which is empty for the others. If M is 1, the first product may have ``sums[0]`` for `out`.
Neighbours are taken by *tiles*: first those of all rows among the first so many nodes, then those
among the next, so that the rows of a tile are found in the cache again. A caller runs ranges of
rows on as many threads as it likes: rows do not depend on each other and no operation is reordered,
so that every split into ranges gives the same bits.

With vectors kept at R rows, `combine` does for rows i in [start, stop)

    out[m, i]  <-  sum_k coefficients[m, k] vectors[k, i]   (w,)

which is a matrix product, but one that leaves the other threads alone: BLAS would start its own.

`join_communities` is one pass of label propagation: node by node, each takes the label that most of
its neighbours have, of those that fewer than `largest` nodes have; it tells how many changed.
`permute` fills the arrays of A[order][:, order] column by column, so that each row of the symmetric
result is filled in order, up to `end`. Both take ranges of nodes, one after the other.

Where a product spends its time, `add_rows`, the code is generated here, and not by numba: a sum of
up to 256 bytes of a row is kept in registers while neighbours are added to it, and rows are asked
for before they are needed. Left to itself, the compiler writes every partial sum to memory, and a
product takes several times as long.

No options and no checks here. `recur` and `combine` have twins, `recur_scipy` and `combine_numpy`,
that say the same plainly, and the tests compare them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from heatgraph.graph._normalized_operator import NormalizedOperator

Array = npt.NDArray[Any]

# Bytes of a row that are summed at once.
WIDEST = 256
# Neighbours that are summed before they join the rest, and such sums before they do so in turn: a
# sum of millions keeps its digits.
SUMMED = 256
# Rows of so many neighbours further on are asked for: about as long as memory takes to answer.
AHEAD = 16
# The same for rows of a tile, whose edges and sums are not where those of the row before are.
ROWS_AHEAD = 8

_CACHE_LINE = 64
_WORD, _HALF_WORD, _BYTE = ir.IntType(64), ir.IntType(32), ir.IntType(8)


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first use and keep the machine code on disk, where there is a place to keep it."""
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:
        return numba.njit(nogil=True)(function)


def _part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile as part of those that call it."""
    compiled: Callable[..., Any] = numba.njit(function)
    return compiled


def add_rows_plainly(
    target: Array,
    weight: float,
    X: Array,
    indices: Array,
    values: Array | None,
    first: int,
    last: int,
    horizon: int,
) -> None:
    """Add ``weight * values[e] * X[indices[e]]`` for e in [first, last) to `target`.

    Without `values`, they are all 1. Rows of edges up to `horizon` may be asked for early.
    """
    for start in range(first, last, SUMMED**2):
        stop = min(start + SUMMED**2, last)
        joined = np.zeros_like(target)
        for part in range(start, stop, SUMMED):
            total = np.zeros_like(target)
            for edge in range(part, min(part + SUMMED, stop)):
                row = X[indices[edge]]
                total += row if values is None else values[edge] * row
            joined += total
        target += weight * joined


def _generate_add_rows(
    compiler: Any,
    target: Any,
    weight: Any,
    X: Any,
    indices: Any,
    values: Any,
    first: Any,
    last: Any,
    horizon: Any,
) -> Any:
    """Tell numba how to compile `add_rows_plainly`: what it returns, and the code."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array: list[Any] = [
            context.make_array(kind)(context, builder, value)
            if isinstance(kind, types.Array)
            else None
            for kind, value in zip(signature.args, arguments, strict=True)
        ]
        _Rows(
            builder,
            number=context.get_value_type(X.dtype),
            size=X.dtype.bitwidth // 8,
            target=array[0].data,
            weight=arguments[1],
            X=array[2].data,
            width=builder.extract_value(array[2].shape, 1),
            indices=array[3].data,
            values=getattr(array[4], "data", None),
            first=arguments[5],
            last=arguments[6],
            horizon=arguments[7],
        ).add()
        return context.get_dummy_value()

    return types.void(target, weight, X, indices, values, first, last, horizon), generate


@dataclass(frozen=True)
class _Rows:
    """Writes the code of `add_rows`: its arguments are values of the code, not of Python."""

    builder: Any
    number: Any
    size: int
    target: Any
    weight: Any
    X: Any
    width: Any
    indices: Any
    values: Any
    first: Any
    last: Any
    horizon: Any

    def add(self) -> None:
        """Take as many columns at once as there are: 64 at a time, then 32, ..., then 1."""
        build, done, lanes = self.builder, _word(0), WIDEST // self.size
        while lanes:
            left = build.sub(self.width, done)
            end = build.add(done, build.and_(left, _word(-lanes)))
            with cgutils.for_range_slice(build, done, end, _word(lanes)) as (column, _):
                self._add_columns(column, lanes)
            done, lanes = end, lanes // 2

    def _add_columns(self, column: Any, lanes: int) -> None:
        build = self.builder
        count = build.sub(self.last, self.first)
        few = build.icmp_signed("<=", count, _word(SUMMED))
        with build.if_else(few) as (then, otherwise):
            with then:
                total = self._total(self.first, self.last, column, lanes)
                self._add_to_target(total, column, lanes)
            with otherwise, self._blocks(self.first, self.last, SUMMED**2) as (start, stop):
                joined = self._zero(lanes)
                with self._blocks(start, stop, SUMMED) as (part, end):
                    self._join(joined, self._total(part, end, column, lanes))
                self._add_to_target(build.load(joined), column, lanes)

    def _total(self, first: Any, last: Any, column: Any, lanes: int) -> Any:
        """The sum of the rows of some edges."""
        total = self._zero(lanes)
        with self._blocks(first, last, 1) as (edge, _):
            self._ask(self.builder.add(edge, _word(AHEAD)), column, lanes)
            self._join(total, self._row(edge, column, lanes))
        return self.builder.load(total)

    def _add_to_target(self, total: Any, column: Any, lanes: int) -> None:
        build = self.builder
        target = self._vector(self.target, column, lanes)
        more = build.fmul(self._spread(self.weight, lanes), total)
        summed = build.fadd(build.load(target, align=self.size), more)
        build.store(summed, target, align=self.size)

    @contextmanager
    def _blocks(self, first: Any, last: Any, step: int) -> Iterator[tuple[Any, Any]]:
        """Repeat what follows for blocks of edges, each from its first to its last."""
        with cgutils.for_range_slice(self.builder, first, last, _word(step)) as (start, _):
            yield start, self._smaller(self.builder.add(start, _word(step)), last)

    def _zero(self, lanes: int) -> Any:
        """A sum to add to, which LLVM keeps in registers."""
        kind = ir.VectorType(self.number, lanes)
        place = cgutils.alloca_once(self.builder, kind)  # type: ignore[no-untyped-call]
        self.builder.store(ir.Constant(kind, None), place)
        return place

    def _join(self, total: Any, more: Any) -> None:
        self.builder.store(self.builder.fadd(self.builder.load(total), more), total)

    def _row(self, edge: Any, column: Any, lanes: int) -> Any:
        """A part of the row of an edge's node, times the edge's value if it has one."""
        build = self.builder
        place = self._vector(self.X, self._place(edge, column), lanes)
        row = build.load(place, align=self.size)
        if self.values is None:
            return row
        value = build.load(build.gep(self.values, [edge]))
        return build.fmul(self._spread(value, lanes), row)

    def _ask(self, edge: Any, column: Any, lanes: int) -> None:
        """Have the processor fetch a row that is needed later."""
        build = self.builder
        place = self._place(self._smaller(edge, self.horizon), column)
        _fetch(build, build.gep(self.X, [place]), lanes * self.size)

    def _place(self, edge: Any, column: Any) -> Any:
        """Where in X the row of an edge's node has a column."""
        build = self.builder
        node = build.load(build.gep(self.indices, [edge]))
        if node.type != _WORD:
            node = build.sext(node, _WORD)
        return build.add(build.mul(node, self.width), column)

    def _vector(self, base: Any, place: Any, lanes: int) -> Any:
        kind = ir.VectorType(self.number, lanes)
        return self.builder.bitcast(self.builder.gep(base, [place]), kind.as_pointer())

    def _spread(self, value: Any, lanes: int) -> Any:
        """A vector with the same number in all places."""
        kind = ir.VectorType(self.number, lanes)
        nothing = ir.Constant(kind, ir.Undefined)
        single = self.builder.insert_element(nothing, value, ir.Constant(_HALF_WORD, 0))
        places = ir.Constant(ir.VectorType(_HALF_WORD, lanes), [0] * lanes)
        return self.builder.shuffle_vector(single, nothing, places)

    def _smaller(self, one: Any, other: Any) -> Any:
        return self.builder.select(self.builder.icmp_signed("<", one, other), one, other)


def _word(value: int) -> Any:
    return ir.Constant(_WORD, value)


add_rows: Any = intrinsic(_generate_add_rows)


def _generate_ask_edges(compiler: Any, array: Any, place: Any) -> Any:
    """Have the processor fetch the indices of the next few edges."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        _fetch(builder, builder.gep(data, [arguments[1]]), 2 * _CACHE_LINE)
        return context.get_dummy_value()

    return types.void(array, place), generate


def _generate_ask_row(compiler: Any, array: Any, row: Any) -> Any:
    """Have the processor fetch the first 256 bytes of a row."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        panel = context.make_array(array)(context, builder, arguments[0])
        width = builder.extract_value(panel.shape, 1)
        place = builder.mul(arguments[1], width)
        _fetch(builder, builder.gep(panel.data, [place]), WIDEST)
        return context.get_dummy_value()

    return types.void(array, row), generate


def _fetch(builder: Any, address: Any, size: int) -> None:
    """Have the processor fetch so many bytes, into the second cache; asking never fails."""
    pointer = _BYTE.as_pointer()
    fetch = builder.module.declare_intrinsic(
        "llvm.prefetch",
        [pointer],
        ir.FunctionType(ir.VoidType(), [pointer, _HALF_WORD, _HALF_WORD, _HALF_WORD]),
    )
    address = builder.bitcast(address, pointer)
    to_read, to_second_cache, as_data = (ir.Constant(_HALF_WORD, k) for k in (0, 2, 1))
    for offset in range(0, size, _CACHE_LINE):
        line = builder.gep(address, [_word(offset)])
        builder.call(fetch, [line, to_read, to_second_cache, as_data])


ask_edges: Any = intrinsic(_generate_ask_edges)
ask_row: Any = intrinsic(_generate_ask_row)


def _recur(
    indptr: Array,
    indices: Array,
    values: Array | None,
    outgoing: Array,
    diagonal: Array,
    start: int,
    stop: int,
    tile: int,
    alpha: float,
    beta: float,
    current: Array,
    out: Array,
    own: Array,
    coefficients: Array,
    sums: Array,
    scale: Array,
) -> None:
    n = len(current)
    if tile >= n:
        horizon = indptr[stop] - 1
        for i in range(start, stop):
            weight = alpha * outgoing[i]
            _begin(alpha * diagonal[i], current[i], beta, out[i])
            add_rows(out[i], weight, current, indices, values, indptr[i], indptr[i + 1], horizon)
            _add_to_sums(own, coefficients, beta, current, out, sums, scale, i)
        return
    for i in range(start, stop):
        _begin(alpha * diagonal[i], current[i], beta, out[i])
    reached = indptr[start:stop].copy()
    for end in range(tile, n + tile, tile):
        for i in range(start, stop):
            later = min(i + ROWS_AHEAD, stop - 1)
            ask_edges(indices, reached[later - start])
            ask_row(out, later)
            first = last = reached[i - start]
            while last < indptr[i + 1] and indices[last] < end:
                last += 1
            weight = alpha * outgoing[i]
            add_rows(out[i], weight, current, indices, values, first, last, last - 1)
            reached[i - start] = last
    for i in range(start, stop):
        _add_to_sums(own, coefficients, beta, current, out, sums, scale, i)


@_part
def _begin(weight: float, source: Array, beta: float, target: Array) -> None:
    # What is in a target that does not count need not be a number.
    if beta == 0:
        for c in range(len(target)):
            target[c] = weight * source[c]
    else:
        for c in range(len(target)):
            target[c] = weight * source[c] + beta * target[c]


@_part
def _add_to_sums(
    own: Array,
    coefficients: Array,
    beta: float,
    current: Array,
    out: Array,
    sums: Array,
    scale: Array,
    i: int,
) -> None:
    source, vector = current[i], out[i]
    for m in range(len(coefficients)):
        first, coefficient, total = own[m], coefficients[m], sums[m, i]
        if beta == 0:
            for c in range(len(vector)):
                total[c] = first * source[c] + coefficient * vector[c]
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


def _join_communities(
    indptr: Array,
    indices: Array,
    labels: Array,
    sizes: Array,
    counts: Array,
    asked: int,
    largest: int,
    start: int,
    stop: int,
) -> int:
    changed = 0
    for i in range(start, stop):
        first, last = indptr[i], indptr[i + 1]
        step = max(1, (last - first) // asked)
        own = labels[i]
        best, most = own, 0
        for edge in range(first, last, step):
            label = labels[indices[edge]]
            counts[label] += 1
            count = counts[label]
            better = count > most or (count == most and label == own)
            if better and (label == own or sizes[label] < largest):
                best, most = label, count
        for edge in range(first, last, step):
            counts[labels[indices[edge]]] = 0
        if best != own:
            labels[i] = best
            sizes[own] -= 1
            sizes[best] += 1
            changed += 1
    return changed


def _permute(
    indptr: Array,
    indices: Array,
    weights: Array | None,
    order: Array,
    rank: Array,
    end: Array,
    new_indices: Array,
    new_weights: Any,
    start: int,
    stop: int,
) -> None:
    for column in range(start, stop):
        node = order[column]
        for edge in range(indptr[node], indptr[node + 1]):
            row = rank[indices[edge]]
            new_indices[end[row]] = column
            if weights is not None:
                new_weights[end[row]] = weights[edge]
            end[row] += 1


_recur_compiled = _compiled(_recur)
combine = _compiled(_combine)
# Rarely needed, and by those who can wait.
join_communities: Callable[..., int] = numba.njit(nogil=True)(_join_communities)
permute: Callable[..., None] = numba.njit(nogil=True)(_permute)


def recur(
    P: NormalizedOperator,
    start: int,
    stop: int,
    tile: int,
    alpha: float,
    beta: float,
    current: Array,
    out: Array,
    own: Array,
    coefficients: Array,
    sums: Array,
    scale: Array | None,
) -> None:
    """Do one fused pass over the rows [start, stop); the GIL is released meanwhile."""
    number = P.dtype.type
    _recur_compiled(
        P.indptr,
        P.indices,
        P.values,
        P.row_scale,
        P.diagonal,
        start,
        stop,
        tile,
        number(alpha),
        number(beta),
        current,
        out,
        own,
        coefficients,
        sums,
        P.row_scale[:0] if scale is None else scale,
    )


def compile_for(P: NormalizedOperator) -> None:
    """Compile the kernels for this kind of operator, so that threads find them ready."""
    panel = np.zeros((0, 0), dtype=P.dtype)
    none, panels = panel.ravel(), panel[np.newaxis]
    for kernel, arguments in (
        (recur, (P, 0, 0, 1, 1.0, 0.0, panel, panel, none, none, panels, None)),
        (combine, (0, 0, panel, panels, panels)),
    ):
        try:
            kernel(*arguments)
        except OSError:
            # The machine code is made but could not be kept, say on a full disk. Now it is there.
            kernel(*arguments)


def recur_scipy(
    P: NormalizedOperator,
    start: int,
    stop: int,
    tile: int,
    alpha: float,
    beta: float,
    current: Array,
    out: Array,
    own: Array,
    coefficients: Array,
    sums: Array,
    scale: Array | None,
) -> None:
    """Do what `recur` does, plainly; tiles are nothing but an order of work."""
    rows = slice(start, stop)
    vector = alpha * (P.walk() @ current)[rows]
    if beta != 0:
        vector += beta * out[rows]
    begun = np.multiply.outer(own, current[rows]) if beta == 0 else sums[:, rows]
    out[rows] = vector
    sums[:, rows] = begun + np.multiply.outer(coefficients, vector)
    if scale is not None:
        sums[:, rows] *= scale[rows, np.newaxis]


def combine_numpy(start: int, stop: int, coefficients: Array, vectors: Array, out: Array) -> None:
    """Do what `combine` does, plainly."""
    out[:, start:stop] = np.tensordot(coefficients, vectors[:, start:stop], axes=1)
