import sys

import numpy as np
import pytest

from benchmarks.memory import (
    AnonymousPeak,
    anonymous_memory,
    peak_memory,
    reset_peak_memory,
    run_and_measure,
)

SIZE = 100_000_000

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")


def test_peak_remembers_freed_memory_until_reset():
    if not reset_peak_memory():
        pytest.skip("this container cannot reset the peak")
    before = peak_memory()
    np.ones(SIZE, dtype=np.int8)
    assert peak_memory() - before > 0.9 * SIZE
    reset_peak_memory()
    assert peak_memory() - before < 0.5 * SIZE


def test_anonymous_peak_is_sampled():
    before = anonymous_memory()
    array = np.ones(SIZE, dtype=np.int8)
    with AnonymousPeak() as peak:
        while not peak.bytes:
            array += 1
    assert peak.bytes - before > 0.9 * SIZE


def test_command_is_measured():
    code = f"data = b'x' * {3 * SIZE}; print('done')"
    printed, peak = run_and_measure([sys.executable, "-c", code])
    assert printed == "done\n"
    assert peak > 3 * SIZE
    with pytest.raises(RuntimeError, match="exit code 3"):
        run_and_measure([sys.executable, "-c", "raise SystemExit(3)"])
