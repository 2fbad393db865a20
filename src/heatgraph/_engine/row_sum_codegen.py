"""Weighted sums of rows, generated as LLVM code that sums in registers and prefetches.

The functions are those of `heatgraph._engine.row_sum`, to the last bit. numba cannot rule out that
the target overlaps X, so it writes every partial sum of the plain loop to memory. The code that is
generated here keeps REGISTER_BYTES of a sum in vector registers while it adds the rows of all
edges, and prefetches the row PREFETCH_DISTANCE edges ahead. Wider rows take one pass over the edges
for every REGISTER_BYTES; what is left takes vectors of half the width, and so on down to a column.

Floating-point operations are neither reordered nor contracted. Pointers are opaque: every load,
store and address computation names its element type.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from heatgraph._engine import row_sum

# Bytes of a row that are summed in registers in one pass over the edges.
REGISTER_BYTES = 256
# Prefetch distance, in edges: about the latency of memory.
PREFETCH_DISTANCE = 16

_CACHE_LINE = 64
_INT64, _INT32, _BYTE = ir.IntType(64), ir.IntType(32), ir.IntType(8)
_POINTER, _VOID = ir.PointerType(), ir.VoidType()


def _type_add_rows(
    typing_context: Any,
    target: Any,
    weight: Any,
    X: Any,
    indices: Any,
    values: Any,
    first: Any,
    last: Any,
    last_prefetch: Any,
) -> Any:
    """Give numba the signature of `add_rows` and the function that generates its code."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def array(position: int) -> Any:
            return context.make_array(signature.args[position])(
                context, builder, arguments[position]
            )

        rows = array(2)
        is_weighted = isinstance(values, types.Array)
        function = _row_sum_function(
            builder.module,
            context.get_value_type(X.dtype),
            context.get_value_type(indices.dtype),
            X.dtype.bitwidth // 8,
            is_weighted,
        )
        weights = array(4).data if is_weighted else ir.Constant(_POINTER, None)
        width = builder.extract_value(rows.shape, 1)
        builder.call(
            function,
            [array(0).data, arguments[1], rows.data, width, array(3).data, weights, *arguments[5:]],
        )
        return context.get_dummy_value()

    arguments = (target, weight, X, indices, values, first, last, last_prefetch)
    return types.void(*arguments), generate


def _row_sum_function(
    module: Any, number: Any, index: Any, item_bytes: int, is_weighted: bool
) -> Any:
    """The LLVM function of `add_rows` for these types; it is added to the module once.

    It is always inlined. It is a function so that its pointers are opaque: those of numba's arrays
    have an element type, which llvmlite would check against the vectors that are stored.
    """
    name = f"heatgraph.add_rows.{number}.{index}.{'weighted' if is_weighted else 'unweighted'}"
    if name in module.globals:
        return module.globals[name]
    parameters = [_POINTER, number, _POINTER, _INT64, _POINTER, _POINTER, _INT64, _INT64, _INT64]
    function = ir.Function(module, ir.FunctionType(_VOID, parameters), name)
    function.linkage = "internal"
    function.attributes.add("alwaysinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    target, weight, X, width, indices, values, first, last, last_prefetch = function.args
    _RowSum(
        builder,
        number=number,
        index=index,
        item_bytes=item_bytes,
        target=target,
        weight=weight,
        X=X,
        width=width,
        indices=indices,
        values=values if is_weighted else None,
        first=first,
        last=last,
        last_prefetch=last_prefetch,
    ).generate()
    builder.ret_void()
    return function


@dataclass(frozen=True)
class _RowSum:
    """Generates the body of `add_rows`. Fields are LLVM types and values, not numbers."""

    builder: Any
    number: Any
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
        build, column, lanes = self.builder, _int64(0), REGISTER_BYTES // self.item_bytes
        while lanes:
            remaining = build.sub(self.width, column)
            end = build.add(column, build.and_(remaining, _int64(-lanes)))
            with cgutils.for_range_slice(build, column, end, _int64(lanes)) as (start, _):
                self._sum_columns(start, lanes)
            column, lanes = end, lanes // 2

    def _sum_columns(self, column: Any, lanes: int) -> None:
        """Sum columns [column, column + lanes) over all edges, by blocks if there are many."""
        build = self.builder
        count = build.sub(self.last, self.first)
        single_block = build.icmp_signed("<=", count, _int64(row_sum.SUM_BLOCK))
        with build.if_else(single_block) as (then, otherwise):
            with then:
                block_total = self._block_total(self.first, self.last, column, lanes)
                self._add_to_target(block_total, column, lanes)
            with otherwise, self._blocks(self.first, self.last, row_sum.SUM_BLOCK**2) as outer:
                total = self._new_accumulator(lanes)
                with self._blocks(*outer, row_sum.SUM_BLOCK) as block:
                    self._accumulate(total, self._block_total(*block, column, lanes), lanes)
                self._add_to_target(self._load_vector(total, lanes), column, lanes)

    def _block_total(self, first: Any, last: Any, column: Any, lanes: int) -> Any:
        """Sum the rows of the edges [first, last)."""
        total = self._new_accumulator(lanes)
        with self._blocks(first, last, 1) as (edge, _):
            self._prefetch(self.builder.add(edge, _int64(PREFETCH_DISTANCE)), column, lanes)
            self._accumulate(total, self._weighted_row(edge, column, lanes), lanes)
        return self._load_vector(total, lanes)

    def _add_to_target(self, total: Any, column: Any, lanes: int) -> None:
        build = self.builder
        address = self._element(self.target, self.number, column)
        increment = build.fmul(self._broadcast(self.weight, lanes), total)
        updated = build.fadd(self._load_vector(address, lanes, self.item_bytes), increment)
        build.store(updated, address, align=self.item_bytes)

    @contextmanager
    def _blocks(self, first: Any, last: Any, size: int) -> Iterator[tuple[Any, Any]]:
        """Loop over [first, last) by blocks of `size`: the start and stop of each."""
        with cgutils.for_range_slice(self.builder, first, last, _int64(size)) as (start, _):
            yield start, self._minimum(self.builder.add(start, _int64(size)), last)

    def _new_accumulator(self, lanes: int) -> Any:
        """A vector of zeros on the stack, which LLVM promotes to registers."""
        vector = ir.VectorType(self.number, lanes)
        address = cgutils.alloca_once(self.builder, vector)  # type: ignore[no-untyped-call]
        self.builder.store(ir.Constant(vector, None), address)
        return address

    def _accumulate(self, accumulator: Any, vector: Any, lanes: int) -> None:
        total = self.builder.fadd(self._load_vector(accumulator, lanes), vector)
        self.builder.store(total, accumulator)

    def _weighted_row(self, edge: Any, column: Any, lanes: int) -> Any:
        """Columns of ``values[edge] * X[indices[edge]]``."""
        build = self.builder
        address = self._element(self.X, self.number, self._offset(edge, column))
        row = self._load_vector(address, lanes, self.item_bytes)
        if self.values is None:
            return row
        value = build.load(self._element(self.values, self.number, edge), typ=self.number)
        return build.fmul(self._broadcast(value, lanes), row)

    def _prefetch(self, edge: Any, column: Any, lanes: int) -> None:
        """Prefetch columns of the row of an edge, or of the last edge that may be read."""
        offset = self._offset(self._minimum(edge, self.last_prefetch), column)
        address = self._element(self.X, self.number, offset)
        _prefetch_bytes(self.builder, address, lanes * self.item_bytes)

    def _offset(self, edge: Any, column: Any) -> Any:
        """Offset in X of a column of the row of an edge."""
        build = self.builder
        node = build.load(self._element(self.indices, self.index, edge), typ=self.index)
        if node.type != _INT64:
            node = build.sext(node, _INT64)
        return build.add(build.mul(node, self.width), column)

    def _element(self, base: Any, kind: Any, offset: Any) -> Any:
        """Address of an element of an array."""
        return self.builder.gep(base, [offset], source_etype=kind)

    def _load_vector(self, address: Any, lanes: int, align: int | None = None) -> Any:
        return self.builder.load(address, align=align, typ=ir.VectorType(self.number, lanes))

    def _broadcast(self, value: Any, lanes: int) -> Any:
        """A vector with `value` in all lanes."""
        undefined = ir.Constant(ir.VectorType(self.number, lanes), ir.Undefined)
        single = self.builder.insert_element(undefined, value, _int32(0))
        mask = ir.Constant(ir.VectorType(_INT32, lanes), [0] * lanes)
        return self.builder.shuffle_vector(single, undefined, mask)

    def _minimum(self, a: Any, b: Any) -> Any:
        return self.builder.select(self.builder.icmp_signed("<", a, b), a, b)


def _type_prefetch_indices(typing_context: Any, indices: Any, edge: Any) -> Any:
    """Generate the prefetch of two cache lines of indices, from that of an edge on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(indices)(context, builder, arguments[0]).data
        index = context.get_value_type(indices.dtype)
        address = builder.gep(data, [arguments[1]], source_etype=index)
        _prefetch_bytes(builder, address, 2 * _CACHE_LINE)
        return context.get_dummy_value()

    return types.void(indices, edge), generate


def _type_prefetch_row(typing_context: Any, panel: Any, row: Any) -> Any:
    """Generate the prefetch of the first REGISTER_BYTES of a row."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(panel)(context, builder, arguments[0])
        offset = builder.mul(arguments[1], builder.extract_value(array.shape, 1))
        number = context.get_value_type(panel.dtype)
        address = builder.gep(array.data, [offset], source_etype=number)
        _prefetch_bytes(builder, address, REGISTER_BYTES)
        return context.get_dummy_value()

    return types.void(panel, row), generate


def _prefetch_bytes(builder: Any, address: Any, size: int) -> None:
    """Prefetch some cache lines to the second-level cache. An invalid address is no error."""
    prefetch = builder.module.declare_intrinsic(
        "llvm.prefetch", [_POINTER], ir.FunctionType(_VOID, [_POINTER, _INT32, _INT32, _INT32])
    )
    read, locality, data_cache = _int32(0), _int32(2), _int32(1)
    for offset in range(0, size, _CACHE_LINE):
        line = builder.gep(address, [_int64(offset)], source_etype=_BYTE)
        builder.call(prefetch, [line, read, locality, data_cache])


def _int64(value: int) -> Any:
    return ir.Constant(_INT64, value)


def _int32(value: int) -> Any:
    return ir.Constant(_INT32, value)


add_rows: Any = intrinsic(_type_add_rows)
prefetch_indices: Any = intrinsic(_type_prefetch_indices)
prefetch_row: Any = intrinsic(_type_prefetch_row)
