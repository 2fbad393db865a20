"""Memory: budgets that users set, what this machine or container has, and peaks of this process."""

from __future__ import annotations

import math
import re
import sys
from functools import cache
from pathlib import Path

import numpy as np
import psutil

from heatgraph._arguments import short_repr
from heatgraph._io.formatting import format_bytes
from heatgraph.errors import InputError, MemoryBudgetError

# Writing this to /proc/self/clear_refs resets VmHWM to the present resident memory (proc(5)).
_RESET_PEAK = "5"


def memory_budget_bytes(budget: int | float | str | None) -> float:
    """Parse a memory budget: bytes, or text such as "4GB" or "512 MiB"; None is `memory_limit`.

    Examples
    --------
    >>> memory_budget_bytes("4GB")
    4000000000.0
    """
    if budget is None:
        return memory_limit()
    if isinstance(budget, str):
        match = re.fullmatch(r"(\d+(?:\.\d+)?) *(K|M|G|T|)(I?)B?", budget.strip().upper())
        if match:
            number, prefix, binary = match.groups()
            return float(number) * (1024.0 if binary else 1000.0) ** " KMGT".index(prefix or " ")
    elif (
        not isinstance(budget, bool) and isinstance(budget, int | float | np.number) and budget > 0
    ):
        return float(budget)
    raise InputError(
        "memory_budget must be a positive number of bytes or a string such as '4GB'. "
        f"Got {short_repr(budget)}."
    )


def require_memory(what: str, needed: float) -> None:
    """Raise MemoryBudgetError if `needed` bytes exceed this machine's memory; `what` names them."""
    limit = memory_budget_bytes(None)
    if needed > limit:
        raise MemoryBudgetError(
            f"{what} needs {format_bytes(needed)}, and this machine has {format_bytes(limit)}."
        )


@cache
def memory_limit() -> float:
    """Bytes of physical memory, of this process's container, or of what ulimit leaves: the least.

    Allocators reserve more address space than they use, so half of what is left of it counts.
    Read once per process: reading the files of all control groups takes as long as a small product.
    """
    left = (address_space_limit() - float(psutil.Process().memory_info().vms)) / 2
    return max(min(float(psutil.virtual_memory().total), _cgroup_limit(), left), 1.0)


def address_space_limit() -> float:
    """Bytes of address space that this process may have (``ulimit -v``), or infinity."""
    if sys.platform == "win32":
        return math.inf
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return math.inf if limit == resource.RLIM_INFINITY else float(limit)


def reset_peak_memory() -> bool:
    """Restart the measurement of `peak_memory`; False where only the peak since start is known.

    Linux alone can reset it, and not in every container.
    """
    try:
        Path("/proc/self/clear_refs").write_text(_RESET_PEAK)
    except OSError:
        return False
    return True


def peak_memory() -> int | None:
    """Peak resident memory of this process, in bytes, since `reset_peak_memory` or its start.

    None on systems that do not report it.
    """
    if sys.platform == "linux":
        for line in _read_text(Path("/proc/self/status")).splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    if sys.platform == "darwin":
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if sys.platform == "win32":
        return int(psutil.Process().memory_info().peak_wset)
    return None


def _cgroup_limit(
    root: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")
) -> float:
    """Lowest memory limit of this process's control groups and their ancestors, or infinity.

    Lines of `membership` are "0::/path" for cgroup v2 and "4:memory:/path" for v1. Inside a
    container the path may be the host's, which is not mounted; then the limit is at the root.
    """
    limit = math.inf
    for line in _read_text(membership).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            mount, name = root, "memory.max"
        elif "memory" in controllers.split(","):
            mount, name = root / "memory", "memory.limit_in_bytes"
        else:
            continue
        group = mount / path.lstrip("/")
        for folder in (group, *group.parents):
            if folder.is_relative_to(mount):
                limit = min(limit, _parse_limit(_read_text(folder / name)))
    return limit


def _parse_limit(text: str) -> float:
    """The number of bytes in a limit file; infinity for "max" or a missing file.

    Without a limit, v1 has a number near 2^63, above any physical memory.
    """
    return float(text) if text.strip().isdigit() else math.inf


def _read_text(path: Path) -> str:
    """Content of a system file; empty if it does not exist or cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
