"""Errors and warnings, one class for each remedy.

Every message states what was expected, what was received (the first position and the number of bad
values) and what to do. Each error also derives from the built-in exception that fits.
"""

import sys
import warnings


class HeatgraphError(Exception):
    """Base class of all errors that heatgraph raises."""


class InputError(HeatgraphError, ValueError):
    """An argument is invalid: change the argument."""


class FileFormatError(HeatgraphError, ValueError):
    """A file is incomplete, damaged or of another format: get it again, or name another file."""


class FileInUseError(HeatgraphError, BlockingIOError):
    """Another process writes the same file: wait until it has ended, or name another file."""


class MemoryBudgetError(MemoryError, HeatgraphError):
    """A computation exceeds the memory budget: raise the budget or reduce the work."""

    # MemoryError comes first, or MemoryBudgetError.__new__ would refuse its own class.


class DownloadError(HeatgraphError, OSError):
    """A download failed or its checksum is wrong: try again, or provide the file yourself."""


class ClusterError(HeatgraphError, RuntimeError):
    """A cluster was lost, or kills its workers: start it again, and repeat the call."""


class MissingExtraError(HeatgraphError, ImportError):
    """An optional dependency is not installed: install it."""


class HeatgraphWarning(UserWarning):
    """Base class of all warnings of heatgraph."""


class StabilityWarning(HeatgraphWarning):
    """The step T/K exceeds the stability limit: some features are amplified, not smoothed."""


class CollapseWarning(HeatgraphWarning):
    """Oversmoothing: T is so large that the nodes of a component have nearly equal features."""


class ConvergenceWarning(HeatgraphWarning):
    """An optimiser stopped before it converged."""


class UnknownClassWarning(HeatgraphWarning):
    """A class has no training node, so it is never predicted."""


class TableWarning(HeatgraphWarning):
    """Part of a table was not used, merged or filled in, or is unknown to a model."""


class OneClassWarning(HeatgraphWarning):
    """A model predicts the same class for every node of its graph: add labels or features."""


class FeatureNamesWarning(HeatgraphWarning):
    """A model has no names of features, so those of a graph are taken by position."""


class UnlockedFileWarning(HeatgraphWarning):
    """A file system has no locks: make sure that no two processes write the same file."""


class ShiftWarning(HeatgraphWarning):
    """A graph to predict on differs from the one that the model was fitted to."""


def warn(message: str, kind: type[HeatgraphWarning]) -> None:
    """Issue a warning located at the innermost frame outside this package."""
    depth, frame = 1, sys._getframe(0)
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] == "heatgraph":
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, kind, stacklevel=depth)
