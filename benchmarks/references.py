"""Whether peers did the same thing: samples of their results against a plain one in float64.

The reference is made with SciPy, for two columns: the product itself, literal Euler steps, or the
action of the matrix exponential. It is kept beside the workload.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import expm_multiply

from benchmarks.jobs import OURS
from benchmarks.rows import Row
from benchmarks.workloads import Workload


def reference(data: Workload, wanted: dict[str, Any]) -> np.ndarray:
    """The rows and columns of a result that are compared, exact but for rounding in S."""
    name = "-".join(f"{value}" for value in wanted.values())
    path = data.folder / f"reference-{name}.npy"
    if not path.exists():
        np.save(path, _compute(data, **wanted)[data.sampled_rows()])
    return np.load(path)


def _compute(data: Workload, what: str, T: float = 0.0, K: int = 1, steps: int = 1) -> np.ndarray:
    S, X = data.S().astype(np.float64), data.sampled_columns()
    if what == "product":
        return S @ X
    if what == "euler":
        delta = T / K
        for _ in range(steps):
            X = (1 - delta) * X + delta * (S @ X)
        return X
    generator = T * (S - sp.eye_array(S.shape[0], format="csr"))
    return expm_multiply(generator, X, traceA=float(generator.trace()))


def check(rows: list[Row], samples: dict[int, Path], folders: dict[str, Path]) -> None:
    """Fill in how far each row is from its reference, and from heatgraph's row of the same work.

    `samples` are files by the place of their row.
    """
    found = {place: np.load(path) for place, path in samples.items() if path.exists()}
    for place, sample in found.items():
        row = rows[place]
        wanted = row.facts.get("reference")
        if wanted:
            row.difference = _apart(sample, reference(Workload(folders[row.data]), wanted))
        for other, ours in found.items():
            if rows[other].work == row.work and rows[other].peer == OURS and other != place:
                same_aim = rows[other].facts.get("reference") == wanted
                row.agreement = _agreement(sample, ours) if same_aim else None


def _apart(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.linalg.norm(one - other) / np.linalg.norm(other))


def _agreement(one: np.ndarray, other: np.ndarray) -> float:
    if one.dtype.kind in "iu":
        return float((one == other).mean())
    return _apart(one, other)
