import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from heatgraph import Graph, Heat
from heatgraph.cluster._inputs import panel_inputs, publish_inputs
from heatgraph.diffusion import _prepare
from heatgraph.errors import FileFormatError


def make_task(features, rows=None, reorder=False, graph=None, budget=None):
    random = np.random.default_rng(0)
    if graph is None:
        graph = Graph.from_edges(
            *random.integers(0, 500, (2, 2000)), features=features, symmetrize="max"
        )
    return _prepare(
        graph, [Heat(2.0)], True, rows, "auto", 1e-6, np.float32, budget, 1, reorder, "x.npy", None
    )


def dense(d=40):
    return np.random.default_rng(1).normal(size=(500, d)).astype(np.float32)


@pytest.mark.parametrize("reorder", [False, True])
@pytest.mark.parametrize("rows", [None, [3, 1, 400]])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_workers_map_what_one_machine_computes_from(tmp_path, kind, rows, reorder):
    X = dense() if kind == "dense" else sp.csr_array(np.where(dense() > 1, dense(), 0))
    task = make_task(X, rows, reorder, budget=300_000)
    inputs = pickle.loads(pickle.dumps(publish_inputs(task, tmp_path, "token")))
    opened, expected = inputs.open(True, np.dtype(np.float32)), task.inputs()
    for name in ("indptr", "indices", "row_scale", "diagonal", "root"):
        assert_array_equal(getattr(opened.P, name), getattr(expected.P, name))
    assert (opened.rows is None) == (expected.rows is None)
    if rows is not None:
        assert_array_equal(opened.rows, expected.rows)
    for panel in task.plan.panels if task.plan.side == "features" else [slice(0, 40)]:
        found, columns = panel_inputs(inputs, opened, panel)
        part = found.features[:, columns]
        wanted = expected.features[:, panel]
        if sp.issparse(part):
            part, wanted = part.toarray(), wanted.toarray()
        assert_array_equal(part, wanted)


def test_a_stored_graph_is_not_written_again(tmp_path):
    task = make_task(dense())
    task.graph.save(tmp_path / "graph.heatgraph")
    loaded = Graph.load(tmp_path / "graph.heatgraph")
    folder = tmp_path / "inputs"
    folder.mkdir()
    inputs = publish_inputs(make_task(None, graph=loaded, rows=[1]), folder, "token")
    assert inputs.graph.path == str((tmp_path / "graph.heatgraph").resolve())
    assert inputs.features == "graph"
    assert [path.name for path in folder.iterdir()] == ["token-arrays.safetensors"]


def test_a_file_that_was_replaced_is_noticed(tmp_path):
    task = make_task(dense())
    path = tmp_path / "graph.heatgraph"
    task.graph.save(path)
    loaded = Graph.load(path)
    folder = tmp_path / "inputs"
    folder.mkdir()
    published = publish_inputs(make_task(None, graph=loaded, rows=[1]), folder, "a")
    task.graph.with_features(dense(39)).save(path)
    with pytest.raises(FileFormatError, match="has changed since the diffusion began"):
        published.graph.map()
    # From now on, what is mapped here is written for the workers.
    again = publish_inputs(make_task(None, graph=loaded, rows=[1]), folder, "b")
    assert again.graph.path != str(path.resolve())
    assert_array_equal(again.open(True, np.dtype(np.float32)).features, loaded.features)
