"""The search space of a classifier: settings, candidates and grids.

A parameter of an estimator is a value, a list of candidates, or "auto". A value leaves nothing to
choose. Candidates are compared, and one of them is chosen unchanged. "auto" spans a grid (of T or
of weight decay), and the chosen value may lie between grid points.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal

import numpy as np

from heatgraph.errors import InputError
from heatgraph.learning.scaling import candidate_scalings, check_scaling
from heatgraph.schemes import SCHEMES, Scheme, SteppedScheme, scheme_from

# The grid of T: NUM_GRID_STEPS equal steps of log(T + TIME_OFFSET) from 0 to MAX_GRID_TIME. The
# offset gives T = 0 a place on a logarithmic scale.
MAX_GRID_TIME, TIME_OFFSET, NUM_GRID_STEPS = 20.0, 0.5, 10
# A search extends the grid if its best T is the largest, up to this T.
MAX_TIME = 320.0


@dataclass(frozen=True)
class Setting:
    """One value for every parameter that a search can choose."""

    scheme: Scheme
    self_loops: bool
    feature_scaling: str
    weight_decay: float
    learning_rate: float

    @property
    def T(self) -> float:
        """Terminal time of the scheme; 0 for one without, such as PageRank."""
        return float(getattr(self.scheme, "T", 0.0))

    @property
    def log_time(self) -> float:
        """log(T + TIME_OFFSET), the scale on which T is compared."""
        return math.log(self.T + TIME_OFFSET)


@dataclass(frozen=True)
class Combination:
    """The part of a setting that is neither a scheme nor a parameter of the head."""

    self_loops: bool
    feature_scaling: str


@dataclass(frozen=True)
class SchemeFamily:
    """All schemes that differ in T only: the heat kernel, or a stepped scheme with fixed K."""

    scheme: type[Scheme]
    K: int | None

    @classmethod
    def from_scheme(cls, scheme: Any) -> SchemeFamily:
        """The family that a scheme belongs to."""
        return cls(type(scheme), getattr(scheme, "K", None))

    def with_time(self, T: float) -> Scheme:
        """The member of the family with terminal time T."""
        make: Any = self.scheme
        scheme: Scheme = make(T) if self.K is None else make(T, self.K)
        return scheme

    @property
    def max_time(self) -> float:
        """The largest T to try: no step size T/K beyond the stability limit."""
        if self.K is None or not issubclass(self.scheme, SteppedScheme):
            return MAX_TIME
        # Slightly less, so that rounding cannot make T/K unstable.
        return min(MAX_TIME, self.K * self.scheme.stability_limit() * (1 - 1e-9))

    def grid(self) -> list[Scheme]:
        """Schemes over the whole range of T."""
        return self.grid_between(0.0, MAX_GRID_TIME, NUM_GRID_STEPS + 1)

    def grid_between(self, start: float, stop: float, count: int) -> list[Scheme]:
        """Schemes for T from `start` to `stop`, in equal steps of log(T + TIME_OFFSET)."""
        stop = min(stop, self.max_time)
        times = np.geomspace(start + TIME_OFFSET, stop + TIME_OFFSET, count)
        times = np.clip(times - TIME_OFFSET, start, stop)
        times[0], times[-1] = start, stop
        return [self.with_time(T) for T in np.unique(times).tolist()]


@dataclass(frozen=True)
class SearchSpace:
    """The Cartesian product of these candidates.

    `schemes` are candidates with their own T; if None, T is searched on a grid for each of
    `families`. `weight_decays` are candidates, or None for a grid.
    """

    schemes: tuple[Scheme, ...] | None
    families: tuple[SchemeFamily, ...]
    self_loops: tuple[bool, ...]
    scalings: tuple[str, ...]
    weight_decays: tuple[float, ...] | None
    learning_rates: tuple[float, ...]

    @classmethod
    def read(
        cls,
        *,
        T: Any,
        K: Any,
        scheme: Any,
        self_loops: Any,
        feature_scaling: Any,
        weight_decay: Any,
        learning_rate: Any,
    ) -> SearchSpace:
        """Read an estimator's parameters: each a value, a list of candidates, or "auto".

        A `feature_scaling` of "auto" is kept until `resolve_scalings` knows the features.
        """
        schemes, families = _read_schemes(T, K, scheme)
        loops = _candidates(self_loops, "self_loops")
        if not all(isinstance(value, bool | np.bool_) for value in loops):
            raise InputError(f"self_loops must be True or False. Got {self_loops!r}.")
        scalings = _candidates(feature_scaling, "feature_scaling")
        for name in scalings:
            check_scaling(name)
        weight_decays = None
        if not _is_auto(weight_decay):
            weight_decays = _numbers(weight_decay, "weight_decay", ">= 0")
        learning_rates = _numbers(learning_rate, "learning_rate", "> 0")
        return cls(schemes, families, loops, scalings, weight_decays, learning_rates)

    @classmethod
    def of_setting(cls, setting: Setting) -> SearchSpace:
        """The space of one setting alone."""
        return cls(
            (setting.scheme,),
            (),
            (setting.self_loops,),
            (setting.feature_scaling,),
            (setting.weight_decay,),
            (setting.learning_rate,),
        )

    def at(self, setting: Setting) -> SearchSpace:
        """The space in which weight decay alone is left to choose, if it was."""
        return replace(
            SearchSpace.of_setting(setting),
            weight_decays=None if self.weight_decays is None else (setting.weight_decay,),
        )

    def resolve_scalings(self, default: str) -> SearchSpace:
        """Replace "auto" by the scalings that a search compares where `default` suits the features.

        If nothing else is left to choose, "auto" is the default itself: the choice of a scaling
        alone does not start a search.
        """
        if default == "none":
            return replace(self, scalings=("none",))
        alone = replace(self, scalings=(default,)).single_setting()
        auto = (default,) if alone else candidate_scalings(default)
        scalings = [auto if name == "auto" else (name,) for name in self.scalings]
        return replace(self, scalings=tuple(dict.fromkeys(itertools.chain(*scalings))))

    def single_setting(self) -> Setting | None:
        """The only setting of the space, or None if there are several."""
        if self.schemes is None or self.weight_decays is None:
            return None
        parts = (
            self.schemes,
            self.self_loops,
            self.scalings,
            self.weight_decays,
            self.learning_rates,
        )
        settings = [Setting(*values) for values in itertools.product(*parts)]
        return settings[0] if len(settings) == 1 else None

    def combinations(self) -> list[Combination]:
        """All combinations of candidates that are neither schemes nor parameters of the head."""
        return [Combination(*pair) for pair in itertools.product(self.self_loops, self.scalings)]


def _read_schemes(
    T: Any, K: Any, scheme: Any
) -> tuple[tuple[Scheme, ...] | None, tuple[SchemeFamily, ...]]:
    """Read the parameters T, K and scheme as schemes, or as families if T is "auto"."""
    names, steps = _candidates(scheme, "scheme"), _candidates(K, "K")
    objects = [name for name in names if isinstance(name, Scheme)]
    if objects:
        if len(objects) < len(names) or not _is_auto(T) or steps != (None,):
            raise InputError(
                "scheme objects have their own T and K: leave those out, and give no names beside "
                f"them. Got scheme={scheme!r}, T={T!r}, K={K!r}."
            )
        return tuple(objects), ()
    if _is_auto(T):
        # Any T that is stable for every K serves to check the other two.
        members = _combine([1e-3], steps, names)
        return None, tuple(dict.fromkeys(map(SchemeFamily.from_scheme, members)))
    return tuple(dict.fromkeys(_combine(_candidates(T, "T"), steps, names))), ()


def _combine(times: Any, steps: Any, names: Any) -> list[Any]:
    """Make every combination; among several names, K is not passed to schemes without steps."""
    several = len(names) > 1
    without_steps = [name for name, scheme in SCHEMES.items() if not scheme.takes_K]
    return [
        scheme_from(T, None if several and name in without_steps else K, name)
        for name, K, T in itertools.product(names, steps, times)
    ]


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _candidates(value: Any, name: str) -> tuple[Any, ...]:
    """A list's entries, or the value itself as the only one."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return (value,)
    if len(value) == 0:
        raise InputError(f"{name} is an empty list. Give at least one candidate.")
    return tuple(value)


def _numbers(value: Any, name: str, bound: Literal[">= 0", "> 0"]) -> tuple[float, ...]:
    numbers = _candidates(value, name)
    for number in numbers:
        real = isinstance(number, Real) and not isinstance(number, bool | np.bool_)
        # As a Python float, because NumPy would compare float32 with a bound that overflows it.
        if not real or not 0 <= float(number) < 1e300 or (number == 0 and bound == "> 0"):
            raise InputError(f"{name} must be a finite number {bound}. Got {number!r}.")
    return tuple(map(float, numbers))
