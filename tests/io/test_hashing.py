import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from heatgraph._io import hashing
from heatgraph._io.hashing import fingerprint

A = sp.csr_array(np.eye(3))
X = np.arange(12.0).reshape(4, 3)

# Tuples of parts, all of which are different data.
DISTINCT = [
    (), (None,), (1,), ("1",), (1, 2), (np.arange(3),), (np.arange(3.0),), (np.array(3),),
    (np.arange(3)[:, np.newaxis],), (np.arange(4),), (A,), (2 * A,), (A, None), (np.empty(0),),
    (sp.csr_array((3, 3)),), (sp.csr_array((3, 4)),), (np.array([0, 1]), np.array([2])),
    (np.array([0]), np.array([1, 2])), (np.array(["a", "b"]),), (np.array(["a", "c"]),),
    (np.array(["a", None], dtype=object),), (np.array(["a", "None"], dtype=object),),
    (np.array(["2026-01-01"], dtype="M8[D]"),), (np.array(["2026-01-02"], dtype="M8[D]"),),
]  # fmt: skip


def test_different_data_have_different_fingerprints():
    assert len({fingerprint(*parts) for parts in DISTINCT}) == len(DISTINCT)


def test_memory_layout_does_not_count():
    wide = np.zeros((4, 6))
    wide[:, ::2] = X
    for same in (X.copy(), np.asfortranarray(X), wide[:, ::2]):
        assert fingerprint(same) == fingerprint(X)


@pytest.mark.parametrize("block_bytes", [1, 100])
def test_block_size_does_not_count(monkeypatch, block_bytes):
    before = fingerprint(X, A)
    monkeypatch.setattr(hashing, "BLOCK_BYTES", block_bytes)
    assert fingerprint(X, A) == before


def test_another_process_finds_the_same_fingerprint():
    code = (
        "import numpy as np; from heatgraph._io.hashing import fingerprint;"
        "print(fingerprint(np.array(['a', None], dtype=object), np.arange(5), 'x', (1, 2.5)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    labels = np.array(["a", None], dtype=object)
    assert run.stdout.strip() == fingerprint(labels, np.arange(5), "x", (1, 2.5))
