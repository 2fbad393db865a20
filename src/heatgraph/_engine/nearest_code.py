"""LLVM code of the kernel that keeps the nearest neighbours among blocks of similarities.

It is `plain_kernels.keep_nearest`, to the last bit. Nearly all similarities are too small to be
kept: LANES of them are compared at once with what either node of a pair would accept, and only
where one of them passes, pairs are looked at one by one.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from heatgraph._engine.code_builder import INT64, NUMBERS, POINTER, CodeBuilder, int64

# Similarities that are compared at once; widths of blocks are multiples of it.
LANES = 16

FLOAT = NUMBERS["float32"]


def keep_nearest_module() -> Any:
    """The kernel for rows [start, stop) of a block of similarities."""
    module = ir.Module("keep_nearest")
    insert = _insert(module)
    pointers = ("values", "nodes", "similarity", "smallest")
    sizes = ("width", "k", "first_row", "first_column", "start", "stop")
    parameters = dict.fromkeys(pointers, POINTER) | dict.fromkeys(sizes, INT64)
    code = CodeBuilder.begin_function(module, "keep_nearest", parameters)
    build = code.builder
    (values, nodes, similarity, smallest, width, k, first_row, first_column, start,
     stop) = code.arguments  # fmt: skip
    lists = (nodes, similarity, smallest, k)

    def look_at(node: Any, place: Any, column: Any) -> None:
        """Insert a pair into the lists of both nodes, if either may accept it."""
        other = build.add(first_column, column)
        value = code.load(values, FLOAT, place)
        accepted = build.or_(
            build.fcmp_ordered(">=", value, code.load(smallest, FLOAT, node)),
            build.fcmp_ordered(">=", value, code.load(smallest, FLOAT, other)),
        )
        is_first = build.icmp_signed("<", other, node)
        with build.if_then(build.and_(is_first, accepted)):
            build.call(insert, [*lists, node, other, value])
            build.call(insert, [*lists, other, node, value])

    def vector(base: Any, offset: Any) -> Any:
        return code.load_vector(code.element(base, FLOAT, offset), FLOAT, LANES, align=4)

    with code.loop(start, stop) as row:
        node = build.add(first_row, row)
        first = build.mul(row, width)
        with code.loop(int64(0), width, LANES) as column:
            found = vector(values, build.add(first, column))
            of_row = code.broadcast(code.load(smallest, FLOAT, node), LANES)
            of_columns = vector(smallest, build.add(first_column, column))
            passes = build.or_(
                build.fcmp_ordered(">=", found, of_row),
                build.fcmp_ordered(">=", found, of_columns),
            )
            bits = build.bitcast(passes, ir.IntType(LANES))
            any_passes = build.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))
            end = build.add(column, int64(LANES))
            with build.if_then(any_passes), code.loop(column, end) as one:
                look_at(node, build.add(first, one), one)
    code.end_function()
    return module


def _insert(module: Any) -> Any:
    """Insert (`other`, `value`) into the list of `node`, by decreasing similarity."""
    parameters = {
        **dict.fromkeys(("nodes", "similarity", "smallest"), POINTER),
        **dict.fromkeys(("k", "node", "other"), INT64),
        "value": FLOAT,
    }
    code = CodeBuilder.begin_function(module, "insert", parameters, internal=True)
    build = code.builder
    nodes, similarity, smallest, k, node, other, value = code.arguments
    nodes = code.element(nodes, INT64, build.mul(node, k))
    similarity = code.element(similarity, FLOAT, build.mul(node, k))
    place = code.variable(INT64, k)
    test, compare, move, done = (
        build.append_basic_block(name) for name in ("test", "compare", "move", "done")
    )
    build.branch(test)
    build.position_at_end(test)
    current = build.load(place, typ=INT64)
    build.cbranch(build.icmp_signed(">", current, int64(0)), compare, done)

    build.position_at_end(compare)
    before = build.sub(current, int64(1))
    node_before, value_before = (
        code.load(nodes, INT64, before),
        code.load(similarity, FLOAT, before),
    )
    is_tie = build.fcmp_ordered("==", value, value_before)
    precedes = build.or_(
        build.fcmp_ordered(">", value, value_before),
        build.and_(is_tie, build.icmp_signed("<", other, node_before)),
    )
    build.cbranch(precedes, move, done)

    build.position_at_end(move)
    with build.if_then(build.icmp_signed("<", current, k)):
        code.store(node_before, nodes, INT64, current)
        code.store(value_before, similarity, FLOAT, current)
    build.store(before, place)
    build.branch(test)

    build.position_at_end(done)
    current = build.load(place, typ=INT64)
    with build.if_then(build.icmp_signed("<", current, k)):
        code.store(other, nodes, INT64, current)
        code.store(value, similarity, FLOAT, current)
        last = code.load(similarity, FLOAT, build.sub(k, int64(1)))
        with build.if_then(build.fcmp_ordered(">", last, ir.Constant(FLOAT, 0.0))):
            code.store(last, smallest, FLOAT, node)
    return code.end_function()
