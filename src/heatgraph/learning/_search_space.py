"""What can be chosen: settings, and the space of those that a search may try.

A parameter of an estimator is a value, a list of candidates, or "auto". The first leaves nothing to
choose. Candidates are tried as they are. "auto" spans a grid, of T and of weight decay, and what is
taken in the end may lie between its points.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal

import numpy as np

from heatgraph.errors import InputError
from heatgraph.learning.scaling import check_scaling
from heatgraph.schemes import SCHEMES, Scheme, SteppedScheme, scheme_from

# The grid of T goes from 0 to this, in equal steps of log(T + SOFT_TIME).
LARGEST_TIME, SOFT_TIME, NUM_TIMES = 20.0, 0.5, 40
# No T beyond this is ever tried.
FURTHEST_TIME = 320.0


@dataclass(frozen=True)
class Setting:
    """One choice of everything."""

    scheme: Scheme
    self_loops: bool
    feature_scaling: str
    weight_decay: float
    learning_rate: float


@dataclass(frozen=True)
class SchemeFamily:
    """A scheme but for its T: the heat kernel, or one with K steps."""

    scheme: type[Scheme]
    K: int | None

    @classmethod
    def of(cls, scheme: Any) -> SchemeFamily:
        """The kind of a scheme."""
        return cls(type(scheme), getattr(scheme, "K", None))

    def at(self, T: float) -> Scheme:
        """The scheme of this kind that ends at T."""
        made: Any = self.scheme
        scheme: Scheme = made(T) if self.K is None else made(T, self.K)
        return scheme

    @property
    def longest_time(self) -> float:
        """The largest T worth trying; literal steps are not tried where they are unstable."""
        if self.K is None or not issubclass(self.scheme, SteppedScheme):
            return FURTHEST_TIME
        # A little less, so that rounding does not make T/K unstable.
        return min(FURTHEST_TIME, self.K * self.scheme.stability_limit() * (1 - 1e-9))

    def grid(self) -> list[Scheme]:
        """Schemes for the whole range of T."""
        return self.between(0.0, LARGEST_TIME, NUM_TIMES + 1)

    def around(self, T: float, count: int) -> list[Scheme]:
        """Schemes no more than one step of the grid away from T."""
        ratio = (LARGEST_TIME / SOFT_TIME + 1) ** (1 / NUM_TIMES)
        start, stop = (T + SOFT_TIME) / ratio, (T + SOFT_TIME) * ratio
        return self.between(max(0.0, start - SOFT_TIME), stop - SOFT_TIME, count)

    def between(self, start: float, stop: float, count: int) -> list[Scheme]:
        """Schemes for times from `start` to `stop`, in equal steps of log(T + SOFT_TIME)."""
        stop = min(stop, self.longest_time)
        times = np.geomspace(start + SOFT_TIME, stop + SOFT_TIME, count)
        times = np.clip(times - SOFT_TIME, start, stop)
        times[0], times[-1] = start, stop
        return [self.at(T) for T in np.unique(times).tolist()]


@dataclass(frozen=True)
class SearchSpace:
    """What may be chosen: every combination of these.

    `schemes` are ready-made; without them, T is looked for on a grid for each of `kinds`. `decays`
    are weight decays, or None for a grid of those.
    """

    schemes: tuple[Scheme, ...] | None
    kinds: tuple[SchemeFamily, ...]
    self_loops: tuple[bool, ...]
    scalings: tuple[str, ...]
    decays: tuple[float, ...] | None
    rates: tuple[float, ...]

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

        A `feature_scaling` of "auto" stays as it is; `settle` says what it means.
        """
        schemes, kinds = _read_schemes(T, K, scheme)
        loops = _candidates(self_loops, "self_loops")
        if not all(isinstance(value, bool | np.bool_) for value in loops):
            raise InputError(f"self_loops must be True or False. Got {self_loops!r}.")
        scalings = _candidates(feature_scaling, "feature_scaling")
        for name in scalings:
            check_scaling(name)
        decays = None if _is_auto(weight_decay) else _numbers(weight_decay, "weight_decay", ">= 0")
        rates = _numbers(learning_rate, "learning_rate", "> 0")
        return cls(schemes, kinds, loops, scalings, decays, rates)

    def settle(self, fitting: tuple[str, ...]) -> SearchSpace:
        """Put the scalings that suit the features in the place of "auto".

        If all else is settled, that is the first of them, and a search is not begun for its sake.
        """
        if fitting == ("none",):
            return replace(self, scalings=fitting)
        first = replace(self, scalings=fitting[:1])
        auto = fitting[:1] if first.only() else fitting
        scalings = [auto if name == "auto" else (name,) for name in self.scalings]
        return replace(self, scalings=tuple(dict.fromkeys(itertools.chain(*scalings))))

    def only(self) -> Setting | None:
        """The one setting, if there is nothing to choose."""
        if self.schemes is None or self.decays is None:
            return None
        parts = (self.schemes, self.self_loops, self.scalings, self.decays, self.rates)
        settings = [Setting(*parts) for parts in itertools.product(*parts)]
        return settings[0] if len(settings) == 1 else None

    def grid(self) -> list[Scheme]:
        """Every scheme to try at first."""
        if self.schemes is not None:
            return list(self.schemes)
        return [scheme for kind in self.kinds for scheme in kind.grid()]


def _read_schemes(
    T: Any, K: Any, scheme: Any
) -> tuple[tuple[Scheme, ...] | None, tuple[SchemeFamily, ...]]:
    """Read the three parameters by which users name schemes: ready-made ones, or kinds."""
    names, steps = _candidates(scheme, "scheme"), _candidates(K, "K")
    ready = [name for name in names if isinstance(name, Scheme)]
    if ready:
        if len(ready) < len(names) or not _is_auto(T) or steps != (None,):
            raise InputError(
                "scheme objects have their own T and K: leave those out, and give no names beside "
                f"them. Got scheme={scheme!r}, T={T!r}, K={K!r}."
            )
        return tuple(ready), ()
    several = len(names) > 1
    if _is_auto(T):
        # Any T that is stable for every K shows what is wrong with the other two.
        found = _combine([1e-3], steps, names, several)
        return None, tuple(dict.fromkeys(map(SchemeFamily.of, found)))
    return tuple(dict.fromkeys(_combine(_candidates(T, "T"), steps, names, several))), ()


def _combine(times: Any, steps: Any, names: Any, several: bool) -> list[Any]:
    """Make schemes; of several names, K goes to those that take steps."""
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
        if not real or not 0 <= number < 1e300 or (number == 0 and bound == "> 0"):
            raise InputError(f"{name} must be a finite number {bound}. Got {number!r}.")
    return tuple(map(float, numbers))
