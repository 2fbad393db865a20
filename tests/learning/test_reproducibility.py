"""The tolerances that `DGCClassifier` states, across BLAS kernels of several processors.

OpenBLAS takes the kernels of the processor that OPENBLAS_CORETYPE names. Any x86-64 processor runs
those of older ones; elsewhere, or with another BLAS library, the variable has no effect.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

CORE_TYPES = ("Nehalem", "Sandybridge")
CODE = """
import sys
import numpy as np
from strategies import planted
from heatgraph import DGCClassifier

words, labels = planted(n=400, noise=3.0)
dense, _ = planted(n=400, kind="dense", noise=3.0)
few, many = np.arange(10), np.arange(120)
models = {
    "auto": DGCClassifier(n_threads=1).fit(words, labels, many, np.arange(120, 300)),
    "few": DGCClassifier(T=8.0, weight_decay=1e-6).fit(words, labels, few),
    "double": DGCClassifier(T=8.0, weight_decay=1e-6, dtype="float64").fit(dense, labels, many),
    "single": DGCClassifier(T=8.0, weight_decay=1e-6).fit(dense, labels, many),
}
arrays = {}
for name, model in models.items():
    arrays[f"{name} weights"] = np.hstack([model.coef_, model.intercept_[:, np.newaxis]])
    arrays[f"{name} probabilities"] = model.predict_proba()
    arrays[f"{name} setting"] = np.array([model.T_, model.weight_decay_])
np.savez(sys.argv[1], **arrays)
"""


def fitted(path, **environment):
    tests = Path(__file__).parents[1]
    paths = os.pathsep.join([str(tests), *filter(None, sys.path)])
    subprocess.run(
        [sys.executable, "-c", CODE, path],
        check=True,
        env={**os.environ, "PYTHONPATH": paths, **environment},
    )
    with np.load(path) as arrays:
        return dict(arrays)


@pytest.fixture(scope="module")
def fits(tmp_path_factory):
    """Fits with this processor's kernels, and with those of others."""
    folder = tmp_path_factory.mktemp("fits")
    own = fitted(folder / "own.npz")
    others = [fitted(folder / f"{core}.npz", OPENBLAS_CORETYPE=core) for core in CORE_TYPES]
    return own, others


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "weights", "probabilities"),
    [("few", 1e-5, 1e-4), ("double", 1e-5, 1e-4), ("single", 5e-3, 0.05)],
)
def test_given_settings_agree_across_processors(fits, name, weights, probabilities):
    own, others = fits
    expected = own[f"{name} weights"]
    for other in others:
        atol = weights * np.abs(expected).max()
        np.testing.assert_allclose(other[f"{name} weights"], expected, atol=atol)
        np.testing.assert_allclose(
            other[f"{name} probabilities"], own[f"{name} probabilities"], atol=probabilities
        )


@pytest.mark.slow
def test_searches_agree_across_processors(fits):
    own, others = fits
    T, weight_decay = own["auto setting"]
    P = own["auto probabilities"]
    for other in others:
        assert other["auto setting"][0] == pytest.approx(T, rel=0.01)
        assert other["auto setting"][1] == pytest.approx(weight_decay, rel=0.2)
        np.testing.assert_allclose(other["auto probabilities"], P, atol=0.1)
        changed = other["auto probabilities"].argmax(axis=1) != P.argmax(axis=1)
        assert changed.mean() <= 0.01
