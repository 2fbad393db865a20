"""Splits to compare methods on: the data's own, or random ones of the same sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.splits import Split, fraction_split, random_split
from heatgraph.errors import InputError
from heatgraph.learning._labels import Labels

# Number of random splits for data without a split.
DEFAULT_SPLITS = 5
OWN_SPLIT = "own"


def comparison_splits(data: Dataset, count: int | None) -> dict[str, Split]:
    """The data's own split, or `count` random ones, by name.

    Random splits have as many nodes in each part as the own one: equally many training nodes per
    class if it has that, else the same share of every class. Without an own split, 60/20/20.
    """
    if data.labels is None:
        raise InputError("labels are needed to compare methods.")
    own = _own_split(data)
    if count is None and own is not None:
        return {OWN_SPLIT: own}
    if count is None and data.splits:
        raise InputError(
            "the split names no test nodes to compare methods on. Draw random ones: --splits 5."
        )
    draw = _split_sampler(data, own)
    return {f"random {seed}": draw(seed) for seed in range(count or DEFAULT_SPLITS)}


def _own_split(data: Dataset) -> Split | None:
    train, val, test = data.partition()
    if train is None or test is None:
        return None
    return Split(train, np.empty(0, dtype=np.int64) if val is None else val, test)


def _split_sampler(data: Dataset, own: Split | None) -> Callable[[int], Split]:
    """A function that draws a random split with part sizes like `own`, given a seed."""
    labels: Any = data.labels
    if own is None:
        return lambda seed: fraction_split(labels, stratify=True, seed=seed)
    encoder = Labels.read(labels, data.graph.num_nodes)
    labelled = np.flatnonzero(encoder.known)
    classes = encoder.classes(labelled)
    train_counts, counts = (
        np.bincount(encoder.encode(classes, nodes), minlength=len(classes))
        for nodes in (own.train, labelled)
    )
    sizes = [len(part) for part in (own.train, own.val, own.test)]
    per_class = int(train_counts[0])
    is_balanced = (train_counts == per_class).all() and (counts >= per_class).all()
    if is_balanced and sum(sizes) <= len(labelled):
        return lambda seed: random_split(labels, per_class, sizes[1], sizes[2], seed=seed)
    shares = [size / len(labelled) for size in sizes]
    return lambda seed: fraction_split(labels, shares, stratify=True, seed=seed)
