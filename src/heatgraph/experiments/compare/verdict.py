"""What a comparison came to: a row for every method, as a table, a page, and plain values."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heatgraph._io.formatting import format_bytes, format_seconds
from heatgraph.experiments.compare.contestants import CONTESTANTS, REFERENCE
from heatgraph.experiments.compare.measures import rights
from heatgraph.experiments.compare.significance import (
    Difference,
    corrected,
    over_nodes,
    over_splits,
)
from heatgraph.experiments.compare.trials import OWN, Comparison, reason, records
from heatgraph.experiments.results import Records, Results, circumstances
from heatgraph.report.document import Cell, Chart, Document, Panel, Part, Points, Section, Table
from heatgraph.report.folder import write_document, write_text

CSV, JSON, RUNS = "comparison.csv", "comparison.json", "runs.csv"
NOTHING = "–"
SIGNIFICANT = 0.05
# Measures of a run, in percent.
SHARES = ("accuracy", "macro_f1", "calibration_error")


def rows(comparison: Comparison, results: Results) -> list[dict[str, Any]]:
    """A row of plain values for every method."""
    known = records(comparison, results)
    several = len(comparison.splits) > 1
    found = []
    for method in known:
        row = _row(method, known, several)
        row["planned"] = len(comparison.entries(method))
        found.append(row | {"failed": reason(comparison, results, method)})
    adjusted = corrected([row["p"] for row in found])
    return [row | {"p_corrected": p} for row, p in zip(found, adjusted, strict=True)]


def _row(method: str, known: Mapping[str, Records], several: bool) -> dict[str, Any]:
    own, contestant = known[method], CONTESTANTS[method]
    row: dict[str, Any] = {
        "method": method,
        "title": contestant.title,
        "protocol": contestant.protocol,
        "runs": len(own),
    }
    for name in SHARES:
        values = [100 * value for value in own.values(name)]
        row[name] = float(np.mean(values)) if values else None
        row[f"{name}_spread"] = float(np.std(values, ddof=1)) if len(values) > 1 else None
    for name in ("fit_seconds", "refit_seconds", "predict_seconds"):
        taken = [value for value in own.values(name) if value is not None]
        row[name] = float(np.median(taken)) if taken else None
    peaks = [peak for peak in own.values("peak_bytes") if peak is not None]
    row["peak_bytes"] = max(peaks, default=None)
    row["parameters"] = max(own.values("parameters"), default=None)
    difference = None
    if method != REFERENCE:
        difference = _difference(own, known[REFERENCE], several)
    row["difference"] = 100 * difference.mean if difference else None
    margin = difference.margin if difference else None
    row["difference_margin"] = None if margin is None else 100 * margin
    row["p"] = difference.p if difference else None
    return row


def _difference(own: Records, reference: Records, several: bool) -> Difference | None:
    """How much more accurate than DGC: over splits if there are several, else over test nodes."""
    ours, theirs = _by_split(own), _by_split(reference)
    shared = [split for split in theirs if split in ours]
    if not shared:
        return None
    if not several:
        pair = [
            np.mean([rights(result) for result in side[shared[0]]], axis=0)
            for side in (ours, theirs)
        ]
        return over_nodes(pair[0] - pair[1])
    means = [
        [np.mean([result["accuracy"] for result in side[split]]) for split in shared]
        for side in (ours, theirs)
    ]
    return over_splits(np.subtract(means[0], means[1]), theirs[shared[0]][0]["test_share"])


def _by_split(found: Records) -> dict[str, list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for record in found:
        groups.setdefault(record.setting["split"], []).append(record.result)
    return groups


def document(comparison: Comparison, results: Results, found: list[dict[str, Any]]) -> Document:
    """The report of a comparison."""
    data, graph = comparison.data, comparison.data.graph
    split = next(iter(comparison.splits.values()))
    count = len(comparison.splits)
    splits = "its own split" if OWN in comparison.splits else f"{count} random splits"
    noise = (
        f" Normal noise of standard deviation {comparison.noise:g} was added to scaled features."
        if comparison.noise
        else ""
    )
    choosing = (
        "*validated* methods choose what is open (T, steps, scaling, weight decay) on validation "
        "nodes; *published* ones have the settings of their authors, those for this data set if "
        "there are any, and stop early on validation nodes."
        if len(split.val)
        else "*validated* methods choose what is open (T, steps, scaling, weight decay) by "
        "cross-validation, since there are no validation nodes; *published* ones have the settings "
        "of their authors, those for this data set if there are any, and train to the end."
    )
    preface: list[Part] = [
        f"{data.name}: {graph.num_nodes:,} nodes, {graph.num_edges:,} edges, "
        f"{graph.num_features:,} features; {splits}, with {len(split.train):,} nodes to learn "
        f"from, {len(split.val):,} to choose by and {len(split.test):,} to judge by.{noise}",
        f"Two protocols: {choosing} No test node has a part in it.",
    ]
    parts: list[Part] = [_quality(found), _cost(found), _legend(count)]
    parts += [f"**{row['title']}** failed: {row['failed']}" for row in found if row["failed"]]
    chart = _chart(found)
    if chart is not None:
        parts.append(chart)
    entries = [entry for method in comparison.methods for entry in comparison.entries(method)]
    circumstance = circumstances(results.runs_of(entries))
    return Document(
        f"Methods compared on {data.name}",
        preface,
        [Section("methods", "Methods", parts), Section("runs", "Runs", [circumstance])],
    )


def _quality(found: list[dict[str, Any]]) -> Table:
    head = ["method", "protocol", "accuracy", "macro-F1", "calibration error", "against DGC"]
    rows: list[list[str | Cell]] = []
    for row in found:
        cells: list[str | Cell] = [Cell(NOTHING, "failed"), *[NOTHING] * 3]
        if row["runs"]:
            spread = row["accuracy_spread"]
            accuracy = f"{row['accuracy']:.1f}" + ("" if spread is None else f" ± {spread:.1f}")
            cells = [
                Cell(accuracy, f"n = {row['runs']}" + _of(row)),
                f"{row['macro_f1']:.1f}",
                f"{row['calibration_error']:.1f}",
                _compared(row),
            ]
        rows.append([row["title"], row["protocol"], *cells])
    return Table("How well: test nodes, in percent", head, rows, 2)


def _of(row: dict[str, Any]) -> str:
    return "" if row["runs"] == row["planned"] else f" of {row['planned']}"


def _cost(found: list[dict[str, Any]]) -> Table:
    head = ["method", "fit", "without search", "predict", "memory", "parameters"]
    rows = [
        [
            row["title"],
            *(
                _shown(format_seconds, row[f"{part}_seconds"])
                for part in ("fit", "refit", "predict")
            ),
            _shown(format_bytes, row["peak_bytes"]),
            _shown("{:,}".format, row["parameters"] or None),
        ]
        for row in found
    ]
    return Table("At what cost", head, rows)


def _shown(form: Callable[[Any], str], value: Any) -> str:
    return NOTHING if value is None else form(value)


def _compared(row: dict[str, Any]) -> str | Cell:
    if row["difference"] is None:
        return NOTHING
    margin, p = row["difference_margin"], row["p_corrected"]
    text = f"{round(row['difference'], 1) + 0.0:+.1f}"
    if p is None:
        return text
    told = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    return Cell(text if margin is None else f"{text} ± {margin:.1f}", told, p < SIGNIFICANT)


def _legend(splits: int) -> str:
    over = "test nodes" if splits == 1 else "splits, corrected for the nodes that they share"
    return (
        "Accuracy, macro-F1 and calibration error are in percent: means, with the standard "
        "deviation over runs. Probabilities of DGC and its kin are calibrated on validation nodes, "
        "those of networks are as they come. Times are medians. *Fit* has the choice of settings "
        "in it, among many candidates, and *without search* is a fit with those that were chosen; "
        "networks choose nothing but when to stop. Memory is the most that a process had, "
        "libraries and data included. *Against DGC* is the difference of accuracies with its 95 % "
        "interval, "
        f"paired over {over}; p is corrected after Holm, and marked ◆ below {SIGNIFICANT}."
    )


def _chart(found: list[dict[str, Any]]) -> Chart | None:
    done = [row for row in found if row["runs"]]
    if not done:
        return None
    points = Points(
        [row["title"] for row in done],
        [row["fit_seconds"] + row["predict_seconds"] for row in done],
        [row["accuracy"] for row in done],
        [row["accuracy_spread"] or 0.0 for row in done],
    )
    panel = Panel("", points, "seconds to fit and predict", "test accuracy (%)", "x")
    caption = (
        "Accuracy over time, the choice of settings included. Bars are one standard deviation."
    )
    return Chart("accuracy-over-time", caption, [panel], 1)


def write(folder: Path, comparison: Comparison, results: Results) -> Document:
    """Write all forms of the report into a folder."""
    found = rows(comparison, results)
    told = document(comparison, results, found)
    write_document(told, folder)
    runs = [
        record.setting | {name: value for name, value in record.result.items() if name != "right"}
        for of_method in records(comparison, results).values()
        for record in of_method
    ]
    summary = {"dataset": comparison.data.name, "noise": comparison.noise, "methods": found}
    write_text(folder / CSV, _csv(found))
    write_text(folder / RUNS, _csv(runs))
    write_text(folder / JSON, json.dumps(summary, indent=1, allow_nan=False))
    return told


def _csv(table: Sequence[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(table[0]) if table else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return text.getvalue()
