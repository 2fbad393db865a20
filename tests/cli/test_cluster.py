"""``fit`` and ``predict`` on a cluster: the same files, and one connection per command."""

import contextlib
import json
import sys
from dataclasses import replace

import pytest
from table_files import assert_error

from heatgraph.cluster import _connection, _run

TABLES = ("nodes.csv", "edges.csv")
FIT = ("fit", *TABLES, "--T", "1,3", "--weight-decay", "1e-3")


@pytest.fixture
def runs(monkeypatch):
    """The diffusions on a cluster, which takes every one of them, however short."""
    open_cluster = _connection.open_cluster

    @contextlib.contextmanager
    def open_eagerly(*arguments):
        with open_cluster(*arguments) as cluster:
            yield cluster and replace(cluster, local_seconds=0)

    monkeypatch.setattr(_connection, "open_cluster", open_eagerly)
    tasks, run = [], _run.run_to_file
    monkeypatch.setattr(
        _run, "run_to_file", lambda task, *rest: tasks.append(task) or run(task, *rest)
    )
    return tasks


@pytest.fixture
def opened(monkeypatch):
    """The clients that were opened."""
    clients, open_client = [], _connection._open_client
    monkeypatch.setattr(
        _connection,
        "_open_client",
        lambda *arguments: clients.append(open_client(*arguments)) or clients[-1],
    )
    return clients


def test_fit_and_predict_write_the_same_predictions(folder, run, client, runs, opened):
    assert run(*FIT, "-o", "alone.csv", "-m", "alone").code == 0
    assert not runs
    on_cluster = ("--cluster", client.scheduler.address)
    done = run(*FIT, "-o", "cluster.csv", "-m", "cluster", *on_cluster)
    assert done.code == 0, done.err
    assert len(runs) > 1
    assert len(opened) == 1
    fitted_by = len(runs)
    done = run("predict", "cluster", *TABLES, "-o", "predicted.csv", *on_cluster)
    assert done.code == 0, done.err
    assert len(runs) > fitted_by
    assert [client.status for client in opened] == ["closed", "closed"]
    assert (folder / "cluster").read_bytes() == (folder / "alone").read_bytes()
    assert run("predict", "alone", *TABLES, "-o", "again.csv").code == 0
    for one, other in (("cluster", "alone"), ("predicted", "again")):
        assert (folder / f"{one}.csv").read_bytes() == (folder / f"{other}.csv").read_bytes()


def test_local_processes(folder, run, runs):
    pytest.importorskip("distributed")
    done = run("diffuse", *TABLES, "--T", "2", "-o", "x_t.npy", "--cluster", "local:1", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["plan"]["workers"] == 1
    assert len(runs) == 1


@pytest.mark.parametrize("command", [(*FIT, "-m", "new"), ("predict", "model", *TABLES, "-o", "-")])
def test_a_missing_extra_is_told_before_tables_are_read(model, folder, run, monkeypatch, command):
    monkeypatch.setitem(sys.modules, "distributed", None)
    (folder / "nodes.csv").write_text("not a table", encoding="utf-8")
    assert_error(run(*command, "--cluster", "local:2"), "pip install 'heatgraph[cluster]'")
