"""The same work as others do it."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
import torch
from scipy.sparse.linalg import expm_multiply

from heatgraph.paper.settings import AuthorsSetting

# Torch announces its sparse tensors as a beta feature, once for each kind.
warnings.filterwarnings("ignore", message=".*[Ss]parse.*", category=UserWarning)


def torch_coo(matrix: sp.csr_array) -> torch.Tensor:
    coo = matrix.tocoo()
    indices = torch.from_numpy(np.stack([coo.row, coo.col]).astype(np.int64))
    return torch.sparse_coo_tensor(indices, torch.from_numpy(coo.data), coo.shape).coalesce()


def torch_csr(matrix: sp.csr_array) -> torch.Tensor:
    arrays = (torch.from_numpy(a.copy()) for a in (matrix.indptr, matrix.indices, matrix.data))
    return torch.sparse_csr_tensor(*arrays, matrix.shape)


def published(S: sp.csr_array, X: torch.Tensor, T: float, K: int) -> torch.Tensor:
    """DGC-Euler as its authors run it: K products with (1 - T/K) I + (T/K) S."""
    delta = T / K
    identity = sp.eye_array(S.shape[0], format="csr")
    step = torch_coo(sp.csr_array((1 - delta) * identity + delta * S).astype(np.float32))
    for _ in range(K):
        X = torch.spmm(step, X)
    return X


def matrix_exponential(S: sp.csr_array, X: np.ndarray, T: float) -> np.ndarray:
    """SciPy's action of e^(-TL), which finds its own degree, in float64."""
    L = sp.eye_array(S.shape[0], format="csr") - S
    return expm_multiply(-T * L.astype(np.float64), X)


def published_fit(
    S: sp.csr_array,
    X: torch.Tensor,
    y: torch.Tensor,
    train: torch.Tensor,
    setting: AuthorsSetting,
    start: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray:
    """DGC as its authors run it, from features to predictions: K steps, then 100 epochs of Adam.

    `start` are weights (C, d) and bias (C,) to begin with, instead of random ones.
    """
    X_T = published(S, X, setting.T, setting.K)
    model = torch.nn.Linear(X.shape[1], int(y.max()) + 1)
    if start is not None:
        with torch.no_grad():
            model.weight.copy_(torch.from_numpy(start[0]))
            model.bias.copy_(torch.from_numpy(start[1]))
    optimizer = torch.optim.Adam(
        model.parameters(), lr=setting.learning_rate, weight_decay=setting.weight_decay
    )
    X_train, y_train = X_T[train], y[train]
    for _ in range(100):
        model.train()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(X_train), y_train).backward()
        optimizer.step()
    with torch.no_grad():
        return model(X_T).argmax(dim=1).numpy()
