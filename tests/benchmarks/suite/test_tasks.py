"""heatgraph's own tasks on a tiny graph: each runs, and computes what its reference says."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.reference import load_reference, relative_difference
from benchmarks.registry import BENCHMARKS
from benchmarks.workloads import Workload, write_arrays
from heatgraph import make_block_graph

JOBS = [
    job
    for name in ("product", "diffusion", "fit", "growth")
    for job in BENCHMARKS[name].jobs(0.001)
    if job.peer.startswith("heatgraph") and job.data != "citeseer"
]


@pytest.fixture(scope="module")
def workload(tmp_path_factory):
    data = make_block_graph(60, 200, 3, 8)
    features = sp.csr_array(np.abs(data.graph.features))
    folder = tmp_path_factory.mktemp("workloads") / "tiny"
    folder.mkdir()
    write_arrays(replace(data, graph=data.graph.with_features(features)), folder)
    return Workload(folder)


@pytest.fixture(scope="module")
def dense_workload(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workloads") / "dense"
    folder.mkdir()
    write_arrays(make_block_graph(60, 200, 3, 8), folder)
    return Workload(folder)


# The folder of an out-of-core result is removed with its task.
@pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning")
@pytest.mark.parametrize("job", JOBS, ids=lambda job: f"{job.work}, {job.peer}")
def test_task_computes_its_reference(job, workload, dense_workload):
    data = workload if job.data in ("cora", "pubmed") else dense_workload
    task = job.task(job, data)
    outcome = task.run()
    reference = outcome.facts.get("reference")
    if reference:
        expected = load_reference(data, reference)
        tol = job.settings.get("tol", 1e-6)
        assert relative_difference(task.sample(outcome.value), expected) < 10 * tol
