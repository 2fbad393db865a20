"""The numbers of a comparison: one row of JSON values for every method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from heatgraph.experiments.compare.comparison import Comparison
from heatgraph.experiments.compare.measures import correct_predictions
from heatgraph.experiments.compare.methods import METHODS, REFERENCE
from heatgraph.experiments.compare.significance import (
    Difference,
    compare_over_nodes,
    compare_over_splits,
    holm_adjusted,
)
from heatgraph.experiments.results import Records, ResultStore

# Shares in [0, 1], reported in percent.
PERCENT_MEASURES = ("accuracy", "macro_f1", "calibration_error")


def summarize_methods(comparison: Comparison, results: ResultStore) -> list[dict[str, Any]]:
    """A row for every method: mean measures, costs, and the difference from DGC.

    Shares are in percent; times are medians over runs, and memory is the maximum. Measures without
    a run are None, and so is the difference of a method that learns from more labels than DGC.
    """
    records = comparison.records(results)
    paired_by_split = len(comparison.splits) > 1
    rows = [
        _method_row(method, records, paired_by_split)
        | {
            "planned": len(comparison.trials(method)),
            "failed": comparison.failure(method, results),
        }
        for method in records
    ]
    adjusted = holm_adjusted([row["p"] for row in rows])
    return [row | {"p_corrected": p} for row, p in zip(rows, adjusted, strict=True)]


def _method_row(name: str, records: Mapping[str, Records], paired_by_split: bool) -> dict[str, Any]:
    own = records[name]
    row: dict[str, Any] = {
        "method": name,
        "title": METHODS[name].title,
        "protocol": METHODS[name].protocol,
        "runs": len(own),
    }
    for measure in PERCENT_MEASURES:
        values = [100 * value for value in own.values(measure)]
        row[measure] = float(np.mean(values)) if values else None
        row[f"{measure}_spread"] = float(np.std(values, ddof=1)) if len(values) > 1 else None
    for measure in ("fit_seconds", "refit_seconds", "predict_seconds"):
        times = [value for value in own.values(measure) if value is not None]
        row[measure] = float(np.median(times)) if times else None
    peaks = [peak for peak in own.values("peak_bytes") if peak is not None]
    row["peak_bytes"] = max(peaks, default=None)
    row["parameters"] = max(own.values("parameters"), default=None)
    difference = None
    if name != REFERENCE and METHODS[name].is_comparable:
        difference = _difference(own, records[REFERENCE], paired_by_split)
    row["difference"] = 100 * difference.mean if difference else None
    margin = difference.margin if difference else None
    row["difference_margin"] = None if margin is None else 100 * margin
    row["p"] = difference.p if difference else None
    return row


def _difference(own: Records, reference: Records, paired_by_split: bool) -> Difference | None:
    """Accuracy minus the reference's, paired by splits or by test nodes; None without pairs."""
    ours, theirs = _results_by_split(own), _results_by_split(reference)
    shared = [split for split in theirs if split in ours]
    if not shared:
        return None
    if not paired_by_split:
        correct, reference_correct = (
            np.mean([correct_predictions(result) for result in side[shared[0]]], axis=0)
            for side in (ours, theirs)
        )
        return compare_over_nodes(correct - reference_correct)
    accuracy, reference_accuracy = (
        np.array([np.mean([result["accuracy"] for result in side[split]]) for split in shared])
        for side in (ours, theirs)
    )
    test_share = theirs[shared[0]][0]["test_share"]
    return compare_over_splits(accuracy - reference_accuracy, test_share)


def _results_by_split(records: Records) -> dict[str, list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        groups.setdefault(record.setting["split"], []).append(record.result)
    return groups
