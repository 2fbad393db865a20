"""Memory: budgets as users write them, and what this machine or container has."""

from __future__ import annotations

import os
import re

import numpy as np

from heatgraph._io.formatting import format_bytes
from heatgraph.errors import InputError, MemoryBudgetError


def memory_budget_bytes(budget: int | float | str | None) -> float:
    """Read a memory budget: bytes, or text such as "4GB" or "512 MiB"; None is all there is.

    Examples
    --------
    >>> memory_budget_bytes("4GB")
    4000000000.0
    """
    if budget is None:
        return min(_machine_memory(), _container_memory())
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
        f"memory_budget must be a positive number of bytes or a text such as '4GB'. Got {budget!r}."
    )


def require_memory(what: str, needed: float) -> None:
    """Refuse what takes more memory than this machine has, before any of it is taken."""
    there = memory_budget_bytes(None)
    if needed > there:
        raise MemoryBudgetError(
            f"{what} needs {format_bytes(needed)}, and this machine has {format_bytes(there)}."
        )


def _machine_memory() -> float:
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # Windows cannot tell this way
        return float("inf")


def _container_memory(limit: str = "/sys/fs/cgroup/memory.max") -> float:
    try:
        with open(limit, encoding="ascii") as file:
            return float(file.read())
    except (OSError, ValueError):  # no container, or "max"
        return float("inf")
