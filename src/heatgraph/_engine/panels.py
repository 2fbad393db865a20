"""Diffusing one panel of columns, from the side of the features or of the rows.

r(S) is symmetric, so the rows of X_T at some nodes are (r(S) E)^T X, where E has one unit column
per requested node. A panel is a block of columns of X, or of E.

Shapes: X is (n, d), a panel (n, w); M schemes give (M, n, d) or, at R requested rows, (M, R, d).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._engine.chebyshev import chebyshev_series
from heatgraph._engine.memory_estimate import Side, padded_width
from heatgraph._engine.ranges import row_blocks
from heatgraph._engine.recurrence import PanelOperator, chebyshev, empty_panel, stepwise
from heatgraph._engine.reordering import ReorderedGraph
from heatgraph.errors import InputError
from heatgraph.schemes import Scheme, SteppedScheme

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class ChebyshevSeries:
    """The responses of M schemes as truncated Chebyshev series: coefficients (M, degree + 1)."""

    coefficients: Array
    error_bound: float

    @classmethod
    def from_schemes(
        cls, schemes: Sequence[Scheme], tol: float, dtype: np.dtype[Any]
    ) -> ChebyshevSeries:
        """Expand each response within `tol`, padding shorter series with zeros."""
        series = [chebyshev_series(scheme, tol) for scheme in schemes]
        table = np.zeros((len(series), max(len(c) for c, _ in series)), dtype=dtype)
        with np.errstate(over="ignore"):
            for row, (coefficients, _) in zip(table, series, strict=True):
                row[: len(coefficients)] = coefficients
        return cls(table, max(bound for _, bound in series))

    @property
    def degree(self) -> int:
        return int(self.coefficients.shape[1]) - 1

    @property
    def products(self) -> int:
        return self.degree

    @property
    def step_panels(self) -> int:
        return 0

    @property
    def identity(self) -> Array | str:
        return self.coefficients

    def apply(self, operator: PanelOperator, X: Array, rows: Array | None, out: Array) -> None:
        chebyshev(operator, X, self.coefficients, rows, out)


@dataclass(frozen=True)
class LiteralSteps:
    """The literal steps of M schemes."""

    schemes: list[SteppedScheme]

    @classmethod
    def from_schemes(cls, schemes: Sequence[Scheme]) -> LiteralSteps:
        """Refuse schemes that have no steps."""
        stepped = [scheme for scheme in schemes if isinstance(scheme, SteppedScheme)]
        if len(stepped) < len(schemes):
            without = next(scheme for scheme in schemes if not isinstance(scheme, SteppedScheme))
            raise InputError(
                f"{without} has no literal steps. Use method='chebyshev', or a scheme with a "
                "number of steps K."
            )
        return cls(stepped)

    @property
    def error_bound(self) -> float:
        return 0.0

    @property
    def degree(self) -> None:
        return None

    @property
    def products(self) -> int:
        return sum(int(scheme.degree) for scheme in self.schemes)

    @property
    def step_panels(self) -> int:
        return max(scheme.panels_in_memory for scheme in self.schemes)

    @property
    def identity(self) -> Array | str:
        return repr(self.schemes)

    def apply(self, operator: PanelOperator, X: Array, rows: Array | None, out: Array) -> None:
        stepwise(operator, X, self.schemes, rows, out)


@dataclass(frozen=True)
class PanelDiffusion:
    """What all panels of a diffusion share.

    Attributes
    ----------
    operator : PanelOperator
    propagator : ChebyshevSeries or LiteralSteps
        Applies r(S) to a panel.
    shape : (M, R, d)
    side : {"features", "rows"}
    panel_width : int
    features : matrix or None
        X from `prepare_features`.
    reordered : ReorderedGraph or None
        The permuted graph, if `operator` is of one.
    rows : array or None
        Requested rows; they index the reordered graph.
    dtype, working_dtype : dtype
        Precision of the result, and of the work.
    """

    operator: PanelOperator
    propagator: ChebyshevSeries | LiteralSteps
    shape: tuple[int, int, int]
    side: Side
    panel_width: int
    features: Any
    reordered: ReorderedGraph | None
    rows: Array | None
    dtype: np.dtype[Any]
    working_dtype: np.dtype[Any]

    def compute(self, panel: slice, target: Array | None) -> Array:
        """The part of the result that a panel gives, with nodes in the order of the given graph.

        It is computed in `target`, that part of an array, where precision and layout allow.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            if self.side == "rows":
                values = self._diffuse_unit_columns(panel)
            else:
                values = self._diffuse_features(panel, target)
            values = values.astype(self.dtype, copy=False)
        self._check_finite(values)
        return values

    def _diffuse_features(self, panel: slice, target: Array | None) -> Array:
        """Diffuse the columns `panel` of X."""
        M, R, _ = self.shape
        columns = panel.stop - panel.start
        X = self._copy_features(panel, min(self.panel_width, padded_width(columns)))
        reordered = self.reordered if self.rows is None else None
        results = target if reordered is None else None
        # Kernels write whole rows of their own precision.
        if (
            results is None
            or results.shape != (M, R, X.shape[1])
            or results.dtype != self.working_dtype
            or not results.flags.c_contiguous
        ):
            results = np.empty((M, R, X.shape[1]), dtype=self.working_dtype)
        self.propagator.apply(self.operator, X, self.rows, results)
        if reordered is not None:
            # The panel is no longer needed, and has the size of one scheme's result.
            restored = X[np.newaxis] if M == 1 else np.empty_like(results)
            np.take(results, reordered.rank, axis=1, out=restored, mode="clip")
            results = restored
        return results[:, :, :columns]

    def _diffuse_unit_columns(self, panel: slice) -> Array:
        """Diffuse the unit columns of the requested rows `panel`, and multiply them by X."""
        M, _, d = self.shape
        operator, n, width = self.operator, self.operator.P.num_nodes, panel.stop - panel.start
        rows = self.rows
        if rows is None:
            rows = np.arange(n) if self.reordered is None else self.reordered.rank
        E = empty_panel((n, width), self.working_dtype)
        E[...] = 0
        E[rows[panel], np.arange(width)] = (
            1 if operator.root is None else 1 / operator.root[rows[panel]]
        )
        kernel_columns = np.empty((M, n, width), dtype=self.working_dtype)
        self.propagator.apply(operator, E, None, kernel_columns)
        del E
        values = np.empty((M, width, d), dtype=self.working_dtype)
        for m in range(M):
            kernel = kernel_columns[m]
            if self.reordered is not None:
                kernel = kernel[self.reordered.rank]
            values[m] = operator.contract(kernel, self.features)
        return values

    def _copy_features(self, panel: slice, width: int) -> Array:
        """Copy columns of X into a dense panel, in the order of the operator and divided by R.

        The panel is padded with zeros up to `width` columns.
        """
        X, root = self.features, self.operator.root
        columns, dtype = panel.stop - panel.start, self.working_dtype
        if sp.issparse(X):
            dense = empty_panel((X.shape[0], width), dtype)
            dense[...] = 0
            for column, (start, stop) in enumerate(
                pairwise(X.indptr[panel.start : panel.stop + 1].tolist())
            ):
                nodes, values = X.indices[start:stop], X.data[start:stop]
                dense[nodes, column] = values if root is None else values / root[nodes]
            return dense
        copy = empty_panel((len(X), width), dtype)
        copy[:, columns:] = 0
        rank = None if self.reordered is None else self.reordered.rank

        # In blocks, since X may be a memory map.
        def copy_block(start: int, stop: int) -> None:
            block = X[start:stop, panel]
            places = slice(start, stop) if rank is None else rank[start:stop]
            scaled = copy[places, :columns] if rank is None else np.empty(block.shape, dtype)
            if root is None:
                np.copyto(scaled, block, casting="same_kind")
            else:
                R = root[places, np.newaxis]
                np.divide(block, R, out=scaled, dtype=dtype, casting="same_kind")
            if rank is not None:
                copy[places, :columns] = scaled

        self.operator.run_ranges(copy_block, row_blocks(len(X)))
        return copy

    def _check_finite(self, values: Array) -> None:
        def check_block(start: int, stop: int) -> None:
            if not all(np.isfinite(X_T[start:stop]).all() for X_T in values):
                raise overflow_error(self.dtype)

        self.operator.run_ranges(check_block, row_blocks(values.shape[1]))


def overflow_error(dtype: np.dtype[Any]) -> InputError:
    """The error of a result with infinite numbers."""
    return InputError(
        f"the result exceeds {dtype}: features are too large, or unstable steps amplify them too "
        "much. Scale features down, take more steps K, or pass dtype=np.float64."
    )


def prepare_features(X: Any, side: Side, order: Array | None, dtype: np.dtype[Any]) -> Any:
    """Sparse features by column, in the precision of the work; reordered if columns diffuse.

    Dense features stay as they are, and are converted block by block.
    """
    if not sp.issparse(X):
        return X
    if side == "features" and order is not None:
        X = X[order]
    with np.errstate(over="ignore"):
        return X.tocsc().astype(dtype, copy=False)
