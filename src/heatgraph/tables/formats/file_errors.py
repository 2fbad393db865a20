"""Errors about a table file as a whole: missing, empty, or too large for the memory budget."""

from __future__ import annotations

from pathlib import Path

from heatgraph._io.formatting import format_bytes
from heatgraph.errors import FileFormatError, InputError, MemoryBudgetError
from heatgraph.tables.columns import did_you_mean


def missing_file(path: Path) -> InputError:
    """The error for a file that does not exist; it suggests one with a similar name."""
    if not path.parent.is_dir():
        return InputError(f"{path}: there is no such file, and no folder {path.parent}.")
    names = [other.name for other in path.parent.iterdir()]
    return InputError(f"{path}: there is no such file.{did_you_mean(path.name, names)}")


def empty_file(path: Path) -> FileFormatError:
    """The error for a file without a header."""
    return FileFormatError(
        f"{path} is empty. Expected a line with the names of the columns, and rows below it."
    )


def too_large(path: Path, limit: float) -> MemoryBudgetError:
    """The error for a file whose content takes more than `limit` bytes."""
    return MemoryBudgetError(
        f"{path} holds more than {format_bytes(limit)}, which is what the memory budget leaves "
        "for parsing it. Raise the budget (memory_budget=, --memory), or split the file."
    )


def out_of_memory(path: Path) -> MemoryBudgetError:
    """The error for a file within the budget, which this machine or process cannot provide."""
    return MemoryBudgetError(
        f"{path}: memory ran out while it was parsed. Close other programs, raise the limits of "
        "this process (ulimit -v), or split the file."
    )
