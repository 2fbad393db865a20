"""Which labelled nodes a search learns from, and which it validates on.

With validation nodes there is one fold, which holds them out. Without, training nodes are held out:
in five stratified folds if there are few of them, and else in one, because a sample that leaves
enough for training and for validation needs no rotation.

A search samples its nodes. The standard error of an accuracy a on m nodes is sqrt(a (1 - a) / m),
at most 1 / (2 sqrt(m)), so the precision that a comparison needs tells how many nodes to hold out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

NUM_FOLDS = 5
# Training nodes of each class that a sample keeps, where there are as many.
MIN_PER_CLASS = 4


@dataclass(frozen=True)
class SampleSize:
    """The size of a search's sample: training nodes, and the standard error of accuracies."""

    max_train: int
    standard_error: float

    @property
    def max_held_out(self) -> int:
        """Nodes on which no accuracy has a larger standard error."""
        return math.ceil(0.25 / self.standard_error**2)


@dataclass(frozen=True)
class Folds:
    """Nodes of a search (R,), their classes (R,), and folds.

    A fold is a pair of positions among the nodes: training part and held-out part. The training
    parts of all folds are among the first `num_train_nodes` nodes. The code of a held-out node is
    -1 if its class has no training node. `weights` (R,) are those of nodes in the loss, None if all
    are the same.
    """

    nodes: Indices
    codes: Indices
    folds: tuple[tuple[Indices, Indices], ...]
    weights: Array | None = None

    @classmethod
    def hold_out_validation(
        cls,
        train: Indices,
        codes: Indices,
        val: Indices,
        val_codes: Indices,
        size: SampleSize,
        seed: int,
    ) -> Folds:
        """One fold that holds out validation nodes."""
        rng = np.random.default_rng(seed)
        chosen = stratified_sample(codes, _train_size(codes, size), rng, MIN_PER_CLASS)
        held_out = stratified_sample(val_codes, size.max_held_out, rng)
        return cls._single(train[chosen], codes[chosen], val[held_out], val_codes[held_out])

    def with_weights(self, nodes: Indices, weights: Array | None) -> Folds:
        """The same folds, with weights of training nodes in the loss."""
        if weights is None:
            return self
        of_node = np.zeros(1 + max(int(nodes.max()), int(self.nodes.max())))
        of_node[nodes] = weights
        return replace(self, weights=of_node[self.nodes])

    def train_weights(self, fold: int) -> Array | None:
        """Weights of a fold's training part that add up to 1; None if all are the same."""
        if self.weights is None:
            return None
        train, _ = self.folds[fold]
        weights = self.weights[train]
        total = weights.sum()
        return np.asarray(weights / total) if total > 0 else None

    @classmethod
    def hold_out_training(
        cls, train: Indices, codes: Indices, size: SampleSize, seed: int
    ) -> Folds:
        """Folds of the training nodes themselves."""
        rng = np.random.default_rng(seed)
        num_train = _train_size(codes, size)
        if len(train) * (NUM_FOLDS - 1) <= num_train * NUM_FOLDS:
            part = stratified_parts(codes, min(NUM_FOLDS, len(codes)), rng)
            folds = tuple(
                (np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in np.unique(part)
            )
            return cls(train, codes, folds)
        chosen = stratified_sample(codes, num_train, rng, MIN_PER_CLASS)
        others = np.setdiff1d(np.arange(len(train)), chosen)
        held_out = others[stratified_sample(codes[others], size.max_held_out, rng)]
        return cls._single(train[chosen], codes[chosen], train[held_out], codes[held_out])

    @classmethod
    def _single(cls, train: Indices, codes: Indices, held_out: Indices, held: Indices) -> Folds:
        n, m = len(train), len(held_out)
        return cls(
            np.concatenate([train, held_out]),
            np.concatenate([codes, held]),
            ((np.arange(n), np.arange(n, n + m)),),
        )

    @property
    def num_train_nodes(self) -> int:
        """Number of leading nodes that contain the training parts of all folds."""
        return 1 + max(int(train.max()) for train, _ in self.folds)

    @property
    def num_fold_train(self) -> int:
        """Number of nodes in a fold's training part."""
        return len(self.folds[0][0])

    @property
    def num_held_out(self) -> int:
        """Number of held-out nodes of all folds."""
        return sum(len(held_out) for _, held_out in self.folds)


def _train_size(codes: Indices, size: SampleSize) -> int:
    return max(size.max_train, MIN_PER_CLASS * (int(codes.max()) + 1))


def stratified_parts(codes: Indices, parts: int, rng: np.random.Generator) -> Indices:
    """Assign nodes to parts at random, with equal shares of every class and equal sizes.

    Both hold to within one node. scikit-learn's StratifiedKFold needs as many nodes of a class as
    there are parts, warns otherwise, and does not equalise sizes.
    """
    order = _shuffled_by_class(codes, rng)
    part = np.empty(len(codes), dtype=np.int64)
    part[order] = np.arange(len(codes)) % parts
    return part


def stratified_sample(
    codes: Indices, max_size: int, rng: np.random.Generator, min_per_class: int = 1
) -> Indices:
    """Positions of at most `max_size` nodes in ascending order, every class in about its share.

    Each class keeps `min_per_class` nodes, or all it has, if `max_size` allows that.
    """
    n = len(codes)
    if n <= max_size:
        return np.arange(n)
    order = _shuffled_by_class(codes, rng)
    _, first, sizes = np.unique(codes[order], return_index=True, return_counts=True)
    rank = np.arange(n) - np.repeat(first, sizes)
    kept, others = np.flatnonzero(rank < min_per_class), np.flatnonzero(rank >= min_per_class)
    if len(kept) <= max_size:
        # The first nodes of every class, and of the others as many as are missing, evenly spaced.
        spaced = np.linspace(0, len(others), max_size - len(kept), endpoint=False).astype(np.int64)
        places = np.concatenate([kept, others[spaced]])
    else:
        places = np.linspace(0, n, max_size, endpoint=False).astype(np.int64)
    return np.sort(order[places])


def _shuffled_by_class(codes: Indices, rng: np.random.Generator) -> Indices:
    """Positions sorted by class, and at random within each."""
    order = rng.permutation(len(codes))
    return order[np.argsort(codes[order], kind="stable")]
