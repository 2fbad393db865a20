"""Conversion of tensors, dense or sparse, to arrays, labels and splits, without importing torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._arguments import as_array, check_real
from heatgraph.datasets.splits import Split
from heatgraph.errors import InputError
from heatgraph.learning._labels import Labels

Array = npt.NDArray[Any]


def read_array(values: Any, name: str) -> Array:
    """Convert a tensor on any device, or anything that NumPy converts, to an array."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        if "bfloat16" in str(values.dtype):
            values = values.float()  # NumPy has no bfloat16, and float32 represents it exactly
        try:
            values = values.numpy()
        except (TypeError, RuntimeError) as error:
            raise InputError(f"{name} cannot be read as an array: {error}") from error
    return as_array(values, name)


def read_features(values: Any, name: str) -> Any:
    """Convert a dense or sparse tensor to an array or SciPy matrix."""
    if values is None:
        return None
    return read_sparse(values, name) if _is_sparse(values) else read_array(values, name)


def _is_sparse(values: Any) -> bool:
    # torch_sparse.SparseTensor has coo() but no layout; torch's sparse tensors are the opposite.
    return hasattr(values, "coo") or "sparse" in str(getattr(values, "layout", ""))


def read_sparse(tensor: Any, name: str) -> Any:
    """Convert a sparse tensor of torch (COO, CSR or CSC) or of torch_sparse to a SciPy matrix."""
    layout = str(getattr(tensor, "layout", "")).removeprefix("torch.")
    kind: Any = sp.coo_array
    if hasattr(tensor, "coo"):
        rows, columns, values = tensor.coo()
        shape, indices = tensor.sparse_sizes(), [rows, columns]
    elif layout == "sparse_coo":
        tensor = tensor.detach().coalesce()
        values, shape, indices = tensor.values(), tensor.shape, list(tensor.indices())
    elif layout == "sparse_csr":
        kind, values, shape = sp.csr_array, tensor.values(), tensor.shape
        indices = [tensor.col_indices(), tensor.crow_indices()]
    elif layout == "sparse_csc":
        kind, values, shape = sp.csc_array, tensor.values(), tensor.shape
        indices = [tensor.row_indices(), tensor.ccol_indices()]
    else:
        raise InputError(
            f"{name} must be a sparse tensor in COO, CSR or CSC form. Got {layout or type(tensor)}."
        )
    arrays = [read_array(index, name) for index in indices]
    data = np.ones(len(arrays[0]), dtype=bool) if values is None else read_array(values, name)
    check_real(data.dtype, name)
    try:
        parts = (data, tuple(arrays)) if kind is sp.coo_array else (data, *arrays)
        return kind(parts, shape=tuple(map(int, shape)))
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is not a valid sparse tensor: {error}") from error


def read_column(values: Any, name: str) -> Array | None:
    """Convert one weight per edge, of shape (m,) or (m, 1), to an array (m,)."""
    if values is None:
        return None
    column = read_array(values, name)
    if column.ndim == 2 and column.shape[1] == 1:
        return column[:, 0]
    if column.ndim != 1:
        raise InputError(
            f"{name} must be one weight per edge. Got shape {column.shape}; store weights in "
            f"edge_weight (in DGL, edata['w']), or delete {name} for an unweighted graph."
        )
    return column


def read_labels(values: Any, num_nodes: int) -> Array | None:
    """Copy one label per node, of shape (n,) or (n, 1), to an array (n,)."""
    if values is None:
        return None
    if not isinstance(values, list):
        values = read_array(values, "y")
        values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    return np.array(Labels.read(values, num_nodes).values)


def read_splits(stored: Mapping[str, Any], num_nodes: int) -> dict[str, Split]:
    """Convert masks to splits: one, named "public", or one for each column, named by number."""
    masks = {}
    for part in ("train", "val", "test"):
        mask = stored.get(f"{part}_mask")
        if mask is not None:
            masks[part] = _read_mask(mask, f"{part}_mask", num_nodes)
    if all(mask.ndim == 1 for mask in masks.values()):
        return {"public": _split_from_masks(masks)} if masks else {}
    counts = sorted({mask.shape[1] for mask in masks.values() if mask.ndim == 2})
    if len(counts) > 1:
        raise InputError(
            "train_mask, val_mask and test_mask must have a column per split, equally many. Got "
            f"{' and '.join(map(str, counts))}."
        )
    return {
        str(column): _split_from_masks(
            {part: mask if mask.ndim == 1 else mask[:, column] for part, mask in masks.items()}
        )
        for column in range(counts[0])
    }


def _read_mask(values: Any, name: str, num_nodes: int) -> Array:
    mask = read_array(values, name)
    if mask.dtype != bool or mask.ndim not in (1, 2) or len(mask) != num_nodes:
        raise InputError(
            f"{name} must be booleans, one per node ({num_nodes:,}), or a column of them per "
            f"split. Got {mask.dtype} of shape {mask.shape}; {name}.bool() converts zeros and "
            "ones."
        )
    return mask


def _split_from_masks(masks: Mapping[str, Array]) -> Split:
    none = np.zeros(0, dtype=bool)
    return Split(*(np.flatnonzero(masks.get(part, none)) for part in ("train", "val", "test")))


def dense_example(values: Any) -> Any:
    """A dense tensor with the device and dtype of `values`, for `tensor_like`."""
    if hasattr(values, "coo"):
        rows, _, stored = values.coo()
        return rows if stored is None else stored
    if "sparse" in str(getattr(values, "layout", "")):
        return (values.coalesce() if values.is_sparse else values).values()
    return values if hasattr(values, "dtype") else np.asarray(values)


def tensor_like(example: Any, values: Array) -> Any:
    """Convert an array to a tensor with the device of `example` and its dtype, if that is float.

    Otherwise the dtype is float32; if `example` is an array, `values` is returned.
    """
    if not hasattr(example, "new_tensor"):
        return values
    floats = example if example.is_floating_point() else example[:0].float()
    return floats.new_tensor(values)
