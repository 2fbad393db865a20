"""LLVM code of the kernels, generated for a precision and a type of indices.

The kernels are those of `heatgraph._engine.plain_kernels`, to the last bit: that module says what
they compute, this one makes it fast. Compiled by numba, a plain loop writes every partial sum to
memory, since numba cannot rule out that the target of a sum overlaps its rows. The code here keeps
REGISTER_BYTES of a sum in vector registers while it adds the rows of all edges, and prefetches the
row PREFETCH_DISTANCE edges ahead. Wider rows take one pass over the edges for every REGISTER_BYTES;
what is left takes vectors of half the width, and so on down to a column.

Each public function returns a module with one kernel. Arrays are passed by their addresses, and
sizes count elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from heatgraph._engine.code_builder import (
    INDICES,
    INT64,
    NUMBERS,
    POINTER,
    CodeBuilder,
    int64,
)

# Bytes of a row that are summed in registers in one pass over the edges.
REGISTER_BYTES = 256
# Prefetch distance, in edges: about the latency of memory.
PREFETCH_DISTANCE = 16
# Prefetch distance, in rows. Within a tile, the edges and the output of a row do not follow those
# of the row before in memory.
ROW_PREFETCH_DISTANCE = 8
# Block of the two-level summation; see `plain_kernels`.
SUM_BLOCK = 256

_ITEM_BYTES = {"float32": 4, "float64": 8}


def recur_module(number: str, index: str, is_weighted: bool) -> Any:
    """The fused pass of a recurrence over the rows [start, stop)."""
    module, kind = ir.Module("recur"), NUMBERS[number]
    add_rows = _add_rows(module, number, index, is_weighted)
    initialize = _initialize_row(module, kind)
    accumulate = _accumulate_row(module, kind)
    pointers = ("indptr", "indices", "values", "row_scale", "diagonal", "current", "out")
    parameters = {
        **dict.fromkeys(pointers, POINTER),
        "alpha": kind,
        "beta": kind,
        "offset": INT64,
        "width": INT64,
        "num_accumulators": INT64,
        **dict.fromkeys(("initial", "coefficients", "sums"), POINTER),
        "sums_size": INT64,
        "scale": POINTER,
        "has_scale": INT64,
        **dict.fromkeys(("start", "stop", "num_tiles"), INT64),
        **dict.fromkeys(("tile_ends", "next_edge"), POINTER),
    }
    code = CodeBuilder.begin_function(module, "recur", parameters)
    build = code.builder
    (indptr, indices, values, row_scale, diagonal, current, out, alpha, beta, offset, width, M,
     initial, coefficients, sums, sums_size, scale, has_scale, start, stop, num_tiles, tile_ends,
     next_edge) = code.arguments  # fmt: skip

    def row_of(panel: Any, i: Any) -> Any:
        return code.element(panel, kind, build.mul(i, width))

    def source_row(i: Any) -> Any:
        return row_of(current, build.add(offset, i))

    def initialize_row(i: Any) -> None:
        weight = build.fmul(alpha, code.load(diagonal, kind, i))
        build.call(initialize, [row_of(out, i), source_row(i), weight, beta, width])

    def add_edges(i: Any, first: Any, last: Any, last_prefetch: Any) -> None:
        weight = build.fmul(alpha, code.load(row_scale, kind, i))
        build.call(
            add_rows,
            [row_of(out, i), weight, current, width, indices, values, first, last, last_prefetch],
        )

    def accumulate_row(i: Any) -> None:
        build.call(
            accumulate,
            [row_of(sums, i), sums_size, M, initial, coefficients, source_row(i),
             row_of(out, i), beta, scale, has_scale, i, width],
        )  # fmt: skip

    def edge(i: Any) -> Any:
        return code.load(indptr, INT64, i)

    untiled = build.icmp_signed("<=", num_tiles, int64(1))
    with build.if_else(untiled) as (then, otherwise):
        with then:
            last_prefetch = build.sub(edge(stop), int64(1))
            with code.loop(start, stop) as i:
                initialize_row(i)
                add_edges(i, edge(i), edge(build.add(i, int64(1))), last_prefetch)
                accumulate_row(i)
        with otherwise:
            with code.loop(start, stop) as i:
                initialize_row(i)
                code.store(edge(i), next_edge, INT64, build.sub(i, start))
            with code.loop(int64(0), num_tiles) as tile:
                tile_end = code.load(tile_ends, INT64, tile)
                with code.loop(start, stop) as i:
                    ahead = code.minimum(
                        build.add(i, int64(ROW_PREFETCH_DISTANCE)), build.sub(stop, int64(1))
                    )
                    ahead_edge = code.load(next_edge, INT64, build.sub(ahead, start))
                    code.prefetch(code.element(indices, INDICES[index], ahead_edge), 128)
                    code.prefetch(row_of(out, ahead), REGISTER_BYTES)
                    place = build.sub(i, start)
                    first = code.load(next_edge, INT64, place)
                    last = _first_edge_from(
                        code, indices, INDICES[index], first, edge(build.add(i, int64(1))), tile_end
                    )
                    add_edges(i, first, last, build.sub(last, int64(1)))
                    code.store(last, next_edge, INT64, place)
            with code.loop(start, stop) as i:
                accumulate_row(i)
    code.end_function()
    return module


def multiply_module(number: str, index: str, prefetches: bool) -> Any:
    """The product of a CSR matrix and a dense one, for the rows [start, stop)."""
    module, kind = ir.Module("multiply"), NUMBERS[number]
    add_rows = _add_rows(module, number, index, is_weighted=True, prefetches=prefetches)
    pointers = ("indptr", "indices", "values", "dense", "out")
    parameters = dict.fromkeys(pointers, POINTER) | dict.fromkeys(("width", "start", "stop"), INT64)
    code = CodeBuilder.begin_function(module, "multiply", parameters)
    build = code.builder
    indptr, indices, values, dense, out, width, start, stop = code.arguments
    last_prefetch = build.sub(code.load_index(indptr, INDICES[index], stop), int64(1))
    zero, one = ir.Constant(kind, 0.0), ir.Constant(kind, 1.0)
    with code.loop(start, stop) as i:
        row = code.element(out, kind, build.mul(i, width))
        first, last = (
            code.load_index(indptr, INDICES[index], place) for place in (i, build.add(i, int64(1)))
        )
        with code.loop(int64(0), width) as column:
            code.store(zero, row, kind, column)
        build.call(add_rows, [row, one, dense, width, indices, values, first, last, last_prefetch])
    code.end_function()
    return module


def combine_module(number: str) -> Any:
    """Sums of vectors that were kept at some rows, for the rows [start, stop)."""
    module, kind = ir.Module("combine"), NUMBERS[number]
    parameters = {
        **dict.fromkeys(("coefficients", "vectors", "out"), POINTER),
        **dict.fromkeys(("num_schemes", "num_terms", "num_rows", "width"), INT64),
        **dict.fromkeys(("start", "stop"), INT64),
    }
    code = CodeBuilder.begin_function(module, "combine", parameters)
    build = code.builder
    coefficients, vectors, out, schemes, terms, rows, width, start, stop = code.arguments
    zero = ir.Constant(kind, 0.0)
    with code.loop(start, stop) as i, code.loop(int64(0), schemes) as m:
        row = build.add(build.mul(m, rows), i)
        target = code.element(out, kind, build.mul(row, width))
        with code.loop(int64(0), width) as column:
            code.store(zero, target, kind, column)
        with code.loop(int64(0), terms) as k:
            coefficient = code.load(coefficients, kind, build.add(build.mul(m, terms), k))
            row = build.add(build.mul(k, rows), i)
            vector = code.element(vectors, kind, build.mul(row, width))
            with code.loop(int64(0), width) as column:
                term = build.fmul(coefficient, code.load(vector, kind, column))
                total = build.fadd(code.load(target, kind, column), term)
                code.store(total, target, kind, column)
    code.end_function()
    return module


def _first_edge_from(
    code: CodeBuilder, indices: Any, index: Any, edge: Any, end: Any, node: Any
) -> Any:
    """The first edge from `edge` on, and before `end`, to a node of at least `node`."""
    build = code.builder
    found = code.variable(INT64, edge)
    test, compare, advance, done = (
        build.append_basic_block(name) for name in ("find", "compare", "advance", "found")
    )
    build.branch(test)
    build.position_at_end(test)
    place = build.load(found, typ=INT64)
    build.cbranch(build.icmp_signed("<", place, end), compare, done)
    build.position_at_end(compare)
    is_below = build.icmp_signed("<", code.load_index(indices, index, place), node)
    build.cbranch(is_below, advance, done)
    build.position_at_end(advance)
    build.store(build.add(place, int64(1)), found)
    build.branch(test)
    build.position_at_end(done)
    return build.load(found, typ=INT64)


def _initialize_row(module: Any, kind: Any) -> Any:
    """``target <- weight * source + beta * target``."""
    parameters = {
        "target": POINTER,
        "source": POINTER,
        "weight": kind,
        "beta": kind,
        "width": INT64,
    }
    code = CodeBuilder.begin_function(module, "initialize_row", parameters, internal=True)
    build = code.builder
    target, source, weight, beta, width = code.arguments
    target.add_attribute("noalias")
    source.add_attribute("noalias")
    # With beta = 0 the target is uninitialised and may hold NaN; never read it.
    with build.if_else(code.is_zero(beta)) as (then, otherwise):
        with then, code.loop(int64(0), width) as column:
            product = build.fmul(weight, code.load(source, kind, column))
            code.store(product, target, kind, column)
        with otherwise, code.loop(int64(0), width) as column:
            product = build.fmul(weight, code.load(source, kind, column))
            before = build.fmul(beta, code.load(target, kind, column))
            code.store(build.fadd(product, before), target, kind, column)
    return code.end_function()


def _accumulate_row(module: Any, kind: Any) -> Any:
    """``sums[m] <- (sums[m] + coefficients[m] * vector) * scale[row]``; beta = 0 overwrites."""
    parameters = {
        "sums": POINTER,
        "sums_size": INT64,
        "num_accumulators": INT64,
        **dict.fromkeys(("initial", "coefficients", "source", "vector"), POINTER),
        "beta": kind,
        "scale": POINTER,
        **dict.fromkeys(("has_scale", "row", "width"), INT64),
    }
    code = CodeBuilder.begin_function(module, "accumulate_row", parameters, internal=True)
    build = code.builder
    (sums, sums_size, M, initial, coefficients, source, vector, beta, scale, has_scale, row,
     width) = code.arguments  # fmt: skip
    with code.loop(int64(0), M) as m:
        total = code.element(sums, kind, build.mul(m, sums_size))
        coefficient = code.load(coefficients, kind, m)
        with build.if_else(code.is_zero(beta)) as (then, otherwise):
            with then:
                first = code.load(initial, kind, m)
                with code.loop(int64(0), width) as column:
                    start = build.fmul(first, code.load(source, kind, column))
                    term = build.fmul(coefficient, code.load(vector, kind, column))
                    code.store(build.fadd(start, term), total, kind, column)
            with otherwise, code.loop(int64(0), width) as column:
                term = build.fmul(coefficient, code.load(vector, kind, column))
                before = code.load(total, kind, column)
                code.store(build.fadd(before, term), total, kind, column)
        with build.if_then(build.icmp_signed("!=", has_scale, int64(0))):
            factor = code.load(scale, kind, row)
            with code.loop(int64(0), width) as column:
                scaled = build.fmul(code.load(total, kind, column), factor)
                code.store(scaled, total, kind, column)
    return code.end_function()


def _add_rows(
    module: Any, number: str, index: str, is_weighted: bool, prefetches: bool = True
) -> Any:
    """``target <- target + weight * sum_e values[e] X[indices[e]]`` for e in [first, last)."""
    parameters = {
        "target": POINTER,
        "weight": NUMBERS[number],
        "X": POINTER,
        "width": INT64,
        "indices": POINTER,
        "values": POINTER,
        **dict.fromkeys(("first", "last", "last_prefetch"), INT64),
    }
    code = CodeBuilder.begin_function(module, "add_rows", parameters, internal=True)
    target, weight, X, width, indices, values, first, last, last_prefetch = code.arguments
    _RowSum(
        code,
        kind=NUMBERS[number],
        index=INDICES[index],
        item_bytes=_ITEM_BYTES[number],
        target=target,
        weight=weight,
        X=X,
        width=width,
        indices=indices,
        values=values if is_weighted else None,
        first=first,
        last=last,
        last_prefetch=last_prefetch if prefetches else None,
    ).generate()
    return code.end_function()


@dataclass(frozen=True)
class _RowSum:
    """Generates the body of `add_rows`. Fields are LLVM types and values, not numbers."""

    code: CodeBuilder
    kind: Any
    index: Any
    item_bytes: int
    target: Any
    weight: Any
    X: Any
    width: Any
    indices: Any
    values: Any
    first: Any
    last: Any
    last_prefetch: Any

    def generate(self) -> None:
        """Sum all columns: in vectors of REGISTER_BYTES, then of half that, ..., then of one."""
        build, column, lanes = self.code.builder, int64(0), REGISTER_BYTES // self.item_bytes
        while lanes:
            remaining = build.sub(self.width, column)
            end = build.add(column, build.and_(remaining, int64(-lanes)))
            with self.code.loop(column, end, lanes) as start:
                self._sum_columns(start, lanes)
            column, lanes = end, lanes // 2

    def _sum_columns(self, column: Any, lanes: int) -> None:
        """Sum columns [column, column + lanes) over all edges, by blocks if there are many."""
        build, code = self.code.builder, self.code
        count = build.sub(self.last, self.first)
        single_block = build.icmp_signed("<=", count, int64(SUM_BLOCK))
        with build.if_else(single_block) as (then, otherwise):
            with then:
                block_total = self._block_total(self.first, self.last, column, lanes)
                self._add_to_target(block_total, column, lanes)
            with otherwise, code.blocks(self.first, self.last, SUM_BLOCK**2) as outer:
                total = self._new_accumulator(lanes)
                with code.blocks(*outer, SUM_BLOCK) as block:
                    self._accumulate(total, self._block_total(*block, column, lanes), lanes)
                self._add_to_target(code.load_vector(total, self.kind, lanes), column, lanes)

    def _block_total(self, first: Any, last: Any, column: Any, lanes: int) -> Any:
        """Sum the rows of the edges [first, last)."""
        total = self._new_accumulator(lanes)
        with self.code.loop(first, last) as edge:
            if self.last_prefetch is not None:
                ahead = self.code.builder.add(edge, int64(PREFETCH_DISTANCE))
                self._prefetch(ahead, column, lanes)
            self._accumulate(total, self._weighted_row(edge, column, lanes), lanes)
        return self.code.load_vector(total, self.kind, lanes)

    def _add_to_target(self, total: Any, column: Any, lanes: int) -> None:
        build = self.code.builder
        address = self.code.element(self.target, self.kind, column)
        increment = build.fmul(self.code.broadcast(self.weight, lanes), total)
        before = self.code.load_vector(address, self.kind, lanes, self.item_bytes)
        build.store(build.fadd(before, increment), address, align=self.item_bytes)

    def _new_accumulator(self, lanes: int) -> Any:
        vector = ir.VectorType(self.kind, lanes)
        return self.code.variable(vector, ir.Constant(vector, None))

    def _accumulate(self, accumulator: Any, vector: Any, lanes: int) -> None:
        before = self.code.load_vector(accumulator, self.kind, lanes)
        self.code.builder.store(self.code.builder.fadd(before, vector), accumulator)

    def _weighted_row(self, edge: Any, column: Any, lanes: int) -> Any:
        """Columns of ``values[edge] * X[indices[edge]]``."""
        address = self.code.element(self.X, self.kind, self._offset(edge, column))
        row = self.code.load_vector(address, self.kind, lanes, self.item_bytes)
        if self.values is None:
            return row
        value = self.code.load(self.values, self.kind, edge)
        return self.code.builder.fmul(self.code.broadcast(value, lanes), row)

    def _prefetch(self, edge: Any, column: Any, lanes: int) -> None:
        """Prefetch columns of the row of an edge, or of the last edge that may be read."""
        offset = self._offset(self.code.minimum(edge, self.last_prefetch), column)
        address = self.code.element(self.X, self.kind, offset)
        self.code.prefetch(address, lanes * self.item_bytes)

    def _offset(self, edge: Any, column: Any) -> Any:
        """Offset in X of a column of the row of an edge."""
        node = self.code.load_index(self.indices, self.index, edge)
        return self.code.builder.add(self.code.builder.mul(node, self.width), column)
