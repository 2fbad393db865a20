"""What can go wrong, by what a caller can do about it.

Every message says what was expected, what came (with its first position and how many there are)
and what to do. Each kind is also the built-in that Python users already catch.
"""

import sys
import warnings


class HeatgraphError(Exception):
    """Everything that heatgraph raises on purpose."""


class InputError(HeatgraphError, ValueError):
    """An argument cannot be used as it is: change the argument."""


class FileFormatError(HeatgraphError, ValueError):
    """A file is not what it should be: get it again, or name another."""


class MemoryBudgetError(HeatgraphError, MemoryError):
    """The work does not fit the memory budget: raise the budget or ask for less."""


class DownloadError(HeatgraphError, OSError):
    """A file could not be fetched, or what came is not that file: try again, or bring your own."""


class MissingExtraError(HeatgraphError, ImportError):
    """An optional library is not installed: install it."""


class HeatgraphWarning(UserWarning):
    """Everything that heatgraph warns about on purpose."""


class StabilityWarning(HeatgraphWarning):
    """A step T/K beyond the stability limit amplifies some features instead of smoothing them."""


class CollapseWarning(HeatgraphWarning):
    """T is so large that features no longer tell nodes of a component apart."""


class ConvergenceWarning(HeatgraphWarning):
    """A classifier stopped before it reached the optimum."""


class UnknownClassWarning(HeatgraphWarning):
    """A class has no training node, so it is never predicted."""


def warn(message: str, kind: type[HeatgraphWarning]) -> None:
    """Warn at the caller's line: the innermost one that is not in this package."""
    depth, frame = 1, sys._getframe(0)
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] == "heatgraph":
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, kind, stacklevel=depth)
