"""Shift: whether a graph differs from the one that a model was fitted to.

A profile of a graph has quantile functions, at `NUM_LEVELS` levels, of what the model sees: of
log(1 + degree), of the columns X Theta (n, C), which are the scores before diffusion, and of the
scores after it. A column F of one graph and G of another differ by Wasserstein's distance

    W  =  mean_q |F(q) - G(q)|,

which is compared with a tolerance; s is the spread of the fitted column, its mean absolute
deviation from the median, and n and m are the numbers of nodes:

==================  ================================================================================
degrees             log(2) + 3 s (1/n + 1/m)^(1/2): half or twice the degrees
features            (0.2 + 3 (1/n + 1/m)^(1/2)) s
diffused features   (0.3 + 3 (1/n + 1/m)^(1/2)) s, with F and G centred
==================  ================================================================================

The second term allows for chance: two samples of one block model, or two random halves of a graph,
stay below. Diffused scores are centred because averaging leaves the error of the mean as it is
while their spread shrinks, so that means of samples lie far apart in units of it; shifted means
show before diffusion. The first term of diffused features is larger so that a model may be fitted
to the training nodes' subgraph and predict on the whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

NUM_LEVELS = 21
# Quantiles are estimated on a sample of this many nodes, if there are more.
SAMPLED_NODES = 50_000
# First terms of the tolerances: of degrees in units of log(1 + degree), of others in spreads.
DEGREE_TOLERANCE, FEATURE_TOLERANCE, DIFFUSED_TOLERANCE = float(np.log(2)), 0.2, 0.3
# Factor of the second term.
CHANCE = 3.0
# A spread counts as at least this share of the largest of its columns, as this share of their
# largest entry, and as this much: scores of a class that the model hardly uses, or of a graph whose
# nodes are all equal, have next to none.
MIN_SHARE_OF_SPREADS, MIN_SHARE_OF_ENTRIES, MIN_SPREAD = 0.1, 1e-3, 1e-9

RESCALE = (
    " If its classes are about as frequent, `with_scaling_of(graph)` is a model that standardises "
    "features by its own means and deviations; on the command line, --rescale-features."
)
SMALL_TIME = " A model that is fitted with a small T, such as 1, depends less on edges."

_NAMES = ("degrees", "undiffused", "diffused")


@dataclass(frozen=True, eq=False)
class GraphProfile:
    """Quantiles of a graph as a fitted model sees it.

    Attributes
    ----------
    degrees : array of shape (NUM_LEVELS,)
        Quantiles of log(1 + degree).
    undiffused, diffused : arrays of shape (NUM_LEVELS, C)
        Quantiles of each class's scores before and after diffusion.
    num_nodes : int
        Number of nodes that they were estimated on.
    """

    degrees: Floats
    undiffused: Floats
    diffused: Floats
    num_nodes: int

    @classmethod
    def measure(cls, degrees: Array, undiffused: Array, diffused: Array) -> GraphProfile:
        """Profile of a graph with these degrees (n,) and scores (n, C) before and after diffusion.

        Examples
        --------
        >>> profile = GraphProfile.measure(np.full(40, 3.0), np.zeros((40, 2)), np.zeros((40, 2)))
        >>> profile.diffused.shape, profile.num_nodes
        ((21, 2), 40)
        """
        nodes: Any = slice(None)
        if len(degrees) > SAMPLED_NODES:
            nodes = np.random.default_rng(0).choice(len(degrees), SAMPLED_NODES, replace=False)
        return cls(
            _quantiles(np.log1p(degrees[nodes])),
            _quantiles(undiffused[nodes]),
            _quantiles(diffused[nodes]),
            len(degrees[nodes]),
        )

    @classmethod
    def from_tensors(cls, tensors: dict[str, Array], num_classes: int) -> GraphProfile | None:
        """Take a profile out of the tensors of a file; None if it has none.

        ValueError if it does not fit the number of classes, or is no profile.
        """
        names = [f"profile_{name}" for name in (*_NAMES, "nodes")]
        found = [tensors.pop(name) for name in names if name in tensors]
        if not found:
            return None
        if len(found) < len(names):
            raise ValueError("a part of the profile of the graph is missing")
        degrees, undiffused, diffused, nodes = found
        if nodes.shape != (1,) or nodes.dtype != np.int64 or nodes[0] < 1:
            raise ValueError("the profile of the graph must have a positive number of nodes")
        profile = cls(degrees, undiffused, diffused, int(nodes[0]))
        profile.check(num_classes)
        return profile

    def to_tensors(self) -> dict[str, Array]:
        """The profile as arrays by name, for `from_tensors`."""
        arrays = {name: getattr(self, name) for name in _NAMES}
        arrays["nodes"] = np.array([self.num_nodes], dtype=np.int64)
        return {f"profile_{name}": array for name, array in arrays.items()}

    def check(self, num_classes: int) -> None:
        """Raise ValueError unless quantiles, read from a file, are finite and non-decreasing."""
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(_NAMES, (NUM_LEVELS, num_classes))
        shapes["degrees"] = (NUM_LEVELS,)
        for name, shape in shapes.items():
            quantiles = getattr(self, name)
            if quantiles.shape != shape or quantiles.dtype != np.float64:
                raise ValueError(f"quantiles of a profile must be float64 of shape {shape}")
            if not np.isfinite(quantiles).all() or (np.diff(quantiles, axis=0) < 0).any():
                raise ValueError("quantiles of a profile must be finite and non-decreasing")


def shift_sentence(
    fitted: GraphProfile, other: GraphProfile, *, can_rescale: bool = False
) -> str | None:
    """Say in what a graph differs most from the fitted one; None if within the tolerances.

    Degrees and features come first: if they differ, diffused features do because of them. The
    remedies are those that `make bench BENCH=shift` measures; `can_rescale` tells whether features
    can be standardised anew.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> Z = random.normal(size=(500, 2))
    >>> fitted = GraphProfile.measure(random.poisson(4, size=500), Z, Z)
    >>> shift_sentence(fitted, fitted) is None
    True
    >>> dense = GraphProfile.measure(random.poisson(16, size=500), Z, Z)
    >>> print(shift_sentence(fitted, dense))
    the graph differs from the one that the model was fitted to, mostly in its degrees (median 16,
    where that one had 4): predictions may be less accurate. Where labels exist, `score` and
    `heatgraph evaluate` measure it.
    """
    chance = CHANCE * float(np.sqrt(1 / fitted.num_nodes + 1 / other.num_nodes))
    ours, theirs = fitted.degrees[:, np.newaxis], other.degrees[:, np.newaxis]
    degrees = _distances(ours, theirs) / (DEGREE_TOLERANCE + chance * _spreads(ours))
    features = _distances(fitted.undiffused, other.undiffused) / _spreads(fitted.undiffused)
    centred = _centred(fitted.diffused), _centred(other.diffused)
    diffused = _distances(*centred) / _spreads(fitted.diffused)
    excess = {
        "degrees": degrees.max(),
        "features": features.max() / (FEATURE_TOLERANCE + chance),
        "diffused features": diffused.max() / (DIFFUSED_TOLERANCE + chance),
    }
    details = {
        "degrees": "median {:.3g}, where that one had {:.3g}".format(
            *(np.expm1(np.median(profile.degrees)) for profile in (other, fitted))
        ),
        "features": _in_spreads("before", features.max()),
        "diffused features": _in_spreads("after", diffused.max()),
    }
    causes = [name for name in ("degrees", "features") if excess[name] > 1]
    most = max(causes or excess, key=lambda name: excess[name])
    if excess[most] <= 1:
        return None
    remedy = RESCALE if can_rescale else ""
    if most == "diffused features":
        remedy += SMALL_TIME
    return (
        "the graph differs from the one that the model was fitted to, mostly in its "
        f"{most} ({details[most]}): predictions may be less accurate. Where labels exist, `score` "
        f"and `heatgraph evaluate` measure it.{remedy}"
    )


def _in_spreads(when: str, distance: float) -> str:
    times = f"{distance:.1f}" if distance < 100 else "over 100"
    return f"scores {when} diffusion are off by {times} times their spread"


def _quantiles(values: Array) -> Floats:
    """Quantiles of each column, at the midpoints of equal parts of [0, 1]."""
    levels = (np.arange(NUM_LEVELS) + 0.5) / NUM_LEVELS
    quantiles = np.quantile(values.astype(np.float64), levels, axis=0)
    # Rounding of the interpolation must not make them decrease, which `check` refuses.
    return np.asarray(np.maximum.accumulate(quantiles, axis=0))


def _distances(F: Floats, G: Floats) -> Floats:
    """Wasserstein's distance of each column (C,) of two quantile functions."""
    return np.asarray(np.abs(F - G).mean(axis=0))


def _centred(F: Floats) -> Floats:
    return np.asarray(F - F.mean(axis=0))


def _spreads(F: Floats) -> Floats:
    """Mean absolute deviation from the median of each column (C,), never 0."""
    spreads = np.abs(F - np.median(F, axis=0)).mean(axis=0)
    least = max(
        MIN_SHARE_OF_SPREADS * spreads.max(),
        MIN_SHARE_OF_ENTRIES * np.abs(F).max(),
        MIN_SPREAD,
    )
    return np.asarray(np.maximum(spreads, least))
