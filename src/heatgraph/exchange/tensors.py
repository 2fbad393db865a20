"""Tensors of others as arrays, labels and splits."""

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
    """Read a tensor, wherever it lives, or anything that NumPy reads."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        if "bfloat16" in str(values.dtype):
            values = values.float()  # NumPy has no bfloat16; float32 holds it exactly
        try:
            values = values.numpy()
        except (TypeError, RuntimeError) as error:
            raise InputError(f"{name} cannot be read as an array: {error}") from error
    return as_array(values, name)


def read_features(values: Any, name: str) -> Any:
    """Read a matrix, dense or sparse."""
    if values is None:
        return None
    return read_sparse(values, name) if _is_sparse(values) else read_array(values, name)


def _is_sparse(values: Any) -> bool:
    # torch_sparse.SparseTensor has no layout, and torch's own sparse tensors have no coo().
    return hasattr(values, "coo") or "sparse" in str(getattr(values, "layout", ""))


def read_sparse(tensor: Any, name: str) -> Any:
    """Read a sparse tensor of torch (COO, CSR or CSC) or of torch_sparse."""
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
    """Read one weight per edge."""
    if values is None:
        return None
    column = read_array(values, name)
    if column.ndim == 2 and column.shape[1] == 1:
        return column[:, 0]
    if column.ndim != 1:
        raise InputError(
            f"{name} must be one weight per edge. Got shape {column.shape}; put weights into "
            f"edge_weight (in DGL, edata['w']), or take {name} out to read edges without."
        )
    return column


def read_labels(values: Any, num_nodes: int) -> Array | None:
    """Read one label per node, into an array of their own."""
    if values is None:
        return None
    if not isinstance(values, list):
        values = read_array(values, "y")
        values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    return np.array(Labels.read(values, num_nodes).values)


def read_splits(stored: Mapping[str, Any], num_nodes: int) -> dict[str, Split]:
    """Read masks of nodes: one split, or a column per split."""
    masks = {}
    for part in ("train", "val", "test"):
        mask = stored.get(f"{part}_mask")
        if mask is not None:
            masks[part] = _checked_mask(read_array(mask, f"{part}_mask"), f"{part}_mask", num_nodes)
    if all(mask.ndim == 1 for mask in masks.values()):
        return {"public": _split_of(masks)} if masks else {}
    counts = sorted({mask.shape[1] for mask in masks.values() if mask.ndim == 2})
    if len(counts) > 1:
        raise InputError(
            "train_mask, val_mask and test_mask must have a column per split, equally many. Got "
            f"{' and '.join(map(str, counts))}."
        )
    return {
        str(place): _split_of(
            {part: mask if mask.ndim == 1 else mask[:, place] for part, mask in masks.items()}
        )
        for place in range(counts[0])
    }


def _checked_mask(mask: Array, name: str, num_nodes: int) -> Array:
    if mask.dtype != bool or mask.ndim not in (1, 2) or len(mask) != num_nodes:
        raise InputError(
            f"{name} must be booleans, one per node ({num_nodes:,}), or a column of them per "
            f"split. Got {mask.dtype} of shape {mask.shape}; {name}.bool() makes booleans of "
            "zeros and ones."
        )
    return mask


def _split_of(masks: Mapping[str, Array]) -> Split:
    none = np.zeros(0, dtype=bool)
    return Split(*(np.flatnonzero(masks.get(part, none)) for part in ("train", "val", "test")))


def dense_example(values: Any) -> Any:
    """Give a dense tensor of the device and type that `values` has."""
    if hasattr(values, "coo"):
        rows, _, stored = values.coo()
        return rows if stored is None else stored
    if "sparse" in str(getattr(values, "layout", "")):
        return (values.coalesce() if values.is_sparse else values).values()
    return values if hasattr(values, "dtype") else np.asarray(values)


def tensor_like(example: Any, values: Array) -> Any:
    """Give values as a tensor of the device and float type that `example` has."""
    if not hasattr(example, "new_tensor"):
        return values
    floats = example if example.is_floating_point() else example[:0].float()
    return floats.new_tensor(values)
