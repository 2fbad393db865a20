"""Weights of training nodes in the loss: by class, by node, or both.

The loss is the weighted mean sum_i w_i l_i of the losses of training nodes, with w_i proportional
to the weight of node i times the weight of its class, adding up to 1. "balanced" class weights are
inversely proportional to the classes' numbers of training nodes, so that each class counts as much.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph._arguments import as_array, check_finite, check_real
from heatgraph.errors import InputError

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

BALANCED = "balanced"


@dataclass(frozen=True)
class LossWeights:
    """Weights of C classes, given or balanced, and of n nodes; None where all are the same."""

    by_class: Array | str | None = None
    by_node: Array | None = None

    @classmethod
    def read(
        cls, class_weight: Any, sample_weight: Any, classes: Array, num_nodes: int
    ) -> LossWeights:
        """Validate the parameter of the classifier and the argument of its fit."""
        return cls(
            _read_class_weight(class_weight, classes), _read_sample_weight(sample_weight, num_nodes)
        )

    def of_classes(self, codes: Indices, num_classes: int) -> Array:
        """Weights (C,) of classes, which for balanced ones depend on the training nodes."""
        if self.by_class is None:
            return np.ones(num_classes)
        if not isinstance(self.by_class, str):
            return self.by_class
        counts = np.bincount(codes, minlength=num_classes)
        return len(codes) / (num_classes * np.maximum(counts, 1))

    def of_nodes(self, nodes: Indices, codes: Indices, num_classes: int) -> Array | None:
        """Weights of training nodes that add up to 1; None if all are the same."""
        if self.by_class is None and self.by_node is None:
            return None
        weights = self.of_classes(codes, num_classes)[codes]
        if self.by_node is not None:
            weights = weights * self.by_node[nodes]
        total = weights.sum()
        if not total > 0:
            raise InputError(
                "the weights of all training nodes are zero. Give some of them a positive "
                "sample_weight, and their classes a positive class_weight."
            )
        return np.asarray(weights / total)


def _read_class_weight(value: Any, classes: Array) -> Array | str | None:
    if value is None or (isinstance(value, str) and value == BALANCED):
        return value
    if not isinstance(value, Mapping):
        raise InputError(
            f"class_weight must be None, 'balanced', or a weight for each label, such as "
            f"{{{classes.tolist()[0]!r}: 2.0}}. Got {value!r}."
        )
    known = {label: c for c, label in enumerate(classes.tolist())}
    weights = np.ones(len(classes))
    for label, weight in value.items():
        if label not in known:
            raise InputError(
                f"class_weight has a weight for {label!r}, which no training node has. Labels of "
                f"training nodes are {_list(classes)}."
            )
        if isinstance(weight, bool) or not isinstance(weight, int | float | np.number):
            raise InputError(f"class_weight of {label!r} must be a number. Got {weight!r}.")
        if not 0 <= weight < np.inf:
            raise InputError(f"class_weight of {label!r} must be finite and >= 0. Got {weight!r}.")
        weights[known[label]] = weight
    return weights


def _read_sample_weight(value: Any, num_nodes: int) -> Array | None:
    if value is None:
        return None
    weights = as_array(value, "sample_weight")
    if weights.shape != (num_nodes,):
        raise InputError(
            f"sample_weight must have one weight per node, {num_nodes:,} in all. Got shape "
            f"{weights.shape}."
        )
    check_real(weights.dtype, "sample_weight")
    check_finite(weights[:, np.newaxis], "sample_weight")
    negative = np.flatnonzero(weights < 0)
    if len(negative):
        at = int(negative[0])
        raise InputError(
            f"sample_weight must be >= 0. Got {weights[at]:g} for node {at} ({len(negative):,} "
            "negative weights in all)."
        )
    return weights.astype(np.float64)


def _list(classes: Array, count: int = 10) -> str:
    listed = ", ".join(repr(label) for label in classes.tolist()[:count])
    return listed + (", ..." if len(classes) > count else "")
