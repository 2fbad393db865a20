import sys

import numpy as np
import psutil
import pytest

from heatgraph._io import memory
from heatgraph._io.memory import (
    _cgroup_limit,
    memory_budget_bytes,
    memory_limit,
    peak_memory,
    require_memory,
    reset_peak_memory,
)
from heatgraph.errors import InputError, MemoryBudgetError

GIB = 2**30
V1_NO_LIMIT = 9223372036854771712


@pytest.mark.parametrize(
    ("budget", "count"),
    [
        ("4GB", 4e9), ("4 gb", 4e9), ("1.5GiB", 1.5 * 2**30), ("512 MiB", 2**29), ("100k", 1e5),
        ("2T", 2e12), ("7", 7), ("7B", 7), (1000, 1000), (1e6, 1e6), (np.int64(5), 5),
    ],
)  # fmt: skip
def test_budgets_are_numbers_or_text(budget, count):
    assert memory_budget_bytes(budget) == count


@pytest.mark.parametrize("bad", ["", "GB", "-4GB", "4XB", "4GBs", 0, -1, True, [4]])
def test_bad_budgets(bad):
    with pytest.raises(InputError, match="memory_budget must be a positive number of bytes"):
        memory_budget_bytes(bad)


def test_the_default_budget_is_the_limit(monkeypatch):
    monkeypatch.setattr(memory, "memory_limit", lambda: 12345.0)
    assert memory_budget_bytes(None) == 12345


def test_require_memory(monkeypatch):
    monkeypatch.setattr(memory, "memory_limit", lambda: 2e9)
    require_memory("a matrix", 2e9)
    with pytest.raises(
        MemoryBudgetError, match=r"a matrix needs 3.0 GB, and this machine has 2.0 GB"
    ):
        require_memory("a matrix", 3e9)


class TestMemoryLimit:
    @pytest.fixture(autouse=True)
    def read_anew(self):
        memory_limit.cache_clear()
        yield
        memory_limit.cache_clear()

    def test_is_at_most_the_physical_memory(self):
        assert 1e8 < memory_limit() <= psutil.virtual_memory().total

    @pytest.mark.parametrize("limit", [V1_NO_LIMIT, float("inf")])
    def test_a_limit_above_physical_memory_is_none(self, monkeypatch, limit):
        monkeypatch.setattr(memory, "_cgroup_limit", lambda: float(limit))
        assert memory_limit() == psutil.virtual_memory().total

    def test_a_container_may_have_less(self, monkeypatch):
        monkeypatch.setattr(memory, "_cgroup_limit", lambda: 1e6)
        assert memory_limit() == 1e6

    def test_a_limit_of_address_space_counts_half(self, monkeypatch):
        limit = psutil.Process().memory_info().vms + 2e8
        monkeypatch.setattr(memory, "address_space_limit", lambda: limit)
        assert memory_limit() == pytest.approx(1e8, rel=0.1)


class TestCgroupLimit:
    @pytest.fixture
    def limit(self, tmp_path):
        """Write files below the fake /sys/fs/cgroup and a fake /proc/self/cgroup; get the limit."""
        root, membership = tmp_path / "cgroup", tmp_path / "membership"

        def limit(lines, files):
            for name, content in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(f"{content}\n")
            membership.write_text("".join(f"{line}\n" for line in lines))
            return _cgroup_limit(root, membership)

        return limit

    def test_without_control_groups(self, tmp_path):
        assert _cgroup_limit(tmp_path / "cgroup", tmp_path / "membership") == float("inf")

    def test_v2_in_a_container(self, limit):
        assert limit(["0::/"], {"memory.max": 2 * GIB}) == 2 * GIB

    def test_v2_without_a_limit(self, limit):
        assert limit(["0::/"], {"memory.max": "max"}) == float("inf")

    def test_v2_limits_of_ancestors_hold_too(self, limit):
        files = {
            "memory.max": "max",
            "jobs/memory.max": 3 * GIB,
            "jobs/7/memory.max": 4 * GIB,
            "others/memory.max": GIB,
        }
        assert limit(["0::/jobs/7"], files) == 3 * GIB

    def test_v1_in_a_container(self, limit):
        lines = ["5:devices:/", "4:memory:/docker/0a1b", "1:cpu,cpuacct:/docker/0a1b"]
        assert limit(lines, {"memory/memory.limit_in_bytes": 2 * GIB}) == 2 * GIB

    def test_v1_below_the_root(self, limit):
        files = {
            "memory/memory.limit_in_bytes": V1_NO_LIMIT,
            "memory/jobs/7/memory.limit_in_bytes": GIB,
            "cpu/jobs/7/memory.limit_in_bytes": 1,
        }
        assert limit(["4:cpu:/jobs/7", "3:memory:/jobs/7"], files) == GIB

    def test_v1_without_a_limit_exceeds_any_machine(self, limit):
        files = {"memory/memory.limit_in_bytes": V1_NO_LIMIT}
        assert limit(["4:memory:/"], files) > psutil.virtual_memory().total

    def test_v1_and_v2_side_by_side(self, limit):
        files = {"memory/memory.limit_in_bytes": 2 * GIB, "unified/memory.max": GIB}
        assert limit(["4:memory:/", "0::/"], files) == 2 * GIB


@pytest.mark.skipif(sys.platform not in ("linux", "darwin", "win32"), reason="no peak is reported")
def test_peak_memory_grows_with_what_is_touched():
    reset_peak_memory()
    before = peak_memory()
    assert before > 10e6
    touched = np.ones(before + 100_000_000, dtype=np.int8)
    assert peak_memory() >= len(touched)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can reset the peak")
def test_a_reset_forgets_the_peak():
    touched = np.ones(300_000_000, dtype=np.int8)
    high = peak_memory()
    del touched
    if not reset_peak_memory():
        pytest.skip("this container does not allow it")
    assert peak_memory() < high - 200_000_000


def test_a_peak_that_cannot_be_reset_is_reported(monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(memory.Path, "write_text", refuse)
    assert reset_peak_memory() is False


def test_systems_that_report_no_peak(monkeypatch):
    monkeypatch.setattr(memory.sys, "platform", "plan9")
    assert peak_memory() is None
