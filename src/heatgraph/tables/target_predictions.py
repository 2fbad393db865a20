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
    model: Any, task: str, graph: Graph, id_column: str, half_width: float | None = None
) -> pa.Table:
    """One row per node: its id, and what a model of a task predicts.

    - "multilabel": predicted labels as a JSON list, and the probability of each label;
    - "regression": predicted number, and the ends of an interval of twice `half_width` around it,
      blank without.
    """
    if task == "multilabel":
        probabilities, labels = model.predict_proba(graph), model.classes_.tolist()
        lists = [[labels[at] for at in np.flatnonzero(row > 1 / 2)] for row in probabilities]
        columns = {"prediction": pa.array([json.dumps(one, ensure_ascii=False) for one in lists])}
        for at, label in enumerate(labels):
            columns[f"probability_{label}"] = pa.array(probabilities[:, at].round(DIGITS))
    else:
        numbers, blank = model.predict(graph), pa.nulls(graph.num_nodes, pa.float64())
        columns = {
            "prediction": pa.array(_rounded(numbers)),
            "lower": blank if half_width is None else pa.array(_rounded(numbers - half_width)),
            "upper": blank if half_width is None else pa.array(_rounded(numbers + half_width)),
        }
    id_column = "id" if id_column in columns else id_column
    return pa.table({id_column: column_of(graph.names)} | columns)


def _rounded(numbers: Array) -> Array:
    """Numbers without digits beyond the precision of the largest."""
    largest = float(np.abs(numbers).max(initial=0))
    if largest == 0:
        return numbers
    return np.asarray(numbers.round(SIGNIFICANT_DIGITS - 1 - int(np.floor(np.log10(largest)))))
