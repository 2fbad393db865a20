import numpy as np
import pytest
from numpy.testing import assert_array_equal

pytest.importorskip("distributed")

from types import SimpleNamespace

from heatgraph.cluster import _block_worker
from heatgraph.cluster._block_worker import has_state, restore_state, save_state
from heatgraph.cluster._row_blocks import BlockState


@pytest.fixture
def job(tmp_path, monkeypatch):
    job = SimpleNamespace(
        fingerprint="f",
        state_file=lambda panel, k, number: tmp_path / f"{panel.start}-{k}-{number}",
    )
    monkeypatch.setattr(_block_worker, "worker_plugin", lambda name: SimpleNamespace(job=job))
    return job


@pytest.mark.parametrize("first", [False, True])
def test_states_are_restored_to_the_last_bit(job, first):
    random = np.random.default_rng(0)
    current, previous, sums = random.normal(size=(3, 5, 4)).astype(np.float32)
    state = BlockState(current, None, None) if first else BlockState(current, previous, sums[None])
    panel = slice(0, 4)
    assert not has_state(job, panel, 8, 1)
    save_state("name", 1, 0, 4, 8, state)
    assert has_state(job, panel, 8, 1)
    restored = restore_state("name", 1, 0, 4, 8)
    for wanted, found in zip(state, restored, strict=True):
        if wanted is None:
            assert found is None
        else:
            assert_array_equal(found, wanted)


def test_a_damaged_or_foreign_state_does_not_count(job):
    state = BlockState(np.ones((5, 4), dtype=np.float32), None, None)
    save_state("name", 0, 0, 4, 8, state)
    path = job.state_file(slice(0, 4), 8, 0)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert not has_state(job, slice(0, 4), 8, 0)
    path.write_bytes(whole)
    job.fingerprint = "another"
    assert not has_state(job, slice(0, 4), 8, 0)
