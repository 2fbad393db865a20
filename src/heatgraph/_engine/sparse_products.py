"""Products of sparse matrices with dense ones, on several threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._engine.ranges import row_ranges
from heatgraph._engine.threads import WorkerThreads, thread_count

Array = npt.NDArray[Any]


def sparse_times_dense(matrix: Any, dense: Array, n_threads: int | None = None) -> Array:
    """Multiply a sparse matrix (i, j) by a dense one (j, w), in the precision of the latter.

    The result does not depend on the number of threads.
    """
    from heatgraph._engine.kernels import multiply

    rows = _kernel_arrays(sp.csr_array(matrix), dense.dtype)
    dense = np.ascontiguousarray(dense)
    out = np.empty((rows.shape[0], dense.shape[1]), dtype=dense.dtype)
    threads = thread_count(n_threads)
    ranges = row_ranges(rows.indptr.astype(np.int64), dense.shape[1], 0, threads)
    with WorkerThreads(threads) as workers:
        workers.map(lambda part: multiply(rows, dense, out, part), ranges)
    return out


def _kernel_arrays(matrix: sp.csr_array, dtype: np.dtype[Any]) -> sp.csr_array:
    """The matrix with contiguous arrays, since kernels read from their addresses.

    SciPy's constructor converts `indices` and `indptr` to the same type.
    """
    arrays = (
        np.ascontiguousarray(matrix.data, dtype=dtype),
        np.ascontiguousarray(matrix.indices),
        np.ascontiguousarray(matrix.indptr),
    )
    return sp.csr_array(arrays, shape=matrix.shape)
