import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from heatgraph import Euler, Heat, PersonalizedPageRank, RungeKutta4
from heatgraph._engine.panels import ChebyshevSeries, LiteralSteps, prepare_features
from heatgraph.errors import InputError

DOUBLE = np.dtype(np.float64)


def test_series_share_one_table_of_coefficients():
    schemes = [Heat(1.0), Heat(9.0), PersonalizedPageRank(0.3)]
    series = ChebyshevSeries.from_schemes(schemes, 1e-9, DOUBLE)
    assert series.products == series.degree == series.coefficients.shape[1] - 1
    s = np.linspace(-1, 1, 101)
    for scheme, coefficients in zip(schemes, series.coefficients, strict=True):
        values = np.polynomial.chebyshev.chebval(s, coefficients)
        assert_allclose(values, scheme.response(s), atol=series.error_bound)


def test_literal_steps_add_up():
    steps = LiteralSteps.from_schemes([Euler(1.0, 5), RungeKutta4(1.0, 3)])
    assert (steps.products, steps.degree, steps.error_bound) == (17, None, 0.0)
    assert steps.step_panels == RungeKutta4.panels_in_memory
    with pytest.raises(InputError, match=r"Heat\(T=1.0\) has no literal steps"):
        LiteralSteps.from_schemes([Euler(1.0, 5), Heat(1.0)])


class TestPreparedFeatures:
    X = np.arange(12, dtype=np.float32).reshape(4, 3)

    def test_dense_features_are_not_copied(self):
        assert prepare_features(self.X, "features", None, DOUBLE) is self.X
        assert prepare_features(None, "rows", None, DOUBLE) is None

    @pytest.mark.parametrize("order", [None, np.array([2, 0, 3, 1])])
    def test_sparse_columns_are_reordered(self, order):
        prepared = prepare_features(sp.csr_array(self.X), "features", order, DOUBLE)
        assert prepared.format == "csc"
        assert prepared.dtype == DOUBLE
        assert_array_equal(prepared.toarray(), self.X if order is None else self.X[order])

    def test_sparse_rows_stay_in_order(self):
        prepared = prepare_features(sp.csr_array(self.X), "rows", np.array([2, 0, 3, 1]), DOUBLE)
        assert prepared.format == "csc"
        assert_array_equal(prepared.toarray(), self.X)
