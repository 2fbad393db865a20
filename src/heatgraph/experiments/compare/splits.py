"""Splits to compare methods on: all of the data's own, or random ones of the same sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.splits import Split, fraction_split, random_split
from heatgraph.errors import InputError
from heatgraph.learning._labels import Labels

# Number of random splits for data without a split.
DEFAULT_SPLITS = 5
# Name of the data's own split; the names of several begin with it.
OWN_SPLIT = "own"


def comparison_splits(data: Dataset, count: int | None) -> dict[str, Split]:
    """The data's own splits, or `count` random ones, by name.

    Random splits have as many nodes in each part as the first own one: equally many training nodes
    per class if it has that, else the same share of every class. Without an own split, 60/20/20.
    """
    if data.labels is None:
        raise InputError("labels are needed to compare methods.")
    own = _own_splits(data)
    if count is None and own:
        return own
    if count is None and data.splits:
        raise InputError(
            "the split names no test nodes to compare methods on. Draw random ones: --splits 5."
        )
    draw = _split_sampler(data, next(iter(own.values()), None))
    return {f"random {seed}": draw(seed) for seed in range(count or DEFAULT_SPLITS)}


def _own_splits(data: Dataset) -> dict[str, Split]:
    """Splits with test nodes: "own", or "own 0", "own 1" and so on if there are several."""
    found = []
    for name, split in data.splits.items():
        train, val, test = replace(data, splits={name: split}).partition()
        if train is not None and test is not None:
            found.append(Split(train, np.empty(0, dtype=np.int64) if val is None else val, test))
    if len(found) == 1:
        return {OWN_SPLIT: found[0]}
    return {f"{OWN_SPLIT} {number}": split for number, split in enumerate(found)}


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
