"""CSR arrays in files, against SciPy's."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from heatgraph.errors import InputError
from heatgraph.graph import _csr_files
from heatgraph.graph._csr_files import CSRFiles
from heatgraph.graph._entry_merger import MergedEntries

FLOAT = np.dtype(np.float32)


def read(stored):
    raw = np.concatenate([np.empty(0, stored.dtype), *(
        np.frombuffer(block, stored.dtype) for block in stored.blocks()
    )])  # fmt: skip
    return raw.reshape(stored.shape)


def write(folder, matrix, cuts, weighted=True, index=np.int32):
    """Append the entries of a matrix in several pieces, which may divide rows."""
    coo = matrix.tocoo()
    pieces = zip(*(np.split(values, cuts) for values in (coo.row, coo.col, coo.data)), strict=True)
    dtype = FLOAT if weighted else None
    with CSRFiles(folder, matrix.shape[0], np.dtype(index), dtype) as files:
        for rows, columns, weights in pieces:
            files.append(MergedEntries(rows, columns, weights if weighted else None))
        return files, *files.finish()


@given(
    n=st.integers(1, 30),
    density=st.sampled_from([0.0, 0.05, 0.5]),
    cuts=st.lists(st.integers(0, 400), max_size=4).map(sorted),
    weighted=st.booleans(),
    block=st.integers(1, 5),
    seed=st.integers(0, 2**32 - 1),
)
def test_arrays(tmp_path_factory, n, density, cuts, weighted, block, seed):
    random = np.random.default_rng(seed)
    A = sp.csr_array((random.random((n, n)) < density) * random.random((n, n)).astype(FLOAT))
    folder = tmp_path_factory.mktemp("csr")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_csr_files, "BLOCK_ROWS", block)
        files, indptr, indices, weights = write(folder, A, cuts, weighted, np.int64)
    np.testing.assert_array_equal(read(indptr), A.indptr)
    np.testing.assert_array_equal(read(indices), A.indices)
    assert (indptr.dtype, indices.dtype) == (np.int64, np.int64)
    assert (weights is None) == (not weighted or A.nnz == 0)
    if weights is not None:
        np.testing.assert_array_equal(read(weights), A.data)
    assert files.num_entries == A.nnz
    assert files.num_linked == np.count_nonzero(np.diff(A.indptr))


def test_weights_of_one_are_left_out(tmp_path):
    A = sp.csr_array(np.eye(4, dtype=FLOAT))
    assert write(tmp_path, A, [2])[3] is None
    A.data[1] = 2
    assert write(tmp_path, A, [2])[3] is not None


def test_a_row_that_overflows_over_two_pieces(tmp_path):
    rows, columns = np.array([1, 1]), np.array([0, 2])
    with CSRFiles(tmp_path, 3, np.dtype(np.int32), np.dtype(np.float64)) as files:
        for at in range(2):
            piece = slice(at, at + 1)
            files.append(MergedEntries(rows[piece], columns[piece], np.array([1e308])))
        with pytest.raises(InputError, match="at node 1 they add up to infinity"):
            files.finish()
