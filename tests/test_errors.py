import pickle
import warnings

import pytest

from heatgraph import errors
from heatgraph.errors import HeatgraphError, HeatgraphWarning, warn

BUILT_INS = {
    "InputError": ValueError,
    "FileFormatError": ValueError,
    "FileInUseError": BlockingIOError,
    "MemoryBudgetError": MemoryError,
    "DownloadError": OSError,
    "ClusterError": RuntimeError,
    "MissingExtraError": ImportError,
}


def subclasses(base):
    return [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, base) and kind is not base
    ]


@pytest.mark.parametrize("kind", subclasses(HeatgraphError))
def test_errors_can_be_caught_as_the_built_in_one(kind):
    with pytest.raises(BUILT_INS[kind.__name__], match="reason"):
        raise kind("reason")


@pytest.mark.parametrize("kind", [*subclasses(HeatgraphError), *subclasses(HeatgraphWarning)])
def test_errors_survive_pickling(kind):
    """Errors of child processes reach their parent."""
    again = pickle.loads(pickle.dumps(kind("reason")))
    assert type(again) is kind
    assert str(again) == "reason"
    # Dask makes the errors of its workers again in this way.
    assert type(kind.__new__(kind)) is kind


def test_warnings_point_at_the_first_line_outside_the_package():
    inside = {"__name__": "heatgraph.inner", "warn": warn, "kind": errors.ConvergenceWarning}
    exec("def outer():\n    inner()\ndef inner():\n    warn('stopped', kind)\n", inside)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        inside["outer"]()
    assert caught[0].filename == __file__
    assert caught[0].category is errors.ConvergenceWarning
