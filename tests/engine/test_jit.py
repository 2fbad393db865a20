import threading
import time

import numpy as np
import pytest
from llvmlite import ir

from heatgraph._engine.code_builder import INT64, NUMBERS, POINTER, CodeBuilder, int64
from heatgraph._engine.jit import compile_function


def spinning_module():
    """A function that adds 1 to a number, very often."""
    module = ir.Module("spin")
    number = NUMBERS["float64"]
    code = CodeBuilder.begin_function(module, "spin", {"total": POINTER, "times": INT64})
    total, times = code.arguments
    with code.loop(int64(0), times):
        one = ir.Constant(number, 1.0)
        value = code.builder.load(total, typ=number)
        value.volatile = True
        code.store(code.builder.fadd(value, one), total, number, int64(0))
    code.end_function()
    return module


def test_a_function_takes_addresses_and_numbers():
    spin = compile_function(spinning_module())
    total = np.zeros(1)
    spin(total.ctypes.data, 1000)
    assert total[0] == 1000


def test_functions_release_the_gil():
    spin = compile_function(spinning_module())
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    try:
        time.sleep(0.05)
        before, total = counted[0], np.zeros(1)
        spin(total.ctypes.data, 100_000_000)
        during = counted[0] - before
    finally:
        stop.set()
        thread.join()
    assert during > 100


def test_invalid_code_is_refused():
    module = ir.Module("broken")
    code = CodeBuilder.begin_function(module, "broken", {})
    code.builder.call(code.function, [])  # and no return
    with pytest.raises(RuntimeError):
        compile_function(module)
