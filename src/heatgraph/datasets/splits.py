"""Splits of labelled nodes into disjoint training, validation and test sets.

The random ones are drawn with NumPy's `default_rng`, and the same seed gives the same split. They
differ from scikit-learn's `ShuffleSplit` and `StratifiedShuffleSplit` in what the literature on
graphs uses: a fixed number of training nodes per class, three parts, and sizes that are rounded
down with the remainder for test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph._arguments import positive_integer, short_repr
from heatgraph.errors import InputError
from heatgraph.learning._labels import Labels, is_missing

Indices = npt.NDArray[np.int64]

# Names of the three parts in files, in lower case.
PART_NAMES = {
    "train": "train", "training": "train",
    "val": "val", "valid": "val", "validation": "val", "dev": "val",
    "test": "test", "testing": "test",
}  # fmt: skip


@dataclass(frozen=True)
class Split:
    """Training, validation and test nodes: disjoint arrays of indices, sorted."""

    train: Indices
    val: Indices
    test: Indices

    def __post_init__(self) -> None:
        parts = {
            name: _read_indices(getattr(self, name), name) for name in ("train", "val", "test")
        }
        for name, part in parts.items():
            object.__setattr__(self, name, part)
        for first, second in (("train", "val"), ("train", "test"), ("val", "test")):
            shared = np.intersect1d(parts[first], parts[second])
            if len(shared):
                raise InputError(
                    f"{first} and {second} overlap in {len(shared):,} nodes, the first of them "
                    f"{shared[0]}. A node belongs to one part."
                )

    def __repr__(self) -> str:
        return f"Split(train={len(self.train):,}, val={len(self.val):,}, test={len(self.test):,})"


def random_split(
    labels: Any, per_class: int = 20, val: int = 500, test: int = 1000, seed: int = 0
) -> Split:
    """Draw `per_class` training nodes of each class, then `val` and `test` nodes from the rest.

    Labels are as in `DGCClassifier.fit`; unlabelled nodes are in no part.

    Examples
    --------
    >>> random_split([0] * 50 + [1] * 50, per_class=5, val=20, test=40)
    Split(train=10, val=20, test=40)
    """
    codes = _encode(labels)
    order = _shuffle(np.flatnonzero(codes >= 0), seed)
    train_by_class = []
    for code in range(codes.max() + 1):
        members = order[codes[order] == code]
        if len(members) < positive_integer(per_class, "per_class"):
            raise InputError(
                f"per_class={per_class} is more than the smallest class has: {len(members)}."
            )
        train_by_class.append(members[:per_class])
    train = np.concatenate(train_by_class)
    rest = order[~np.isin(order, train)]
    if not _is_count(val) or not _is_count(test) or val + test > len(rest):
        raise InputError(
            f"val={val!r} and test={test!r} must be integers that fit into the {len(rest):,} "
            "labelled nodes outside the training set."
        )
    return Split(train, rest[:val], rest[val : val + test])


def fraction_split(
    labels: Any,
    fractions: Sequence[float] = (0.6, 0.2, 0.2),
    *,
    stratify: bool = False,
    seed: int = 0,
) -> Split:
    """Split labelled nodes by fractions; sizes are rounded down, and test gets the remainder.

    With `stratify`, every class is split by itself, so that all parts have the same class
    frequencies. Fractions of sum < 1 leave the other nodes out.

    Examples
    --------
    >>> fraction_split([0] * 30 + [1] * 70, (0.6, 0.2, 0.2))
    Split(train=60, val=20, test=20)
    """
    try:
        shares = np.asarray(fractions, dtype=np.float64)
    except (TypeError, ValueError):
        shares = np.empty(0)
    if shares.shape != (3,) or not (shares >= 0).all() or shares.sum() > 1 + 1e-9:
        raise InputError(
            f"fractions must be three numbers >= 0 of sum <= 1. Got {short_repr(fractions)}."
        )
    codes = _encode(labels)
    order = _shuffle(np.flatnonzero(codes >= 0), seed)
    groups = [order]
    if stratify:
        groups = [order[codes[order] == code] for code in range(codes.max() + 1)]
    parts: list[list[Indices]] = [[], [], []]
    for group in groups:
        first, second = (int(share * len(group) + 1e-9) for share in shares[:2])
        uses_all = shares.sum() > 1 - 1e-9
        last = len(group) if uses_all else int(shares.sum() * len(group) + 1e-9)
        for part, nodes in zip(parts, np.split(group[:last], [first, first + second]), strict=True):
            part.append(nodes)
    return Split(*(np.concatenate(part) for part in parts))


def column_split(column: Any, place: Callable[[int], str] = "entry {}".format) -> Split:
    """Read a split from one entry per node: "train", "val", "test", or missing for none of them.

    "training", "valid", "validation", "dev" and "testing" are synonyms; case is ignored. `place`
    gives the position of an entry in error messages.

    Examples
    --------
    >>> column_split(["train", "Train", None, "dev", "test", ""])
    Split(train=2, val=1, test=1)
    """
    parts: dict[str, list[int]] = {"train": [], "val": [], "test": []}
    for node, entry in enumerate(column):
        if is_missing(entry) or not str(entry).strip():
            continue
        part = PART_NAMES.get(str(entry).strip().lower())
        if part is None:
            raise InputError(
                f"{place(node)}: the split is {entry!r}, where 'train', 'val', 'test' or nothing "
                "is expected."
            )
        parts[part].append(node)
    return Split(*(np.array(nodes, dtype=np.int64) for nodes in parts.values()))


def _read_indices(nodes: Any, name: str) -> Indices:
    """Read node indices, integers >= 0, sorted and without duplicates."""
    array = np.asarray(nodes)
    if len(array) == 0:
        return np.empty(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu" or array.min() < 0:
        raise InputError(
            f"{name} must be indices of nodes, integers >= 0. Got {short_repr(nodes)}."
        )
    return np.unique(array).astype(np.int64)


def _is_count(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 0)


def _shuffle(nodes: Indices, seed: int) -> Indices:
    if not _is_count(seed):
        raise InputError(f"seed must be an integer >= 0. Got {short_repr(seed)}.")
    return np.random.default_rng(seed).permutation(nodes)


def _encode(labels: Any) -> Indices:
    """Classes of nodes as codes 0, 1, ...; -1 for unlabelled nodes."""
    values = labels if hasattr(labels, "__len__") else list(labels)
    read = Labels.read(values, len(values))
    known = np.flatnonzero(read.known)
    if len(known) == 0:
        raise InputError("labels has no label: there is nothing to split.")
    codes = np.full(len(read.values), -1, dtype=np.int64)
    codes[known] = read.encode(read.classes(known), known)
    return codes
