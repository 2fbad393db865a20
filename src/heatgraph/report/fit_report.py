"""The report of a fit: what was read, what was chosen, how well it predicts, and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heatgraph.datasets.dataset import Dataset
from heatgraph.errors import InputError
from heatgraph.learning._serialization import library_versions
from heatgraph.report import class_sections, target_sections
from heatgraph.report.charts import write_chart
from heatgraph.report.class_sections import PART_TITLES
from heatgraph.report.data_sections import data_section, graph_section
from heatgraph.report.document import (
    Document,
    KeyFigures,
    Notice,
    Part,
    Section,
    Table,
    code,
    literal,
)
from heatgraph.report.fit_result import FitResult, evaluate_fit
from heatgraph.report.folder import write_text
from heatgraph.report.held_out import learned_nodes
from heatgraph.report.markdown import to_markdown
from heatgraph.report.pages import to_html
from heatgraph.report.report_names import check_report_name
from heatgraph.report.search_section import search_section
from heatgraph.report.target_result import TargetResult, evaluate_targets, fit_targets_alone


def fit_report(model: Any, data: Dataset, path: str | Path) -> None:
    """Write what a fit found: one HTML page, or Markdown with a folder of figures beside it.

    The page needs no network and no other file. It has what was read, the graph in figures, the
    search over settings, metrics with intervals beside those of the features alone and of the
    labels alone, the confusion matrix, calibration, the features that matter most, and the nodes to
    look at. Simpler models are fitted for that, which takes about as long as the fit.

    Parameters
    ----------
    model : DGCClassifier, DGCRegressor or DGCMultilabelClassifier
        Fitted to `data.graph`, with the labels and the default split of `data`.
    data : Dataset
    path : path
        Ending in .html or .md.

    Examples
    --------
    >>> import tempfile
    >>> from heatgraph import DGCClassifier, load_dataset
    >>> karate = load_dataset("karate")
    >>> train, val, _ = karate.partition()
    >>> clf = DGCClassifier(T=2.0, weight_decay=1e-3).fit(karate.graph, karate.labels, train, val)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fit_report(clf, karate, f"{folder}/fit.html")
    """
    check_report_name(path)
    if data.labels is None:
        raise InputError(f"{data.name} has no labels, which a model is fitted to.")
    if model._graph_to_label(None) is not data.graph:
        raise InputError(
            f"the model was fitted to another graph than that of {data.name}. Pass the data that "
            "it was fitted to."
        )
    write_fit_report(fit_document(model, data), path)


def write_fit_report(document: Document, path: str | Path) -> None:
    """Write a document to a file, as HTML or as Markdown with figures in a folder beside it."""
    path = Path(path)
    if path.suffix.lower() == ".html":
        write_text(path, to_html(document))
        return
    figures = path.with_name(f"{path.stem}-figures")
    charts = [chart for section in document.sections for chart in section.charts]
    if charts:
        figures.mkdir(exist_ok=True)
    for chart in charts:
        write_chart(chart, figures)
    write_text(path, to_markdown(document, figures.name))


def fit_document(
    model: Any,
    data: Dataset,
    *,
    result: FitResult | TargetResult | None = None,
    read: dict[str, Any] | None = None,
    command: str = "",
    warnings: Sequence[str] = (),
    seconds: float | None = None,
) -> Document:
    """The report of a fit as a document.

    `result` is what `evaluate_fit` or `evaluate_targets` gave, `read` what
    `heatgraph.report.summary.read_summary` gave; `warnings` and `seconds` are those of the fit.
    """
    if data.task == "classification":
        found = result if isinstance(result, FitResult) else evaluate_fit(model, data)
        headline, preface = class_verdict(model, found), _class_preface(model, data, found)
        sections = _class_result_sections(model, data, found)
    else:
        if not isinstance(result, TargetResult):
            result = evaluate_targets(model, fit_targets_alone(model, data), data)
        headline, preface = target_sections.UNKNOWN, []
        sections = []
        if result is not None:
            headline = target_sections.target_verdict(model, result)
            preface = target_sections.target_preface(model, result)
            sections = target_sections.target_result_sections(model, data, result)
    preface += [Notice(literal(text), is_warning=True) for text in warnings]
    sections += [
        search_section(model, _validated_by(model, data), seconds),
        data_section(data, read),
        graph_section(data),
        _run_section(command),
    ]
    return Document(f"Fit of {literal(data.name)}", preface, sections, headline)


def class_verdict(model: Any, result: FitResult | None) -> str:
    """The result in one sentence."""
    if result is None:
        return (
            "How well it predicts is unknown: no class has two labelled nodes, one to learn from "
            "and one to predict."
        )
    metrics, (low, high) = result.metrics, result.metrics.accuracy_interval
    start = (
        f"{metrics.accuracy:.1%} of {metrics.nodes:,} {PART_TITLES[result.part]} are labelled "
        f"correctly (95% interval {100 * low:.1f} to {high:.1%})"
    )
    kinds = {finding.kind for finding in result.findings}
    if "one class" in kinds:
        return f"{start}, but by predicting one class for all of them."
    if "largest class" in kinds:
        return f"{start}, no better than always predicting the largest class."
    gain = result.gains.get("features alone")
    if gain is None:
        return f"{start}, from the graph and its labels alone."
    if model.T_ == 0 and not model.channel_coefs_:
        return f"{start}, from the features alone: the graph was not found to help."
    points = 100 * gain.accuracy
    if gain.is_clear:
        return f"{start}, {points:.1f} points more than by the features alone: the graph helps."
    if gain.is_clear_loss:
        return f"{start}, {-points:.1f} points less than by the features alone: the graph harms."
    return f"{start}, about as many as by the features alone: the graph does not help."


def _class_preface(model: Any, data: Dataset, result: FitResult | None) -> list[Part]:
    graph = data.graph
    figures = [("T", "–" if model.T_ is None else f"{model.T_:.3g}", "diffusion time")]
    figures += [("nodes", f"{graph.num_nodes:,}", f"{graph.num_edges:,} edges")]
    figures += [
        ("classes", f"{len(model.classes_):,}", f"{model.final_fit_nodes_:,} labels learned")
    ]
    if result is None:
        return [KeyFigures(figures)]
    metrics, (low, high) = result.metrics, result.metrics.accuracy_interval
    told = [("accuracy", f"{metrics.accuracy:.1%}", f"{100 * low:.1f} to {high:.1%}")]
    others = {"features alone": result.features_alone, "labels alone": result.labels_alone}
    for name, other in others.items():
        if other is not None:
            gain = result.gains[name]
            difference = f"{-100 * gain.accuracy:+.1f} points ± {100 * gain.error:.1f}"
            told.append((name, f"{other.accuracy:.1%}", difference))
    notices = [Notice(literal(one.text), one.is_warning) for one in result.findings]
    ordered = sorted(notices, key=lambda notice: not notice.is_warning)
    return [KeyFigures([*told, *figures]), *ordered]


def _class_result_sections(model: Any, data: Dataset, result: FitResult | None) -> list[Section]:
    learned = learned_nodes(model, data)
    predictions = None if result is None else result.predictions
    sections: list[Section | None] = []
    if result is not None and predictions is not None:
        sections += [
            class_sections.result_section(model, data, result),
            class_sections.classes_section(result.metrics),
            class_sections.calibration_section(model, data, predictions),
        ]
    sections += [
        class_sections.features_section(model),
        class_sections.nodes_section(model, data, predictions, learned),
    ]
    return [section for section in sections if section is not None]


def _validated_by(model: Any, data: Dataset) -> str | None:
    _, val, _ = data.partition()
    if val is not None:
        return f"{len(val):,} validation nodes"
    return "training nodes that were held out" if model.search_ else None


def _run_section(command: str) -> Section:
    rows = [[name, number] for name, number in library_versions().items()]
    parts: list[Part] = [code(command)] if command else []
    parts.append(Table("Versions", ["library", "version"], rows, 2, sortable=False))
    return Section("run", "Command and versions", parts)
