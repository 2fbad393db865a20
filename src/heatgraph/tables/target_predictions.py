"""Predicted numbers, or predicted lists of labels, as a table."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heatgraph.graph import Graph
from heatgraph.tables.writing import DIGITS, column_of

Array = npt.NDArray[Any]
# Significant digits of the largest number.
SIGNIFICANT_DIGITS = 8


def target_predictions(
    model: Any, task: str, graph: Graph, id_column: str, bounds: Any = None
) -> pa.Table:
    """One row per node: its id, and what a model of a task predicts.

    - "multilabel": predicted labels as a JSON list, and the probability of each label;
    - "regression": predicted number and, from `bounds` (n, 2), the ends of its interval, blank
      without.
    """
    if task == "multilabel":
        probabilities = model.predict_proba(graph).round(DIGITS)
        lists = model.predict_labels(graph)
        columns = {"prediction": pa.array([json.dumps(one, ensure_ascii=False) for one in lists])}
        for at, label in enumerate(model.classes_.tolist()):
            columns[f"probability_{label}"] = pa.array(probabilities[:, at])
    else:
        blank = pa.nulls(graph.num_nodes, pa.float64())
        columns = {
            "prediction": pa.array(_rounded(model.predict(graph))),
            "lower": blank if bounds is None else pa.array(_rounded(bounds[:, 0])),
            "upper": blank if bounds is None else pa.array(_rounded(bounds[:, 1])),
        }
    id_column = "id" if id_column in columns else id_column
    return pa.table({id_column: column_of(graph.names)} | columns)


def _rounded(numbers: Array) -> Array:
    """Numbers without digits beyond the precision of the largest."""
    largest = float(np.abs(numbers).max(initial=0))
    if largest == 0:
        return numbers
    return np.asarray(numbers.round(SIGNIFICANT_DIGITS - 1 - int(np.floor(np.log10(largest)))))
