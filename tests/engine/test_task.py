import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import graphs

from heatgraph import Heat, diffuse_many
from heatgraph._engine.task import run_panels
from heatgraph.datasets.synthetic import make_block_graph
from heatgraph.diffusion import _prepare

SCHEMES = [Heat(1.0), Heat(3.0)]


def task_of(graph, rows=None, reorder=None):
    return _prepare(
        graph, SCHEMES, True, rows, "auto", 1e-6, np.float32, None, 1, reorder, "result.npy", None
    )


@given(graph=graphs(max_nodes=20), panels_at_once=st.sampled_from([1, 2]))
def test_panels_are_parts_of_the_result(graph, panels_at_once):
    task = task_of(graph)
    width = max(1, task.plan.columns // 3)
    panels = [
        slice(start, min(start + width, task.plan.columns))
        for start in range(0, task.plan.columns, width)
    ]
    stored = {}
    run_panels(
        task.settings,
        task.inputs(),
        panels,
        lambda panel, values: stored.update({panel.start: values.copy()}),
        threads=2,
        panels_at_once=panels_at_once,
    )
    axis = 1 if task.plan.side == "rows" else 2
    result = np.concatenate([stored[panel.start] for panel in panels], axis=axis)
    expected = diffuse_many(graph, SCHEMES)
    if task.plan.side == "features":
        assert_array_equal(result, expected)
    else:  # BLAS rounds products of another width differently
        np.testing.assert_allclose(result, expected, atol=1e-6)


@pytest.mark.parametrize("change", ["rows", "reorder"])
def test_the_fingerprint_depends_on_what_bits_depend_on(change):
    graph = make_block_graph(60, 200).graph
    first = task_of(graph)
    other = task_of(graph, rows=[1, 2]) if change == "rows" else task_of(graph, reorder=True)
    assert first.fingerprint() == task_of(graph).fingerprint()
    assert first.fingerprint() != other.fingerprint()
