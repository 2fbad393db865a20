"""A scheme of two stages that is defined here and nowhere else: what adding a scheme takes."""

from dataclasses import dataclass

import numpy as np
import pytest
from oracles import POLYNOMIALS

from heatgraph import schemes


@dataclass(frozen=True)
class Heun(schemes.SteppedScheme):
    """Heun's method: r(s) = (1 + z + z^2/2)^K with z = -delta (1 - s), stable for delta <= 1."""

    name = "heun"
    order = 2
    products_per_step = 2
    panels_in_memory = 6

    @classmethod
    def stability_limit(cls):
        return 1.0

    def step(self, S, X):
        delta = X.dtype.type(self.step_size)

        def L(Y):
            return Y - S(Y)

        L1 = L(X)
        L2 = L(X - delta * L1)
        return X - delta / 2 * (L1 + L2)

    def decay(self, x):
        z = -self.step_size * np.asarray(x, dtype=np.float64)
        return (1 + z * (1 + z / 2)) ** self.K

    def log_growth(self, radius):
        z = self.step_size * (1 + radius)
        return self.K * np.log1p(z * (1 + z / 2))


# From the textbook, for `oracles.response_matrix`.
POLYNOMIALS[Heun] = (1, 1, 1 / 2)


@pytest.fixture
def heun_is_registered():
    """Register `Heun` for one test, and leave the registry as it was."""
    schemes.register(Heun)
    yield
    del schemes.SCHEMES["heun"], schemes._BY_CLASS_NAME["Heun"]
