"""The report of a comparison: tables and a chart as a page, and the numbers as CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heatgraph._io.formatting import format_bytes, format_seconds
from heatgraph._io.notebook_html import html_table, html_text, html_view
from heatgraph.baselines.gnn.grid_search import GRIDS
from heatgraph.experiments.compare.comparison import Comparison
from heatgraph.experiments.compare.methods import METHODS, REFERENCE, REFITTED, TUNED_NETWORKS
from heatgraph.experiments.compare.splits import OWN_SPLIT
from heatgraph.experiments.compare.summary import summarize_methods
from heatgraph.experiments.results import ResultStore, runs_table
from heatgraph.report.document import (
    MISSING,
    Cell,
    Chart,
    Document,
    Panel,
    Part,
    Points,
    Section,
    Table,
    literal,
    unescaped,
)
from heatgraph.report.folder import write_document, write_text
from heatgraph.report.markdown import plain_text

CSV_FILE, JSON_FILE, RUNS_FILE = "comparison.csv", "comparison.json", "runs.csv"
SIGNIFICANCE_LEVEL = 0.05


@dataclass(frozen=True)
class ComparisonReport:
    """The rows of `summarize_methods`, and the document made of them."""

    rows: list[dict[str, Any]]
    document: Document

    def _repr_html_(self) -> str:
        tables = [part for part in self.document.sections[0].parts if isinstance(part, Table)]
        shown = [
            html_table([[plain_text(cell) for cell in row] for row in table.rows], table.head)
            for table in tables
        ]
        headline = html_text(unescaped(self.document.headline))
        return html_view(unescaped(self.document.title), headline, *shown)


def write_comparison(
    folder: Path, comparison: Comparison, results: ResultStore
) -> ComparisonReport:
    """Write the report as HTML, Markdown, CSV and JSON into a folder."""
    rows = summarize_methods(comparison, results)
    document = comparison_document(comparison, results, rows)
    write_document(document, folder)
    runs = [
        record.setting | {name: value for name, value in record.result.items() if name != "right"}
        for records in comparison.records(results).values()
        for record in records
    ]
    summary = {"dataset": comparison.data.name, "noise": comparison.noise, "methods": rows}
    write_text(folder / CSV_FILE, _to_csv(rows))
    write_text(folder / RUNS_FILE, _to_csv(runs))
    write_text(folder / JSON_FILE, json.dumps(summary, indent=1, allow_nan=False))
    return ComparisonReport(rows, document)


def comparison_document(
    comparison: Comparison, results: ResultStore, rows: list[dict[str, Any]]
) -> Document:
    """The report of a comparison, given the rows of `summarize_methods`."""
    parts: list[Part] = [_accuracy_table(rows), _cost_table(rows), _legend(len(comparison.splits))]
    parts += [
        f"**{row['title']}** failed: {literal(row['failed'])}" for row in rows if row["failed"]
    ]
    chart = _chart(rows)
    if chart is not None:
        parts.append(chart)
    trials = [trial for method in comparison.methods for trial in comparison.trials(method)]
    runs = runs_table(results.runs_of(trials))
    return Document(
        f"Methods compared on {literal(comparison.data.name)}",
        _preface(comparison),
        [Section("methods", "Methods", parts), Section("runs", "Runs", [runs])],
        _headline(rows),
    )


def _headline(rows: list[dict[str, Any]]) -> str:
    """The most accurate method, and how DGC compares with it."""
    completed = [row for row in rows if row["runs"]]
    reference = next((row for row in completed if row["method"] == REFERENCE), None)
    others = [row for row in completed if row["method"] != REFERENCE]
    if reference is None:
        return "No result: DGC, which the others are compared with, has not run."
    own = f"{reference['title']} labels {reference['accuracy']:.1f} % of test nodes correctly"
    if not others:
        return f"{own}."
    best = max(others, key=lambda row: row["accuracy"])
    found = f"{best['title']} {best['accuracy']:.1f} %"
    if best["accuracy"] < reference["accuracy"]:
        return f"{own}, more than any other of {len(completed)} methods; the next is {found}."
    p = best["p_corrected"]
    clear = "" if p is None or p < SIGNIFICANCE_LEVEL else ", a difference that may be chance"
    return f"{own}; the most accurate of {len(completed)} methods is {found}{clear}."


def _preface(comparison: Comparison) -> list[Part]:
    data, graph = comparison.data, comparison.data.graph
    name, split = next(iter(comparison.splits.items()))
    count = len(comparison.splits)
    splits = f"{count} random splits"
    if name.startswith(OWN_SPLIT):
        splits = "its own split" if count == 1 else f"its own {count} splits"
    noise = (
        f" Normal noise of standard deviation {comparison.noise:g} was added to scaled features."
        if comparison.noise
        else ""
    )
    protocols = (
        "*validated* methods choose their settings (T, steps, scaling, weight decay) on validation "
        "nodes; *published* ones have the settings of their authors, those for this data set if "
        "there are any, and stop early on validation nodes."
        if len(split.val)
        else "*validated* methods choose their settings (T, steps, scaling, weight decay) by "
        "cross-validation, since there are no validation nodes; *published* ones have the settings "
        "of their authors, those for this data set if there are any, and train to the end."
    )
    return [
        f"{literal(data.name)}: {graph.num_nodes:,} nodes, {graph.num_edges:,} edges, "
        f"{graph.num_features:,} features; {splits}, with {len(split.train):,} training, "
        f"{len(split.val):,} validation and {len(split.test):,} test nodes.{noise}",
        f"Two protocols: {protocols} Test nodes are used for evaluation only.",
        *_variants(comparison.methods, bool(len(split.val))),
        *_tuned_networks(comparison.methods, bool(len(split.val))),
    ]


def _variants(methods: Sequence[str], has_val: bool) -> list[Part]:
    """How the variants of DGC differ from the paper's, if there are any."""
    held_out = "validation nodes" if has_val else "training nodes held out by cross-validation"
    told: list[Part] = []
    if "dgc-extended" in methods:
        told.append(
            f"*{METHODS['dgc'].title}* is the paper's. *{METHODS['dgc-extended'].title}* is the "
            "mean of it, a model with edges between nodes of similar features and, if there are "
            "validation nodes, a model learned from unlabelled nodes too; and it learns an offset "
            f"for each class from the labels of {held_out}, as temperature scaling learns one "
            "number from them."
        )
    refitted = [METHODS[name].title for name in methods if not METHODS[name].is_comparable]
    if refitted:
        told.append(
            f"A third protocol, *{REFITTED}* ({', '.join(refitted)}): settings are chosen as by "
            "*validated* methods, and the labels of validation nodes are then learned from as well"
            f"{'' if has_val else '; there are none here'}. This is more than the other methods "
            "learn from, so there is no test against DGC."
        )
    return told


def _tuned_networks(methods: Sequence[str], has_val: bool) -> list[Part]:
    """How tuned networks choose their settings, if there are any."""
    grids = [
        f"{METHODS[name].title}: {', '.join(GRIDS[network])}".replace("_", " ")
        for name, network in TUNED_NETWORKS.items()
        if name in methods
    ]
    nodes = (
        "validation nodes, with early stopping on the same nodes"
        if has_val
        else "a fifth of the training nodes, which the chosen network then learns from too"
    )
    return [f"Tuned networks choose from a grid on {nodes} ({'; '.join(grids)})."] * bool(grids)


def _accuracy_table(rows: list[dict[str, Any]]) -> Table:
    head = ["method", "protocol", "accuracy", "macro-F1", "calibration error", "against DGC"]
    lines: list[list[str | Cell]] = []
    for row in rows:
        cells: list[str | Cell] = [Cell(MISSING, "failed"), *[MISSING] * 3]
        if row["runs"]:
            spread = row["accuracy_spread"]
            accuracy = f"{row['accuracy']:.1f}" + ("" if spread is None else f" ± {spread:.1f}")
            planned = "" if row["runs"] == row["planned"] else f" of {row['planned']}"
            cells = [
                Cell(accuracy, f"n = {row['runs']}{planned}"),
                f"{row['macro_f1']:.1f}",
                f"{row['calibration_error']:.1f}",
                _difference_cell(row),
            ]
        lines.append([row["title"], row["protocol"], *cells])
    return Table("Accuracy and calibration on test nodes, in percent", head, lines, 2)


def _difference_cell(row: dict[str, Any]) -> str | Cell:
    if row["difference"] is None:
        return MISSING
    margin, p = row["difference_margin"], row["p_corrected"]
    text = f"{round(row['difference'], 1) + 0.0:+.1f}"  # + 0.0 turns -0.0 into 0.0
    if p is None:
        return text
    p_text = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    value = text if margin is None else f"{text} ± {margin:.1f}"
    return Cell(value, p_text, p < SIGNIFICANCE_LEVEL)


def _cost_table(rows: list[dict[str, Any]]) -> Table:
    head = ["method", "fit", "without search", "predict", "memory", "parameters"]
    lines = [
        [
            row["title"],
            *(
                _format(format_seconds, row[f"{part}_seconds"])
                for part in ("fit", "refit", "predict")
            ),
            _format(format_bytes, row["peak_bytes"]),
            _format("{:,}".format, row["parameters"] or None),
        ]
        for row in rows
    ]
    return Table("Time, memory and parameters", head, lines)


def _format(formatter: Callable[[Any], str], value: Any) -> str:
    return MISSING if value is None else formatter(value)


def _legend(num_splits: int) -> str:
    pairs = "test nodes" if num_splits == 1 else "splits, corrected for the nodes that they share"
    return (
        "Accuracy, macro-F1 and calibration error are in percent: means, with the standard "
        "deviation over runs. Probabilities of DGC and the other linear methods are calibrated on "
        "validation nodes, those of networks are not calibrated. Times are medians. *Fit* includes "
        "the search over settings, and *without search* is a fit with the settings that it chose; "
        "networks with published settings only choose when to stop. Memory is the peak of the "
        "process, including libraries and data. *Against DGC* is the difference of accuracies with "
        f"its 95 % confidence interval, paired over {pairs}; p values are adjusted by Holm's "
        f"method, and marked ◆ below {SIGNIFICANCE_LEVEL}."
    )


def _chart(rows: list[dict[str, Any]]) -> Chart | None:
    completed = [row for row in rows if row["runs"]]
    if not completed:
        return None
    points = Points(
        [row["title"] for row in completed],
        [row["fit_seconds"] + row["predict_seconds"] for row in completed],
        [row["accuracy"] for row in completed],
        [row["accuracy_spread"] or 0.0 for row in completed],
    )
    panel = Panel("", points, "seconds to fit and predict", "test accuracy (%)", "x")
    caption = (
        "Accuracy over time, including the search over settings. Bars are one standard deviation."
    )
    return Chart("accuracy-over-time", caption, [panel], 1)


def _to_csv(table: Sequence[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(table[0]) if table else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return text.getvalue()
