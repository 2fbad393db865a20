"""Compare samples of results with a reference in float64, and with heatgraph's.

The reference is computed with SciPy for two columns: a product S X, literal Euler steps, or the
action e^(-TL) X of the matrix exponential. It is stored beside the workload.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import expm_multiply

from benchmarks.benchmark import OURS
from benchmarks.results import Row


def compare_samples(rows: list[Row], samples: dict[int, Path], folders: dict[str, Path]) -> None:
    """Set each row's difference to its reference and its agreement with heatgraph.

    `samples` maps the index of a row to a file, which exists if the row was run; `folders` are
    those of workloads.
    """
    from benchmarks.workloads import Workload

    loaded = {place: np.load(path) for place, path in samples.items() if path.exists()}
    for place, sample in loaded.items():
        row = rows[place]
        kind = row.facts.get("reference")
        if kind:
            expected = load_reference(Workload(folders[row.data]), kind)
            row.difference = relative_difference(sample, expected)
        for other, ours in loaded.items():
            if rows[other].work == row.work and rows[other].peer == OURS and other != place:
                is_comparable = rows[other].facts.get("reference") == kind
                row.agreement = _agreement(sample, ours) if is_comparable else None


def load_reference(data: Any, kind: dict[str, Any]) -> np.ndarray:
    """The sampled rows and columns of a reference, exact but for the rounding of S to float32."""
    name = "-".join(f"{value}" for value in kind.values())
    path = data.folder / f"reference-{name}.npy"
    if not path.exists():
        np.save(path, _compute(data, **kind)[data.sampled_rows()])
    return np.load(path)


def _compute(data: Any, what: str, T: float = 0.0, K: int = 1, steps: int = 1) -> np.ndarray:
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


def relative_difference(value: np.ndarray, expected: np.ndarray) -> float:
    """Norm of the difference over the norm of what is expected."""
    return float(np.linalg.norm(value - expected) / np.linalg.norm(expected))


def _agreement(value: np.ndarray, ours: np.ndarray) -> float:
    """The share of equal labels, or the relative difference."""
    if value.dtype.kind in "iu":
        return float((value == ours).mean())
    return relative_difference(value, ours)
