r"""Propagation rules as functions of an eigenvalue s of S, s in [-1, 1].

Features obey the graph heat equation dX/dt = -L X. Its solution, and every approximation to it, is
X_T = r(S) X for a scalar response r, so a scheme is a small frozen dataclass that knows its
response. :mod:`heatgraph.diffusion` applies r(S) to features.

Symbols, here and in the whole package:

    n                nodes
    d                features (columns of X)
    C                classes
    M                schemes that are applied together
    R                requested rows (nodes), in shapes; as a matrix, see below
    w                columns of a panel, the block of columns that is diffused at a time
    A       (n, n)   adjacency; A~ is A + I, or A where self-loops are off
    D~      (n, n)   diagonal of the row sums of A~, the degrees
    S       (n, n)   D~^(-1/2) A~ D~^(-1/2), the normalised adjacency, eigenvalues s in [-1, 1]
    L       (n, n)   I - S, the normalised Laplacian, eigenvalues x = 1 - s in [0, 2]
    R       (n, n)   D~^(1/2) of an unweighted graph, else I: scales S to P
    P       (n, n)   R^(-1) S R, what the kernels multiply by; r(S) = R r(P) R^(-1)
    X       (n, d)   features; X_T = r(S) X are the features after diffusion
    Theta   (d, C)   weights of the linear classifier that reads X_T
    T                terminal time, finite and >= 0
    K                number of steps, an integer >= 1 (0 only with T = 0)
    delta            step size T/K
    z                -delta x, what one step of an integrator is a polynomial in
    r(s)             response of a scheme
    c_k              Chebyshev coefficients of a response: r(s) = sum_k c_k T_k(s)

Adding a scheme
---------------
Write one frozen dataclass and decorate it with `register`. The class carries every fact that other
modules need. The command line, the search and the tests find it by `name` in `SCHEMES`, and model
files by the name of its class:

``name``              how users choose it, such as "euler"; None if only as an object
``takes_K``           whether its arguments are (T, K), or T alone
``decay``             r as a function of the eigenvalue x of L, accurate also near x = 0
``log_growth``        a bound on log abs(r) off the real line
``degree``            the degree of r as a polynomial in s; infinite when r is no polynomial
``order``             p such that the error against the heat equation falls as K^-p
``stable``            whether abs(r) <= 1 on [-1, 1], so that no feature is ever amplified

and, if it takes steps, ``step``, ``stability_limit``, ``products_per_step`` and
``panels_in_memory``.
"""

from __future__ import annotations

import math
import numbers
import operator
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from heatgraph._arguments import short_repr
from heatgraph.errors import InputError, StabilityWarning, warn

# The largest T and K: beyond it, integers are no longer exact as floats.
LARGEST_EXACT = 2**53

Array = npt.NDArray[np.floating]
Product = Callable[[Array], Array]


class Scheme(ABC):
    """A response r(s), and the facts about it that the rest of the package reads."""

    name: ClassVar[str | None] = None
    takes_K: ClassVar[bool] = False
    order: ClassVar[float]

    @abstractmethod
    def decay(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Evaluate r at the eigenvalues `x` of L, in [0, 2]."""

    def response(self, s: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Evaluate r at the eigenvalues `s` of S, in [-1, 1]."""
        return self.decay(1.0 - np.asarray(s, dtype=np.float64))

    @abstractmethod
    def log_growth(self, radius: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Bound log abs(r(s)) over all complex s with abs(s) <= radius, for radius >= 1.

        The faster r grows off the real line, the more slowly its Chebyshev coefficients decay; this
        bound is what makes the truncation of the series a theorem.
        """

    @property
    @abstractmethod
    def degree(self) -> float:
        """Degree of r as a polynomial: the products that the literal steps take."""

    @property
    def stable(self) -> bool:
        """Whether abs(r) <= 1 on all of [-1, 1]."""
        return True

    def squared(self) -> Scheme | None:
        """The scheme whose response is r^2, or None if there is none."""
        return None


AnyScheme = TypeVar("AnyScheme", bound=Scheme)

# Schemes that users can choose by name.
SCHEMES: dict[str, type[Scheme]] = {}
# Schemes that files may hold, by the name of their class.
_BY_CLASS_NAME: dict[str, type[Scheme]] = {}


def register(scheme: type[AnyScheme]) -> type[AnyScheme]:
    """Class decorator: offer a scheme by its name, if it has one, and allow it in files."""
    if scheme.name in SCHEMES or scheme.__name__ in _BY_CLASS_NAME:
        raise ValueError(f"there is a scheme {scheme.name!r} or {scheme.__name__} already")
    _BY_CLASS_NAME[scheme.__name__] = scheme
    if scheme.name is not None:
        SCHEMES[scheme.name] = scheme
    return scheme


@register
@dataclass(frozen=True)
class Heat(Scheme):
    """The heat kernel itself: r(s) = exp(-T (1 - s)), the limit of every scheme as K grows.

    Examples
    --------
    >>> Heat(T=2.0).response([1.0, 0.0, -1.0]).round(4)
    array([1.    , 0.1353, 0.0183])
    """

    T: float

    name = "heat"
    order = math.inf

    def __post_init__(self) -> None:
        object.__setattr__(self, "T", _read_time(self.T))

    def decay(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        return np.exp(-self.T * np.asarray(x, dtype=np.float64))

    def log_growth(self, radius: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return self.T * (radius - 1.0)

    @property
    def degree(self) -> float:
        return 0 if self.T == 0 else math.inf

    def squared(self) -> Heat:
        return type(self)(2 * self.T)


@dataclass(frozen=True)
class SteppedScheme(Scheme):
    """K equal steps of size delta = T/K, each a polynomial in S.

    Attributes
    ----------
    products_per_step : int
        Products with S in one step; the degree of its polynomial.
    panels_in_memory : int
        Arrays (n, w) alive at once while steps are taken, temporaries and the panel that the first
        step starts from included.
    """

    T: float
    K: int

    takes_K = True
    products_per_step: ClassVar[int]
    panels_in_memory: ClassVar[int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "T", _read_time(self.T))
        object.__setattr__(self, "K", _read_steps(self.K, self.T))
        if not self.stable:
            warn(
                f"{self} takes steps T/K = {self.step_size:.4g}, beyond the stability limit "
                f"{self.stability_limit():.4g}: some features are amplified. The smallest stable K "
                f"for this T is {self.smallest_stable_steps()}.",
                StabilityWarning,
            )

    @classmethod
    @abstractmethod
    def stability_limit(cls) -> float:
        """Give the largest step size that is stable on [-1, 1]."""

    @abstractmethod
    def step(self, S: Product, X: Array) -> Array:
        """Take one literal step of the paper from `X`, where ``S(X)`` is the product S X."""

    @property
    def step_size(self) -> float:
        """The step delta = T/K."""
        return self.T / self.K if self.K else 0.0

    @property
    def degree(self) -> float:
        return self.products_per_step * self.K

    @property
    def stable(self) -> bool:
        return self.step_size <= self.stability_limit()

    def squared(self) -> SteppedScheme:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StabilityWarning)  # `self` has warned
            return type(self)(2 * self.T, 2 * self.K)

    def smallest_stable_steps(self) -> int:
        """Smallest K with which this T is stable."""
        steps = math.ceil(self.T / self.stability_limit())
        return steps + (self.T / steps > self.stability_limit() if steps else 0)


@register
@dataclass(frozen=True)
class Euler(SteppedScheme):
    """Forward Euler: X <- (1 - delta) X + delta S X, so r(s) = (1 - delta (1 - s))^K.

    This is DGC-Euler (equation 12 of the paper).

    Examples
    --------
    >>> Euler(T=1.0, K=2).response(0.0).item()
    0.25
    """

    name = "euler"
    order = 1
    products_per_step = 1
    panels_in_memory = 4

    @classmethod
    def stability_limit(cls) -> float:
        return 1.0

    def step(self, S: Product, X: Array) -> Array:
        delta = X.dtype.type(self.step_size)
        return X - delta * (X - S(X))

    def decay(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        return _one_plus_to_the(-self.step_size * np.asarray(x, dtype=np.float64), self.K)

    def log_growth(self, radius: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return self.K * np.log(abs(1.0 - self.step_size) + self.step_size * radius)


@register
@dataclass(frozen=True)
class RungeKutta4(SteppedScheme):
    """Classical Runge-Kutta: r(s) = (1 + z + z^2/2 + z^3/6 + z^4/24)^K with z = -delta (1 - s).

    This is DGC-RK. The paper's update omits its factor -L; this is the standard method for
    dX/dt = -L X.

    Examples
    --------
    >>> bool(abs(RungeKutta4(T=1.0, K=4).response(0.0) - Heat(1.0).response(0.0)) < 1e-4)
    True
    """

    name = "rk4"
    order = 4
    products_per_step = 4
    panels_in_memory = 8

    @classmethod
    def stability_limit(cls) -> float:
        return _runge_kutta_limit()

    def step(self, S: Product, X: Array) -> Array:
        delta = X.dtype.type(self.step_size)

        def L(Y: Array) -> Array:
            return Y - S(Y)

        L1 = L(X)
        L2 = L(X - delta / 2 * L1)
        L3 = L(X - delta / 2 * L2)
        L4 = L(X - delta * L3)
        return X - delta / 6 * (L1 + 2 * L2 + 2 * L3 + L4)

    def decay(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        z = -self.step_size * np.asarray(x, dtype=np.float64)
        return _one_plus_to_the(_expm1_to_fourth_order(z), self.K)

    def log_growth(self, radius: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return self.K * np.log1p(_expm1_to_fourth_order(self.step_size * (1.0 + radius)))


@register
@dataclass(frozen=True)
class PersonalizedPageRank(Scheme):
    """The fixed point of APPNP's propagation: r(s) = alpha / (1 - (1 - alpha) s).

    `alpha` in (0, 1] is the probability of teleporting back to the start.
    """

    alpha: float

    order = math.inf

    def __post_init__(self) -> None:
        if not _is_real(self.alpha) or not 0 < self.alpha <= 1:
            raise InputError(f"alpha must be a number in (0, 1]. Got {self.alpha!r}.")
        object.__setattr__(self, "alpha", float(self.alpha))

    def decay(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        return self.alpha / (self.alpha + (1.0 - self.alpha) * np.asarray(x, dtype=np.float64))

    def log_growth(self, radius: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        distance_to_pole = 1.0 - (1.0 - self.alpha) * radius
        bound = np.full_like(radius, np.inf)
        np.log(self.alpha / distance_to_pole, out=bound, where=distance_to_pole > 0)
        return bound

    @property
    def degree(self) -> float:
        return 0 if self.alpha == 1 else math.inf


def SGC(K: int) -> Euler:
    """Simple Graph Convolution, r(s) = s^K: Euler steps of size 1, which couples T to K."""
    steps = _read_steps(K, T=0.0)
    return Euler(T=float(steps), K=steps)


def SIGN(r: int) -> tuple[Euler, ...]:
    """SIGN's stack of responses s^0, s^1, ..., s^r."""
    return tuple(SGC(k) for k in range(_read_steps(r, T=0.0) + 1))


def scheme_from(T: float | None, K: int | None, scheme: Any) -> Scheme:
    """Make a scheme from the arguments T, K and `scheme` of a public function.

    A scheme object already has T and K. Otherwise T is required and `scheme` is a name; without a
    name, the scheme is Euler if K is given, and the heat kernel if not.
    """
    if isinstance(scheme, Scheme):
        if T is not None or K is not None:
            raise InputError(f"{scheme} already has its own settings: leave out T and K.")
        return scheme
    if scheme is not None and (not isinstance(scheme, str) or scheme not in SCHEMES):
        names = ", ".join(map(repr, SCHEMES))
        raise InputError(
            f"scheme must be one of {names}, or a scheme object. Got {scheme!r}. For several "
            "schemes there is diffuse_many."
        )
    if T is None:
        raise InputError("T is missing: give a terminal time such as T=5.3, or a scheme object.")
    kind: Any = SCHEMES[scheme] if scheme else (Heat if K is None else Euler)
    if not kind.takes_K and K is not None:
        stepped = [repr(name) for name, other in SCHEMES.items() if other.takes_K]
        raise InputError(
            f"scheme={kind.name!r} integrates without steps and takes no K. Got K={K!r}; leave it "
            f"out, or choose scheme={' or '.join(stepped)}."
        )
    if kind.takes_K and K is None:
        raise InputError(f"scheme={scheme!r} needs a number of steps: give K, such as K=250.")
    made: Scheme = kind(T, K) if kind.takes_K else kind(T)
    return made


def scheme_record(scheme: Scheme) -> dict[str, Any]:
    """Serialize a registered scheme to plain values, which `scheme_from_record` reads."""
    if _BY_CLASS_NAME.get(type(scheme).__name__) is not type(scheme):
        raise InputError(f"{scheme!r} cannot be written into a file: it is no scheme of heatgraph.")
    return {"kind": type(scheme).__name__, **vars(scheme)}


def scheme_from_record(record: dict[str, Any]) -> Scheme:
    """Make the scheme that `scheme_record` serialized; anything else is a ValueError."""
    parameters = dict(record)
    try:
        kind: Any = _BY_CLASS_NAME[parameters.pop("kind")]
        scheme: Scheme = kind(**parameters)
    except (KeyError, TypeError) as error:
        raise InputError(f"{record!r} is no scheme") from error
    return scheme


def _one_plus_to_the(y: npt.NDArray[np.float64], K: int) -> npt.NDArray[np.float64]:
    """(1 + y)^K, without losing small y to the 1 when K is large."""
    positive = y > -0.5
    return np.where(positive, np.exp(K * np.log1p(np.where(positive, y, 0.0))), (1.0 + y) ** K)


def _expm1_to_fourth_order(z: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return z * (1 + z / 2 * (1 + z / 3 * (1 + z / 4)))


@cache
def _runge_kutta_limit() -> float:
    # On z <= 0 the response leaves [-1, 1] where it returns to 1: z + z^2/2 + z^3/6 + z^4/24 = 0.
    roots = np.roots([1 / 24, 1 / 6, 1 / 2, 1])
    return float(-roots[np.argmin(np.abs(roots.imag))].real / 2)


def _is_real(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def _read_time(T: Any) -> float:
    if not _is_real(T) or not 0 <= T <= LARGEST_EXACT:
        raise InputError(f"T must be a finite number >= 0. Got {short_repr(T)}.")
    return float(T)


def _read_steps(K: Any, T: float) -> int:
    try:
        if isinstance(K, bool | np.bool_):
            raise TypeError
        steps = operator.index(K)
    except TypeError:
        raise InputError(f"K must be an integer. Got {short_repr(K)}.") from None
    if steps < 0 or (steps == 0 and T > 0) or steps > LARGEST_EXACT:
        raise InputError(
            f"K must be at least 1 (0 only with T = 0). Got K={short_repr(steps)} with T={T:g}."
        )
    return steps
