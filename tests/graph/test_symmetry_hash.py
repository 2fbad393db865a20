"""The hash sum that is zero for symmetric matrices. Asymmetric files are in test_storage."""

import numpy as np
import pytest
import scipy.sparse as sp

from heatgraph.graph._symmetry_hash import SymmetryHash


def balance(A, hashes):
    """The sum over all entries of a matrix, taken in two blocks of rows."""
    entries = sp.csr_array(A).tocoo()
    rows, columns = entries.coords
    weights = hashes.hash_weights(entries.data)
    half = np.searchsorted(rows, A.shape[0] // 2)
    return (
        sum(
            hashes.balance(rows[part], columns[part], weights[part])
            for part in (slice(half), slice(half, None))
        )
        % 2**64
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(5))
def test_only_symmetric_matrices_are_balanced(dtype, seed):
    random = np.random.default_rng(seed)
    A = random.random((12, 12)).astype(dtype)
    assert balance(A + A.T, SymmetryHash()) == 0
    assert balance(A, SymmetryHash()) != 0
    uneven = A + A.T
    uneven[2, 7] = np.nextafter(uneven[2, 7], dtype(9))
    assert balance(uneven, SymmetryHash()) != 0


def test_hashes_differ_between_readings():
    entry = np.array([0]), np.array([1]), None
    assert len({SymmetryHash().balance(*entry) for _ in range(20)}) == 20
