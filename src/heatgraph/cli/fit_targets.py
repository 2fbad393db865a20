"""What ``heatgraph fit`` does with columns of numbers and of several labels per node."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from heatgraph._io.formatting import format_number
from heatgraph.cli.exit_codes import NOT_CONVERGED
from heatgraph.cli.fit_files import FitFiles, write_report_file
from heatgraph.cli.fit_report import PART_TITLES, finding_style
from heatgraph.cli.output_files import name_in_errors
from heatgraph.cli.predictions import write_predictions
from heatgraph.cli.reporter import Reporter
from heatgraph.cli.target_reports import target_rows

if TYPE_CHECKING:
    from heatgraph.report.target_result import TargetResult
    from heatgraph.tables.from_tables import ReadResult

# Parameters that only the classifier has: their options and defaults.
CLASSIFIER_ONLY: dict[str, tuple[str, Any]] = {
    "extensions": ("--extensions", "auto"),
    "class_weight": ("--class-weight", None),
    "scoring": ("--scoring", "accuracy"),
}


def check_target_options(
    task: str, parameters: dict[str, Any], other_options: dict[str, bool]
) -> dict[str, Any]:
    """Parameters without those of the classifier, whose options are refused if they are given.

    `other_options` of classification are no parameters; the values say whether they are given.
    """
    of_parameters = {
        flag: parameters[name] != default for name, (flag, default) in CLASSIFIER_ONLY.items()
    }
    for flag, is_given in (of_parameters | other_options).items():
        if is_given:
            raise typer.BadParameter(
                f"{flag} is an option of classification, and the task is {task}. Leave it out, or "
                "give --task classification."
            )
    return {name: value for name, value in parameters.items() if name not in CLASSIFIER_ONLY}


def fit_targets(
    reporter: Reporter,
    result: ReadResult,
    read: dict[str, Any],
    parameters: dict[str, Any],
    other_options: dict[str, bool],
    files: FitFiles,
    strict: bool,
    spreadsheet_safe: bool,
) -> None:
    """Fit a regressor or a multilabel classifier, print its metrics and write its predictions."""
    data = result.dataset
    parameters = check_target_options(data.task, parameters, other_options)
    _check_labelled(result)
    from heatgraph.learning.multilabel import DGCMultilabelClassifier
    from heatgraph.learning.regressor import DGCRegressor
    from heatgraph.report.target_result import evaluate_targets, fit_targets_alone
    from heatgraph.report.target_summary import interval_half_width, target_fit_summary
    from heatgraph.tables.columns import format_names
    from heatgraph.tables.target_predictions import target_predictions

    kind: Any = DGCRegressor if data.task == "regression" else DGCMultilabelClassifier
    estimator = kind(**parameters)
    before = reporter.seconds
    with reporter.fit_progress() as progress:
        train, val, _ = data.partition()
        estimator.fit(data.graph, data.labels, train, val, progress=progress)
        seconds = reporter.seconds - before
        alone = fit_targets_alone(estimator, data, progress)
        outcome = evaluate_targets(estimator, alone, data)
    chosen = target_fit_summary(estimator, data, alone) | {"seconds": seconds}
    chosen["findings"] = [asdict(finding) for finding in outcome.findings] if outcome else None
    _print_fit(reporter, chosen)
    _print_findings(reporter, outcome)
    if data.task == "multilabel":
        chosen["never_predicted"] = estimator.classes_[~estimator.predict().any(axis=0)].tolist()
        if chosen["never_predicted"]:
            listed = format_names([str(label) for label in chosen["never_predicted"]])
            reporter.print(
                f"Never predicted, as no probability exceeds 1/2: {listed}. The columns "
                "probability_… of the predictions rank nodes all the same."
            )
    if files.predictions is not None:
        with reporter.progress("predicting"):
            width = interval_half_width(estimator) if data.task == "regression" else None
            table = target_predictions(estimator, data.task, data.graph, result.id_column, width)
        write_predictions(table, files.predictions, spreadsheet_safe)
    if files.model is not None:
        with name_in_errors(files.model):
            estimator.save(files.model)
    if files.report is not None:
        write_report_file(reporter, files.report, estimator, data, outcome, read, seconds)
    files.print(reporter)
    reporter.print(f"Done in {reporter.seconds:.1f} s")
    written = files.to_json()
    reporter.json({"read": read, "chosen": chosen, "wrote": written, "seconds": reporter.seconds})
    if strict and not estimator.converged_:
        raise typer.Exit(NOT_CONVERGED)


def _check_labelled(result: ReadResult) -> None:
    """Refuse a column without anything to learn from, by its name."""
    import numpy as np

    from heatgraph.errors import InputError

    data = result.dataset
    column = f"column {result.columns['label'].name!r} of {data.name}"
    labelled = np.flatnonzero(data.labelled)
    train = data.partition()[0]
    learned = labelled if train is None else train
    if len(labelled) == 0:
        raise InputError(f"{column} is blank in every row. Name another with --label.")
    if len(learned) == 0:
        raise InputError(
            f"{column}: no node to train on is left beside the validation and test nodes of the "
            "split. Mark some as train."
        )
    assert data.labels is not None
    values = {str(value) for value in data.labels[learned].tolist()}
    if len(values) == 1:
        what = {"regression": "number", "multilabel": "labels"}[data.task]
        raise InputError(
            f"{column}: all {len(learned):,} nodes to train on have the same {what}, "
            f"{values.pop()}. There is nothing to learn; name another with --label."
        )


def _print_fit(reporter: Reporter, chosen: dict[str, Any]) -> None:
    """Print the settings chosen, and metrics on validation nodes and on test nodes."""
    by = chosen["validated_by"]
    title = f"Fitted {chosen['training_nodes']:,} labelled nodes in {chosen['seconds']:.1f} s"
    if chosen["settings_tried"]:
        title += f"; chose among {chosen['settings_tried']:,} settings on {by}"
    rows = [
        ("task", chosen["task"]),
        ("T", f"{chosen['T']:.3g}" if chosen["T"] is not None else chosen["scheme"]),
    ]
    if chosen["K"] is not None:
        rows.append(("K", str(chosen["K"])))
    rows.append(("weight decay", f"{chosen['weight_decay']:.3g}"))
    if chosen["feature_scaling"]:
        rows.append(("feature scaling", chosen["feature_scaling"]))
    reporter.table(rows, title)
    compared = {"with the graph": chosen["validation"], "features alone": chosen["features_alone"]}
    shown = [(name, _validation_text(metrics)) for name, metrics in compared.items() if metrics]
    reporter.table(shown, f"On {by}")
    if chosen["test"] is not None:
        reporter.table(target_rows(chosen["test"]), f"On {chosen['test']['nodes']:,} test nodes")


def _print_findings(reporter: Reporter, outcome: TargetResult | None) -> None:
    """Print what the graph brought, on nodes that were not learned from."""
    if outcome is None or not outcome.findings:
        return
    title = PART_TITLES[outcome.part].format(outcome.metrics.nodes)
    reporter.print(f"Result on {title}", "bold")
    for finding in outcome.findings:
        reporter.print(f"  {finding.text}", finding_style(finding))


def _validation_text(metrics: dict[str, Any]) -> str:
    if "micro_f1" in metrics:
        return f"micro-F1 {metrics['micro_f1']:.1%}"
    errors = f"MAE {format_number(metrics['mae'])}, RMSE {format_number(metrics['rmse'])}"
    return f"R2 {metrics['r2']:.3f}, {errors}"
