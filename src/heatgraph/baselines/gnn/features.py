"""Features as tensors: dense, or sparse with fast linear layers, forward and backward.

On bags of words, the first layer is ten times faster with a sparse X. For the gradient X^T G, torch
would sort all entries of X at every step; `Pattern` keeps the transposed sparsity pattern instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn import functional

from heatgraph._engine.sparse_products import sparse_times_dense


@dataclass(frozen=True)
class Pattern:
    """Sparsity pattern of a matrix in CSR and in CSC form.

    `csc_order` permutes entries from CSR order into CSC order.
    """

    indptr: Tensor
    indices: Tensor
    csc_indptr: Tensor
    csc_indices: Tensor
    csc_order: Tensor
    shape: tuple[int, int]

    @classmethod
    def from_csr(cls, indptr: Tensor, indices: Tensor, shape: tuple[int, int]) -> Pattern:
        """Build both forms from the CSR form."""
        positions = np.arange(len(indices))
        rows = sp.csr_array((positions, indices.numpy(), indptr.numpy()), shape=shape)
        columns = sp.csc_array(rows)
        starts, rows_of, order = index_tensors(columns.indptr, columns.indices, columns.data)
        return cls(indptr, indices, starts, rows_of, order, shape)


class SparseFeatures(torch.Tensor):
    """Sparse features (n, d). `torch.nn.functional.linear` is the only operation they support."""

    pattern: Pattern
    entries: Tensor

    @staticmethod
    def __new__(cls, pattern: Pattern, entries: Tensor) -> SparseFeatures:
        """Create features with the given entries, in CSR order."""
        # A meta tensor has a shape, which layers read, and no storage.
        features: SparseFeatures = torch.empty(pattern.shape, device="meta").as_subclass(cls)
        features.pattern, features.entries = pattern, entries
        return features

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Dispatch `linear` to the sparse product."""
        if function is functional.linear:
            X, weight, *bias = args
            result = _SparseProduct.apply(X.pattern, X.entries, weight.T)
            return result if not bias or bias[0] is None else result + bias[0]
        return super().__torch_function__(function, types, args, kwargs or {})


class _SparseProduct(torch.autograd.Function):
    """X W for fixed X; the gradient is X^T G."""

    @staticmethod
    def forward(context: Any, pattern: Pattern, entries: Tensor, W: Tensor) -> Tensor:
        context.pattern, context.entries = pattern, entries
        return _product(pattern.indptr, pattern.indices, entries, pattern.shape, W)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[None, None, Tensor]:
        pattern = context.pattern
        entries = context.entries.index_select(0, pattern.csc_order)
        arrays = (pattern.csc_indptr, pattern.csc_indices, entries, pattern.shape[::-1])
        return None, None, _product(*arrays, gradients[0])


def _product(
    indptr: Tensor, indices: Tensor, entries: Tensor, shape: tuple[int, ...], dense: Tensor
) -> Tensor:
    """A sparse matrix times a dense one, which for 64 columns takes half of torch's time."""
    matrix = sp.csr_array((entries.numpy(), indices.numpy(), indptr.numpy()), shape=shape)
    return torch.from_numpy(sparse_times_dense(matrix, dense.numpy(), torch.get_num_threads()))


def feature_tensor(X: Any, *, sparse: bool) -> Tensor:
    """Convert features (n, d) to float32; sparse ones stay sparse if `sparse`."""
    if sp.issparse(X) and sparse:
        X = sp.csr_array(X)
        indptr, indices = index_tensors(X.indptr, X.indices)
        pattern = Pattern.from_csr(indptr, indices, X.shape)
        return SparseFeatures(pattern, torch.from_numpy(X.data))
    X = X.toarray() if sp.issparse(X) else X
    return torch.from_numpy(np.ascontiguousarray(X, dtype=np.float32))


def permute_rows(X: Tensor, order: Tensor) -> Tensor:
    """X[order], for dense or sparse X."""
    if not isinstance(X, SparseFeatures):
        return X[order]
    pattern = X.pattern
    starts, counts = pattern.indptr[:-1][order], pattern.indptr.diff()[order]
    indptr = torch.cat([counts.new_zeros(1), counts.cumsum(0, dtype=counts.dtype)])
    positions = torch.arange(int(indptr[-1])) + (starts - indptr[:-1]).repeat_interleave(counts)
    return SparseFeatures(
        Pattern.from_csr(indptr, pattern.indices[positions], pattern.shape), X.entries[positions]
    )


def index_tensors(indptr: Any, *arrays: Any) -> list[Tensor]:
    """Index arrays of a sparse matrix, in 32 bits if they fit.

    MKL, which multiplies by torch's CSR tensors, reads indices of 32 bits; torch converts longer
    ones at every product, which takes as long as the product.
    """
    dtype = np.int32 if indptr[-1] <= np.iinfo(np.int32).max else np.int64
    return [torch.from_numpy(array.astype(dtype, copy=False)) for array in (indptr, *arrays)]
