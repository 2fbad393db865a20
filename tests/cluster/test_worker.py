import pickle
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

pytest.importorskip("distributed")

from heatgraph import Graph, Heat, diffuse
from heatgraph._engine.checkpoint import has_panel
from heatgraph._io.tensor_file import map_tensors
from heatgraph.cluster import _worker
from heatgraph.cluster._inputs import publish_inputs
from heatgraph.cluster._worker import DiffusionPlugin, Job, diffuse_panel
from heatgraph.diffusion import _prepare


@pytest.fixture
def job(tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 24)).astype(np.float32)
    graph = Graph.from_edges(*random.integers(0, 300, (2, 900)), features=X, symmetrize="max")
    task = _prepare(
        graph, [Heat(2.0)], True, None, "auto", 1e-6, np.float32, 60_000, 1, False, "x", None
    )
    inputs = publish_inputs(task, tmp_path, "token")
    return Job(task.fingerprint(), str(tmp_path), task.settings, inputs, True), task


def test_a_job_is_small_and_a_worker_computes_its_panels(job, tmp_path, monkeypatch):
    job, task = job
    assert len(pickle.dumps(DiffusionPlugin(job))) < 5_000
    plugin = pickle.loads(pickle.dumps(DiffusionPlugin(job)))
    plugin._opening, plugin.computing = threading.Lock(), threading.Lock()
    monkeypatch.setattr(_worker, "get_worker", lambda: SimpleNamespace(plugins={job.name: plugin}))
    expected = diffuse(task.graph, 2.0)
    assert len(task.plan.panels) > 1
    for panel in task.plan.panels:
        assert not has_panel(tmp_path, panel, job.fingerprint)
        diffuse_panel(job.name, panel.start, panel.stop)
        file = tmp_path / f"{panel.start}-{panel.stop}.safetensors"
        values = map_tensors(file, "panel of a diffusion")[1]["values"]
        assert_array_equal(values[0], expected[:, panel])
        written = file.stat().st_mtime_ns
        diffuse_panel(job.name, panel.start, panel.stop)
        assert file.stat().st_mtime_ns == written, "a finished panel is left as it is"
        assert not has_panel(tmp_path, panel, "another fingerprint")
