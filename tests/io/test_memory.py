import os

import numpy as np
import pytest

from heatgraph._io.memory import _container_memory, memory_budget_bytes
from heatgraph.errors import InputError


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("4GB", 4e9), ("4 gb", 4e9), ("1.5GiB", 1.5 * 2**30), ("512 MiB", 2**29), ("100k", 1e5),
        ("2T", 2e12), ("7", 7), ("7B", 7), (1000, 1000), (1e6, 1e6), (np.int64(5), 5),
    ],
)  # fmt: skip
def test_memory_bytes(text, count):
    assert memory_budget_bytes(text) == count


@pytest.mark.parametrize("bad", ["", "GB", "-4GB", "4XB", "4GBs", 0, -1, True, [4]])
def test_bad_memory(bad):
    with pytest.raises(InputError, match="memory_budget must be a positive number of bytes"):
        memory_budget_bytes(bad)


def test_memory_of_the_machine(monkeypatch):
    assert memory_budget_bytes(None) > 1e8
    monkeypatch.delattr(os, "sysconf", raising=False)
    assert memory_budget_bytes(None) == _container_memory()


def test_memory_of_a_container(tmp_path):
    limit = tmp_path / "memory.max"
    assert _container_memory(str(limit)) == float("inf")
    limit.write_text("max\n")
    assert _container_memory(str(limit)) == float("inf")
    limit.write_text("2147483648\n")
    assert _container_memory(str(limit)) == 2**31
