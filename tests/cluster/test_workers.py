from dataclasses import replace

import pytest

from heatgraph.cluster._workers import (
    WorkerState,
    _check_versions,
    examine_workers,
    limits,
    own_versions,
)
from heatgraph.errors import InputError

STATE = WorkerState(own_versions(), 1000.0, 0.8, 0.6, 100, 4, True)


def test_limits_are_those_of_the_smallest_worker():
    found = limits([STATE, replace(STATE, memory_limit=500.0), replace(STATE, threads=2)])
    assert (found.count, found.threads, found.memory_limit) == (3, 2, 500.0)
    assert found.available == 0.8 * 500 - 100
    assert found.managed == 0.6 * 500 - 100


def test_real_workers_are_examined(client, tmp_path):
    found = examine_workers(client, tmp_path)
    assert (found.count, found.threads) == (2, 1)
    assert 0 < found.managed < found.available < found.memory_limit
    assert list(tmp_path.iterdir()) == []


def test_other_versions_are_refused():
    other = replace(STATE, versions=("0.0.1", *own_versions()[1:]))
    with pytest.raises(InputError, match=r"heatgraph is 0.0.1 on the worker tcp://b.*Install"):
        _check_versions({"tcp://a": STATE, "tcp://b": other})


def test_a_folder_that_a_worker_does_not_see_is_refused(client, tmp_path, monkeypatch):
    states = {"tcp://a": STATE, "tcp://b": replace(STATE, sees_folder=False)}
    monkeypatch.setattr(client, "run", lambda *_: states)
    with pytest.raises(InputError, match="not visible on 1 of 2 workers, such as tcp://b"):
        examine_workers(client, tmp_path)
