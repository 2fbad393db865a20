"""Diffusions on real worker processes: the same bits as on one machine, in both modes."""

import os
import signal
import sys
import textwrap
import time

import numpy as np
import psutil
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from processes import start

from heatgraph import Euler, Graph, Heat, diffuse, diffuse_many
from heatgraph.cluster import Cluster
from heatgraph.cluster._inputs import publish_inputs
from heatgraph.errors import InputError, MemoryBudgetError

SCHEMES = [Heat(2.0), Heat(4.0)]
MODES = ["columns", "blocks"]


def make(n=1000, m=5000, d=40, seed=0, weighted=False, sparse=False):
    random = np.random.default_rng(seed)
    ends = random.integers(0, n, size=(2, m))
    weights = random.uniform(1, 2, m) if weighted else None
    X = random.normal(size=(n, d)).astype(np.float32)
    if sparse:
        X = sp.csr_array(np.where(random.random(X.shape) < 0.2, X, 0))
    return Graph.from_edges(
        *ends, weights, features=X, num_nodes=n, symmetrize="max", duplicates="max"
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("reorder", [False, True])
@pytest.mark.parametrize("rows", [None, range(900, 20, -1)])
def test_the_same_bits_as_one_machine(client, tmp_path, mode, weighted, sparse, reorder, rows):
    graph = make(weighted=weighted, sparse=sparse)
    options = {"rows": rows, "reorder": reorder}
    path = tmp_path / "X_T.npy"
    cluster = Cluster(client, mode=mode, blocks=3 if mode == "blocks" else None)
    written = diffuse_many(graph, SCHEMES, out=path, cluster=cluster, **options)
    assert_array_equal(written, diffuse_many(graph, SCHEMES, **options))
    assert [entry.name for entry in tmp_path.iterdir()] == ["X_T.npy"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mode", MODES)
def test_in_memory_and_from_a_stored_graph(client, tmp_path, mode, dtype):
    make().save(tmp_path / "graph.heatgraph")
    graph = Graph.load(tmp_path / "graph.heatgraph")
    cluster = Cluster(client, mode=mode, local_seconds=0)
    assert_array_equal(
        diffuse(graph, 3.0, dtype=dtype, cluster=cluster), diffuse(graph, 3.0, dtype=dtype)
    )
    assert [entry.name for entry in tmp_path.iterdir()] == ["graph.heatgraph"]


def test_few_rows_and_literal_steps(client, tmp_path):
    graph, cluster = make(), Cluster(client, folder=tmp_path, local_seconds=0)
    few = {"rows": [3, 1, 900]}
    assert_array_equal(diffuse(graph, 3.0, **few, cluster=cluster), diffuse(graph, 3.0, **few))
    steps = {"scheme": Euler(3.0, 5), "method": "steps"}
    assert_array_equal(diffuse(graph, **steps, cluster=cluster), diffuse(graph, **steps))
    blocks = Cluster(client, mode="blocks", folder=tmp_path, local_seconds=0)
    # One machine diffuses unit columns here, and blocks diffuse features.
    assert_allclose(
        diffuse(graph, 3.0, **few, cluster=blocks), diffuse(graph, 3.0, **few), atol=1e-5
    )
    with pytest.raises(InputError, match="Chebyshev"):
        diffuse(graph, **steps, cluster=blocks)


def test_short_diffusions_run_in_this_process(client, tmp_path, monkeypatch):
    monkeypatch.setattr(client, "run", lambda *_: pytest.fail("asks the workers"))
    graph = make()
    result = diffuse(graph, 1.0, cluster=Cluster(client, folder=tmp_path))
    assert_array_equal(result, diffuse(graph, 1.0))


def test_an_error_of_a_worker_is_raised_here(client, tmp_path):
    graph = make(d=3).with_features(np.full((1000, 3), 3e38, dtype=np.float32))
    for mode in MODES:
        with pytest.raises(InputError, match="exceeds float32"):
            diffuse(graph, 1.0, out=tmp_path / "X_T.npy", cluster=Cluster(client, mode=mode))


def test_progress_ends_with_the_total(client, tmp_path):
    calls = []
    graph = make(d=40)
    diffuse(
        graph, 3.0, out=tmp_path / "X_T.npy", cluster=client, memory_budget=400_000,
        progress=lambda *call: calls.append(call),
    )  # fmt: skip
    assert calls == sorted(calls)
    assert calls[-1][0] == calls[-1][1] > 0
    assert len(calls) > 2


def killed_once(client, path, panels, workers):
    """A progress callback that kills workers once some panels are there, and tells which."""
    found = {}

    def progress(done, total):
        folder = path.with_name(path.name + ".unfinished")
        files = sorted(folder.glob("*.safetensors"))
        if len(files) >= panels and not found:
            found.update({file.name: file.stat().st_mtime_ns for file in files})
            for pid in list(client.run(os.getpid).values())[:workers]:
                os.kill(pid, signal.SIGKILL)

    return progress, found


@pytest.mark.signals
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("workers", [1, 2])
def test_killed_workers_cost_no_finished_panel(client, tmp_path, monkeypatch, mode, workers):
    graph, path = make(n=20_000, m=200_000, d=96), tmp_path / "X_T.npy"
    progress, found = killed_once(client, path, 2, workers)
    last = {}
    finish = "heatgraph._engine.checkpoint.Checkpoint.finish"
    from heatgraph._engine.checkpoint import Checkpoint

    original = Checkpoint.finish

    def finish_and_note(self):
        last.update({f.name: f.stat().st_mtime_ns for f in self.folder.glob("*.safetensors")})
        return original(self)

    monkeypatch.setattr(finish, finish_and_note)
    result = diffuse(
        graph, 10.0, out=path, cluster=Cluster(client, mode=mode), progress=progress,
        memory_budget=20_000_000 if mode == "columns" else 40_000_000,
    )  # fmt: skip
    assert_array_equal(result, diffuse(graph, 10.0))
    assert found, "no worker was killed"
    assert found.items() <= last.items()
    client.wait_for_workers(2, timeout=300)


RUN = """
    import sys
    import numpy as np
    from heatgraph import Graph, diffuse
    from heatgraph.cluster import Cluster

    if __name__ == "__main__":
        graph = Graph.load(sys.argv[1])
        cluster = Cluster("local:" + sys.argv[4], mode=sys.argv[3])
        diffuse(graph, 20.0, out=sys.argv[2], cluster=cluster, memory_budget=30_000_000)
"""


@pytest.mark.signals
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.parametrize("mode", MODES)
def test_after_client_scheduler_and_workers_are_killed_the_same_call_resumes(tmp_path, mode):
    pytest.importorskip("distributed")
    graph = make(n=20_000, m=200_000, d=96)
    stored, path, script = (tmp_path / name for name in ("g.heatgraph", "X_T.npy", "run.py"))
    graph.save(stored)
    script.write_text(textwrap.dedent(RUN))
    command = [sys.executable, script, stored, path, mode]
    process = start([*command, "2"], start_new_session=True)
    folder = path.with_name("X_T.npy.unfinished")
    deadline = time.monotonic() + 120
    while len(list(folder.glob("*.safetensors"))) < 2 and time.monotonic() < deadline:
        assert process.poll() is None, "it finished before it could be killed"
        time.sleep(0.02)
    family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    for member in family:
        member.kill()
    process.wait()
    before = {file.name: file.stat().st_mtime_ns for file in folder.glob("*.safetensors")}
    assert before
    assert not path.exists()
    # A cluster of another size goes on with the same panels, if its memory allows it.
    assert start([*command, "1" if mode == "columns" else "2"]).wait() == 0
    assert_array_equal(np.load(path), diffuse(graph, 20.0))
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [
        "X_T.npy",
        "g.heatgraph",
        "run.py",
    ]


def test_a_folder_whose_run_needs_more_memory_is_refused(client, tmp_path, monkeypatch):
    graph, path = make(d=64), tmp_path / "X_T.npy"
    monkeypatch.setattr(
        "heatgraph.cluster._run._compute", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        diffuse(graph, 3.0, out=path, cluster=client)
    with pytest.raises(MemoryBudgetError, match="delete the folder"):
        diffuse(graph, 3.0, out=path, cluster=client, memory_budget=200_000)


def test_inputs_that_exist_are_used_again(client, tmp_path, monkeypatch):
    graph, path = make(), tmp_path / "X_T.npy"
    monkeypatch.setattr(
        "heatgraph.cluster._run.await_all", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        diffuse(graph, 3.0, out=path, cluster=client)
    monkeypatch.undo()
    inputs = path.with_name("X_T.npy.unfinished") / "inputs"
    before = {file: file.stat().st_mtime_ns for file in inputs.iterdir()}
    seen = []

    def publish_and_note(*arguments):
        published = publish_inputs(*arguments)
        seen.append({file: file.stat().st_mtime_ns for file in inputs.iterdir()})
        return published

    monkeypatch.setattr("heatgraph.cluster._run.publish_inputs", publish_and_note)
    assert_array_equal(diffuse(graph, 3.0, out=path, cluster=client), diffuse(graph, 3.0))
    assert seen == [before]
