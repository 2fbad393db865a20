"""Small functions, built and run."""

import numpy as np
import pytest
from llvmlite import ir

from heatgraph._engine.code_builder import (
    INT64,
    NUMBERS,
    POINTER,
    CodeBuilder,
    int64,
)
from heatgraph._engine.jit import compile_function


def compiled(parameters, write):
    """Compile a function whose body `write` writes with a builder and the arguments."""
    module = ir.Module("test")
    code = CodeBuilder.begin_function(module, "function", parameters)
    write(code, *code.arguments)
    code.end_function()
    return compile_function(module)


def address(array):
    return array.ctypes.data


@pytest.mark.parametrize(("start", "stop", "step"), [(0, 5, 1), (2, 9, 3), (4, 4, 1), (5, 2, 1)])
def test_loop(start, stop, step):
    def write(code, visited, first, last):
        with code.loop(first, last, step) as i:
            code.store(int64(1), visited, INT64, i)

    visited = np.zeros(10, dtype=np.int64)
    parameters = {"visited": POINTER, "first": INT64, "last": INT64}
    compiled(parameters, write)(address(visited), start, stop)
    expected = np.zeros(10, dtype=np.int64)
    expected[range(start, stop, step)] = 1
    np.testing.assert_array_equal(visited, expected)


def test_blocks_end_with_the_range():
    def write(code, stops):
        with code.blocks(int64(1), int64(8), 3) as (start, stop):
            code.store(stop, stops, INT64, start)

    stops = np.zeros(10, dtype=np.int64)
    compiled({"stops": POINTER}, write)(address(stops))
    assert stops.tolist() == [0, 4, 0, 0, 7, 0, 0, 8, 0, 0]


@pytest.mark.parametrize("number", NUMBERS)
def test_vectors(number):
    kind = NUMBERS[number]

    def write(code, values, factor):
        align = np.dtype(number).itemsize
        vector = code.load_vector(values, kind, 4, align)
        product = code.builder.fmul(vector, code.broadcast(factor, 4))
        code.builder.store(product, values, align=align)

    values = np.arange(6, dtype=number)
    compiled({"values": POINTER, "factor": kind}, write)(address(values), 2.0)
    assert values.tolist() == [0, 2, 4, 6, 4, 5]


def test_minimum_and_zero():
    def write(code, out, a, b, x):
        code.store(code.minimum(a, b), out, INT64, int64(0))
        code.store(code.builder.zext(code.is_zero(x), INT64), out, INT64, int64(1))
        code.prefetch(out, 200)

    out = np.zeros(2, dtype=np.int64)
    parameters = {"out": POINTER, "a": INT64, "b": INT64, "x": NUMBERS["float64"]}
    function = compiled(parameters, write)
    function(address(out), 3, -2, 0.0)
    assert out.tolist() == [-2, 1]
    function(address(out), 3, 5, 1e-300)
    assert out.tolist() == [3, 0]
