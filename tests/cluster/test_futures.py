from types import SimpleNamespace

import pytest

from heatgraph.cluster._futures import await_all
from heatgraph.errors import ClusterError, InputError, MemoryBudgetError


def double(number):
    return 2 * number


def refuse(number):
    raise InputError("a wrong argument")


def test_results_come_in_order_and_are_counted(client):
    done = []
    futures = [client.submit(double, number, pure=False) for number in range(5)]
    assert await_all(client, futures, str, lambda: done.append(1)) == [0, 2, 4, 6, 8]
    assert len(done) == 5


def test_an_input_error_is_raised_as_it_is(client):
    futures = [client.submit(refuse, number, pure=False) for number in range(3)]
    with pytest.raises(InputError, match="^a wrong argument$"):
        await_all(client, futures, str)


def test_a_task_that_kills_its_workers_is_about_memory(client, monkeypatch):
    distributed = pytest.importorskip("distributed")
    future = client.submit(double, 1, pure=False)
    killed = distributed.KilledWorker("task", SimpleNamespace(address="a", name="a"), 3)
    monkeypatch.setattr(type(future), "result", lambda self: (_ for _ in ()).throw(killed))
    with pytest.raises(MemoryBudgetError, match="killed with its worker 4 times.*needs 3 GB"):
        await_all(client, [future], lambda: "It needs 3 GB.")


def test_a_lost_cluster_tells_how_to_go_on(client, monkeypatch):
    future = client.submit(double, 1, pure=False)

    def lose(self):
        monkeypatch.setattr(client, "status", "closed")
        raise OSError("gone")

    monkeypatch.setattr(type(future), "result", lose)
    with pytest.raises(ClusterError, match="was lost. Finished panels are on disk"):
        await_all(client, [future], str)
